//! Triangles, spheres and strokes to pixels.
//!
//! A scene is drawn in bands of rows with a depth buffer of 3×3 samples a pixel, so memory does
//! not grow with the picture.

use std::ops::Range;
use std::path::Path;

use super::{PictureError, color};
use rayon::prelude::*;

/// Samples along each axis of a pixel.
const SAMPLES: usize = 3;
/// Rows of pixels in a band.
const BAND: usize = 32;

/// A picture in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue of each pixel, rows from the top.
    pub pixels: Vec<u8>,
}

/// A triangle on the screen: pixels from the top left, depth growing towards the viewer.
pub(super) struct Triangle {
    /// x, y and depth of the corners.
    pub corners: [[f64; 3]; 3],
    /// What it is coloured by.
    pub paint: Paint,
    /// Factor of the colour, from 0 to 1.
    pub shade: f64,
    /// Bit i: the edge from corner i to the next is drawn as a line.
    pub outline: u8,
}

/// The colour of a triangle.
pub(super) enum Paint {
    /// Positions of the corners in the colour map, from 0 to 1.
    Tones([f64; 3]),
    /// Red, green, blue.
    Plain([u8; 3]),
}

/// A sphere on the screen.
pub(super) struct Ball {
    /// x, y and depth of the centre.
    pub center: [f32; 3],
    /// In pixels.
    pub radius: f32,
    /// Red, green, blue.
    pub color: [u8; 3],
}

/// What is drawn with hidden parts removed.
pub(super) struct Scene<'s, F> {
    /// Number of triangles.
    pub count: usize,
    /// Gives each triangle.
    pub triangle: F,
    /// How their outlines look.
    pub line: Line,
    /// The spheres.
    pub balls: &'s [Ball],
    /// Whether spheres are shaded.
    pub relief: bool,
    /// Columns and rows of pixels that may be touched.
    pub clip: [Range<usize>; 2],
}

/// How outlines look.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Half the width in pixels.
    pub half_width: f64,
    /// How much of the line's colour is mixed in.
    pub strength: f64,
}

const LINE_COLOR: [f32; 3] = [20.0, 24.0, 32.0];

#[derive(Clone, Copy)]
struct Sample {
    depth: f32,
    color: [u8; 3],
}

const EMPTY: Sample = Sample {
    depth: f32::NEG_INFINITY,
    color: [0; 3],
};

/// The colour map at so many steps that none can be told from the next.
pub(super) struct Palette(Vec<[f32; 3]>);

impl Palette {
    const STEPS: usize = 1024;

    pub fn new() -> Palette {
        let at = |i: usize| color::map(i as f64 / Self::STEPS as f64).map(|c| c as f32);
        Palette((0..=Self::STEPS).map(at).collect())
    }

    pub fn at(&self, tone: f64) -> [f32; 3] {
        if tone.is_nan() {
            return color::map(tone).map(|c| c as f32);
        }
        // The cast moves what is out of range to the ends.
        let i = (tone * Self::STEPS as f64 + 0.5) as usize;
        self.0[i.min(Self::STEPS)]
    }
}

/// Mixes a colour into a pixel.
fn mix(pixel: &mut [u8], color: [f64; 3], amount: f64) {
    for (p, c) in pixel.iter_mut().zip(color) {
        *p = (f64::from(*p) * (1.0 - amount) + c * amount + 0.5) as u8;
    }
}

/// Averages the samples of a band into its pixels, over what is there.
fn resolve(samples: &[Sample], width: usize, pixels: &mut [u8]) {
    const ALL: u32 = (SAMPLES * SAMPLES) as u32;
    let stride = width * SAMPLES;
    for (i, pixel) in pixels.chunks_exact_mut(3).enumerate() {
        let (x, y) = (i % width, i / width);
        let mut sum = [0u32; 3];
        let mut hits = 0;
        for sy in 0..SAMPLES {
            let start = (y * SAMPLES + sy) * stride + x * SAMPLES;
            for s in &samples[start..start + SAMPLES] {
                hits += u32::from(s.depth > f32::NEG_INFINITY);
                (0..3).for_each(|c| sum[c] += u32::from(s.color[c]));
            }
        }
        if hits == ALL {
            (0..3).for_each(|c| pixel[c] = ((sum[c] + ALL / 2) / ALL) as u8);
        } else if hits > 0 {
            let mean = sum.map(|s| f64::from(s) / f64::from(hits));
            mix(pixel, mean, f64::from(hits) / f64::from(ALL));
        }
    }
}

