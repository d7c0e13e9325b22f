//! Numbers of a state: what probes and checks show.

use super::State;
use crate::scene::{Quantity, QuantityKind};
use crate::summary::ReportValue;
use weft_mpm::collider::{Colliders, Motion};
use weft_mpm::{ACTIVE, Config};

/// Sums of what a step conserves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Balance {
    /// Momentum, N s.
    pub momentum: [f64; 3],
    /// Sum of the sizes of momenta, N s.
    pub size: f64,
    /// What gravity adds in a second, N.
    pub weight: [f64; 3],
}

impl Balance {
    /// Of the particles that take part and the bodies that yield to them.
    pub fn of(state: &State, config: &Config) -> Balance {
        let mut sum = Balance::default();
        let p = &state.particles;
        for i in 0..p.len() {
            if p.flags[i] & ACTIVE != 0 {
                let v = p.velocity[i].map(f64::from);
                sum.add(f64::from(p.mass[i]), v, gravity(config, p.world[i]));
            }
        }
        for body in 0..state.colliders.body_count() {
            if let Some(mass) = yielding_mass(&state.colliders, body) {
                let (v, _) = state.colliders.velocity(body).unwrap_or_default();
                sum.add(mass, v, gravity(config, world_of(&state.colliders, body)));
            }
        }
        sum
    }

    fn add(&mut self, mass: f64, velocity: [f64; 3], gravity: [f64; 3]) {
        for d in 0..3 {
            self.momentum[d] += mass * velocity[d];
            self.weight[d] += mass * gravity[d];
        }
        self.size += mass * length(&velocity);
    }

    /// Error of the balance over a step of `dt` to a later `state`, relative to the sizes of its
    /// parts: momentum, gravity's impulse, impulses on colliders.
    pub fn error(&self, later: &Balance, dt: f64, state: &State) -> f64 {
        let mut change = [0, 1, 2].map(|d| {
            let gained = later.momentum[d] - self.momentum[d];
            gained - dt * self.weight[d]
        });
        let mut size = self.size.max(later.size) + dt * length(&self.weight);
        for (impulse, &body) in state.impulses.iter().zip(&state.bodies) {
            size += length(impulse);
            // What a body gains is in its momentum.
            if yielding_mass(&state.colliders, body).is_none() {
                (0..3).for_each(|d| change[d] += impulse[d]);
            }
        }
        if size > 0.0 {
            length(&change) / size
        } else {
            0.0
        }
    }
}

fn length(v: &[f64; 3]) -> f64 {
    v.iter().map(|c| c * c).sum::<f64>().sqrt()
}

/// Mass of a body whose velocity impulses change.
fn yielding_mass(colliders: &Colliders, body: usize) -> Option<f64> {
    let inverse = colliders.inverse_mass(body);
    (colliders.motion(body) == Some(Motion::Dynamic) && inverse > 0.0).then(|| 1.0 / inverse)
}

/// World of a body: that of its colliders, 0 for those in all worlds.
pub(super) fn world_of(colliders: &Colliders, body: usize) -> u32 {
    let own = (0..colliders.len()).find(|&c| colliders.body_of(c) == Some(body));
    own.and_then(|c| colliders.world_of(c)).unwrap_or(0)
}

/// Gravity of a world.
pub(super) fn gravity(config: &Config, world: u32) -> [f64; 3] {
    config.gravity_of(world as usize).map(f64::from)
}

/// The value of a quantity.
pub(super) fn measure(q: &Quantity, state: &State, config: &Config, dt: f64) -> ReportValue {
    use QuantityKind::*;
    let vector = match q.kind {
        Impulse(c) => state.impulses[c],
        Force(c) => state.impulses[c].map(|j| j / dt),
        Position(c) => {
            let pose = state.colliders.pose(state.bodies[c]);
            match state.bodies[c] {
                weft_mpm::collider::GROUND => state.origins[c],
                _ => pose.map_or([0.0; 3], |p| p.position),
            }
        }
        Velocity(c) => {
            let velocity = state.colliders.velocity(state.bodies[c]);
            velocity.map_or([0.0; 3], |v| v.0)
        }
        Momentum | AngularMomentum | Center => vector_sum(q, state),
        _ => return ReportValue::Number(number(q, state, config)),
    };
    match q.component {
        Some(d) => ReportValue::Number(vector[d]),
        None => ReportValue::Vector(vector.to_vec()),
    }
}

