//! Pictures of coloured surfaces, without a window system.
//!
//! [`Picture`] collects triangles (already deformed, with a value at each corner), a title and
//! a view, and draws them with hidden parts removed, smooth colours, a colour bar and small
//! axes into an [`Image`] or a PNG file. [`Skin`] makes the triangles of a geometry.
//!
//! The invariant: the same input gives the same bytes.

mod color;
mod error;
mod font;
mod overlay;
mod raster;
mod skin;
mod ticks;

pub use error::PictureError;
pub use raster::Image;
pub use skin::Skin;

use std::path::Path;

use raster::{Line, Triangle};

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
    surfaces: Vec<Surface<'a>>,
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
            surfaces: Vec::new(),
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
            if let Some(i) = s
                .positions
                .iter()
                .position(|p| p.iter().any(|x| !x.is_finite()))
            {
                return Err(PictureError::Position {
                    triangle: i / 3,
                    corner: i % 3,
                    position: s.positions[i],
                });
            }
        }
        Ok(())
    }

    fn frame(&self) -> Result<(Frame, bool), PictureError> {
        let mut positions = self.surfaces.iter().flat_map(|s| s.positions);
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
        let values = self
            .surfaces
            .iter()
            .flat_map(|s| s.values)
            .filter(|v| v.is_finite());
        let range = values.fold(None, |r: Option<[f64; 2]>, &v| {
            Some(r.map_or([v, v], |[low, high]| [low.min(v), high.max(v)]))
        });
        Ok(range)
    }

    /// Draws the picture.
    ///
    /// # Errors
    /// [`PictureError`] for a size, arrays, positions, a view or a range that can't be drawn.
    pub fn render(&self) -> Result<Image, PictureError> {
        self.check()?;
        let (frame, flat) = self.frame()?;
        let range = self.value_range()?;
        let mut image = Image::new(self.width, self.height, BACKGROUND);
        let layout = self.layout(range);
        if let Some(range) = range {
            self.draw_surfaces(&mut image, &layout, &frame, range, flat);
            overlay::draw_bar(&mut image, &layout, &self.label, range);
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
        let image = self.render()?;
        let path = path.as_ref();
        crate::atomic::write(path, |out| {
            // The size is at most MAX_SIZE.
            let mut encoder = png::Encoder::new(out, image.width as u32, image.height as u32);
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            // A twentieth of the time of the default for half again the size.
            encoder.set_compression(png::Compression::Fast);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&image.pixels)?;
            writer.finish()?;
            Ok(())
        })
        .map_err(|source| PictureError::Io {
            path: path.to_path_buf(),
            source,
        })
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

    fn draw_surfaces(
        &self,
        image: &mut Image,
        layout: &Layout,
        frame: &Frame,
        range: [f64; 2],
        flat: bool,
    ) {
        let mut low = [f64::INFINITY; 3];
        let mut high = [f64::NEG_INFINITY; 3];
        for p in self.surfaces.iter().flat_map(|s| s.positions) {
            let q = project(frame, *p);
            for d in 0..3 {
                low[d] = low[d].min(q[d]);
                high[d] = high[d].max(q[d]);
            }
        }
        let [left, top, right, bottom] = layout.plot;
        let fit = |space: f64, extent: f64| {
            if extent > 0.0 {
                space.max(1.0) / extent
            } else {
                f64::INFINITY
            }
        };
        let scale = fit(right - left, high[0] - low[0]).min(fit(bottom - top, high[1] - low[1]));
        let scale = if scale.is_finite() { scale } else { 1.0 };
        let center = [(left + right) / 2.0, (top + bottom) / 2.0];
        let screen = |p: Vector| {
            let q = project(frame, p);
            [
                center[0] + scale * (q[0] - (low[0] + high[0]) / 2.0),
                center[1] - scale * (q[1] - (low[1] + high[1]) / 2.0),
                scale * (q[2] - (low[2] + high[2]) / 2.0),
            ]
        };
        // A single value has the middle colour.
        let [first, last] = overlay::spread(range);
        let tone = |v: f64| (v - first) / (last - first);
        // All surfaces in one list, so that each can hide the others.
        let ends: Vec<usize> = self
            .surfaces
            .iter()
            .scan(0, |sum, s| {
                *sum += s.positions.len() / 3;
                Some(*sum)
            })
            .collect();
        let count = ends.last().copied().unwrap_or(0);
        let triangle = |i: usize| {
            let k = ends.partition_point(|&end| end <= i);
            let s = &self.surfaces[k];
            let i = if k == 0 { i } else { i - ends[k - 1] };
            let corners = [0, 1, 2].map(|c| screen(s.positions[3 * i + c]));
            Triangle {
                corners,
                values: [0, 1, 2].map(|c| tone(s.values[3 * i + c])),
                shade: if flat { 1.0 } else { shade(&corners) },
                outline: s.outlines.get(i).copied().unwrap_or(0),
            }
        };
        image.triangles(
            count,
            triangle,
            outline_style(count, &triangle, layout.unit),
        );
    }
}

/// Brightness of a face by its direction: mild, so that colours keep their meaning.
fn shade(corners: &[Vector; 3]) -> f64 {
    let edge = |i: usize| [0, 1, 2].map(|d| corners[i][d] - corners[0][d]);
    let Some(normal) = unit(cross(edge(1), edge(2))) else {
        return 1.0;
    };
    // The light comes over the viewer's left shoulder; both faces of a surface are lit. Screen
    // rows grow downwards.
    let light = [-0.38, -0.47, 0.797];
    0.72 + 0.28 * dot(normal, light).abs()
}

/// Outlines fade where they would cover the colours.
fn outline_style(count: usize, triangle: &impl Fn(usize) -> Triangle, unit: f64) -> Line {
    let mut length = 0.0;
    let mut edges = 0;
    for i in 0..count {
        let t = triangle(i);
        for e in (0..3).filter(|e| t.outline >> e & 1 == 1) {
            let (a, b) = (t.corners[e], t.corners[(e + 1) % 3]);
            length += (b[0] - a[0]).hypot(b[1] - a[1]);
            edges += 1;
        }
    }
    let mean = length / f64::from(edges.max(1)) / unit;
    Line {
        half_width: 0.45 * unit.max(0.7),
        strength: 0.55 * ((mean - 2.0) / 14.0).clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests;
