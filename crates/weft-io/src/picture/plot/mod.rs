//! Curves and points over axes.
//!
//! Main type: [`Plot`]. The invariant: nothing but texts and marks of ticks is drawn outside the
//! axes.

mod axis;

use std::path::Path;

use super::overlay::{draw_text, draw_turned};
use super::raster::Image;
use super::{BACKGROUND, FAINT, INK, MAX_SIZE, PAPER, PictureError, font};
use axis::{Axis, Label};

/// How the points of a series are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// Joined by a line.
    #[default]
    Line,
    /// Joined by a dashed line: a reference, say the slope of a rate.
    Dashes,
    /// Each by a mark: measured or published values.
    Points,
    /// Marks, joined by a line.
    Both,
}

/// A diagram of x-y series.
///
/// ```no_run
/// use weft_io::picture::{Marks, Plot};
/// let error = [[0.5, 2.1e-2], [0.25, 5.2e-3], [0.125, 1.3e-3]];
/// let slope = [[0.5, 1e-2], [0.125, 1e-2 / 16.0]];
/// Plot::new(800, 600)
///     .title("Convergence")
///     .x_label("cell size h [m]")
///     .y_label("error [m]")
///     .log([true, true])
///     .series("degree 1", Marks::Both, &error)
///     .series("h²", Marks::Dashes, &slope)
///     .write_png("convergence.png")?;
/// # Ok::<(), weft_io::picture::PictureError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    width: usize,
    height: usize,
    title: String,
    labels: [String; 2],
    log: [bool; 2],
    ranges: [Option<[f64; 2]>; 2],
    series: Vec<Series<'a>>,
}

#[derive(Clone, Debug)]
struct Series<'a> {
    name: String,
    marks: Marks,
    points: &'a [[f64; 2]],
}

/// Colours that can be told apart without colour vision. Source: M. Okabe and K. Ito, "Color
/// Universal Design", 2008; yellow is left out as too faint on white.
const COLORS: [[f64; 3]; 7] = [
    [0.0, 114.0, 178.0],
    [213.0, 94.0, 0.0],
    [0.0, 158.0, 115.0],
    [204.0, 121.0, 167.0],
    [230.0, 159.0, 0.0],
    [86.0, 180.0, 233.0],
    [0.0, 0.0, 0.0],
];

const GRID: [f64; 3] = [228.0, 230.0, 234.0];

type Segment = [[f64; 2]; 2];

/// Left, top, right, bottom.
type Box2 = [f64; 4];

/// Sizes in pixels.
struct Sizes {
    /// 1/600 of the smaller side.
    unit: f64,
    text: f64,
    /// Half the size of a mark.
    mark: f64,
    /// Width of curves.
    pen: f64,
}

