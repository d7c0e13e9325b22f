//! `docs/forms.md`: every line of its examples is read, and every value printed beside one holds.

use super::document;
use std::sync::Arc;
use weft::assemble::{integrate, interpolate};
use weft::field::Field;
use weft::form::{Expr, Param, Scope, Shape};
use weft::geometry::{Geometry, Mesh, shapes};
use weft::space::Space;

/// Lines of the fences ```` ```NAME ````, with their comments.
fn lines(fence: &str) -> Vec<(String, String)> {
    let text = document("forms.md");
    let open = format!("```{fence}");
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim() == open {
            inside = true;
        } else if line.trim() == "```" {
            inside = false;
        } else if inside && !line.trim().is_empty() {
            let (code, comment) = line.split_once('#').unwrap_or((line, ""));
            found.push((code.trim().to_string(), comment.trim().to_string()));
        }
    }
    assert!(!found.is_empty(), "no {open} in docs/forms.md");
    found
}

fn tagged(mesh: Mesh) -> Mesh {
    let mut tags = (*mesh.tags()).clone();
    tags.insert_cells("steel", vec![0]);
    tags.insert_sides("load", tags.sides("right").unwrap().to_vec());
    tags.insert_sides("seam", vec![mesh.topology().interior_sides()[0]]);
    mesh.with_tags(tags).unwrap()
}

/// The names that `docs/forms.md` uses in its examples, on the unit square or cube.
fn scope(mesh: &Mesh) -> Scope {
    let dim = mesh.space_dim();
    let scalar = Space::lagrange(mesh, 2).unwrap();
    let vector = scalar.vector(dim).unwrap();
    let tensor = scalar.symmetric(dim).unwrap();
    let mut scope = Scope::new(Arc::new(mesh.clone()));
    scope.set("p", Expr::trial(&scalar));
    scope.set("q", Expr::test(&scalar));
    scope.set("u", Expr::trial(&vector));
    scope.set("v", Expr::test(&vector));
    scope.set("tau", Expr::test(&tensor));
    let x = Expr::position(mesh);
    let s: Field = interpolate(&(x.at(0) * x.at(0)), &scalar).unwrap();
    scope.set_field("s", &s);
    let w = interpolate(&(x.at(0) * &x), &vector).unwrap();
    scope.set_field("w", &w);
    for (name, value) in [("mu", 2.0), ("lambda", 3.0), ("k", 5.0)] {
        scope.set(name, &Param::scalar(name, value));
    }
    scope.set("t", &Param::vector("t", &[1.0, 2.0, 3.0][..dim]));
    let a = [4.0, 1.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0];
    let entries = (0..dim * dim)
        .map(|e| Expr::from(a[e / dim * 3 + e % dim]))
        .collect();
    scope.set("A", Expr::tensor(Shape::Matrix(dim, dim), entries));
    scope
}

fn scopes() -> [(Mesh, Scope); 3] {
    let plane = tagged(shapes::rectangle_triangles([2, 2], [0.0; 2], [1.0; 2]).unwrap());
    let space = tagged(shapes::box_tets([1, 1, 1], [0.0; 3], [1.0; 3]).unwrap());
    let scopes = [plane, space].map(|mesh| {
        let scope = scope(&mesh);
        (mesh, scope)
    });
    let flat = shapes::rectangle_triangles([2, 2], [0.0; 2], [1.0; 2]).unwrap();
    let surface = flat.lifted(|_, _| 0.0).unwrap();
    let names = Scope::new(Arc::new(surface.clone()));
    let [plane, space] = scopes;
    [plane, space, (surface, names)]
}

/// Reads a line as a form or an expression, and checks the value printed beside it.
fn check(mesh: &Mesh, scope: &Scope, code: &str, comment: &str) -> Result<(), String> {
    let value = match scope.form(code) {
        Ok(form) => integrate(&form),
        Err(_) => {
            let e = scope.expression(code).map_err(|e| e.to_string())?;
            integrate(&e.dx(mesh))
        }
    };
    let Some(printed) = comment.strip_prefix("= ") else {
        return Ok(());
    };
    let wanted: f64 = printed
        .split_whitespace()
        .next()
        .and_then(|n| n.parse().ok())
        .ok_or_else(|| format!("`{printed}` is no number"))?;
    let value = value.map_err(|e| e.to_string())?;
    // Printed with seven digits.
    if (value - wanted).abs() > 1e-6 * wanted.abs().max(1.0) {
        return Err(format!("it is {value}"));
    }
    Ok(())
}

#[test]
fn every_line_of_the_reference_is_read_and_has_the_value_printed() {
    let scopes = scopes();
    for (fence, (mesh, scope)) in ["form", "form3", "form-surface"].into_iter().zip(&scopes) {
        for (code, comment) in lines(fence) {
            check(mesh, scope, &code, &comment)
                .unwrap_or_else(|e| panic!("{fence}: {code} # {comment}\n{e}"));
        }
    }
}

#[test]
fn every_mistake_of_the_reference_is_refused_as_printed() {
    let [(_, scope), ..] = scopes();
    for (code, comment) in lines("form-mistake") {
        let refused = scope
            .form(&code)
            .err()
            .or_else(|| scope.expression(&code).err());
        let message = refused
            .unwrap_or_else(|| panic!("{code} is accepted"))
            .to_string();
        assert!(
            message.contains(&comment),
            "{code}:\n{message}\nis not \"{comment}\""
        );
    }
}

#[test]
fn every_function_and_name_of_the_language_is_in_the_reference() {
    let [(_, scope), ..] = scopes();
    let examples = ["form", "form3", "form-surface"].map(lines).concat();
    let listed = |text: &str| -> Vec<String> {
        let message = scope.expression(text).unwrap_err().to_string();
        let line = message.lines().next().unwrap();
        let (_, names) = line
            .split_once("known are ")
            .unwrap_or_else(|| panic!("{line}"));
        names.split(", ").map(str::to_string).collect()
    };
    let functions = listed("zzzzzzzzz(1)");
    assert!(functions.len() > 35, "{functions:?}");
    for name in functions {
        let call = format!("{name}(");
        assert!(
            examples.iter().any(|(code, _)| code.contains(&call)),
            "no example of `{name}`"
        );
    }
    for name in listed("zzzzzzzzz") {
        let uses = |code: &str| {
            code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .any(|word| word == name)
        };
        assert!(
            examples.iter().any(|(code, _)| uses(code)),
            "no example of `{name}`"
        );
    }
}

#[test]
fn the_program_in_the_readme_is_the_example() {
    let root = super::docs().join("..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let readme = read("README.md");
    let (_, rest) = readme.split_once("```rust\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    let example = read("crates/weft-io/examples/bracket.rs");
    let code: Vec<&str> = example
        .lines()
        .skip_while(|l| l.starts_with("//!"))
        .collect();
    assert_eq!(shown.trim(), code.join("\n").trim());
    assert!(shown.lines().count() <= 25);
}
