//! A stroke font of our own: each glyph is a few pen strokes on a small lattice.
//!
//! Baseline at y = 3, height of small letters 9, of capitals 12, descenders to 0.

/// One stroke: points in lattice units.
type Stroke = Vec<[f64; 2]>;

/// Height of capitals in lattice units.
const CAPITAL: f64 = 9.0;
/// Space between glyphs.
const GAP: f64 = 2.6;
/// Width of a blank.
const BLANK: f64 = 3.4;

/// Strokes of a character: pairs of digits `xy` in base 16. A stroke that begins with `~` is
/// smoothed with fixed ends, one that begins with `=` is a smooth closed curve.
fn strokes_of(c: char) -> &'static str {
    match c {
        '0' => "=03636c0c",
        '1' => "0a3c33",
        '2' => "~0a0c6c6703 0363",
        '3' => "~0b0c6c6828 ~286863030304",
        '4' => "434c0666",
        '5' => "5c1c08 ~081969630304",
        '6' => "=03636909 ~5c2c0906",
        '7' => "0c6c23",
        '8' => "=18585c1c =03636808",
        '9' => "=06666c0c ~69663313",
        'A' => "034c83 1767",
        'B' => "030c ~0c6c6808 ~08787303",
        'C' => "~6a6c0c036365",
        'D' => "030c ~0c7c7303",
        'E' => "6c0c0363 0858",
        'F' => "6c0c03 0858",
        'G' => "~6a6c0c036367 6737",
        'H' => "030c 636c 0868",
        'I' => "030c",
        'J' => "~4c46430305",
        'K' => "030c 6c06 2863",
        'L' => "0c0353",
        'M' => "030c468c83",
        'N' => "030c636c",
        'O' => "=03737c0c",
        'P' => "030c ~0c6c6707",
        'Q' => "=03737c0c 4672",
        'R' => "030c ~0c6c6707 3763",
        'S' => "~6b6c0c0868630304",
        'T' => "0c6c 333c",
        'U' => "~0c060363666c",
        'V' => "0c438c",
        'W' => "0c234b638c",
        'X' => "0c63 036c",
        'Y' => "0c386c 3833",
        'Z' => "0c6c0363",
        'a' => "=03535909 5953",
        'b' => "0c03 =03535909",
        'c' => "~585909035354",
        'd' => "5c53 =03535909",
        'e' => "0656 ~565909035354",
        'f' => "~4c1c1a1613 0939",
        'g' => "=03535909 ~5956500001",
        'h' => "0c03 ~0609595653",
        'i' => "0309 0b0c",
        'j' => "~29232000 2b2c",
        'k' => "0c03 4905 2753",
        'l' => "0c03",
        'm' => "0309 ~0609494643 ~4649898683",
        'n' => "0309 ~0609595653",
        'o' => "=03535909",
        'p' => "0900 =03535909",
        'q' => "5950 =03535909",
        'r' => "0309 ~06094948",
        's' => "~485909065653030314",
        't' => "~1c16134344 0939",
        'u' => "~0906035356 5953",
        'v' => "093369",
        'w' => "0923486389",
        'x' => "0953 0359",
        'y' => "0933 6910",
        'z' => "09590353",
        '.' => "0303",
        ',' => "1301",
        ':' => "0303 0808",
        ';' => "1808 1301",
        '-' => "0747",
        '−' | '–' => "0767",
        '+' => "0767 343a",
        '=' => "0666 0969",
        '_' => "0262",
        '/' => "025d",
        '\\' => "0d52",
        '(' => "~2d090621",
        ')' => "~0d292601",
        '[' => "2d0d0121",
        ']' => "0d2d2101",
        '{' => "~3d1d1807 ~07171131",
        '}' => "~0d2d2837 ~37272101",
        '<' => "6a0764",
        '>' => "0a6704",
        '|' => "0d01",
        '*' => "3b35 1a56 165a",
        '^' => "0a3c6a",
        '%' => "038c =0a3a3c0c =53838555",
        '\'' => "0c0a",
        '"' => "0c0a 2c2a",
        '`' => "0c1a",
        '!' => "0c06 0303",
        '?' => "~0a0c5c572725 2323",
        '#' => "132c 435c 0666 0969",
        '$' => "~6a6b0b0868640405 3d32",
        '&' => "~730a0c4c4a06036378",
        '~' => "~06295668",
        '×' => "045a 0a54",
        '·' | '⋅' => "0707",
        '°' => "=0a2a2c0c",
        '²' => "~0b0d3d3a07 0737",
        '³' => "~0c0d3d3a1a ~1a3a370708",
        'μ' | 'µ' => "0900 ~0906035356 5953",
        'σ' => "=03535909 3969",
        'ε' => "~485909060646 ~0646060303535454",
        'φ' | 'ϕ' => "=03636909 3c30",
        _ => "03535c0c03",
    }
}

