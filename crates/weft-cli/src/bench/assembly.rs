//! `weft bench assembly`: numeric reassembly of matrices.

use super::median;
use crate::summary::Ordered;
use serde::Serialize;
use std::fmt;
use weft::assemble::MatrixPlan;
use weft::form::{Expr, Form, div, dot, grad, inner, sym};
use weft::geometry::{Mesh, shapes};
use weft::space::Space;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Number of cells.
    pub elements: usize,
    /// Number of unknowns.
    pub dofs: usize,
    /// Seconds of one numeric assembly.
    pub seconds: f64,
    /// Cells assembled in a second.
    pub elements_per_second: f64,
}

/// Measurements by name, such as `poisson_hex_q1`; what `--json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Measurements(pub Ordered<Measurement>);

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<22}{:>10}{:>10}{:>12}{:>16}",
            "", "elements", "dofs", "seconds", "elements/s"
        )?;
        for (name, m) in self.0.iter() {
            write!(
                f,
                "\n{name:<22}{:>10}{:>10}{:>12.6}{:>16.4e}",
                m.elements, m.dofs, m.seconds, m.elements_per_second
            )?;
        }
        Ok(())
    }
}

/// Measures numeric reassembly, on rayon's current pool of threads.
///
/// Hexes are distorted, so that their Jacobians vary inside cells: 48³ of degree 1, 24³ of
/// degree 2. Tets: 24³ × 6 of either degree. Poisson is grad u · grad v, elasticity
/// 2 ε(u) : ε(v) + div u div v.
///
/// # Errors
/// Those of the engine.
pub fn assembly() -> anyhow::Result<Measurements> {
    let unit = |n: usize| ([n; 3], [0.0; 3], [1.0; 3]);
    let hexes = |n: usize| -> anyhow::Result<Mesh> {
        let (cells, lower, upper) = unit(n);
        let mesh = shapes::box_hexes(cells, lower, upper)?;
        mesh.move_vertices(crate::run::moved(&mesh, 0.1))?;
        Ok(mesh)
    };
    let (cells, lower, upper) = unit(24);
    let meshes = [
        ("hex_q1", hexes(48)?, 1),
        ("hex_q2", hexes(24)?, 2),
        ("tet_p1", shapes::box_tets(cells, lower, upper)?, 1),
        ("tet_p2", shapes::box_tets(cells, lower, upper)?, 2),
    ];
    let mut all = Ordered::default();
    for (name, mesh, degree) in &meshes {
        let space = Space::lagrange(mesh, *degree)?;
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let poisson = dot(&grad(&u), &grad(&v)).dx(mesh);
        all.insert(&format!("poisson_{name}"), measure(&poisson)?);
    }
    for (name, mesh, degree) in &meshes {
        let space = Space::lagrange(mesh, *degree)?.vector(3)?;
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let strain = |w: &Expr| sym(&grad(w));
        let elasticity = 2.0 * inner(&strain(&u), &strain(&v)) + div(&u) * div(&v);
        all.insert(
            &format!("elasticity_{name}"),
            measure(&elasticity.dx(mesh))?,
        );
    }
    Ok(Measurements(all))
}

fn measure(form: &Form) -> anyhow::Result<Measurement> {
    let mut plan = MatrixPlan::new(form)?;
    let mut matrix = plan.matrix();
    let seconds = median(|| Ok(plan.assemble(&mut matrix)?))?;
    let space = plan.test_space();
    let elements = space.topology().cell_count();
    Ok(Measurement {
        elements,
        dofs: space.dof_count(),
        seconds,
        elements_per_second: elements as f64 / seconds,
    })
}
