//! Case files with one mistake each: the message names the thing, shows the line, and says what
//! would be accepted.

mod common;

use common::{one_fault, settings};
use std::path::Path;
use weft_cli::case::Case;

const GOOD: &str = r#"title = "A good case"

[mesh]
shape = "rectangle_quads"
cells = [4, 4]
upper = [2, 1]

[spaces.u]
degree = 2
value = "vector"

[parameters]
E = 210e9
mu = "E/2"
k = { default = 1, iron = 1000 }
t = [0, -1]

[problem]
a = "mu*inner(grad(u), grad(v))*dx"
L = "dot(t, v)*ds('right')"

[[dirichlet]]
on = "left"
value = [0, 0]

[solver]
method = "cg"
tolerance = 1e-8

[[report]]
name = "area"
integral = "1*dx"

[[report]]
name = "corner"
point = [2, 0]
value = "u[1]"

[output]
picture = { color = "norm(u)", size = [640, 480] }
"#;

/// The faults of a text, or "" if it has none.
fn faults(text: &str, set: &[(&str, &str)]) -> String {
    match Case::parse(Path::new("cases/a.toml"), text, &settings(set)) {
        Ok(_) => String::new(),
        Err(faults) => faults.to_string(),
    }
}

/// The good case with `old` replaced by `new` must fail with one fault, whose text has all `parts`.
#[track_caller]
fn bad(old: &str, new: &str, parts: &[&str]) {
    assert_eq!(GOOD.matches(old).count(), 1, "`{old}` is not there once");
    let shown = faults(&GOOD.replace(old, new), &[]);
    one_fault(&shown, &format!("{new:?}"), parts);
}

/// The good case with a setting of the command line must fail likewise.
#[track_caller]
fn bad_setting(key: &str, value: &str, parts: &[&str]) {
    let shown = faults(GOOD, &[(key, value)]);
    one_fault(&shown, &format!("{key}={value}"), parts);
}

#[test]
fn the_good_case_is_good() {
    assert_eq!(faults(GOOD, &[]), "");
}

#[test]
fn a_whole_message() {
    assert_eq!(
        faults(&GOOD.replace("degree = 2", "degre = 2\ndegree = 2"), &[]),
        "error: unknown key `degre` in `spaces.u`
 --> cases/a.toml:9:1
  |
9 | degre = 2
  | ^^^^^ did you mean `degree`?
  = accepted here: `degree`, `value`, `size`, `continuous` or `nodes`"
    );
    assert_eq!(
        faults(GOOD, &[("spaces.u.degree", "two")]),
        "error: `spaces.u.degree` must be a whole number from 1 to 6
 --> command line
  |
  | --set spaces.u.degree=two
  |                       ^^^ this is text"
    );
}

#[test]
fn syntax() {
    bad("[mesh]", "[mesh", &["not valid TOML", "a.toml:3:"]);
    bad("cells = [4, 4]", "cells = [4, 4", &["not valid TOML"]);
    bad(
        "degree = 2",
        "degree = 2\ndegree = 3",
        &["not valid TOML", "duplicate key", ":10:"],
    );
    bad(
        "E = 210e9",
        "E = 1e999",
        &["a number must be finite", "a.toml:13:5"],
    );
    bad("E = 210e9", "E = nan", &["a number must be finite"]);
    bad(
        "cells = [4, 4]",
        "cells = [99999999999999999999, 4]",
        &["too large"],
    );
}

#[test]
fn unknown_keys() {
    bad(
        "[solver]",
        "[solvr]",
        &["unknown key `solvr` at the top", "did you mean `solver`?"],
    );
    bad(
        "method =",
        "metod =",
        &["unknown key `metod`", "did you mean `method`?"],
    );
    bad(
        "color =",
        "colour =",
        &["unknown key `colour`", "did you mean `color`?", ":40:13"],
    );
    bad(
        "tolerance = 1e-8",
        "degree = 2",
        &[
            "unknown key `degree` in `solver`",
            "belongs in `spaces.NAME`",
        ],
    );
    bad(
        "integral = \"1*dx\"",
        "integral = \"1*dx\"\nwhere = 3",
        &[
            "unknown key `where` in `report`",
            "accepted here: `name`, `integral`",
        ],
    );
}

