//! The examples that take seconds compute what they say; slower ones are in `examples.rs`.

#[path = "common/mod.rs"]
mod common;

#[path = "../examples/adjoint.rs"]
mod adjoint;
#[path = "../examples/convection_diffusion.rs"]
mod convection_diffusion;
#[path = "../examples/deformed_geometry.rs"]
mod deformed_geometry;
#[path = "../examples/diffusion.rs"]
mod diffusion;
#[path = "../examples/diffusion_3d.rs"]
mod diffusion_3d;
#[path = "../examples/helmholtz.rs"]
mod helmholtz;
#[path = "../examples/poisson.rs"]
mod poisson;
#[cfg(feature = "direct")]
#[path = "../examples/taylor_green.rs"]
mod taylor_green;

use common::order;
use std::f64::consts::PI;

#[test]
fn poisson_has_full_order() {
    for (p, n) in [(1, 16), (2, 8), (3, 6)] {
        let [coarse, fine] = [n, 2 * n].map(|n| poisson::run(n, p).unwrap());
        let rate = order(coarse, fine);
        println!("p = {p}: {fine:.3e}, order {rate:.3}");
        assert!((rate - (p + 1) as f64).abs() < 0.1, "p = {p}: {rate}");
    }
}

#[test]
fn poisson_is_short() {
    // Lines that are empty or hold a comment don't count.
    let text = include_str!("../examples/poisson.rs");
    let code = |l: &&str| !l.trim().is_empty() && !l.trim_start().starts_with("//");
    assert!(text.lines().filter(code).count() <= 25);
}

#[test]
fn diffusion_is_exact_from_degree_two() {
    use diffusion::{Kind, run};
    for kind in [Kind::Grid, Kind::Triangles, Kind::Quads] {
        let done = run(kind, 10, 2).unwrap();
        println!("{kind:?}: {:.1e} {}", done.error, done.outflow);
        // The solution is quadratic: what is left is the solver's tolerance.
        assert!(done.error < 1e-8, "{kind:?}: {}", done.error);
        let top = done.field.values().iter().fold(0.0f64, |m, u| m.max(*u));
        assert!((top - 5.0625).abs() < 1e-8, "{kind:?}: {top}");
        // All that the source gives flows out.
        assert!((done.outflow - 1.0).abs() < 1e-7, "{kind:?}");
        let [coarse, fine] = [8, 16].map(|n| run(kind, n, 1).unwrap().error);
        assert!((order(coarse, fine) - 2.0).abs() < 0.05, "{kind:?}");
    }
}

#[test]
fn diffusion_agrees_on_all_geometries() {
    use diffusion_3d::{KINDS, exact_middle, run};
    for kind in KINDS {
        let [coarse, fine] = [1, 2].map(|n| run(kind, n, 2).unwrap().middle - exact_middle());
        println!("{kind:?}: {coarse:.1e} {fine:.1e}");
        // Third order at the least, from half a per cent.
        assert!(fine.abs() < 1e-3 * exact_middle(), "{kind:?}: {fine}");
        assert!(order(coarse, fine) > 2.5, "{kind:?}: {coarse} {fine}");
    }
}

#[test]
fn annulus_against_its_series() {
    // The series solves its own equation: differences at a point give −Δu = 1.
    let (r, t, e) = (0.9, 0.6, 1e-2);
    let u = deformed_geometry::exact;
    let radial = (u(r + e, t) - 2.0 * u(r, t) + u(r - e, t)) / (e * e)
        + (u(r + e, t) - u(r - e, t)) / (2.0 * e * r);
    let around = (u(r, t + e) - 2.0 * u(r, t) + u(r, t - e)) / (e * e * r * r);
    assert!((radial + around + 1.0).abs() < 1e-3, "{radial} {around}");
    let [coarse, fine] = [8, 16].map(|n| deformed_geometry::run(n, 2).unwrap());
    println!("{coarse:?} {fine:?}");
    for (k, t) in [PI / 6.0, PI / 3.0].into_iter().enumerate() {
        let off = fine.halfway[k] / u(1.0, t) - 1.0;
        assert!(off.abs() < 1e-4, "{off}");
    }
    // Measures of curved cells of degree 2 are of fourth order.
    let area = order(coarse.area - PI / 2.0, fine.area - PI / 2.0);
    assert!((area - 4.0).abs() < 0.2, "{area}");
    for (k, length) in [PI / 4.0, 0.75 * PI].into_iter().enumerate() {
        let rate = order(coarse.arcs[k] - length, fine.arcs[k] - length);
        assert!((rate - 4.0).abs() < 0.2, "{rate}");
    }
    // The problem has a mirror; only the diagonals of the mesh have not.
    assert!((fine.halfway[0] / fine.halfway[1] - 1.0).abs() < 1e-4);
}

