//! Case files that are well formed but can't be solved: the message names what is wrong, at its
//! place in the file.

use std::path::Path;
use weft_cli::case::Case;
use weft_cli::run::{RunOptions, check, run};

const GOOD: &str = r#"[mesh]
shape = "rectangle_quads"
cells = [4, 4]

[spaces.u]
degree = 2
value = "vector"

[parameters]
mu = 1
lambda = "2*mu"
t = [0, -1]

[problem]
a = "2*mu*inner(sym(grad(u)), sym(grad(v)))*dx + lambda*div(u)*div(v)*dx"
L = "dot(t, v)*ds('right')"

[[dirichlet]]
on = "left"
value = [0, 0]

[[report]]
name = "energy"
integral = "dot(t, u)*ds('right')"

[[report]]
name = "corner"
point = [1, 1]
value = "u[1]"

[output]
picture = { color = "norm(u)", deform = "auto", size = [64, 64] }
fields = [{ name = "stress", value = "2*mu*sym(grad(u)) + lambda*div(u)*I" }]
"#;

const SCALAR: &str = r#"[mesh]
shape = "rectangle_triangles"
cells = [4, 4]

[spaces.u]
degree = 1

[parameters]
t = [0, -1]

[problem]
a = "dot(grad(u), grad(v))*dx"
L = "1*v*dx"

[[dirichlet]]
on = "left"
value = 0

[output]
picture = { size = [64, 64] }
"#;

fn read(text: &str) -> Case {
    Case::parse(Path::new("cases/a.toml"), text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// The message of a case, or "" if it has no mistake.
fn checked(text: &str) -> String {
    check(&read(text)).map_or_else(|e| format!("{e:#}"), |()| String::new())
}

fn solved(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let options = RunOptions {
        out: folder.path().to_path_buf(),
        memory: false,
        silent: true,
    };
    run(&read(text), &options).map_or_else(|e| format!("{e:#}"), |_| String::new())
}

#[track_caller]
fn shows(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "no {part:?} in\n{message}");
    }
}

/// `text` with `old` replaced by `new` must be refused without solving, with all `parts`.
#[track_caller]
fn bad(text: &str, old: &str, new: &str, parts: &[&str]) {
    assert_eq!(text.matches(old).count(), 1, "`{old}` is not there once");
    shows(&checked(&text.replace(old, new)), parts);
}

#[test]
fn the_good_cases_are_good() {
    for text in [GOOD, SCALAR] {
        assert_eq!(checked(text), "");
        assert_eq!(solved(text), "");
    }
}

#[test]
fn a_whole_message() {
    assert_eq!(
        checked(&GOOD.replace("lambda*div(u)*div(v)", "lamda*div(u)*div(v)")),
        "error: `problem.a`: there is no name `lamda`; did you mean `lambda`?
  --> cases/a.toml:15:50
   |
15 | a = \"2*mu*inner(sym(grad(u)), sym(grad(v)))*dx + lamda*div(u)*div(v)*dx\"
   |                                                  ^^^^^"
    );
}

#[test]
fn tags() {
    bad(
        GOOD,
        "L = \"dot(t, v)*ds('right')\"",
        "L = \"dot(t, v)*ds('rihgt')\"",
        &[
            "`problem.L`: there is no side group `rihgt`",
            "a.toml:16:",
            "^^^^^ did you mean `right`?",
            "`bottom`, `left`, `right` or `top`",
        ],
    );
    bad(
        GOOD,
        "div(v)*dx\"",
        "div(v)*dx('steel')\"",
        &["no cell group `steel`", "no cell group at all"],
    );
    bad(
        GOOD,
        "on = \"left\"",
        "on = [\"left\", \"lefd\"]",
        &["no side group `lefd`", "did you mean `left`?"],
    );
    bad(
        GOOD,
        "dot(t, u)*ds('right')",
        "dot(t, u)*ds('up')",
        &["report `energy`", "no side group `up`"],
    );
    bad(
        GOOD,
        "point = [1, 1]\nvalue = \"u[1]\"",
        "reaction = \"lft\"",
        &["report `corner`", "no side group `lft`", "`left`"],
    );
    bad(
        SCALAR,
        "t = [0, -1]",
        "k = { default = 1, iron = 2 }",
        &["parameter `k`", "no cell group `iron`"],
    );
}

#[test]
fn forms() {
    let place = "^";
    for (new, parts) in [
        // Nonlinear, unbalanced, without a measure, mixed.
        ("dot(u, u)*dot(u, v)*dx", ["linear", "a.toml:15:"]),
        (
            "inner(grad(u), grad(v)*dx",
            ["must be a scalar", "a.toml:15:28"],
        ),
        ("inner(grad(u), grad(v))", ["multiply by dx", "a.toml:15:"]),
        (
            "inner(grad(u), grad(v))*dx + dot(t, v)*dx",
            ["same test and trial", "a.toml:15:"],
        ),
        (
            "dot(t, v)*dx",
            ["a test and a trial function", "`u` is the unknown"],
        ),
        (
            "inner(grad(u), v)*dx",
            ["inner does not take", "a.toml:15:"],
        ),
        ("dott(u, v)*dx", ["did you mean `dot`?", "^^^^"]),
        ("u[2]*v[0]*dx", ["outside", "vector of 2"]),
    ] {
        let text = "2*mu*inner(sym(grad(u)), sym(grad(v)))*dx + lambda*div(u)*div(v)*dx";
        bad(
            GOOD,
            text,
            new,
            &["error: `problem.a`", place, parts[0], parts[1]],
        );
    }
    bad(
        GOOD,
        "L = \"dot(t, v)*ds('right')\"",
        "L = \"dot(u, v)*dx\"",
        &["`problem.L`", "no trial function"],
    );
    bad(
        GOOD,
        "value = \"u[1]\"",
        "value = \"v[1]\"",
        &["report `corner`", "there is no name `v`"],
    );
}

