//! The flow law for one row in double precision, by bisection: what the lanes are compared with.

/// The yield surface and the viscosity of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub lowest: f64,
    pub highest: f64,
    pub slope: f64,
    pub cohesion: f64,
    pub dilatancy: f64,
    /// Strain times this is viscous stress.
    pub viscosity: f64,
}

impl Law {
    /// From yield parameters divided by the volume; `volume` itself is for the viscosity.
    pub fn new(yields: &[f64; 6], volume: f64) -> Law {
        Law {
            lowest: -yields[1].max(0.0),
            highest: yields[0].max(0.0),
            slope: if yields[0] > 0.0 {
                (yields[3] / yields[0]).max(0.0)
            } else {
                0.0
            },
            cohesion: yields[2].max(0.0),
            dilatancy: yields[4].clamp(0.0, 1.0),
            viscosity: yields[5] / volume,
        }
    }

    pub fn strength(&self, normal: f64) -> f64 {
        let height = (normal - self.lowest).min(self.highest - normal);
        self.cohesion + self.slope * height.min(0.5 * self.highest)
    }

    /// Ends of the straight part of the surface, and its slope.
    fn part(&self, normal: f64) -> (f64, f64, f64) {
        let half = 0.5 * self.highest;
        if normal < self.lowest + half {
            (self.lowest, self.lowest + half, self.slope)
        } else if normal > half {
            (half, self.highest, -self.slope)
        } else {
            (self.lowest + half, half, 0.0)
        }
    }

    /// Strain and plastic stress with u = d r + b, without viscosity.
    pub fn plastic(&self, d: &[f64; 6], b: &[f64; 6]) -> ([f64; 6], [f64; 6]) {
        let trial: [f64; 6] = std::array::from_fn(|i| -b[i] / d[i]);
        let mut normal = trial[0].clamp(self.lowest, self.highest);
        let mut tangential = trial;
        if norm(&trial) > self.strength(normal) {
            let (low, high, slope) = self.part(normal);
            let start = self.strength(normal) - slope * (normal - trial[0]);
            let gain = self.dilatancy * slope * slope / d[0];
            let strain = slide(d, b, start, gain);
            let strength = start + gain * strain;
            let moved = trial[0] + self.dilatancy * slope * strain / d[0];
            tangential = bear(d, b, strain, strength.max(0.0));
            if (low..=high).contains(&moved) && strength >= 0.0 {
                normal = moved;
            } else {
                normal = moved.clamp(low, high);
                let strength = self.strength(normal);
                tangential = bear(d, b, slide(d, b, strength, 0.0), strength);
            }
        }
        let mut r = tangential;
        r[0] = normal;
        (std::array::from_fn(|i| d[i] * r[i] + b[i]), r)
    }

    /// Strain and whole stress with u = d r + b.
    pub fn solve(&self, d: &[f64; 6], b: &[f64; 6]) -> ([f64; 6], [f64; 6]) {
        let scaled = |x: &[f64; 6]| std::array::from_fn(|i| x[i] / (1.0 + self.viscosity * d[i]));
        let (u, _) = self.plastic(&scaled(d), &scaled(b));
        (u, std::array::from_fn(|i| (u[i] - b[i]) / d[i]))
    }
}

pub(crate) fn norm(x: &[f64; 6]) -> f64 {
    x[1..].iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// |u_T| when the strength is `start` + `gain` |u_T|: where |b / (a + F d)| falls to 1.
fn slide(d: &[f64; 6], b: &[f64; 6], start: f64, gain: f64) -> f64 {
    let mut high = norm(b);
    if start + gain * high <= 0.0 {
        return high;
    }
    let mut low = if start < 0.0 { -start / gain } else { 0.0 };
    for _ in 0..200 {
        let a = 0.5 * (low + high);
        let f = start + gain * a;
        let ratio: [f64; 6] = std::array::from_fn(|i| b[i] / (a + f * d[i]));
        if norm(&ratio) > 1.0 {
            low = a;
        } else {
            high = a;
        }
    }
    0.5 * (low + high)
}

fn bear(d: &[f64; 6], b: &[f64; 6], strain: f64, strength: f64) -> [f64; 6] {
    std::array::from_fn(|i| -strength * b[i] / (strain + strength * d[i]))
}
