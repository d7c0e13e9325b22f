//! The examples compute what they say.

#[path = "common/mod.rs"]
mod common;

#[cfg(feature = "direct")]
#[path = "../examples/cavity/flow.rs"]
mod cavity;
#[path = "../examples/penalty.rs"]
mod penalty;
#[path = "../examples/transport.rs"]
mod transport;

use common::{order, unit_mesh, zigzag_mesh};
use weft::element::CellKind;

/// Mass stays and the error falls by at least order p + ½ when cells are halved.
fn check_transport(p: usize, n: usize, run: impl Fn(usize) -> transport::Outcome) {
    let (coarse, fine) = (run(n), run(2 * n));
    let rate = order(coarse.error, fine.error);
    println!("p = {p}: {coarse:?} {fine:?} {rate:.2}");
    for run in [coarse, fine] {
        assert!(run.mass.abs() < 1e-12, "p = {p}: {run:?}");
    }
    assert!(rate >= p as f64 + 0.5, "p = {p}: {rate} {fine:?}");
}

#[test]
fn a_bump_turns_once() {
    for (p, n) in [(1, 32), (2, 20), (3, 14)] {
        check_transport(p, n, |n| transport::turn(n, p).unwrap());
    }
}

#[test]
fn burgers_is_exact_before_the_shock() {
    for (p, n) in [(1, 160), (2, 160), (3, 160)] {
        check_transport(p, n, |n| transport::steepen(n, p).unwrap());
    }
}

#[test]
fn shocks_move_with_their_speed() {
    // States 1 and 0: the shock moves with speed ½ (Rankine & Hugoniot). A piecewise constant solution
    // stays between the states, and crosses ½ where the shock is.
    let n = 400;
    let mut burgers = transport::Burgers::new(n, 0, "less(x[0], 0)", "less(x[0], 0)").unwrap();
    let before = burgers.mass().unwrap();
    let end = 2.0;
    burgers.run(end, 1.0).unwrap();
    // What flows in: ½ a unit of time.
    assert!((burgers.mass().unwrap() - before - 0.5 * end).abs() < 1e-12);
    let values = burgers.field().values();
    assert!(values.iter().all(|u| (-1e-12..=1.0 + 1e-12).contains(u)));
    assert!(values.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12));
    let place = values.iter().position(|&u| u < 0.5).unwrap();
    let x = burgers.field().space().node_positions()[place][0];
    assert!((x - 0.5 * end).abs() < 2.0 * 4.0 / n as f64, "{x}");
}

#[test]
fn interior_penalty_has_full_order() {
    for kind in [CellKind::Triangle, CellKind::Quad] {
        for (p, n) in [(1, 16), (2, 12), (3, 8)] {
            let exact = "sin(1.6*x[0] + 1.1*x[1] + 0.4)*exp(0.5*x[1] - 0.3*x[0])";
            let [coarse, fine] =
                [n, 2 * n].map(|n| penalty::solve(&zigzag_mesh(kind, n), p, exact).unwrap());
            let rates = [0, 1].map(|k| order(coarse.errors[k], fine.errors[k]));
            let what = format!("{kind:?}, p = {p}: {rates:?} {:?}", fine.errors);
            println!("{what}, {} iterations", fine.iterations);
            assert!((rates[0] - (p + 1) as f64).abs() < 0.15, "{what}");
            assert!((rates[1] - p as f64).abs() < 0.15, "{what}");
            assert!(fine.matrix.is_symmetric(1e-12), "{what}");
        }
    }
}

#[test]
fn interior_penalty_reproduces_its_functions() {
    for kind in [CellKind::Triangle, CellKind::Quad] {
        for (p, exact) in [(1, "1 + 2*x[0] - x[1]"), (2, "x[0]*x[1] - x[0]^2")] {
            let solved = penalty::solve(&unit_mesh(kind, [4; 3]), p, exact).unwrap();
            assert!(solved.errors[1] < 1e-9, "{kind:?}: {:?}", solved.errors);
            assert!(solved.field.values().len() == solved.matrix.rows());
        }
    }
}

/// Largest accepted difference from the published velocities: 2 % of the lid's speed.
#[cfg(feature = "direct")]
const TOLERANCE: f64 = 0.02;

#[cfg(feature = "direct")]
fn check_cavity(n: usize) {
    let start = std::time::Instant::now();
    let mut cavity = cavity::Cavity::new(n).unwrap();
    let report = cavity.solve(0.0).unwrap();
    assert_eq!(
        report.free,
        [(1, 0)],
        "the pressure is free up to a constant"
    );
    let [_, pressure] = cavity.fields();
    let (sum, largest) = pressure
        .values()
        .iter()
        .fold((0.0, 0.0f64), |(s, m), p| (s + p, m.max(p.abs())));
    let count = pressure.values().len() as f64;
    assert!(
        (sum / count).abs() < 1e-9 * largest,
        "the mean stays what it was"
    );
    // Stokes flow is symmetric about x = ½.
    for y in [0.1, 0.37, 0.5, 0.81] {
        let (left, right) = (cavity.velocity_at([0.3, y]), cavity.velocity_at([0.7, y]));
        let (left, right) = (left.unwrap(), right.unwrap());
        assert!((left[0] - right[0]).abs() < 1e-7 && (left[1] + right[1]).abs() < 1e-7);
    }
    for published in &cavity::PUBLISHED {
        let report = cavity.solve(published.reynolds).unwrap();
        let [u, v] = cavity.differences(published).unwrap();
        println!(
            "{n} x {n}, Re {}: {} steps, u {u:.4}, v {v:.4}, {:.1} s",
            published.reynolds,
            report.iterations,
            start.elapsed().as_secs_f64()
        );
        assert!(
            u < TOLERANCE && v < TOLERANCE,
            "Re {}: {u} {v}",
            published.reynolds
        );
    }
    // The misprint is one: the flow is far from it, and close to a curve through the neighbours.
    let (_, x) = cavity::MISPRINT;
    let v = cavity.velocity_at([x, 0.5]).unwrap()[1];
    assert!(
        (v + 0.23827).abs() > 0.1 && (-0.44993..-0.22847).contains(&v),
        "{v}"
    );
}

#[cfg(feature = "direct")]
#[test]
fn cavity_against_published_velocities() {
    check_cavity(64);
}