#[test]
fn a_hill_turns_and_spreads() {
    use convection_diffusion::{DIFFUSIVITY, WIDTH, run};
    let [coarse, fine] = [(20, 20), (40, 40)].map(|(n, steps)| run(n, steps).unwrap());
    println!("{coarse:?} {fine:?}");
    // First order in time, from implicit diffusion.
    let rate = order(coarse.error, fine.error);
    assert!(rate > 0.9, "{rate}");
    assert!(fine.error < 0.02 && fine.mass.abs() < 1e-3, "{fine:?}");
    let peak = WIDTH / (WIDTH + 2.0 * DIFFUSIVITY * PI);
    assert!((fine.peak / peak - 1.0).abs() < 0.02, "{fine:?}");
}

#[test]
fn a_plane_wave_passes() {
    // Four cells a radian and more: the rates are those of the functions.
    for (p, n) in [(1, 20), (2, 12), (3, 8)] {
        let [coarse, fine] = [n, 2 * n].map(|n| helmholtz::run(n, p, 5.0).unwrap());
        let rate = order(coarse.error, fine.error);
        println!("p = {p}: {:.2e} {:.2e} {rate:.2}", fine.error, fine.power);
        assert!((rate - (p + 1) as f64).abs() < 0.15, "p = {p}: {rate}");
        // A plane wave has one size everywhere.
        let values = fine.field.values();
        let size = |u: &[f64]| (u[0].hypot(u[1]) - 1.0).abs();
        let off = values.chunks(2).map(size).fold(0.0, f64::max);
        assert!(off < 10.0 * fine.error, "p = {p}: {off} {}", fine.error);
        // What goes in goes out; the weak form keeps it, so this is the solver's tolerance.
        assert!(fine.power.abs() < 1e-6, "p = {p}: {}", fine.power);
    }
}

#[test]
fn the_adjoint_gives_the_gradient() {
    let mut rock = adjoint::Rock::new(4).unwrap();
    assert!((rock.flow().unwrap() - 1.0).abs() < 1e-8);
    // Rock that varies.
    let values: Vec<f64> = (0..25).map(|k| (1.7 * k as f64).sin()).collect();
    rock.m.values_mut().copy_from_slice(&values);
    let (_, gradient) = rock.gradient().unwrap();
    let e = 1e-4;
    for k in [0, 7, 12, 24] {
        let mut flows = [-e, e].into_iter().map(|e| {
            rock.m.values_mut()[k] = values[k] + e;
            rock.flow().unwrap()
        });
        let slope = (-flows.next().unwrap() + flows.next().unwrap()) / (2.0 * e);
        drop(flows);
        rock.m.values_mut()[k] = values[k];
        println!("{k}: {} {slope}", gradient[k]);
        assert!(
            (gradient[k] - slope).abs() < 1e-5,
            "{k}: {} {slope}",
            gradient[k]
        );
    }
    // Permeability times c is flow times c: the derivatives sum to the flow.
    let flow = rock.flow().unwrap();
    assert!((gradient.iter().sum::<f64>() - flow).abs() < 1e-6);
}

#[test]
fn rock_with_a_given_flow_is_found() {
    let mut rock = adjoint::Rock::new(6).unwrap();
    let flows = rock.reach(3.0, 8).unwrap();
    println!("{flows:?}");
    assert!((flows[8] - 3.0).abs() < 1e-6);
    // The least change is uniform: 3 = exp(m).
    let off = |m: &f64| (m - 3.0f64.ln()).abs() < 1e-5;
    assert!(rock.m.values().iter().all(off));
}

#[cfg(feature = "direct")]
#[test]
fn vortices_decay_as_taylor_and_green_found() {
    use taylor_green::{VISCOSITY, run};
    let end = 0.25;
    let [coarse, fine] = [8, 16].map(|n| run(n, n, end).unwrap());
    println!("{coarse:?} {fine:?}");
    // Second order in time; that of space is higher.
    let rate = order(coarse.velocity, fine.velocity);
    assert!(rate > 1.9, "{rate}");
    assert!(fine.velocity < 0.01 && fine.pressure < 0.05, "{fine:?}");
    assert!(order(coarse.pressure, fine.pressure) > 1.8);
    let decay = (-16.0 * PI * PI * VISCOSITY * end).exp();
    assert!((fine.decay / decay - 1.0).abs() < 1e-3, "{fine:?}");
}
