//! Pictures of surfaces and particles, and plots, without a window system.
//!
//! [`Picture`] collects triangles (already deformed, with a value at each corner), particles,
//! bodies of plain colour, a title and a view, and draws them with hidden parts removed, smooth
//! colours, a colour bar and small axes into an [`Image`] or a PNG file. [`Skin`] makes the
//! triangles of a geometry, [`Body`] those of boxes, planes and other plain things. [`Plot`]
//! draws curves over axes.
//!
//! The invariant: the same input gives the same bytes.

mod body;
mod color;
mod error;
mod font;
mod overlay;
mod plot;
mod raster;
mod scene;
mod skin;
mod ticks;

pub use body::Body;
pub use error::PictureError;
pub use plot::{Marks, Plot};
pub use raster::Image;
pub use skin::Skin;

use std::path::Path;

/// Largest width and height.
pub const MAX_SIZE: usize = 16_384;

/// Triangles with a value at each corner.
#[derive(Clone, Copy, Debug)]
pub struct Surface<'a> {
    /// Three corners for each triangle, where they are to be drawn.
    pub positions: &'a [[f64; 3]],
    /// A value for each corner; values that are no number are drawn grey.
    pub values: &'a [f64],
    /// For each triangle which edges are drawn as lines (bit i: from corner i to the next), so
    /// that outlines of cells show and the cuts inside them don't. Empty: no lines.
    pub outlines: &'a [u8],
}

/// Particles, drawn as spheres.
#[derive(Clone, Copy, Debug)]
pub struct Particles<'a> {
    /// Their centres. Those that are not finite are left out.
    pub positions: &'a [[f64; 3]],
    /// Radius of all, in the unit of the positions. However small, a particle can be seen.
    pub radius: f64,
    /// Their colour.
    pub color: Color<'a>,
}

/// The colour of particles.
#[derive(Clone, Copy, Debug)]
pub enum Color<'a> {
    /// By a value of each; values that are no number are drawn grey.
    Values(&'a [f64]),
    /// Red, green, blue, the same for all.
    Plain([u8; 3]),
}

/// The colour of dry sand.
pub const SAND: [u8; 3] = [218, 188, 136];

/// From where the surface is seen; the projection is parallel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum View {
    /// From above if all z are equal, else from a corner.
    #[default]
    Auto,
    /// From a given direction.
    From {
        /// Direction from the object to the viewer.
        toward: [f64; 3],
        /// Direction that points up in the picture.
        up: [f64; 3],
    },
}

/// A picture to be drawn.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    width: usize,
    height: usize,
    title: String,
    label: String,
    view: View,
    range: Option<[f64; 2]>,
    window: Option<[[f64; 3]; 2]>,
    surfaces: Vec<Surface<'a>>,
    bodies: Vec<&'a Body>,
    particles: Vec<Particles<'a>>,
}

const BACKGROUND: [u8; 3] = [255, 255, 255];
const INK: [f64; 3] = [38.0, 42.0, 50.0];
const PAPER: [f64; 3] = [255.0, 255.0, 255.0];
const FAINT: [f64; 3] = [120.0, 125.0, 135.0];

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn unit(a: Vector) -> Option<Vector> {
    let length = dot(a, a).sqrt();
    (length.is_finite() && length > 0.0).then(|| a.map(|x| x / length))
}

/// Right, up and towards the viewer.
type Frame = [Vector; 3];

fn check_positions(positions: &[[f64; 3]]) -> Result<(), PictureError> {
    let lost = |p: &[f64; 3]| p.iter().any(|x| !x.is_finite());
    match positions.iter().position(lost) {
        None => Ok(()),
        Some(i) => Err(PictureError::Position {
            triangle: i / 3,
            corner: i % 3,
            position: positions[i],
        }),
    }
}

fn project(frame: &Frame, p: Vector) -> Vector {
    frame.map(|axis| dot(axis, p))
}

/// Where things go, in pixels.
struct Layout {
    /// Pixels of a unit of 1/600 of the smaller side.
    unit: f64,
    text: f64,
    /// Left, top, right, bottom of the surface's frame.
    plot: [f64; 4],
    /// Left, top, right, bottom of the colour bar.
    bar: [f64; 4],
}