#[test]
fn wrong_types_and_ranges() {
    bad(
        "degree = 2",
        "degree = \"2\"",
        &["a whole number from 1 to 6", "this is text", ":9:10"],
    );
    bad(
        "degree = 2",
        "degree = 7",
        &["a whole number from 1 to 6", "this is 7"],
    );
    bad(
        "degree = 2",
        "degree = 0",
        &["a whole number from 1 to 6", "this is 0"],
    );
    bad("degree = 2", "degree = -1", &["this is -1"]);
    bad(
        "value = \"vector\"",
        "value = \"vectr\"",
        &["`scalar`, `vector`", "did you mean `vector`?"],
    );
    bad(
        "method = \"cg\"",
        "method = \"lu\"",
        &["`solver.method` must be `direct`", "this is not"],
    );
    bad(
        "tolerance = 1e-8",
        "tolerance = 0",
        &["above 0 and below 1", "this is 0"],
    );
    bad(
        "a = \"mu*inner(grad(u), grad(v))*dx\"",
        "a = 3",
        &["`problem.a` must be text"],
    );
    bad(
        "a = \"mu*inner(grad(u), grad(v))*dx\"",
        "a = \" \"",
        &["this is empty"],
    );
    bad(
        "E = 210e9",
        "E = 2024-01-01",
        &["`parameters.E` must be a number", "this is a date"],
    );
    bad("E = 210e9", "E = true", &["this is true or false"]);
    bad(
        "t = [0, -1]",
        "t = []",
        &["`parameters.t`", "this is empty"],
    );
    bad(
        "iron = 1000",
        "iron = true",
        &["`parameters.k.iron` must be a number"],
    );
    bad(
        "size = [640, 480]",
        "size = [640]",
        &["a list of 2", "these are 1"],
    );
    bad(
        "size = [640, 480]",
        "size = [640, 0]",
        &["from 16 to 16384"],
    );
    bad(
        "size = [640, 480]",
        "deform = \"much\"",
        &["\"auto\" or a number"],
    );
    bad(
        "size = [640, 480]",
        "view = [0, 0, 0]",
        &["a direction", "no length"],
    );
    bad("[[dirichlet]]", "[dirichlet]", &["write [[dirichlet]]"]);
    bad(
        "picture = { color = \"norm(u)\", size = [640, 480] }",
        "picture = 3",
        &["true, false, or a table"],
    );
}

#[test]
fn meshes() {
    bad(
        "shape = \"rectangle_quads\"",
        "shape = \"box_hex\"",
        &["did you mean `box_hexes`?"],
    );
    bad(
        "cells = [4, 4]",
        "cells = [4]",
        &["2 numbers from 1 up, of the cells"],
    );
    bad(
        "cells = [4, 4]",
        "cells = [2000000, 1]",
        &["from 0 to 1000000"],
    );
    bad(
        "shape = \"rectangle_quads\"",
        "shape = \"grid2\"\ndistort = 0.1",
        &["a grid is uniform", "`rectangle_quads`, `box_hexes`"],
    );
    bad(
        "cells = [4, 4]",
        "cells = [4, 0]",
        &["2 numbers from 1 up, of the cells"],
    );
    bad(
        "cells = [4, 4]\n",
        "",
        &["`mesh` needs a value for `cells`", "a.toml:3:"],
    );
    bad(
        "upper = [2, 1]",
        "upper = [2, 0]",
        &["above the lower corner", "[0.0, 0.0]"],
    );
    bad(
        "upper = [2, 1]",
        "upper = [2, 1, 1]",
        &["a list of 2", "these are 3"],
    );
    bad("upper = [2, 1]", "distort = 0.5", &["from 0 up to 0.5"]);
    bad(
        "upper = [2, 1]",
        "file = \"a.msh\"",
        &[
            "either a `file` or a `shape`",
            "there is a `file` too",
            ":4:1",
        ],
    );
    bad(
        "shape = \"rectangle_quads\"\ncells = [4, 4]\nupper = [2, 1]",
        "",
        &["`mesh` needs a `file` or a `shape`"],
    );
    bad(
        "shape = \"rectangle_quads\"\ncells = [4, 4]\nupper = [2, 1]",
        "file = \"nowhere.msh\"",
        &["an existing file, and cases/nowhere.msh is none", ":4:8"],
    );
    bad(
        "shape = \"rectangle_quads\"\ncells = [4, 4]\nupper = [2, 1]",
        "shape = \"disk\"\ncells = 4\nlower = [0, 0]",
        &["`mesh.lower` belongs to boxes"],
    );
    bad(
        "[mesh]\nshape = \"rectangle_quads\"\ncells = [4, 4]\nupper = [2, 1]",
        "",
        &["the case has no [mesh]", "for example"],
    );
}

#[test]
fn problems() {
    bad(
        "a = \"mu*inner(grad(u), grad(v))*dx\"",
        "a = \"u*v*dx\"\nresidual = \"u*v*dx\"",
        &[
            "either `a` and `L`, or a `residual`",
            "there is an `a` too",
            ":20:1",
        ],
    );
    bad(
        "a = \"mu*inner(grad(u), grad(v))*dx\"",
        "residual = \"u*v*dx\"",
        &["a problem with a `residual` has no `L`"],
    );
    bad(
        "L = \"dot(t, v)*ds('right')\"",
        "",
        &["a value for `L`", "if there is no load: L = 0"],
    );
    bad(
        "a = \"mu*inner(grad(u), grad(v))*dx\"\nL = \"dot(t, v)*ds('right')\"",
        "",
        &["`problem` needs `a` and `L`, or a `residual`"],
    );
    bad(
        "[problem]",
        "[problem]\nunknown = \"w\"",
        &["no space `w`", "there is `u`"],
    );
    bad(
        "[parameters]",
        "[spaces.p]\ndegree = 1\n[parameters]",
        &["`problem` needs a value for `unknown`"],
    );
    bad(
        "[spaces.u]",
        "[spaces.v]",
        &["a space cannot be called `v`", "meaning of its own"],
    );
    bad(
        "E = 210e9",
        "E = 1\nu = 2",
        &["a parameter cannot be called `u`", "a space has this"],
    );
    bad("E = 210e9", "E = 1\n\"2nd\" = 2", &["begins with no digit"]);
    bad(
        "value = \"vector\"",
        "size = 2",
        &["a scalar has no `size`"],
    );
}

