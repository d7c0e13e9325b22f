//! What stands around the surface: texts, colour bar, small axes.

use super::raster::Image;
use super::{FAINT, Frame, INK, Layout, PAPER, color, font, ticks};

/// Draws the colour bar with its label, numbers and extremes.
pub(super) fn draw_bar(image: &mut Image, layout: &Layout, label: &str, range: [f64; 2]) {
    let [left, top, right, bottom] = layout.bar;
    let (u, text) = (layout.unit, layout.text);
    let border = 0.8 * u.max(1.0);
    image.rectangle(
        [left - border, top - border, right + border, bottom + border],
        |_| INK,
    );
    image.rectangle([left, top, right, bottom], |y| {
        color::map((bottom - y) / (bottom - top))
    });
    let [low, high] = spread(range);
    for (value, number) in bar_ticks(range) {
        let y = bottom - (value - low) / (high - low) * (bottom - top);
        // Marks inside the bar: outside they would look like minus signs.
        let ink = if y > top + 0.4 * (bottom - top) {
            PAPER
        } else {
            INK
        };
        let pen = 1.1 * u.max(0.8);
        if y > top + pen && y < bottom - pen {
            image.strokes(&[[[right - 5.0 * u, y], [right - 1.0 * u, y]]], pen, ink);
        }
        draw_text(image, &number, [right + 7.0 * u, y + text / 2.0], text, INK);
    }
    draw_text(image, label, [left, top - 15.0 * u], text, INK);
    let small = SMALL * text;
    for (i, line) in extremes(range).iter().enumerate() {
        let y = bottom + 20.0 * u + small + i as f64 * 1.9 * small;
        draw_text(image, line, [left, y], small, FAINT);
    }
}

/// Size of small text, as a part of the normal one.
pub(super) const SMALL: f64 = 0.86;

/// The lines under the colour bar.
pub(super) fn extremes([low, high]: [f64; 2]) -> [String; 2] {
    [
        format!("max {}", ticks::number(high, 4)),
        format!("min {}", ticks::number(low, 4)),
    ]
}

/// A range of one value, widened so that it has a middle.
pub(super) fn spread([low, high]: [f64; 2]) -> [f64; 2] {
    if low < high {
        return [low, high];
    }
    let half = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
    [low - half, high + half]
}

pub(super) fn bar_ticks(range: [f64; 2]) -> Vec<(f64, String)> {
    if range[0] < range[1] {
        ticks::ticks(range[0], range[1], 6)
    } else {
        vec![(range[0], ticks::number(range[0], 4))]
    }
}

/// Draws text with its baseline's left end at `at`.
pub(super) fn draw_text(image: &mut Image, text: &str, at: [f64; 2], size: f64, color: [f64; 3]) {
    let (segments, _) = font::layout(text, size);
    let placed: Vec<_> = segments
        .iter()
        .map(|s| s.map(|p| [at[0] + p[0], at[1] - p[1]]))
        .collect();
    image.strokes(&placed, (0.125 * size).max(1.0), color);
}

/// Draws text that runs upwards, with its baseline's lower end at `at`.
pub(super) fn draw_turned(image: &mut Image, text: &str, at: [f64; 2], size: f64, color: [f64; 3]) {
    let (segments, _) = font::layout(text, size);
    let turned = segments
        .iter()
        .map(|s| s.map(|p| [at[0] - p[1], at[1] - p[0]]));
    let turned: Vec<_> = turned.collect();
    image.strokes(&turned, (0.125 * size).max(1.0), color);
}

/// Small axes at the lower left; those that point at the viewer are left out.
pub(super) fn draw_axes(image: &mut Image, layout: &Layout, frame: &Frame) {
    let u = layout.unit;
    let directions: Vec<(usize, [f64; 2])> = (0..3)
        .map(|axis| (axis, [frame[0][axis], -frame[1][axis]]))
        .filter(|(_, d)| d[0].hypot(d[1]) > 0.05)
        .collect();
    let origin = {
        // Far enough from the corner for axes that point left or down.
        let reach = |d: usize| {
            directions
                .iter()
                .map(|a| a.1[d])
                .fold(0.0f64, |m, x| m.max(if d == 0 { -x } else { x }))
        };
        let (margin, length) = (24.0 * u, 30.0 * u);
        [
            margin + length * reach(0),
            image.height as f64 - margin - length * reach(1),
        ]
    };
    for (axis, d) in directions {
        let tip = [origin[0] + 30.0 * u * d[0], origin[1] + 30.0 * u * d[1]];
        image.strokes(&[[origin, tip]], 1.4 * u, FAINT);
        let name = ["x", "y", "z"][axis];
        let size = SMALL * layout.text;
        let length = d[0].hypot(d[1]);
        let away = [d[0] / length * 10.0 * u, d[1] / length * 10.0 * u];
        let at = [
            tip[0] + away[0] - font::width(name, size) / 2.0,
            tip[1] + away[1] + size / 3.0,
        ];
        draw_text(image, name, at, size, FAINT);
    }
}