impl<'a> Plot<'a> {
    /// An empty plot of `width` × `height` pixels.
    pub fn new(width: usize, height: usize) -> Plot<'a> {
        Plot {
            width,
            height,
            title: String::new(),
            labels: Default::default(),
            log: [false; 2],
            ranges: [None; 2],
            series: Vec::new(),
        }
    }

    /// Text at the top.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Text under the horizontal axis: the quantity and its unit.
    pub fn x_label(mut self, label: impl Into<String>) -> Self {
        self.labels[0] = label.into();
        self
    }

    /// Text beside the vertical axis.
    pub fn y_label(mut self, label: impl Into<String>) -> Self {
        self.labels[1] = label.into();
        self
    }

    /// Whether x and y are shown by powers of ten. What isn't positive is then left out.
    pub fn log(mut self, log: [bool; 2]) -> Self {
        self.log = log;
        self
    }

    /// First and last x; if not set, all values fit.
    pub fn x_range(mut self, low: f64, high: f64) -> Self {
        self.ranges[0] = Some([low, high]);
        self
    }

    /// First and last y; if not set, all values fit.
    pub fn y_range(mut self, low: f64, high: f64) -> Self {
        self.ranges[1] = Some([low, high]);
        self
    }

    /// Adds points (x, y), with a name in the legend unless it is empty. A line is broken at
    /// points that the axes can't show.
    pub fn series(mut self, name: impl Into<String>, marks: Marks, points: &'a [[f64; 2]]) -> Self {
        self.series.push(Series {
            name: name.into(),
            marks,
            points,
        });
        self
    }

    /// Draws the plot.
    ///
    /// # Errors
    /// [`PictureError::Size`], [`PictureError::Range`].
    pub fn render(&self) -> Result<Image, PictureError> {
        if !(1..=MAX_SIZE).contains(&self.width) || !(1..=MAX_SIZE).contains(&self.height) {
            return Err(PictureError::Size(self.width, self.height));
        }
        for (range, log) in self.ranges.iter().zip(self.log) {
            match *range {
                Some([low, high])
                    if !(low < high && (high - low).is_finite() && (!log || low > 0.0)) =>
                {
                    return Err(PictureError::Range(low, high));
                }
                _ => {}
            }
        }
        let axes = [0, 1].map(|d| {
            let points = self.series.iter().flat_map(|s| s.points);
            Axis::new(self.log[d], self.ranges[d], points.map(|p| p[d]))
        });
        let unit = self.width.min(self.height) as f64 / 600.0;
        let sizes = Sizes {
            unit,
            text: 11.0 * unit,
            mark: 5.0 * unit,
            pen: (2.0 * unit).max(1.0),
        };
        let mut image = Image::new(self.width, self.height, BACKGROUND);
        let frame = self.draw_axes(&mut image, &axes, &sizes);
        let curves: Vec<Vec<Option<[f64; 2]>>> = self
            .series
            .iter()
            .map(|s| {
                let place = |p: &[f64; 2]| {
                    let (x, y) = axes[0].place(p[0]).zip(axes[1].place(p[1]))?;
                    let [left, top, right, bottom] = frame;
                    Some([left + x * (right - left), bottom - y * (bottom - top)])
                };
                s.points.iter().map(place).collect()
            })
            .collect();
        for (i, (s, curve)) in self.series.iter().zip(&curves).enumerate() {
            draw_series(&mut image, i, s.marks, curve, &frame, &sizes);
        }
        self.draw_legend(&mut image, &curves, &frame, &sizes);
        Ok(image)
    }

    /// Draws the plot into a PNG file, which is whole or absent.
    ///
    /// # Errors
    /// As [`Plot::render`], and [`PictureError::Io`].
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        self.render()?.write_png(path)
    }

    /// Draws everything but the series; gives the place of the axes.
    fn draw_axes(&self, image: &mut Image, axes: &[Axis; 2], sizes: &Sizes) -> Box2 {
        let (u, text) = (sizes.unit, sizes.text);
        let (width, height) = (self.width as f64, self.height as f64);
        let ticks = [
            axes[0].ticks(((width / u / 100.0) as usize).clamp(2, 12)),
            axes[1].ticks(((height / u / 80.0) as usize).clamp(2, 12)),
        ];
        let widths = ticks[1].0.iter().map(|t| label_width(&t.1, text));
        let numbers = widths.fold(0.0, f64::max);
        let beside = if self.labels[1].is_empty() {
            0.0
        } else {
            2.2 * text
        };
        let below = if self.labels[0].is_empty() {
            0.0
        } else {
            2.2 * text
        };
        let above = if self.title.is_empty() { 24.0 } else { 60.0 };
        let left = 20.0 * u + beside + numbers + 10.0 * u;
        let bottom = height - 20.0 * u - below - 2.2 * text;
        let right = (width - 36.0 * u).max(left + 1.0);
        let frame = [left, (above * u).min(bottom - 1.0), right, bottom];
        let top = frame[1];
        let thin = (1.2 * u).max(1.0);
        let at = |d: usize, value: f64| {
            let place = axes[d].place(value).unwrap_or(0.0).clamp(0.0, 1.0);
            match d {
                0 => left + place * (right - left),
                _ => bottom - place * (bottom - top),
            }
        };
        // A line across the axes, or a mark at their edge.
        let line = |d: usize, value: f64, length: f64| match d {
            0 => [[at(0, value), bottom], [at(0, value), bottom - length]],
            _ => [[left, at(1, value)], [left + length, at(1, value)]],
        };
        let across = [bottom - top, right - left];
        let lines = |d: usize| ticks[d].0.iter().map(move |t| (d, t.0));
        let grid: Vec<Segment> = (0..2)
            .flat_map(lines)
            .map(|(d, v)| line(d, v, across[d]))
            .collect();
        image.strokes(&grid, thin, GRID);
        let small = |d: usize| ticks[d].1.iter().map(move |&v| (d, v, 4.0 * u));
        let large = (0..2).flat_map(lines).map(|(d, v)| (d, v, 7.0 * u));
        let mut ink: Vec<Segment> = (0..2)
            .flat_map(small)
            .chain(large)
            .map(|(d, v, length)| line(d, v, length))
            .collect();
        ink.extend(outline(frame));
        image.strokes(&ink, thin, INK);
        for (value, label) in &ticks[0].0 {
            let x = at(0, *value) - label_width(label, text) / 2.0;
            draw_label(image, label, [x, bottom + 9.0 * u + text], text);
        }
        for (value, label) in &ticks[1].0 {
            let x = left - 9.0 * u - label_width(label, text);
            draw_label(image, label, [x, at(1, *value) + text / 2.0], text);
        }
        let [x_label, y_label] = &self.labels;
        let x = (left + right - font::width(x_label, text)) / 2.0;
        draw_text(image, x_label, [x, height - 18.0 * u], text, INK);
        let y = (top + bottom + font::width(y_label, text)) / 2.0;
        draw_turned(image, y_label, [18.0 * u + text, y], text, INK);
        let title = 15.0 * u;
        draw_text(image, &self.title, [left, 22.0 * u + title], title, INK);
        frame
    }

    /// Draws the legend into the corner of the axes where it covers least.
    fn draw_legend(
        &self,
        image: &mut Image,
        curves: &[Vec<Option<[f64; 2]>>],
        frame: &Box2,
        sizes: &Sizes,
    ) {
        let named: Vec<(usize, &Series<'_>)> = self
            .series
            .iter()
            .enumerate()
            .filter(|(_, s)| !s.name.is_empty())
            .collect();
        if named.is_empty() {
            return;
        }
        let (u, text) = (sizes.unit, sizes.text);
        let (sample, line, room) = (34.0 * u, 2.0 * text, 9.0 * u);
        let names = named.iter().map(|(_, s)| font::width(&s.name, text));
        let width = names.fold(0.0, f64::max) + sample + 3.0 * room;
        let height = line * named.len() as f64 + room;
        let [left, top, right, bottom] = *frame;
        let inset = 12.0 * u;
        let corner = |x: f64, y: f64| [x, y, x + width, y + height];
        let (far, low) = (right - inset - width, bottom - inset - height);
        let corners = [
            corner(far, top + inset),
            corner(left + inset, top + inset),
            corner(left + inset, low),
            corner(far, low),
        ];
        let covered = |place: &Box2| -> f64 {
            let segments = self.series.iter().zip(curves).flat_map(|(s, curve)| {
                let joined = s.marks != Marks::Points;
                let lines = curve.windows(2).filter(move |_| joined);
                let lines = lines.filter_map(|w| w[0].zip(w[1]).map(|(a, b)| [a, b]));
                lines.chain(curve.iter().flatten().map(|p| [*p, *p]))
            });
            // A point counts as a mark's size, a line by its length.
            segments
                .filter_map(|s| clip(s, place))
                .map(|[a, b]| (b[0] - a[0]).hypot(b[1] - a[1]) + sizes.mark)
                .sum()
        };
        let best = corners
            .iter()
            .min_by(|a, b| covered(a).total_cmp(&covered(b)));
        let place = *best.unwrap_or(&corners[0]);
        image.rectangle(place, |_| PAPER);
        image.strokes(&outline(place), (0.8 * u).max(0.8), FAINT);
        for (row, (i, s)) in named.into_iter().enumerate() {
            let y = place[1] + room + line * row as f64 + text / 2.0;
            let x = place[0] + room;
            let ends = [Some([x, y]), Some([x + sample, y])];
            let middle = [Some([x + sample / 2.0, y])];
            match s.marks {
                Marks::Points => draw_series(image, i, Marks::Points, &middle, &place, sizes),
                Marks::Both => {
                    draw_series(image, i, Marks::Line, &ends, &place, sizes);
                    draw_series(image, i, Marks::Points, &middle, &place, sizes);
                }
                marks => draw_series(image, i, marks, &ends, &place, sizes),
            }
            let at = [x + sample + room, y + text / 2.0];
            draw_text(image, &s.name, at, text, INK);
        }
    }
}