impl Image {
    pub(super) fn new(width: usize, height: usize, background: [u8; 3]) -> Image {
        Image {
            width,
            height,
            pixels: background.repeat(width * height),
        }
    }

    fn mix(&mut self, x: usize, y: usize, color: [f64; 3], amount: f64) {
        let at = 3 * (y * self.width + x);
        mix(&mut self.pixels[at..at + 3], color, amount);
    }

    /// Writes the image into a PNG file, which is whole or absent.
    ///
    /// # Errors
    /// [`PictureError::Io`].
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        let path = path.as_ref();
        crate::atomic::write(path, |out| {
            // The size is at most MAX_SIZE.
            let mut encoder = png::Encoder::new(out, self.width as u32, self.height as u32);
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            // A twentieth of the time of the default for half again the size.
            encoder.set_compression(png::Compression::Fast);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&self.pixels)?;
            writer.finish()?;
            Ok(())
        })
        .map_err(|source| PictureError::Io {
            path: path.to_path_buf(),
            source,
        })
    }

    /// Draws a scene, bands in parallel.
    pub(super) fn scene(&mut self, scene: &Scene<'_, impl Fn(usize) -> Triangle + Sync>) {
        let extents: Vec<[f32; 2]> = (0..scene.count)
            .into_par_iter()
            .map(|i| {
                let [a, b, c] = (scene.triangle)(i).corners.map(|p| p[1]);
                [a.min(b).min(c) as f32, a.max(b).max(c) as f32]
            })
            .collect();
        let palette = Palette::new();
        let width = self.width;
        let bands = self.pixels.par_chunks_mut(3 * width * BAND).enumerate();
        bands.for_each_init(Vec::new, |samples, (number, pixels)| {
            let top = number * BAND;
            let rows = pixels.len() / (3 * width);
            samples.clear();
            samples.resize(rows * SAMPLES * width * SAMPLES, EMPTY);
            let inside = |row: usize| SAMPLES * row.clamp(top, top + rows) - SAMPLES * top;
            let [columns, clip_rows] = &scene.clip;
            let mut band = Band {
                samples,
                stride: width * SAMPLES,
                top,
                columns: SAMPLES * columns.start..SAMPLES * columns.end.min(width),
                rows: inside(clip_rows.start)..inside(clip_rows.end),
            };
            let (low, high) = (top as f32 - 1.0, (top + rows) as f32 + 1.0);
            for (i, e) in extents.iter().enumerate() {
                if e[1] >= low && e[0] <= high {
                    band.triangle(&(scene.triangle)(i), scene.line, &palette);
                }
            }
            for ball in scene.balls {
                let [_, y, _] = ball.center;
                if y + ball.radius >= low && y - ball.radius <= high {
                    band.ball(ball, scene.relief);
                }
            }
            resolve(band.samples, width, pixels);
        });
    }

    /// Fills a rectangle, edges blended by coverage.
    pub(super) fn rectangle(
        &mut self,
        [x0, y0, x1, y1]: [f64; 4],
        color: impl Fn(f64) -> [f64; 3],
    ) {
        let overlap = |i: usize, a: f64, b: f64| {
            ((i as f64 + 1.0).min(b) - (i as f64).max(a)).clamp(0.0, 1.0)
        };
        let end = |v: f64, size: usize| (v.ceil().max(0.0) as usize).min(size);
        for y in y0.floor().max(0.0) as usize..end(y1, self.height) {
            for x in x0.floor().max(0.0) as usize..end(x1, self.width) {
                let amount = overlap(x, x0, x1) * overlap(y, y0, y1);
                self.mix(x, y, color(y as f64 + 0.5), amount);
            }
        }
    }

    /// Draws segments with a round pen; where they overlap they don't add up.
    pub(super) fn strokes(&mut self, segments: &[[[f64; 2]; 2]], pen: f64, color: [f64; 3]) {
        let reach = pen / 2.0 + 1.0;
        let bounds =
            segments
                .iter()
                .flatten()
                .fold([f64::MAX, f64::MAX, f64::MIN, f64::MIN], |b, p| {
                    [
                        b[0].min(p[0]),
                        b[1].min(p[1]),
                        b[2].max(p[0]),
                        b[3].max(p[1]),
                    ]
                });
        let cut = |v: f64, size: usize| (v.max(0.0) as usize).min(size);
        let (x0, x1) = (
            cut(bounds[0] - reach, self.width),
            cut(bounds[2] + reach + 1.0, self.width),
        );
        let (y0, y1) = (
            cut(bounds[1] - reach, self.height),
            cut(bounds[3] + reach + 1.0, self.height),
        );
        if x0 >= x1 || y0 >= y1 {
            return;
        }
        let mut cover = vec![0f32; (x1 - x0) * (y1 - y0)];
        for [a, b] in segments {
            let (left, right) = (a[0].min(b[0]) - reach, a[0].max(b[0]) + reach);
            let (upper, lower) = (a[1].min(b[1]) - reach, a[1].max(b[1]) + reach);
            for y in cut(upper, y1).max(y0)..cut(lower + 1.0, y1) {
                for x in cut(left, x1).max(x0)..cut(right + 1.0, x1) {
                    let d = distance([x as f64 + 0.5, y as f64 + 0.5], *a, *b);
                    let amount = (pen / 2.0 + 0.5 - d).clamp(0.0, 1.0) as f32;
                    let at = &mut cover[(y - y0) * (x1 - x0) + x - x0];
                    *at = at.max(amount);
                }
            }
        }
        for (i, &amount) in cover.iter().enumerate().filter(|c| *c.1 > 0.0) {
            self.mix(
                x0 + i % (x1 - x0),
                y0 + i / (x1 - x0),
                color,
                f64::from(amount),
            );
        }
    }
}

