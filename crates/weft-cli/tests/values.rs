//! The cases of the repository give the values they promise.

mod common;

use common::settings;
use std::path::Path;
use weft_cli::case::Case;
use weft_cli::run::{RunOptions, run};
use weft_cli::summary::{ReportValue, Summary};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases");

#[track_caller]
fn solve(name: &str, set: &[(&str, &str)]) -> Summary {
    let path = Path::new(CASES).join(name);
    let case = Case::read(&path, &settings(set)).unwrap_or_else(|e| panic!("{e}"));
    let folder = tempfile::tempdir().unwrap();
    let options = RunOptions {
        out: folder.path().to_path_buf(),
        memory: false,
        silent: true,
    };
    let summary = run(&case, &options).unwrap_or_else(|e| panic!("{e}"));
    assert!(folder.path().join(format!("{}.vtu", case.name)).is_file());
    assert!(folder.path().join(format!("{}.png", case.name)).is_file());
    summary
}

#[track_caller]
fn number(summary: &Summary, report: &str) -> f64 {
    match summary.reports.get(report) {
        Some(ReportValue::Number(value)) => *value,
        other => panic!("{report} is {other:?}"),
    }
}

#[track_caller]
fn vector(summary: &Summary, report: &str) -> Vec<f64> {
    match summary.reports.get(report) {
        Some(ReportValue::Vector(values)) => values.clone(),
        other => panic!("{report} is {other:?}"),
    }
}

