//! From what a picture shows to triangles and spheres on the screen.

use rayon::prelude::*;

use super::raster::{Ball, Image, LIGHT, Line, Paint, Palette, Scene, Triangle};
use super::{Color, Frame, Layout, Picture, Vector, cross, dot, overlay, project, unit};

impl Picture<'_> {
    /// Corners of everything that is to be seen; a particle is its centre.
    pub(super) fn corners(&self) -> impl Iterator<Item = &Vector> {
        let surfaces = self.surfaces.iter().flat_map(|s| s.positions);
        let bodies = self.bodies.iter().flat_map(|b| &b.positions);
        let particles = self.particles.iter().flat_map(|p| p.positions);
        let somewhere = |p: &&Vector| p.iter().all(|x| x.is_finite());
        surfaces.chain(bodies).chain(particles.filter(somewhere))
    }

    /// Least and greatest place in the frame of what fills the picture.
    fn bounds(&self, frame: &Frame) -> [Vector; 2] {
        let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        let mut add = |p: &Vector, radius: f64| {
            let q = project(frame, *p);
            for d in 0..3 {
                bounds[0][d] = bounds[0][d].min(q[d] - radius);
                bounds[1][d] = bounds[1][d].max(q[d] + radius);
            }
        };
        if let Some(window) = &self.window {
            for corner in 0..8 {
                let p = [0, 1, 2].map(|d| window[corner >> d & 1][d]);
                add(&p, 0.0);
            }
            return bounds;
        }
        // Particles are widened one layer at a time, each by its own radius.
        for s in &self.surfaces {
            s.positions.iter().for_each(|p| add(p, 0.0));
        }
        for b in &self.bodies {
            b.positions.iter().for_each(|p| add(p, 0.0));
        }
        for layer in &self.particles {
            let there = layer.positions.iter();
            there
                .filter(|p| p.iter().all(|x| x.is_finite()))
                .for_each(|p| add(p, layer.radius));
        }
        bounds
    }

    pub(super) fn draw_scene(
        &self,
        image: &mut Image,
        layout: &Layout,
        frame: &Frame,
        range: [f64; 2],
        flat: bool,
    ) {
        let [low, high] = self.bounds(frame);
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
        // All triangles in one list, so that each can hide the others.
        let sizes = self.surfaces.iter().map(|s| s.positions.len() / 3);
        let sizes = sizes.chain(self.bodies.iter().map(|b| b.positions.len() / 3));
        let ends: Vec<usize> = sizes
            .scan(0, |sum, size| {
                *sum += size;
                Some(*sum)
            })
            .collect();
        let count = ends.last().copied().unwrap_or(0);
        let triangle = |i: usize| {
            let k = ends.partition_point(|&end| end <= i);
            let i = if k == 0 { i } else { i - ends[k - 1] };
            let (positions, paint, outlines) = match self.surfaces.get(k) {
                Some(s) => {
                    let tones = [0, 1, 2].map(|c| tone(s.values[3 * i + c]));
                    (s.positions, Paint::Tones(tones), s.outlines)
                }
                None => {
                    let b = self.bodies[k - self.surfaces.len()];
                    let paint = Paint::Plain(b.colors[i]);
                    (b.positions.as_slice(), paint, b.outlines.as_slice())
                }
            };
            let corners = [0, 1, 2].map(|c| screen(positions[3 * i + c]));
            Triangle {
                corners,
                paint,
                shade: if flat { 1.0 } else { shade(&corners) },
                outline: outlines.get(i).copied().unwrap_or(0),
            }
        };
        let palette = Palette::new();
        let balls: Vec<Ball> = self
            .particles
            .iter()
            .flat_map(|layer| {
                let radius = (scale * layer.radius) as f32;
                let (palette, screen, tone) = (&palette, &screen, &tone);
                let places = layer.positions.par_iter().enumerate();
                let ball = move |(i, p): (usize, &Vector)| Ball {
                    center: screen(*p).map(|x| x as f32),
                    radius,
                    color: match layer.color {
                        Color::Plain(color) => color,
                        Color::Values(v) => palette.at(tone(v[i])).map(|c| (c + 0.5) as u8),
                    },
                };
                let there = places.filter(|(_, p)| p.iter().all(|x| x.is_finite()));
                there.map(ball).collect::<Vec<Ball>>()
            })
            .collect();
        let (width, height) = (image.width, image.height);
        let clip = match self.window {
            None => [0..width, 0..height],
            // What lies outside the window must not run under texts and colour bar.
            Some(_) => [(left, right, width), (top, bottom, height)].map(|(from, to, size)| {
                let start = (from.round().max(0.0) as usize).min(size);
                start..(to.round().max(0.0) as usize).clamp(start, size)
            }),
        };
        image.scene(&Scene {
            count,
            line: outline_style(count, &triangle, layout.unit),
            triangle,
            balls: &balls,
            relief: !flat,
            clip,
        });
    }
}

/// Brightness of a face by its direction: mild, so that colours keep their meaning.
fn shade(corners: &[Vector; 3]) -> f64 {
    let edge = |i: usize| [0, 1, 2].map(|d| corners[i][d] - corners[0][d]);
    let Some(normal) = unit(cross(edge(1), edge(2))) else {
        return 1.0;
    };
    // Both faces of a surface are lit.
    0.72 + 0.28 * dot(normal, LIGHT.map(f64::from)).abs()
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