#[test]
fn shapes() {
    bad(
        SCALAR,
        "L = \"1*v*dx\"",
        "L = \"dot(t, v)*ds('right')\"",
        &[
            "`problem.L`: dot does not take",
            "vector of 2 (`[0, -1]`)",
            "a scalar (`",
            "^",
        ],
    );
    bad(
        GOOD,
        "t = [0, -1]",
        "t = [0, 0, -1]",
        &[
            "`problem.L`: dot does not take",
            "vector of 3",
            "vector of 2",
        ],
    );
    bad(
        GOOD,
        "value = [0, 0]",
        "value = \"[x[0], 0, 0]\"",
        &["vector of 3", "takes a vector of 2", "a.toml:20:"],
    );
    bad(
        GOOD,
        "color = \"norm(u)\"",
        "color = \"u\"",
        &[
            "`output.picture.color`: a scalar is needed here",
            "this is a vector of 2",
        ],
    );
    bad(
        GOOD,
        "point = [1, 1]\nvalue = \"u[1]\"",
        "max = \"u\"",
        &["report `corner`: a scalar is needed here", "norm(...)"],
    );
    bad(
        GOOD,
        "point = [1, 1]",
        "point = [1, 1.5]",
        &[
            "report `corner`: the point lies outside the mesh",
            "[0, 1] × [0, 1]",
        ],
    );
}

#[test]
fn parameters() {
    bad(
        GOOD,
        "mu = 1\n",
        "mu = \"lambda/2\"\n",
        &["defined by one another", "`lambda` uses `mu` uses `lambda`"],
    );
    bad(
        GOOD,
        "lambda = \"2*mu\"",
        "lambda = \"2*nu\"",
        &["parameter `lambda`", "there is no name `nu`", "a.toml:11:"],
    );
    bad(
        SCALAR,
        "t = [0, -1]",
        "k = {}",
        &["parameter `k`", "32 of 32 cells are in none of the groups"],
    );
}

#[test]
fn singular_systems_are_named() {
    let free = SCALAR.replace("[[dirichlet]]\non = \"left\"\nvalue = 0\n", "");
    shows(
        &solved(&free),
        &[
            "the system is singular",
            "nothing fixes",
            "no [[dirichlet]] condition",
        ],
    );
    let sliding = GOOD.replace("value = [0, 0]", "component = \"x\"\nvalue = 0");
    let message = solved(&sliding);
    shows(
        &message,
        &[
            "the system is singular",
            "translation along y",
            "a.toml:18:",
        ],
    );
    assert_eq!(message.matches("singular").count(), 1, "{message}");
    let empty = SCALAR.replace("dot(grad(u), grad(v))*dx", "u*v*ds('right')");
    shows(
        &solved(&empty),
        &[
            "condition on node 0",
            "[0.0, 0.0]",
            "no integral of the form reaches it",
        ],
    );
    let empty = empty.replace("on = \"left\"", "on = \"right\"");
    shows(&solved(&empty), &["singular", "no equation"]);
}

#[test]
fn conditions_that_contradict_one_another_are_named() {
    let text = SCALAR.to_string() + "\n[[dirichlet]]\non = \"top\"\nvalue = 1\n";
    shows(&solved(&text), &["conflicting", "[0.0, 1.0]", "must agree"]);
}

#[test]
fn numbers_that_are_none_are_named() {
    let text = SCALAR.to_string() + "\n[[report]]\nname = \"bad\"\nmax = \"ln(u - 10)\"\n";
    shows(&solved(&text), &["report `bad`", "NaN"]);
    let text = SCALAR.replace("L = \"1*v*dx\"", "L = \"v/(x[0] - x[0])*dx\"");
    assert_ne!(solved(&text), "");
}

#[test]
fn iterative_solvers_say_why_they_stopped() {
    let text = GOOD.to_string() + "\n[solver]\nmethod = \"cg\"\nmax_iterations = 2\n";
    shows(&solved(&text), &["CG stopped after 2 iterations", "limit"]);
    let newton = SCALAR.replace("a = \"dot(grad(u), grad(v))*dx\"", "");
    let newton = newton.replace(
        "L = \"1*v*dx\"",
        "residual = \"dot(grad(u), grad(v))/(1 + u*u)*dx - 50*v*dx\"",
    );
    let newton = newton + "\n[solver]\nnewton = { max_iterations = 1 }\n";
    shows(&solved(&newton), &["Newton's method stopped", "limit"]);
    shows(
        &checked(&newton.replace("/(1 + u*u)*dx - 50*v*dx", "*ds('nowhere')")),
        &["`problem.residual`", "no side group `nowhere`"],
    );
}