/// Half a unit of the last digit of a number such as `6.961104e-05`, and a little, since the
/// reference is rounded from a value that is itself only near the exact one.
fn half_unit(digits: &str) -> f64 {
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((digits, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len()) as i32;
    0.501 * 10f64.powi(exponent.parse::<i32>().unwrap() - decimals)
}

#[track_caller]
fn agree(summary: &Summary, report: &str, digits: &str) {
    let value = number(summary, report);
    let wanted: f64 = digits.parse().unwrap();
    assert!(
        (value - wanted).abs() <= half_unit(digits),
        "{report} is {value:.10e}, not {digits}"
    );
}

/// Values from scikit-fem 12.0 on the same mesh.
#[test]
fn bracket() {
    let p2 = solve("bracket.toml", &[]);
    assert_eq!((p2.elements, p2.dofs), (4413, 25770));
    agree(&p2, "volume", "6.961104e-05");
    agree(&p2, "load_area", "4.965652e-04");
    agree(&p2, "energy", "6.974356e-02");
    agree(&p2, "max_displacement", "1.747578e-04");
    let reaction = vector(&p2, "reaction");
    for (value, wanted) in reaction.iter().zip([0.0, 0.0, 993.130376]) {
        assert!((value - wanted).abs() <= 0.501e-6, "{reaction:?}");
    }
}

/// The three files hold one mesh; the binary one has further digits of the positions.
#[test]
fn bracket_of_degree_1_from_three_files() {
    let degree = ("spaces.u.degree", "1");
    let text = solve("bracket.toml", &[degree]);
    assert_eq!((text.elements, text.dofs), (4413, 4290));
    agree(&text, "volume", "6.961104e-05");
    agree(&text, "energy", "3.540972e-02");
    agree(&text, "max_displacement", "8.183166e-05");
    for file in ["bracket_binary.msh", "bracket_v22.msh"] {
        let file = format!("{CASES}/data/{file}");
        let other = solve("bracket.toml", &[degree, ("mesh.file", &file)]);
        for (name, value) in text.reports.iter() {
            let numbers = |value: &ReportValue| match value {
                ReportValue::Number(x) => vec![*x],
                ReportValue::Vector(x) => x.clone(),
            };
            let (a, b) = (numbers(value), numbers(other.reports.get(name).unwrap()));
            let size = a.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            for (x, y) in a.iter().zip(&b) {
                assert!((x - y).abs() <= 1e-10 * size, "{file}: {name} {x} {y}");
            }
        }
    }
}

/// Values from scikit-fem 12.0 on the same mesh.
#[test]
fn plate_with_a_hole() {
    let s = solve("plate_hole.toml", &[]);
    assert_eq!(s.dofs, 7314);
    agree(&s, "area", "0.99215863");
    agree(&s, "energy", "1.02420306");
    agree(&s, "u_x_at_1_0", "1.05166451");
    // The edge of unit length is pulled by 1.
    let reaction = vector(&s, "reaction");
    assert!((reaction[0] + 1.0).abs() < 1e-8 && reaction[1].abs() < 1e-8);
}

/// Values from scikit-fem 12.0 on the same mesh.
#[test]
fn coils() {
    let s = solve("coils.toml", &[]);
    assert_eq!(s.dofs, 6463);
    agree(&s, "energy", "100.40478717");
    agree(&s, "max_potential", "5.54739310e-03");
}

/// Values from scikit-fem 12.0 on the same mesh.
#[test]
fn beam() {
    let s = solve("beam_hex.toml", &[]);
    assert_eq!((s.elements, s.dofs), (1440, 6027));
    agree(&s, "energy", "0.38805537");
    agree(&s, "min_u_z", "-0.03880747");
    let reaction = vector(&s, "reaction");
    assert!((reaction[2] - 10.0).abs() < 1e-7, "{reaction:?}");
}

/// The solution is a product of sines; halving the cells divides the squared error by about
/// 2^(2 (degree + 1)) = 64.
#[test]
fn poisson_on_every_cell() {
    for (kind, fine, coarse) in [
        ("triangle", "[32, 32]", "[16, 16]"),
        ("quad", "[32, 32]", "[16, 16]"),
        ("tet", "[8, 8, 8]", "[4, 4, 4]"),
        ("hex", "[8, 8, 8]", "[4, 4, 4]"),
    ] {
        let error = |cells: &str| {
            let s = solve(&format!("poisson_{kind}.toml"), &[("mesh.cells", cells)]);
            let measure = if kind.len() < 4 { "volume" } else { "area" };
            assert!((number(&s, measure) - 1.0).abs() < 1e-13);
            assert!((number(&s, "middle") - 1.0).abs() < 0.02, "{kind}");
            assert!((number(&s, "max_u") - 1.0).abs() < 0.02, "{kind}");
            number(&s, "error_squared")
        };
        let ratio = error(coarse) / error(fine);
        assert!((40.0..90.0).contains(&ratio), "{kind}: {ratio}");
    }
}

/// Scherk's surface; its area over the square is ∫ 1/(cos x cos y) √(1 − sin²x sin²y).
#[test]
fn minimal_surface() {
    let fine = solve("minimal_surface.toml", &[]);
    let coarse = solve("minimal_surface.toml", &[("mesh.cells", "[12, 12]")]);
    assert!(fine.residual <= 1e-10 && fine.iterations < 15);
    let error = number(&fine, "error_squared").sqrt();
    assert!(error < 5e-5, "{error}");
    let ratio = number(&coarse, "error_squared") / number(&fine, "error_squared");
    assert!((40.0..90.0).contains(&ratio), "{ratio}");
    assert!(number(&fine, "middle").abs() < 1e-5);
    // The largest height is on the edge: -ln cos 1.
    assert!((number(&fine, "max_height") + 1f64.cos().ln()).abs() < 1e-12);
    let area = scherk_area();
    assert!((number(&fine, "area") - area).abs() < 1e-6 * area);
    // An approximation has more area than the minimum.
    assert!(number(&fine, "area") > area);
}

/// The area of Scherk's surface over [−1, 1]² by Simpson's rule with 400² cells.
fn scherk_area() -> f64 {
    let n = 400;
    let weight = |i: usize| match i {
        0 => 1.0,
        i if i == n => 1.0,
        i => 2.0 + 2.0 * (i % 2) as f64,
    };
    let at = |i: usize| -1.0 + 2.0 * i as f64 / n as f64;
    let mut sum = 0.0;
    for i in 0..=n {
        for j in 0..=n {
            let (x, y) = (at(i), at(j));
            let density = (1.0 + x.tan().powi(2) + y.tan().powi(2)).sqrt();
            sum += weight(i) * weight(j) * density;
        }
    }
    sum * (2.0 / n as f64 / 3.0).powi(2)
}

#[test]
fn half_units() {
    assert!((half_unit("6.961104e-05") / 5e-12 - 1.0).abs() < 0.01);
    assert!((half_unit("-0.03880747") / 5e-9 - 1.0).abs() < 0.01);
}
