use super::super::lanes::{array, load};
use super::twin::{Law, norm};
use super::*;
use crate::solve::tests::Draws;
use crate::solve::{LANES, Lane};
use fearless_simd::{Level, dispatch};

const ISOTROPIC: [f64; 6] = [1.0; 6];
const ANISOTROPIC: [f64; 6] = [2.0, 0.5, 1.0, 3.0, 0.1, 1.5];

/// Yield parameters from friction μ, pressure p, stress s, dilatancy θ, tension ratio τ.
fn yields(friction: f64, pressure: f64, stress: f64, dilatancy: f64, tension: f64) -> [f64; 6] {
    let bound = pressure * 1.5f64.sqrt();
    [
        bound,
        tension * bound,
        stress,
        friction * pressure,
        dilatancy,
        0.0,
    ]
}

type Case = ([f64; 6], [f64; 6], [f64; 6]);

#[inline(always)]
fn lanes_of<S: Simd>(simd: S, cases: &[Case; LANES]) -> [([f64; 6], [f64; 6]); LANES] {
    let mut lanes = [[0.0; LANES]; SURFACE];
    let mut inverse = [[0.0; LANES]; 6];
    let mut viscosity = [0.0; LANES];
    let mut trial = [[0.0; LANES]; 6];
    for (l, (y, d, b)) in cases.iter().enumerate() {
        let one = surface(&y.map(|y| y as f32));
        for (lane, value) in lanes.iter_mut().zip(one) {
            lane[l] = value;
        }
        viscosity[l] = y[5] as f32;
        for i in 0..6 {
            inverse[i][l] = 1.0 / d[i] as f32;
            trial[i][l] = (-b[i] / d[i]) as f32;
        }
    }
    let dilatant = cases.iter().any(|(y, ..)| y[4] > 0.0);
    let surface = Surface::load(simd, &lanes.map(Wide));
    let inverse = inverse.map(|lane| load(simd, &lane) + load(simd, &viscosity));
    let trial = trial.map(|lane| load(simd, &lane));
    let stress = surface.flow(simd, trial, &inverse, dilatant);
    let strain: [Lane; 6] = std::array::from_fn(|i| array((stress[i] - trial[i]) / inverse[i]));
    let stress = stress.map(array);
    std::array::from_fn(|l| {
        let (_, d, b) = &cases[l];
        let u = strain.map(|u| f64::from(u[l]));
        if cases[l].0[5] > 0.0 {
            return (u, std::array::from_fn(|i| (u[i] - b[i]) / d[i]));
        }
        (u, stress.map(|r| f64::from(r[l])))
    })
}

/// Strain and stress by the twin, by the lanes of this processor and by the plainest ones.
fn all(y: [f64; 6], d: [f64; 6], b: [f64; 6]) -> [([f64; 6], [f64; 6]); 3] {
    let cases = [(y, d, b); LANES];
    let twin = Law::new(&y, 1.0).solve(&d, &b);
    let best = dispatch!(Level::new(), simd => lanes_of(simd, &cases));
    let plain = dispatch!(Level::baseline(), simd => lanes_of(simd, &cases));
    let out = [twin, best[0], plain[0]];
    for (u, r) in out {
        check(&Law::new(&y, 1.0), &d, &b, &u, &r);
    }
    out
}

/// The flow law itself: bounds, strength, direction, dilatancy, u = D r + b. The worst violation,
/// relative to the sizes of stress and strain.
fn violation(law: &Law, d: &[f64; 6], b: &[f64; 6], u: &[f64; 6], r: &[f64; 6]) -> f64 {
    assert!(
        u.iter().chain(r).all(|x| x.is_finite()),
        "{law:?} {d:?} {b:?} {u:?} {r:?}"
    );
    let plastic: [f64; 6] = std::array::from_fn(|i| r[i] + law.viscosity * u[i]);
    let strain = b.iter().map(|b| b.abs()).fold(1e-30, f64::max);
    let stress = (0..6).map(|i| (b[i] / d[i]).abs()).fold(1e-30, f64::max);
    let normal = plastic[0];
    let mut worst: f64 = 0.0;
    let mut add = |value: f64| worst = worst.max(value);
    add((law.lowest - normal) / stress);
    add((normal - law.highest) / stress);
    let strength = law.strength(normal.clamp(law.lowest, law.highest));
    add((norm(&plastic) - strength) / stress);
    // No shear inside, and against the stress on the surface: f |u_T| + r_T · u_T = 0.
    let shear = norm(u);
    let dot: f64 = (1..6).map(|i| plastic[i] * u[i]).sum();
    add((strength * shear + dot).abs() / (stress * strain));
    for i in 1..6 {
        add((shear * plastic[i] + strength * u[i]).abs() / (stress * strain));
    }
    // u_N lies between the dilatancies at the two sides of r_N, beyond them only at the bounds.
    let near = 1e-5 * stress;
    let half = 0.5 * law.highest;
    let slope = |normal: f64| {
        if normal < law.lowest + half {
            law.slope
        } else if normal > half {
            -law.slope
        } else {
            0.0
        }
    };
    let rates = [slope(normal - near), slope(normal + near)].map(|s| law.dilatancy * s * shear);
    let (mut least, mut most) = (rates[0].min(rates[1]), rates[0].max(rates[1]));
    if normal - near <= law.lowest {
        most = f64::INFINITY;
        least = least.min(0.0);
    }
    if normal + near >= law.highest {
        least = f64::NEG_INFINITY;
        most = most.max(0.0);
    }
    add((least - u[0]) / strain);
    add((u[0] - most) / strain);
    for i in 0..6 {
        add((d[i] * r[i] + b[i] - u[i]).abs() / strain);
    }
    worst
}