impl<'a> Picture<'a> {
    /// An empty picture of `width` × `height` pixels.
    pub fn new(width: usize, height: usize) -> Picture<'a> {
        Picture {
            width,
            height,
            title: String::new(),
            label: String::new(),
            view: View::Auto,
            range: None,
            window: None,
            surfaces: Vec::new(),
            bodies: Vec::new(),
            particles: Vec::new(),
        }
    }

    /// Text at the top.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Text at the colour bar: the quantity and its unit.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The view; [`View::Auto`] if not set.
    pub fn view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Values of the first and the last colour; the least and the greatest value if not set.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// The box that fills the picture, by its least and greatest corner, instead of all that is
    /// drawn: so that nothing jumps from one picture of a run to the next. What lies outside is
    /// cut off at the edge of the view.
    pub fn window(mut self, low: [f64; 3], high: [f64; 3]) -> Self {
        self.window = Some([low, high]);
        self
    }

    /// Adds particles.
    pub fn particles(mut self, particles: Particles<'a>) -> Self {
        self.particles.push(particles);
        self
    }

    /// Adds a body.
    pub fn body(mut self, body: &'a Body) -> Self {
        self.bodies.push(body);
        self
    }

    /// Adds a surface.
    pub fn surface(mut self, surface: Surface<'a>) -> Self {
        self.surfaces.push(surface);
        self
    }

    fn check(&self) -> Result<(), PictureError> {
        if !(1..=MAX_SIZE).contains(&self.width) || !(1..=MAX_SIZE).contains(&self.height) {
            return Err(PictureError::Size(self.width, self.height));
        }
        for s in &self.surfaces {
            let triangles = s.positions.len() / 3;
            let outlines_fit = s.outlines.is_empty() || s.outlines.len() == triangles;
            if !s.positions.len().is_multiple_of(3)
                || s.values.len() != s.positions.len()
                || !outlines_fit
            {
                return Err(PictureError::Length {
                    positions: s.positions.len(),
                    values: s.values.len(),
                    outlines: s.outlines.len(),
                });
            }
            check_positions(s.positions)?;
        }
        self.bodies
            .iter()
            .try_for_each(|b| check_positions(&b.positions))?;
        for p in &self.particles {
            let values = match p.color {
                Color::Values(values) => values.len(),
                Color::Plain(_) => p.positions.len(),
            };
            if values != p.positions.len() {
                return Err(PictureError::Particles {
                    positions: p.positions.len(),
                    values,
                });
            }
            if !(p.radius.is_finite() && p.radius >= 0.0) {
                return Err(PictureError::Radius(p.radius));
            }
        }
        match self.window {
            Some([low, high])
                if !(0..3).all(|d| low[d] <= high[d] && (high[d] - low[d]).is_finite()) =>
            {
                Err(PictureError::Window(low, high))
            }
            _ => Ok(()),
        }
    }

    fn frame(&self) -> Result<(Frame, bool), PictureError> {
        let mut positions = self.corners();
        let (toward, up, flat) = match self.view {
            View::From { toward, up } => (toward, up, false),
            View::Auto => {
                let z = positions.next().map(|p| p[2]);
                if positions.all(|p| Some(p[2]) == z) {
                    ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0], true)
                } else {
                    ([1.0, -1.25, 0.85], [0.0, 0.0, 1.0], false)
                }
            }
        };
        let error = PictureError::View { toward, up };
        let Some((toward_1, up_1)) = unit(toward).zip(unit(up)) else {
            return Err(error);
        };
        let side = cross(up_1, toward_1);
        // Directions within a millionth of a turn of one another don't fix a frame.
        match unit(side) {
            Some(right) if dot(side, side) > 1e-12 => {
                Ok(([right, cross(toward_1, right), toward_1], flat))
            }
            _ => Err(error),
        }
    }

    fn value_range(&self) -> Result<Option<[f64; 2]>, PictureError> {
        if let Some([low, high]) = self.range {
            return if low.is_finite() && high.is_finite() && low < high {
                Ok(Some([low, high]))
            } else {
                Err(PictureError::Range(low, high))
            };
        }
        let particles = self.particles.iter().filter_map(|p| match p.color {
            Color::Values(values) => Some(values),
            Color::Plain(_) => None,
        });
        let surfaces = self.surfaces.iter().map(|s| s.values);
        let values = surfaces
            .chain(particles)
            .flatten()
            .filter(|v| v.is_finite());
        let range = values.fold(None, |r: Option<[f64; 2]>, &v| {
            Some(r.map_or([v, v], |[low, high]| [low.min(v), high.max(v)]))
        });
        Ok(range)
    }

    /// Draws the picture.
    ///
    /// # Errors
    /// [`PictureError`] for a size, arrays, positions, a radius, a view, a window or a range that
    /// can't be drawn.
    pub fn render(&self) -> Result<Image, PictureError> {
        self.check()?;
        let (frame, flat) = self.frame()?;
        let range = self.value_range()?;
        let mut image = Image::new(self.width, self.height, BACKGROUND);
        let layout = self.layout(range);
        let anything = self.corners().next().is_some();
        if anything {
            // Without values nothing is coloured by them.
            let range = range.unwrap_or([0.0, 1.0]);
            self.draw_scene(&mut image, &layout, &frame, range, flat);
        }
        if let Some(range) = range {
            overlay::draw_bar(&mut image, &layout, &self.label, range);
        }
        if anything || range.is_some() {
            overlay::draw_axes(&mut image, &layout, &frame);
        }
        let margin = 22.0 * layout.unit;
        let size = 15.0 * layout.unit;
        overlay::draw_text(&mut image, &self.title, [margin, margin + size], size, INK);
        Ok(image)
    }

    /// Draws the picture into a PNG file, which is whole or absent.
    ///
    /// # Errors
    /// As [`Picture::render`], and [`PictureError::Io`].
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        self.render()?.write_png(path)
    }

    fn layout(&self, range: Option<[f64; 2]>) -> Layout {
        let (width, height) = (self.width as f64, self.height as f64);
        let u = width.min(height) / 600.0;
        let text = 10.5 * u;
        let bar_width = 16.0 * u;
        let widest = |lines: &[String], size: f64| {
            lines
                .iter()
                .map(|t| font::width(t, size))
                .fold(0.0, f64::max)
        };
        let column = range.map_or(0.0, |r| {
            let numbers: Vec<String> = overlay::bar_ticks(r).into_iter().map(|t| t.1).collect();
            let beside = bar_width + 7.0 * u + widest(&numbers, text);
            beside
                .max(font::width(&self.label, text))
                .max(widest(&overlay::extremes(r), overlay::SMALL * text))
        });
        let left = width - 26.0 * u - column;
        let top = if self.title.is_empty() {
            24.0 * u
        } else {
            60.0 * u
        };
        let bar_half = 0.31 * height;
        let middle = height / 2.0 + if self.title.is_empty() { 0.0 } else { 10.0 * u };
        Layout {
            unit: u,
            text,
            plot: [30.0 * u, top, left - 34.0 * u, height - 30.0 * u],
            bar: [left, middle - bar_half, left + bar_width, middle + bar_half],
        }
    }
}

#[cfg(test)]
mod tests;
