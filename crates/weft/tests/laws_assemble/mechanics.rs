//! Properties of stiffness matrices that mechanics demands.

use crate::common::*;
use crate::{field, form, scope};
use weft::assemble::{interpolate, matrix};
use weft::form::Expr;
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

fn rigid_motions(mesh: &Mesh) -> Vec<Expr> {
    let scope = weft::form::Scope::new(shared(mesh));
    let texts: &[&str] = match mesh.space_dim() {
        1 => &["[1]"],
        2 => &["[1, 0]", "[0, 1]", "[-x[1], x[0]]"],
        _ => &[
            "[1, 0, 0]",
            "[0, 1, 0]",
            "[0, 0, 1]",
            "[0, -x[2], x[1]]",
            "[x[2], 0, -x[0]]",
            "[-x[1], x[0], 0]",
        ],
    };
    texts.iter().map(|t| scope.expression(t).unwrap()).collect()
}

#[test]
fn rigid_motions_cost_nothing_and_symmetry_is_exact() {
    for Case { name, mesh } in straight_cases().into_iter().chain(curved_cases()) {
        let highest = if mesh.space_dim() == 3 { 2 } else { 4 };
        // Rotations lie in the space if its degree is at least the map's.
        for p in mesh.map().degree..=highest {
            let space = Space::lagrange(&mesh, p)
                .unwrap()
                .vector(mesh.space_dim())
                .unwrap();
            let scope = scope(&mesh, &space, &field(&space, &mut Random(1)));
            let a = form(
                &scope,
                "2*inner(sym(grad(u)), sym(grad(v)))*dx + 1.5*div(u)*div(v)*dx",
            );
            let stiffness = matrix(&a).unwrap();
            assert!(stiffness.is_symmetric(0.0), "{name} {p}");
            let scale = stiffness.max_abs();
            for motion in rigid_motions(&mesh) {
                let w = interpolate(&motion, &space).unwrap();
                let mut force = vec![0.0; space.dof_count()];
                stiffness.multiply(&w.values(), &mut force).unwrap();
                let largest = force.iter().fold(0.0f64, |m, f| m.max(f.abs()));
                assert!(
                    largest < 1e-12 * scale * force.len() as f64,
                    "{name} {p}: {largest:e}"
                );
            }
        }
    }
}

#[test]
fn masses_add_up_to_the_volume() {
    for Case { name, mesh } in all_cases() {
        for p in 1..=3 {
            let space = Space::lagrange(&mesh, p).unwrap();
            let scope = scope(&mesh, &space, &field(&space, &mut Random(1)));
            let degree = 2 * p + 6;
            let mass = matrix(&form(&scope, &format!("u*v*dx(degree = {degree})"))).unwrap();
            assert!(mass.is_symmetric(0.0), "{name}");
            let ones = vec![1.0; space.dof_count()];
            let mut rows = ones.clone();
            mass.multiply(&ones, &mut rows).unwrap();
            let total: f64 = rows.iter().sum();
            let volume = crate::value(&scope, &format!("1*dx(degree = {degree})"));
            assert_close(&[total], &[volume], 1e-12, name);
        }
    }
}

#[test]
fn a_symmetric_form_in_an_unsymmetric_guise_is_the_same_matrix() {
    for Case { name, mesh } in straight_cases() {
        let space = Space::lagrange(&mesh, 2).unwrap();
        let mut scope = scope(&mesh, &space, &field(&space, &mut Random(1)));
        scope.set_degree(Some(4));
        let symmetric = matrix(&form(&scope, "dot(grad(u), grad(v))*dx + u*v*dx")).unwrap();
        // The extra term makes the engine compute both halves, and is 0.
        let text = "(dot(grad(u), grad(v)) + u*v + (f - f)*u*grad(v)[0])*dx";
        let guise = matrix(&form(&scope, text)).unwrap();
        assert_close(guise.values(), symmetric.values(), 1e-13, name);
    }
}