/// The particles that a quantity is about.
fn particles<'s>(q: &'s Quantity, state: &'s State) -> impl Iterator<Item = usize> + 's {
    let p = &state.particles;
    (0..p.len()).filter(move |&i| {
        let x = p.position[i];
        p.flags[i] & ACTIVE != 0
            && x.iter().all(|c| c.is_finite())
            && q.cloud.is_none_or(|c| usize::from(state.cloud[i]) == c)
            && q.within
                .is_none_or(|(lower, upper)| (0..3).all(|d| lower[d] <= x[d] && x[d] <= upper[d]))
    })
}

fn vector_sum(q: &Quantity, state: &State) -> [f64; 3] {
    let p = &state.particles;
    let mut sum = [0.0; 3];
    let mut mass = 0.0;
    for i in particles(q, state) {
        let m = f64::from(p.mass[i]);
        let x = p.position[i];
        let v = p.velocity[i].map(f64::from);
        let part = match q.kind {
            QuantityKind::Momentum => v,
            QuantityKind::AngularMomentum => [
                x[1] * v[2] - x[2] * v[1],
                x[2] * v[0] - x[0] * v[2],
                x[0] * v[1] - x[1] * v[0],
            ],
            _ => x,
        };
        (0..3).for_each(|d| sum[d] += m * part[d]);
        mass += m;
    }
    match q.kind {
        QuantityKind::Center => sum.map(|s| s / mass),
        _ => sum,
    }
}

fn number(q: &Quantity, state: &State, config: &Config) -> f64 {
    use QuantityKind::*;
    let p = &state.particles;
    let all = || particles(q, state);
    let square = |i: usize| {
        p.velocity[i]
            .iter()
            .map(|c| f64::from(*c).powi(2))
            .sum::<f64>()
    };
    let along = |i: usize, n: [f64; 3]| (0..3).map(|d| n[d] * p.position[i][d]).sum::<f64>();
    let kinetic = |i: usize| 0.5 * f64::from(p.mass[i]) * square(i);
    let potential = |i: usize| -f64::from(p.mass[i]) * along(i, gravity(config, p.world[i]));
    match q.kind {
        Count => all().count() as f64,
        Mass => all().map(|i| f64::from(p.mass[i])).sum(),
        KineticEnergy => all().map(kinetic).sum(),
        PotentialEnergy => all().map(potential).sum(),
        Energy => all().map(|i| kinetic(i) + potential(i)).sum(),
        Quantile { along: n, part } => {
            let mut values: Vec<f64> = all().map(|i| along(i, n)).collect();
            if values.is_empty() {
                return f64::NAN;
            }
            let at = (part * (values.len() - 1) as f64).round() as usize;
            *values.select_nth_unstable_by(at, f64::total_cmp).1
        }
        Mean { along: n } => {
            let (count, sum) = all().fold((0, 0.0), |(c, s), i| (c + 1, s + along(i, n)));
            sum / f64::from(count)
        }
        MaxSpeed => all().map(square).fold(0.0, f64::max).sqrt(),
        Pressure => {
            let (mut volume, mut sum) = (0.0, 0.0);
            for i in all() {
                let v = f64::from(p.volume(i));
                volume += v;
                sum += v * p.pressure(i);
            }
            sum / volume
        }
        Dropped => state.dropped as f64,
        Removed => state.removed as f64,
        NotFinite => {
            let finite = |i: &usize| {
                p.position[*i].iter().all(|c| c.is_finite())
                    && p.velocity[*i].iter().all(|c| c.is_finite())
            };
            (0..p.len()).filter(|i| !finite(i)).count() as f64
        }
        MomentumBalance => state.balance,
        // Vectors.
        _ => f64::NAN,
    }
}