fn outline([left, top, right, bottom]: Box2) -> [Segment; 4] {
    let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
    [0, 1, 2, 3].map(|i| [corners[i], corners[(i + 1) % 4]])
}

/// Draws series number `i`, clipped to `frame`.
fn draw_series(
    image: &mut Image,
    i: usize,
    marks: Marks,
    curve: &[Option<[f64; 2]>],
    frame: &Box2,
    sizes: &Sizes,
) {
    let color = COLORS[i % COLORS.len()];
    if marks != Marks::Points {
        let pairs = curve.windows(2).filter_map(|w| w[0].zip(w[1]));
        let lines = pairs.filter_map(|(a, b)| clip([a, b], frame));
        let lines: Vec<Segment> = match marks {
            Marks::Dashes => dashes(lines, 8.0 * sizes.unit.max(0.25)),
            _ => lines.collect(),
        };
        image.strokes(&lines, sizes.pen, color);
    }
    if matches!(marks, Marks::Points | Marks::Both) {
        let inside = |p: &&[f64; 2]| clip([**p, **p], frame).is_some();
        let places = curve.iter().flatten().filter(inside);
        let strokes: Vec<Segment> = places.flat_map(|p| mark(i, *p, sizes.mark)).collect();
        image.strokes(&strokes, 0.9 * sizes.pen, color);
    }
}