fn check(law: &Law, d: &[f64; 6], b: &[f64; 6], u: &[f64; 6], r: &[f64; 6]) {
    let worst = violation(law, d, b, u, r);
    assert!(
        worst < 1e-3,
        "{worst}: {law:?} d {d:?} b {b:?} u {u:?} r {r:?}"
    );
}

#[test]
fn elastic() {
    for d in [ISOTROPIC, ANISOTROPIC] {
        for (u, _) in all(
            yields(0.5, 100.0, 50.0, 0.0, 0.0),
            d,
            [0.5, 0.1, -0.1, 0.0, 0.0, 0.0],
        ) {
            assert!(norm(&u) < 1e-3);
        }
    }
}

#[test]
fn sliding() {
    for d in [ISOTROPIC, ANISOTROPIC] {
        let b = [0.0, 200.0, 200.0, 0.0, 0.0, 0.0];
        for (u, _) in all(yields(0.5, 100.0, 10.0, 0.0, 0.0), d, b) {
            assert!(norm(&u) > 1.0);
        }
    }
}

#[test]
fn normal_clamp() {
    for d in [ISOTROPIC, ANISOTROPIC] {
        let b = [-500.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let y = yields(0.5, 100.0, 50.0, 0.0, 0.0);
        for (u, r) in all(y, d, b) {
            assert!(r[0] <= y[0] + 1e-2);
            if -b[0] / d[0] > y[0] {
                assert!(u[0] < 0.0, "it compacts: {}", u[0]);
            }
        }
    }
}

#[test]
fn anisotropic() {
    let b = [-20.0, 200.0, -100.0, 50.0, 25.0, -75.0];
    for (u, r) in all(yields(0.5, 100.0, 10.0, 0.0, 0.0), ANISOTROPIC, b) {
        let cosine = (1..6).map(|i| u[i] * r[i]).sum::<f64>() / (norm(&u) * norm(&r));
        assert!((cosine + 1.0).abs() < 1e-3, "{cosine}");
    }
}

#[test]
fn zero_yield() {
    for d in [ISOTROPIC, ANISOTROPIC] {
        let b = [1.0, 2.0, -3.0, 0.5, 0.0, 4.0];
        for (u, _) in all([0.0; 6], d, b) {
            for i in 0..6 {
                assert!((u[i] - b[i]).abs() < 1e-3);
            }
        }
    }
}

#[test]
fn dilatancy() {
    let b = [-30.0, 200.0, 100.0, 0.0, 50.0, 0.0];
    for d in [ISOTROPIC, ANISOTROPIC] {
        let plain = all(yields(0.5, 1000.0, 1.0, 0.0, 0.0), d, b);
        let dilatant = all(yields(0.5, 1000.0, 1.0, 0.5, 0.0), d, b);
        for (a, b) in plain.iter().zip(dilatant) {
            assert!((a.0[0] - b.0[0]).abs() > 1e-2);
        }
    }
}

/// With dilatancy 1 the strain is along the normal of the surface.
fn associated(d: [f64; 6]) {
    let y = yields(0.5, 1000.0, 1.0, 1.0, 0.0);
    let law = Law::new(&y, 1.0);
    for b in [
        [-30.0, 200.0, 100.0, 0.0, 50.0, 0.0],
        [-300.0, 0.0, 900.0, -500.0, 0.0, 20.0],
    ] {
        for (u, r) in all(y, d, b) {
            // Outward normal of |r_T| - f(r_N), seen from the strain, which is minus the flow.
            let normal = [-law.slope, 1.0];
            let flow = [-u[0], norm(&u)];
            let size = (flow[0] * flow[0] + flow[1] * flow[1]).sqrt();
            let cosine = (normal[0] * flow[0] + normal[1] * flow[1])
                / (size * (1.0 + law.slope * law.slope).sqrt());
            assert!((cosine - 1.0).abs() < 1e-2, "{cosine} {u:?} {r:?}");
        }
    }
}

#[test]
fn associated_isotropic() {
    associated(ISOTROPIC);
}

#[test]
fn associated_anisotropic() {
    associated(ANISOTROPIC);
}

#[test]
fn viscosity_slows() {
    let size = |u: &[f64; 6]| u.iter().map(|u| u * u).sum::<f64>().sqrt();
    for d in [ISOTROPIC, ANISOTROPIC] {
        let b = [10.0, 200.0, 100.0, 0.0, 0.0, 30.0];
        let mut y = yields(0.5, 100.0, 1.0, 0.0, 0.0);
        let plain = all(y, d, b);
        y[5] = 10.0;
        for (plain, viscous) in plain.iter().zip(all(y, d, b)) {
            assert!(size(&viscous.0) < size(&plain.0));
        }
    }
}

fn random_case(draws: &mut Draws) -> Case {
    let b = std::array::from_fn(|_| 100.0 * draws.draw() - 50.0);
    let d = std::array::from_fn(|_| 100.0 * (1e-4 + (1.0 - 1e-4) * draws.draw()));
    let pressure = 10f64.powf(6.0 * draws.draw());
    let mut y = yields(
        draws.draw(),
        pressure,
        draws.draw(),
        draws.draw(),
        1e-5 * draws.draw(),
    );
    if draws.draw() < 0.25 {
        y[5] = 10.0 * draws.draw();
    }
    (y, d, b)
}

#[test]
fn random_draws_obey_the_law() {
    let mut draws = Draws::new(42);
    let mut worst = [0.0f64; 3];
    for _ in 0..4096 / LANES {
        let cases: [Case; LANES] = std::array::from_fn(|_| random_case(&mut draws));
        let best = dispatch!(Level::new(), simd => lanes_of(simd, &cases));
        let plain = dispatch!(Level::baseline(), simd => lanes_of(simd, &cases));
        for (l, (y, d, b)) in cases.iter().enumerate() {
            let law = Law::new(y, 1.0);
            let twin = law.solve(d, b);
            for (worst, (u, r)) in worst.iter_mut().zip([twin, best[l], plain[l]]) {
                *worst = worst.max(violation(&law, d, b, &u, &r));
            }
            let size = b.iter().map(|b| b.abs()).fold(0.0, f64::max);
            for i in 0..6 {
                let difference = (best[l].0[i] - twin.0[i]).abs();
                assert!(
                    difference < 1e-3 * size,
                    "{difference} {:?} {:?}",
                    best[l],
                    twin
                );
            }
        }
    }
    assert!(
        worst[0] < 1e-5 && worst[1] < 1e-3 && worst[2] < 1e-3,
        "{worst:?}"
    );
}

/// Rigid materials of enormous strength, weak and strong blocks, no stress at all.
#[test]
fn extremes_stay_finite() {
    let mut draws = Draws::new(7);
    for _ in 0..4096 / LANES {
        let cases: [Case; LANES] = std::array::from_fn(|_| {
            let size = 10f64.powf(-14.0 + 16.0 * draws.draw());
            let strain = 10f64.powf(-8.0 + 8.0 * draws.draw());
            let d = std::array::from_fn(|_| size * (0.1 + draws.draw()));
            let b = std::array::from_fn(|_| strain * (2.0 * draws.draw() - 1.0));
            let pressure = if draws.draw() < 0.5 { 1e15 } else { 0.0 };
            (yields(draws.draw(), pressure, 0.0, draws.draw(), 0.0), d, b)
        });
        let best = dispatch!(Level::new(), simd => lanes_of(simd, &cases));
        for ((y, d, b), (u, r)) in cases.iter().zip(best) {
            let law = Law::new(y, 1.0);
            // The strength near 0 of a surface as large as 1e15 is exact, but the tests' slopes are not.
            let worst = violation(&law, d, b, &u, &r);
            assert!(worst < 1e-2, "{worst} {law:?} {d:?} {b:?} {u:?} {r:?}");
        }
    }
}

#[test]
fn projection_reaches_the_surface() {
    let mut draws = Draws::new(3);
    for _ in 0..1000 {
        let (y, ..) = random_case(&mut draws);
        let law = Law::new(&y, 1.0);
        let stress: [f32; 6] = std::array::from_fn(|_| (1e3 * (draws.draw() - 0.5)) as f32);
        let out = project(&y.map(|y| y as f32), &stress).map(f64::from);
        assert!(out[0] >= law.lowest * 1.0001 - 1e-6 && out[0] <= law.highest * 1.0001);
        assert!(norm(&out) <= law.strength(out[0]) * 1.001 + 1e-3);
        let mut lanes = [[0.0; LANES]; SURFACE];
        for (lane, value) in lanes.iter_mut().zip(surface(&y.map(|y| y as f32))) {
            *lane = [value; LANES];
        }
        let wide = dispatch!(Level::new(), simd => {
            let stress = stress.map(|r| splat(simd, r));
            Surface::load(simd, &lanes.map(Wide)).project(simd, stress).map(array)
        });
        for i in 0..6 {
            assert!((f64::from(wide[i][0]) - out[i]).abs() <= 1e-5 * out[i].abs() + 1e-6);
        }
    }
}