/// Distance of a point from a segment.
fn distance(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let (d, e) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
    let length2 = d[0] * d[0] + d[1] * d[1];
    let t = if length2 > 0.0 {
        ((d[0] * e[0] + d[1] * e[1]) / length2).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (e[0] - t * d[0]).hypot(e[1] - t * d[1])
}

/// The light comes over the viewer's left shoulder; screen rows grow downwards.
pub(super) const LIGHT: [f32; 3] = [-0.38, -0.47, 0.797];

/// Samples of some rows of pixels.
struct Band<'s> {
    samples: &'s mut [Sample],
    /// Samples in a row.
    stride: usize,
    /// First row of pixels.
    top: usize,
    /// Columns and rows of samples that may be touched.
    columns: Range<usize>,
    rows: Range<usize>,
}

impl Band<'_> {
    /// Samples whose centres lie between `low` and `high`, or up to one further out.
    fn cut(range: &Range<usize>, low: f64, high: f64) -> Range<usize> {
        let start = ((low - 0.5).ceil().max(0.0) as usize).clamp(range.start, range.end);
        let end = ((high + 0.5).floor().max(0.0) as usize).clamp(start, range.end);
        start..end
    }

    fn triangle(&mut self, t: &Triangle, line: Line, palette: &Palette) {
        let scale = SAMPLES as f64;
        let [a, b, c] = t
            .corners
            .map(|p| [p[0] * scale, (p[1] - self.top as f64) * scale, p[2]]);
        let twice_area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if twice_area.is_nan() || twice_area == 0.0 {
            return;
        }
        let extent = |d: usize| {
            let [a, b, c] = [a[d], b[d], c[d]];
            (a.min(b).min(c), a.max(b).max(c))
        };
        let (left, right) = extent(0);
        let (upper, lower) = extent(1);
        let columns = Self::cut(&self.columns, left, right);
        // Entry i belongs to corner i and the edge that faces it. A barycentric weight times the
        // height over the edge is the distance from it; below the limit the edge's line is drawn.
        let edges = [(b, c), (c, a), (a, b)];
        let slope = edges.map(|(p, q)| -(q[1] - p[1]) / twice_area);
        let limits = [0, 1, 2].map(|i| {
            let (p, q) = edges[i];
            let height = twice_area.abs() / (q[0] - p[0]).hypot(q[1] - p[1]) / scale;
            // Outline bit k is the edge from corner k to the next, which faces corner k + 2.
            match t.outline >> ((i + 1) % 3) & 1 {
                1 => line.half_width / height,
                _ => f64::NEG_INFINITY,
            }
        });
        let (shade, strength) = (t.shade as f32, line.strength as f32);
        for y in Self::cut(&self.rows, upper, lower) {
            let py = y as f64 + 0.5;
            // Weight i at column x is start[i] + slope[i] (x + ½).
            let start = edges
                .map(|(p, q)| ((q[0] - p[0]) * (py - p[1]) + (q[1] - p[1]) * p[0]) / twice_area);
            let (mut first, mut last) = (columns.start as f64, columns.end as f64);
            for i in 0..3 {
                // Where the weight is 0, a column further out: the loop below decides.
                let zero = -start[i] / slope[i];
                if slope[i] > 0.0 {
                    first = first.max(zero - 1.5);
                } else if slope[i] < 0.0 {
                    last = last.min(zero + 1.5);
                }
            }
            for x in first as usize..(last.max(0.0) as usize).min(columns.end) {
                let px = x as f64 + 0.5;
                let w = [0, 1, 2].map(|i| start[i] + slope[i] * px);
                // Shared edges are drawn by both sides: a gap would show, an overlap does not.
                if w.iter().any(|&w| w < -1e-9) {
                    continue;
                }
                let depth = (w[0] * a[2] + w[1] * b[2] + w[2] * c[2]) as f32;
                let sample = &mut self.samples[y * self.stride + x];
                if depth <= sample.depth {
                    continue;
                }
                let rgb = match t.paint {
                    Paint::Tones(v) => palette.at(w[0] * v[0] + w[1] * v[1] + w[2] * v[2]),
                    Paint::Plain(rgb) => rgb.map(f32::from),
                };
                let mut rgb = rgb.map(|v| v * shade);
                if (0..3).any(|i| w[i] < limits[i]) {
                    for i in 0..3 {
                        rgb[i] += (LINE_COLOR[i] - rgb[i]) * strength;
                    }
                }
                *sample = Sample {
                    depth,
                    color: rgb.map(|v| (v + 0.5) as u8),
                };
            }
        }
    }

    /// Draws a sphere, however small as one sample at least.
    fn ball(&mut self, ball: &Ball, relief: bool) {
        let scale = SAMPLES as f32;
        let radius = (ball.radius * scale).max(0.75);
        let x = ball.center[0] * scale;
        let y = (ball.center[1] - self.top as f32) * scale;
        let nearest = ball.center[2] + radius / scale;
        let rgb = ball.color.map(f32::from);
        for row in Self::cut(&self.rows, f64::from(y - radius), f64::from(y + radius)) {
            let dy = row as f32 + 0.5 - y;
            let half2 = radius * radius - dy * dy;
            if half2 < 0.0 {
                continue;
            }
            let half = half2.sqrt();
            let columns = Self::cut(&self.columns, f64::from(x - half), f64::from(x + half));
            let start = row * self.stride;
            let samples = &mut self.samples[start + columns.start..start + columns.end];
            for (column, sample) in columns.zip(samples) {
                let dx = column as f32 + 0.5 - x;
                let height2 = half2 - dx * dx;
                if height2 < 0.0 || nearest <= sample.depth {
                    continue;
                }
                let height = height2.sqrt();
                let depth = ball.center[2] + height / scale;
                if depth <= sample.depth {
                    continue;
                }
                let cosine = (LIGHT[0] * dx + LIGHT[1] * dy + LIGHT[2] * height) / radius;
                let shade = match relief {
                    true => 0.5 + 0.5 * cosine.max(0.0),
                    false => 1.0,
                };
                *sample = Sample {
                    depth,
                    color: rgb.map(|v| (v * shade + 0.5) as u8),
                };
            }
        }
    }
}