/// The strokes of a mark; each series has its own shape.
fn mark(i: usize, center: [f64; 2], size: f64) -> Vec<Segment> {
    let at = |p: [f64; 2]| [center[0] + size * p[0], center[1] + size * p[1]];
    let round = |corners: usize, turn: f64| -> Vec<Segment> {
        let corner = |k: usize| {
            let angle = std::f64::consts::TAU * (k as f64 / corners as f64 + turn);
            at([angle.sin(), -angle.cos()])
        };
        (0..corners).map(|k| [corner(k), corner(k + 1)]).collect()
    };
    let cross = |ends: [[f64; 2]; 2]| ends.map(|p| [at(p), at(p.map(|x| -x))]).to_vec();
    match i % 6 {
        0 => round(16, 0.0),
        1 => round(4, 0.125),
        2 => round(3, 0.0),
        3 => round(4, 0.0),
        4 => cross([[0.8, 0.8], [0.8, -0.8]]),
        _ => cross([[1.0, 0.0], [0.0, 1.0]]),
    }
}

/// Cuts a chain of segments into dashes of a length, with half of it between them.
fn dashes(lines: impl Iterator<Item = Segment>, length: f64) -> Vec<Segment> {
    let period = 1.5 * length;
    let mut out = Vec::new();
    let mut before = 0.0;
    for [a, b] in lines {
        let whole = (b[0] - a[0]).hypot(b[1] - a[1]);
        let at = |s: f64| [0, 1].map(|d| a[d] + (b[d] - a[d]) * (s / whole));
        let mut k = f64::floor(before / period);
        while whole > 0.0 && k * period < before + whole {
            let start = (k * period - before).max(0.0);
            let end = (k * period + length - before).min(whole);
            if start < end {
                out.push([at(start), at(end)]);
            }
            k += 1.0;
        }
        before += whole;
    }
    out
}

/// The part of a segment inside a box, if there is one. Source: Y.-D. Liang and B. A. Barsky,
/// "A New Concept and Method for Line Clipping", 1984.
fn clip([a, b]: Segment, frame: &Box2) -> Option<Segment> {
    let (mut first, mut last) = (0.0f64, 1.0f64);
    for d in 0..2 {
        let along = b[d] - a[d];
        for (toward, room) in [(-along, a[d] - frame[d]), (along, frame[d + 2] - a[d])] {
            if toward == 0.0 && room < 0.0 {
                return None;
            } else if toward < 0.0 {
                first = first.max(room / toward);
            } else if toward > 0.0 {
                last = last.min(room / toward);
            }
        }
    }
    let at = |t: f64| [0, 1].map(|d| a[d] + t * (b[d] - a[d]));
    (first <= last).then(|| [at(first), at(last)])
}

/// Size of an exponent, as a part of the text's.
const EXPONENT: f64 = 0.72;

fn label_width(label: &Label, size: f64) -> f64 {
    match label {
        Label::Text(text) => font::width(text, size),
        Label::Power(p) => {
            font::width("10", size) + 0.2 * size + font::width(&power(*p), EXPONENT * size)
        }
    }
}

fn power(p: i32) -> String {
    p.to_string().replace('-', "−")
}

fn draw_label(image: &mut Image, label: &Label, at: [f64; 2], size: f64) {
    match label {
        Label::Text(text) => draw_text(image, text, at, size, INK),
        Label::Power(p) => {
            draw_text(image, "10", at, size, INK);
            let x = at[0] + font::width("10", size) + 0.2 * size;
            let raised = [x, at[1] - 0.6 * size];
            draw_text(image, &power(*p), raised, EXPONENT * size, INK);
        }
    }
}

#[cfg(test)]
mod tests;
