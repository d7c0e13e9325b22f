//! Diffusion in the box (0, 1) × (0, ½) × (0, 2): −Δu = 1, u = 0 on the sides across x and z and no flux
//! through those across y, on every kind of geometry. So u is the stress function of a bar of rectangular
//! cross-section under torsion, a series known since Saint-Venant.
//!
//! ```sh
//! cargo run --release -p weft-fem --example diffusion_3d
//! ```

use std::error::Error;
use std::f64::consts::PI;

use weft::field::{CrossField, Field};
use weft::form::Expr;
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grid3, Mark, VoxelGrid, VoxelMap, shapes};
use weft::problem::{Dirichlet, Solver, solve};
use weft::space::Space;

/// Kinds of geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A grid.
    Grid,
    /// A mesh of tets.
    Tets,
    /// A mesh of hexes.
    Hexes,
    /// A sparse grid of voxels.
    Voxels,
    /// Voxels of two sizes, with hanging nodes between.
    Adaptive,
}

/// All of them.
pub const KINDS: [Kind; 5] = [
    Kind::Grid,
    Kind::Tets,
    Kind::Hexes,
    Kind::Voxels,
    Kind::Adaptive,
];

/// What came of a solve.
pub struct Outcome {
    /// The solution.
    pub field: Field,
    /// Its value in the middle of the box.
    pub middle: f64,
}

/// The value in the middle: ⅛ − (4/π³) Σ (−1)^((k−1)/2)/(k³ cosh kπ) over odd k (Timoshenko & Goodier,
/// Theory of Elasticity, art. 109, for a source of 1 in place of 2Gθ).
pub fn exact_middle() -> f64 {
    let term = |j: i32| {
        let k = f64::from(2 * j + 1);
        let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
        sign / (k.powi(3) * (k * PI).cosh())
    };
    0.125 - 4.0 / PI.powi(3) * (0..20).map(term).sum::<f64>()
}

/// Solves with functions of degree `p` on `2n` × `n` × `4n` cells.
pub fn run(kind: Kind, n: usize, p: usize) -> Result<Outcome, Box<dyn Error>> {
    // 1. Geometry.
    let (cells, upper) = ([2 * n, n, 4 * n], [1.0, 0.5, 2.0]);
    let voxels: Vec<[i32; 3]> = (0..8 * n * n * n)
        .map(|i| [i / (4 * n * n), i / (4 * n) % n, i % (4 * n)].map(|k| k as i32))
        .collect();
    let map = VoxelMap::uniform(0.5 / n as f64)?;
    match kind {
        Kind::Grid => solve_on(&Grid3::new(cells, [0.0; 3], upper)?, p),
        Kind::Tets => solve_on(&shapes::box_tets(cells, [0.0; 3], upper)?, p),
        Kind::Hexes => solve_on(&shapes::box_hexes(cells, [0.0; 3], upper)?, p),
        Kind::Voxels => solve_on(&VoxelGrid::from_coordinates(&voxels, map)?, p),
        Kind::Adaptive => {
            // Half of the box, above its middle, in cells half as large.
            let coarse = AdaptiveVoxelGrid::uniform(&voxels, 0, map)?;
            let marks: Vec<Mark> = (0..coarse.cell_count())
                .map(|c| match coarse.cell_origin(c)[2] < 2 * n as i32 {
                    true => Mark::Keep,
                    false => Mark::Refine,
                })
                .collect();
            solve_on(&coarse.adapted(&marks)?, p)
        }
    }
}

fn solve_on<G>(geometry: &G, p: usize) -> Result<Outcome, Box<dyn Error>>
where
    G: Geometry + Clone + 'static,
{
    // 2. Space and weak form.
    let space = Space::lagrange(geometry, p)?;
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = u.grad().dot(&v.grad()).dx(geometry);
    let l = v.dx(geometry);
    // 3. Conditions and solution.
    let sides = ["left", "right", "bottom", "top"]
        .iter()
        .map(|side| Dirichlet::on(&space, side))
        .collect::<Result<Vec<_>, _>>()?;
    let field = solve(&a, &l, &sides, Solver::cg())?;
    // 4. The value in the middle.
    let middle = CrossField::new(&field)?.evaluate([0.5, 0.25, 1.0])?;
    let middle = middle.ok_or("the middle is in no cell")?.value[0];
    Ok(Outcome { field, middle })
}

#[allow(dead_code)] // Tests include this file as a module.
fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "exact: {:.8}\ncells        nodes      middle    error",
        exact_middle()
    );
    for kind in KINDS {
        let Outcome { field, middle } = run(kind, 4, 2)?;
        let nodes = field.space().node_count();
        let error = middle - exact_middle();
        println!(
            "{:8} {nodes:9} {middle:11.8} {error:8.1e}",
            format!("{kind:?}")
        );
    }
    Ok(())
}
