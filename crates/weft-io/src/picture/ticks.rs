//! Round numbers along an axis.

/// Round numbers inside `[low, high]` in steps of 1, 2 or 5 times a power of ten, about
/// `wanted` of them, with their text.
pub(super) fn ticks(low: f64, high: f64, wanted: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / wanted.max(1) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return vec![(low, number(low, 3))];
    }
    let power = rough.log10().floor() as i32;
    let unit = 10f64.powi(power);
    let (step, step_power) = match rough / unit {
        r if r <= 1.5 => (unit, power),
        r if r <= 3.0 => (2.0 * unit, power),
        r if r <= 7.0 => (5.0 * unit, power),
        _ => (10.0 * unit, power + 1),
    };
    // A hair outside still counts: an end of the range may be a tick but for rounding.
    let slack = 1e-9 * (high - low);
    let first = ((low - slack) / step).ceil();
    let largest = low.abs().max(high.abs()).log10().floor() as i32;
    (0..=3 * wanted)
        .map(|i| first + i as f64)
        .filter(|n| n * step <= high + slack)
        .map(|n| {
            let value = n * step;
            let text = if n == 0.0 {
                "0".to_string()
            } else if plain(largest) {
                format!("{value:.*}", (-step_power).max(0) as usize)
            } else {
                let digits = (value.abs() * (1.0 + 1e-12)).log10().floor() as i32 - step_power;
                format!("{value:.*e}", digits.max(0) as usize)
            };
            (value, text)
        })
        .collect()
}

/// Whether numbers of this power of ten read best without an exponent.
fn plain(power: i32) -> bool {
    (-3..5).contains(&power)
}

/// A number with so many significant digits.
pub(super) fn number(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let power = value.abs().log10().floor() as i32;
    if plain(power) {
        format!("{value:.*}", (digits as i32 - 1 - power).max(0) as usize)
    } else {
        format!("{value:.*e}", digits - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64) -> Vec<String> {
        ticks(low, high, 5).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(texts(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(0.0, 8.18e-5), ["0", "2e-5", "4e-5", "6e-5", "8e-5"]);
        assert_eq!(
            texts(-1.3e7, 1.3e7),
            ["-1.0e7", "-5e6", "0", "5e6", "1.0e7"]
        );
        assert_eq!(
            texts(100.0, 100.4),
            ["100.0", "100.1", "100.2", "100.3", "100.4"]
        );
        assert_eq!(texts(3.0, 3.0), ["3.00"]);
        assert_eq!(
            texts(0.0, 3000.0),
            ["0", "500", "1000", "1500", "2000", "2500", "3000"]
        );
    }

    #[test]
    fn ticks_lie_inside_any_range() {
        for (low, high) in [
            (1e-300, 2e-300),
            (-1e300, 1e300),
            (1.0, 1.0 + 1e-12),
            (-7.0, -3.0),
            (0.1, 0.7),
        ] {
            let all = ticks(low, high, 5);
            assert!((2..=16).contains(&all.len()), "{low} {high}: {all:?}");
            let slack = 1e-8 * (high - low);
            assert!(
                all.iter()
                    .all(|t| t.0 >= low - slack && t.0 <= high + slack)
            );
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(number(8.183166e-5, 4), "8.183e-5");
        assert_eq!(number(-12.3456, 4), "-12.35");
        assert_eq!(number(-0.0, 4), "0");
        assert_eq!(number(123456.0, 4), "1.235e5");
    }
}
