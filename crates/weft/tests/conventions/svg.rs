//! A few shapes of SVG, as text.

use std::fmt::Write;

pub const INK: &str = "#24292f";
pub const FAINT: &str = "#9aa4b0";
pub const VERTEX: &str = "#1f5fa8";
pub const EDGE: &str = "#b35309";
pub const FACE: &str = "#7a3fa0";
pub const CELL: &str = "#1a7f52";
pub const NORMAL: &str = "#c02040";

pub type Point = [f64; 2];

/// A drawing on white.
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub fn new(width: f64, height: f64) -> Svg {
        Svg {
            width,
            height,
            body: String::new(),
        }
    }

    pub fn polygon(&mut self, points: &[Point], fill: &str) {
        let list: Vec<String> = points
            .iter()
            .map(|p| format!("{:.1},{:.1}", p[0], p[1]))
            .collect();
        let _ = writeln!(
            self.body,
            "<polygon points=\"{}\" fill=\"{fill}\" fill-opacity=\"0.09\" stroke=\"none\"/>",
            list.join(" ")
        );
    }

    pub fn line(&mut self, a: Point, b: Point, color: &str, width: f64, dashed: bool) {
        let dash = if dashed {
            " stroke-dasharray=\"5 4\""
        } else {
            ""
        };
        let _ = writeln!(
            self.body,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{color}\" \
             stroke-width=\"{width:.1}\" stroke-linecap=\"round\"{dash}/>",
            a[0], a[1], b[0], b[1]
        );
    }

    /// A line with a head at `b`.
    pub fn arrow(&mut self, a: Point, b: Point, color: &str, width: f64) {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let length = (dx * dx + dy * dy).sqrt().max(1e-9);
        let (ux, uy) = (dx / length, dy / length);
        let size = 3.6 * width + 3.0;
        let neck = [b[0] - size * ux, b[1] - size * uy];
        self.line(a, neck, color, width, false);
        let half = 0.42 * size;
        let _ = writeln!(
            self.body,
            "<polygon points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\" fill=\"{color}\"/>",
            b[0],
            b[1],
            neck[0] - half * uy,
            neck[1] + half * ux,
            neck[0] + half * uy,
            neck[1] - half * ux,
        );
    }

    /// A number in a disk.
    pub fn node(&mut self, at: Point, label: &str, color: &str) {
        let radius = if label.len() > 2 { 12.5 } else { 10.0 };
        let _ = writeln!(
            self.body,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"#ffffff\" stroke=\"{color}\" \
             stroke-width=\"1.6\"/>",
            at[0], at[1]
        );
        self.middle(at, label, color, 11.5, true);
    }

    /// A number in a white box.
    pub fn tag(&mut self, at: Point, label: &str, color: &str) {
        let width = 8.0 + 7.0 * label.chars().count() as f64;
        let _ = writeln!(
            self.body,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"17\" rx=\"4\" \
             fill=\"#ffffff\" stroke=\"{color}\" stroke-width=\"1\"/>",
            at[0] - width / 2.0,
            at[1] - 8.5
        );
        self.middle(at, label, color, 11.5, true);
    }

    /// Text centred at a point.
    pub fn middle(&mut self, at: Point, label: &str, color: &str, size: f64, bold: bool) {
        self.text_at(
            [at[0], at[1] + 0.35 * size],
            label,
            color,
            size,
            bold,
            "middle",
        );
    }

    /// Text that begins at a point of its base line.
    pub fn text(&mut self, at: Point, label: &str, color: &str, size: f64) {
        self.text_at(at, label, color, size, false, "start");
    }

    fn text_at(
        &mut self,
        at: Point,
        label: &str,
        color: &str,
        size: f64,
        bold: bool,
        anchor: &str,
    ) {
        let weight = if bold { " font-weight=\"600\"" } else { "" };
        let _ = writeln!(
            self.body,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{color}\"{weight}>{label}</text>",
            at[0], at[1]
        );
    }

    pub fn finish(self, title: &str) -> String {
        let (w, h) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" font-family=\"Helvetica, Arial, sans-serif\">\n\
             <title>{title}</title>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}
