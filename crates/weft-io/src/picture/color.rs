//! The colour map: viridis, perceptually uniform and readable without colour vision.

/// Viridis at 17 even steps. Source: the map by Stéfan van der Walt and Nathaniel Smith for
/// Matplotlib, released under CC0.
const VIRIDIS: [[u8; 3]; 17] = [
    [68, 1, 84],
    [72, 24, 106],
    [71, 45, 123],
    [66, 64, 134],
    [59, 82, 139],
    [51, 99, 141],
    [44, 114, 142],
    [38, 130, 142],
    [33, 145, 140],
    [31, 159, 136],
    [39, 173, 129],
    [61, 188, 116],
    [92, 200, 99],
    [129, 211, 77],
    [170, 220, 50],
    [213, 226, 26],
    [253, 231, 37],
];

/// Colour of values that are no number.
const NO_VALUE: [f64; 3] = [190.0, 190.0, 190.0];

/// Red, green, blue (0 to 255) at `t` from 0 to 1; beyond that the end colours.
pub(super) fn map(t: f64) -> [f64; 3] {
    if t.is_nan() {
        return NO_VALUE;
    }
    let last = VIRIDIS.len() - 1;
    let x = t.clamp(0.0, 1.0) * last as f64;
    let i = (x as usize).min(last - 1);
    let f = x - i as f64;
    let (a, b) = (VIRIDIS[i], VIRIDIS[i + 1]);
    [0, 1, 2].map(|c| f64::from(a[c]) * (1.0 - f) + f64::from(b[c]) * f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lightness_rises_from_end_to_end() {
        // Luma after Rec. 709 is close enough to lightness to be monotone in it.
        let luma = |c: [f64; 3]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        let samples: Vec<f64> = (0..=200).map(|i| luma(map(f64::from(i) / 200.0))).collect();
        assert!(samples.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(map(-5.0), map(0.0));
        assert_eq!(map(7.0), map(1.0));
        assert_eq!(map(f64::NAN), NO_VALUE);
    }
}