fn smooth(points: &[[f64; 2]], closed: bool) -> Stroke {
    // Three rounds of corner cutting come close to the quadratic B-spline.
    let mut now = points.to_vec();
    for _ in 0..3 {
        let mut next = Vec::with_capacity(2 * now.len());
        let mix =
            |a: [f64; 2], b: [f64; 2], t: f64| [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];
        let count = now.len();
        let pieces = if closed { count } else { count - 1 };
        for i in 0..pieces {
            let (a, b) = (now[i], now[(i + 1) % count]);
            next.push(if i == 0 && !closed {
                a
            } else {
                mix(a, b, 0.25)
            });
            next.push(if i + 1 == pieces && !closed {
                b
            } else {
                mix(a, b, 0.75)
            });
        }
        now = next;
    }
    if closed {
        now.push(now[0]);
    }
    now
}

fn glyph(c: char) -> Vec<Stroke> {
    strokes_of(c)
        .split_ascii_whitespace()
        .map(|word| {
            let (mode, digits) = match word.as_bytes() {
                [mode @ (b'~' | b'='), digits @ ..] => (*mode, digits),
                digits => (b' ', digits),
            };
            let value = |b: u8| f64::from((b as char).to_digit(16).unwrap_or(0));
            let points: Stroke = digits
                .chunks_exact(2)
                .map(|d| [value(d[0]), value(d[1])])
                .collect();
            match mode {
                b'~' if points.len() > 1 => smooth(&points, false),
                b'=' => smooth(&points, true),
                _ => points,
            }
        })
        .collect()
}

/// Width of a text whose capitals are `size` pixels high.
pub(super) fn width(text: &str, size: f64) -> f64 {
    layout(text, size).1
}

/// Segments of a text with its baseline's left end at the origin, y upwards, and its width.
/// A dot is a segment of no length.
pub(super) fn layout(text: &str, size: f64) -> (Vec<[[f64; 2]; 2]>, f64) {
    let unit = size / CAPITAL;
    let mut segments = Vec::new();
    let mut pen = 0.0;
    let mut end: f64 = 0.0;
    for c in text.chars() {
        if c.is_whitespace() {
            pen += BLANK;
            end = pen;
            continue;
        }
        // Digits have one width, so that numbers stand in columns.
        let mut right: f64 = if c.is_ascii_digit() { 6.0 } else { 0.0 };
        let place = |p: [f64; 2]| [(pen + p[0]) * unit, (p[1] - 3.0) * unit];
        for stroke in glyph(c) {
            right = stroke.iter().fold(right, |r, p| r.max(p[0]));
            match stroke.as_slice() {
                [single] => segments.push([place(*single); 2]),
                many => segments.extend(many.windows(2).map(|w| [place(w[0]), place(w[1])])),
            }
        }
        end = pen + right;
        pen = end + GAP;
    }
    (segments, end * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printable_character_has_its_own_shape() {
        let unknown = strokes_of('\u{1}');
        for c in ('!'..='~').filter(|c| *c != '@') {
            assert_ne!(strokes_of(c), unknown, "{c}");
            for word in strokes_of(c).split_ascii_whitespace() {
                let digits = word.trim_start_matches(['~', '=']);
                assert!(digits.len() % 2 == 0 && !digits.is_empty(), "{c}");
                assert!(digits.chars().all(|d| d.is_ascii_hexdigit()), "{c}");
            }
        }
    }

    #[test]
    fn width_grows_with_text_and_size() {
        assert_eq!(width("", 10.0), 0.0);
        assert!(width("ab", 10.0) > width("a", 10.0));
        assert_eq!(width("m/s", 20.0), 2.0 * width("m/s", 10.0));
    }
}
