//! What a good case file says, with and without settings of the command line.

mod common;

use common::settings;
use std::path::{Path, PathBuf};
use weft_cli::case::*;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[track_caller]
fn read(name: &str, set: &[(&str, &str)]) -> Case {
    Case::read(&root().join("cases").join(name), &settings(set)).unwrap_or_else(|e| panic!("{e}"))
}

fn file(case: &Case) -> PathBuf {
    match &case.mesh.source {
        MeshSource::File(file) => file.value.clone(),
        MeshSource::Shape(shape) => panic!("{shape:?}"),
    }
}

#[test]
fn the_bracket() {
    let case = read("bracket.toml", &[]);
    assert_eq!(case.name, "bracket");
    assert_eq!(file(&case), root().join("cases/data/bracket.msh"));
    let space = case.unknown();
    assert_eq!((space.name.value.as_str(), space.degree), ("u", 2));
    assert_eq!(space.value, ValueShape::Vector(None));
    assert!(space.continuous && space.nodes == Nodes::Lobatto);
    let names: Vec<&str> = case
        .parameters
        .iter()
        .map(|p| p.name.value.as_str())
        .collect();
    assert_eq!(names, ["E", "nu", "mu", "lambda", "t"]);
    let texts: Vec<String> = case
        .parameters
        .iter()
        .map(|p| match &p.value {
            ParameterValue::Constant(formula) => formula.to_text(),
            by_tag => panic!("{by_tag:?}"),
        })
        .collect();
    assert_eq!(texts[0], "210000000000.0");
    assert_eq!(texts[2], "E/(2*(1 + nu))");
    assert_eq!(texts[4], "[0.0, 0.0, -2000000.0]");
    let names: Vec<&str> = case.reports.iter().map(|r| r.name.value.as_str()).collect();
    assert_eq!(
        names,
        [
            "volume",
            "load_area",
            "energy",
            "max_displacement",
            "reaction"
        ]
    );
    assert!(matches!(
        case.problem.form,
        Form::Linear { load: Some(_), .. }
    ));
    assert_eq!(case.dirichlet[0].constraint, Constraint::Whole);
    assert_eq!(case.dirichlet[0].on[0].value, "bolts");
    assert_eq!(case.solver.method, Method::Direct);
    let picture = case.output.picture.unwrap();
    assert_eq!(picture.view, Some([1.0, -2.0, 1.0]));
    assert_eq!(picture.deform, Deform::Auto);
    assert!(case.output.vtu);
}

#[test]
fn parameters_by_tag_and_components() {
    let case = read("coils.toml", &[]);
    let ParameterValue::ByTag { default, tags } = &case.parameters[2].value else {
        panic!("{:?}", case.parameters[2]);
    };
    assert_eq!(default.as_ref().unwrap().to_text(), "0.0");
    assert_eq!(tags[1].0.value, "coil_minus");
    assert_eq!(tags[1].1.to_text(), "-1000000.0");
    let case = read("plate_hole.toml", &[]);
    assert_eq!(case.dirichlet[1].constraint, Constraint::Component(1));
    let case = read("minimal_surface.toml", &[]);
    assert!(matches!(case.problem.form, Form::Residual(_)));
    assert_eq!(case.solver.newton.max_iterations, 30);
}

#[test]
fn settings_change_the_case() {
    let case = read(
        "bracket.toml",
        &[
            ("spaces.u.degree", "1"),
            ("mesh.file", "data/bracket_v22.msh"),
            ("parameters.E", "E_0*2"),
            ("parameters.t", "[0, 0, 1]"),
            ("solver.newton.max_iterations", "7"),
            ("solver.method", "cg"),
            ("dirichlet.0.on", "free"),
            ("report.volume.integral", "2*dx"),
            ("output.picture.size", "[100, 50]"),
            ("output.vtu", "false"),
            ("problem.L", "0"),
        ],
    );
    assert_eq!(case.unknown().degree, 1);
    assert!(file(&case).ends_with("cases/data/bracket_v22.msh"));
    let ParameterValue::Constant(e) = &case.parameters[0].value else {
        panic!("{:?}", case.parameters[0]);
    };
    assert_eq!(e.to_text(), "E_0*2");
    assert_eq!(case.solver.newton.max_iterations, 7);
    assert_eq!(case.solver.method, Method::Cg);
    assert_eq!(case.dirichlet[0].on[0].value, "free");
    assert!(matches!(&case.reports[0].kind, ReportKind::Integral(text) if text.value == "2*dx"));
    assert_eq!(case.output.picture.unwrap().size, [100, 50]);
    assert!(!case.output.vtu);
    assert!(matches!(case.problem.form, Form::Linear { load: None, .. }));
}

#[test]
fn a_mesh_file_displaces_a_shape_and_the_other_way_round() {
    let case = read(
        "poisson_triangle.toml",
        &[("mesh.file", "data/plate_hole.msh")],
    );
    assert!(file(&case).ends_with("plate_hole.msh"));
    let case = read(
        "plate_hole.toml",
        &[("mesh.shape", "disk"), ("mesh.cells", "5")],
    );
    let MeshSource::Shape(shape) = case.mesh.source else {
        panic!("{:?}", case.mesh);
    };
    assert_eq!((shape.kind, shape.cells), (ShapeKind::Disk, vec![5]));
}

#[test]
fn a_place_inside_a_formula_is_found_in_the_file() {
    let case = read("plate_hole.toml", &[]);
    let Form::Linear { a, .. } = &case.problem.form else {
        panic!("{:?}", case.problem);
    };
    let at = a.value.find("div(v)").unwrap();
    let place = a.part(at..at + 6);
    assert_eq!(place.text(), "div(v)");
    let text = std::fs::read_to_string(&case.path).unwrap();
    let (line, column) = place.line_column();
    assert!(text.lines().nth(line - 1).unwrap()[column - 1..].starts_with("div(v)"));
}
