//! An axis: from values to places along it, and its ticks.

use super::super::ticks::{number, ticks};

/// A range of values, shown evenly or by powers of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub log: bool,
    low: f64,
    high: f64,
}

/// A tick's text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Label {
    Text(String),
    /// Ten to a power.
    Power(i32),
}

/// Largest size of the ends of a range that is found from values, so that with some room they
/// and their difference stay finite.
const LARGEST: f64 = 1e280;
/// The part of the range that is left free at each end.
const FREE: f64 = 0.04;

impl Axis {
    /// An axis over a range that rises, is finite and, with `log`, positive; or over values
    /// with a little room around them.
    pub fn new(log: bool, range: Option<[f64; 2]>, values: impl Iterator<Item = f64>) -> Axis {
        if let Some([low, high]) = range {
            return Axis { log, low, high };
        }
        let shown = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let found = shown.fold(None, |r: Option<[f64; 2]>, v| {
            let v = v.clamp(if log { 1.0 / LARGEST } else { -LARGEST }, LARGEST);
            Some(r.map_or([v, v], |[low, high]| [low.min(v), high.max(v)]))
        });
        let (low, high) = match (log, found) {
            (false, None) => (0.0, 1.0),
            (true, None) => (1.0, 10.0),
            (false, Some(range)) => {
                let [low, high] = super::super::overlay::spread(range);
                let room = FREE * (high - low);
                (low - room, high + room)
            }
            (true, Some([low, high])) => {
                let decades = high.log10() - low.log10();
                let room = if decades > 0.0 { FREE * decades } else { 0.5 };
                let factor = 10f64.powf(room);
                (low / factor, high * factor)
            }
        };
        Axis { log, low, high }
    }

    /// Where a value lies, 0 at the axis' start and 1 at its end; nothing for values that it
    /// can't show.
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = if self.log {
            let zero = self.low.log10();
            (value.log10() - zero) / (self.high.log10() - zero)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        // So far out that a line there can't be told from one that ends nearer.
        place.is_finite().then(|| place.clamp(-1e6, 1e6))
    }

    /// Values with labels, and values between them without.
    pub fn ticks(&self, wanted: usize) -> (Vec<(f64, Label)>, Vec<f64>) {
        let text = |(value, text)| (value, Label::Text(text));
        let even = || ticks(self.low, self.high, wanted).into_iter().map(text);
        if !self.log {
            return (even().collect(), Vec::new());
        }
        let slack = 1e-9;
        let first = (self.low.log10() - slack).ceil() as i32;
        let last = (self.high.log10() + slack).floor() as i32;
        let inside = |v: &f64| *v >= self.low * (1.0 - slack) && *v <= self.high * (1.0 + slack);
        let times = |digits: &'static [i32]| {
            let powers = first - 1..=last;
            let all = powers.flat_map(|p| digits.iter().map(move |&d| (d, p)));
            let value = |(d, p): (i32, i32)| f64::from(d) * 10f64.powi(p);
            all.map(value).filter(inside)
        };
        if last > first {
            let stride = (last - first) / wanted.max(1) as i32 + 1;
            let short = first >= -3 && last <= 3;
            let label = |p: i32| match short {
                true => Label::Text(format!("{:.*}", (-p).max(0) as usize, 10f64.powi(p))),
                false => Label::Power(p),
            };
            let labelled = (first..=last).filter(|p| p.rem_euclid(stride) == 0);
            let labelled = labelled.map(|p| (10f64.powi(p), label(p))).collect();
            let between = match stride {
                1 => times(&[2, 3, 4, 5, 6, 7, 8, 9]).collect(),
                _ => (first..=last).map(|p| 10f64.powi(p)).collect(),
            };
            return (labelled, between);
        }
        let few: Vec<(f64, Label)> = times(&[1, 2, 5])
            .map(|v| (v, Label::Text(number(v, 1))))
            .collect();
        match few.len() {
            0 | 1 => (even().collect(), Vec::new()),
            _ => (few, times(&[3, 4, 6, 7, 8, 9]).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(log: bool, range: [f64; 2]) -> Axis {
        Axis::new(log, Some(range), std::iter::empty())
    }

    #[test]
    fn values_have_their_places() {
        let even = over(false, [-2.0, 2.0]);
        assert_eq!(even.place(1.0), Some(0.75));
        assert_eq!(even.place(f64::NAN), None);
        assert_eq!(even.place(f64::INFINITY), None);
        assert_eq!(even.place(1e300), Some(1e6));
        let log = over(true, [1e-2, 1e2]);
        assert!((log.place(10.0).unwrap() - 0.75).abs() < 1e-15);
        for none in [0.0, -1.0, f64::NAN] {
            assert_eq!(log.place(none), None);
        }
    }

    #[test]
    fn found_ranges_hold_all_values_with_room() {
        for values in [
            vec![1.0, 5.0],
            vec![3.0],
            vec![0.0],
            vec![f64::MAX, -f64::MAX],
            vec![1e-310, 1e308],
            vec![f64::NAN, 2.0, f64::INFINITY],
            vec![],
        ] {
            for log in [false, true] {
                let axis = Axis::new(log, None, values.iter().copied());
                assert!(axis.low < axis.high && (axis.high - axis.low).is_finite());
                for &v in values
                    .iter()
                    .filter(|v| v.abs() < 1e279 && (!log || **v > 1e-279))
                {
                    let place = axis.place(v).unwrap();
                    assert!((0.01..=0.99).contains(&place), "{values:?} {v}: {place}");
                }
            }
        }
    }

    #[test]
    fn powers_of_ten_are_labelled() {
        let label = |range, wanted| {
            let (labelled, between) = over(true, range).ticks(wanted);
            let labels: Vec<Label> = labelled.into_iter().map(|t| t.1).collect();
            (labels, between.len())
        };
        let texts = |all: &[&str]| all.iter().map(|t| Label::Text(t.to_string())).collect();
        assert_eq!(label([0.1, 10.0], 6), (texts(&["0.1", "1", "10"]), 16));
        let powers = |all: &[i32]| all.iter().map(|&p| Label::Power(p)).collect();
        assert_eq!(label([1e-6, 1e-4], 6), (powers(&[-6, -5, -4]), 16));
        assert_eq!(label([1e-9, 1e9], 6).0, powers(&[-8, -4, 0, 4, 8]));
        assert_eq!(label([2.0, 30.0], 6).0, texts(&["2", "5", "10", "20"]));
        assert_eq!(label([2.0, 2.2], 4).0.len(), 5);
        // Everything that has a tick is on the axis.
        for range in [[1e-300, 1e300], [1.0, 1.0 + 1e-9], [0.3, 0.9], [5.0, 5e5]] {
            let axis = over(true, range);
            let (labelled, between) = axis.ticks(6);
            assert!(
                (2..=16).contains(&labelled.len()),
                "{range:?}: {labelled:?}"
            );
            for v in labelled.into_iter().map(|t| t.0).chain(between) {
                let place = axis.place(v).unwrap();
                assert!((-1e-6..=1.0 + 1e-6).contains(&place), "{range:?}: {v}");
            }
        }
    }
}