#[test]
fn conditions_and_reports() {
    bad(
        "on = \"left\"\n",
        "",
        &["`dirichlet` needs a value for `on`", ":22:"],
    );
    bad(
        "value = [0, 0]",
        "value = [0, 0, 0]",
        &["has 2 components", "a list of 3"],
    );
    bad(
        "value = [0, 0]",
        "value = 0\ncomponent = \"w\"",
        &["`x`, `y` or `z`"],
    );
    bad(
        "value = [0, 0]",
        "value = 0\ncomponent = 2",
        &["there is no component 2"],
    );
    bad(
        "value = [0, 0]",
        "value = [0, 0]\nnormal = true",
        &["one component has one value"],
    );
    bad(
        "value = [0, 0]",
        "value = 0\ncomponent = 0\nnormal = true",
        &["a `component` or the `normal`, not both"],
    );
    bad(
        "on = \"left\"",
        "on = \"left\"\nfield = \"U\"",
        &["no space `U`", "did you mean `u`?"],
    );
    bad(
        "name = \"corner\"",
        "name = \"area\"",
        &["two reports are called `area`", ":35:"],
    );
    bad(
        "integral = \"1*dx\"",
        "",
        &["a report needs one of `integral`, `max`"],
    );
    bad(
        "integral = \"1*dx\"",
        "integral = \"1*dx\"\nmax = \"u[0]\"",
        &["a report needs one of", "there is `integral` too"],
    );
    bad(
        "integral = \"1*dx\"",
        "max = \"u[0]\"\nvalue = 2",
        &["belongs to a `point`"],
    );
    bad(
        "value = \"u[1]\"",
        "",
        &["`report` needs a value for `value`"],
    );
    bad(
        "point = [2, 0]",
        "point = [2, 0, 0]",
        &["has 2 coordinates", "these are 3"],
    );
}

#[test]
fn settings_with_a_wrong_path() {
    bad_setting(
        "mesh.fil",
        "x.msh",
        &["no value `mesh.fil` to set", "did you mean `file`?"],
    );
    bad_setting(
        "spaces.w.degree",
        "1",
        &["no value `spaces.w`", "accepted here: `u`"],
    );
    bad_setting(
        "space.u.degree",
        "1",
        &["no value `space`", "did you mean `spaces`?"],
    );
    bad_setting(
        "parameters.nu",
        "1",
        &["no value `parameters.nu`", "did you mean `mu`?"],
    );
    bad_setting(
        "parameters.k.irn",
        "1",
        &["no value `parameters.k.irn`", "`iron`"],
    );
    bad_setting(
        "parameters.E.steel",
        "1",
        &["`parameters.E` has nothing inside"],
    );
    bad_setting(
        "report.volume.integral",
        "1*dx",
        &["accepted here: `area` or `corner`"],
    );
    bad_setting("report.area", "1", &["`report.area` is a table"]);
    bad_setting(
        "dirichlet.1.value",
        "0",
        &["no value `dirichlet.1`", "accepted here: `0`"],
    );
    bad_setting(
        "output.fields.0.name",
        "0",
        &["this case file has no [[output.fields]]"],
    );
    bad_setting("spaces.u.degree.x", "0", &["has nothing inside"]);
    bad_setting("", "0", &["no value `` to set"]);
    bad_setting("mesh..file", "0", &["no value `mesh.` to set"]);
    bad_setting(
        "mesh.file",
        "nowhere.msh",
        &["nowhere.msh or cases/nowhere.msh is none"],
    );
}

#[test]
fn all_mistakes_are_shown_at_once() {
    let text = GOOD
        .replace("degree = 2", "degree = 9")
        .replace("method = \"cg\"", "method = \"gc\"")
        .replace("upper = [2, 1]", "uper = [2, 1]");
    assert_eq!(faults(&text, &[]).matches("error:").count(), 3);
}

#[test]
fn hostile_texts_are_errors() {
    let deep = format!("x = {}1{}", "[".repeat(5000), "]".repeat(5000));
    for text in [
        "",
        "\u{feff}",
        "\0",
        "[[[[",
        "a",
        "= 3",
        "mesh = 3\nspaces = 4\nproblem = []",
        &deep,
    ] {
        assert!(faults(text, &[]).starts_with("error:"), "{text:.20}");
    }
    // Any prefix of a good case ends in an error or a case, never a panic.
    for end in 0..GOOD.len() {
        faults(&GOOD[..end], &[]);
    }
}
