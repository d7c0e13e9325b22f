//! Laws of point location, closest points and signed distances, against brute force, dense
//! sampling and exact answers.

mod cells;
mod grids;
mod inverse;
mod locators;
mod measure;
mod surfaces;

#[path = "../common/mod.rs"]
mod common;

use weft::element::CellKind;
use weft::geometry::shapes::*;
use weft::geometry::*;

type Vec3 = [f64; 3];

/// The generator of D. Knuth's MMIX: plain and the same everywhere.
struct Random(u64);

impl Random {
    /// A number in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number in `[low, high)`.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A point in the box `[low, high)³`, flattened to `dim` dimensions.
    fn point(&mut self, dim: usize, low: f64, high: f64) -> Vec3 {
        let mut x = [0.0; 3];
        x[..dim].fill_with(|| self.between(low, high));
        x
    }

    /// A point of the reference cell.
    fn reference(&mut self, kind: CellKind) -> Vec3 {
        loop {
            let xi = self.point(kind.dim(), 0.0, 1.0);
            if kind.is_tensor() || xi.iter().sum::<f64>() <= 1.0 {
                return xi;
            }
        }
    }
}

fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn norm(a: Vec3) -> f64 {
    (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt()
}

/// Nodes of a cell.
fn nodes(g: &dyn Geometry, cell: usize) -> Vec<Vec3> {
    let map = g.map();
    let n = map.cell_nodes.len() / g.topology().cell_count();
    let numbers = &map.cell_nodes[cell * n..(cell + 1) * n];
    numbers.iter().map(|&i| map.nodes[i as usize]).collect()
}

/// The closest point of one cell, on its own.
fn on_cell(g: &dyn Geometry, cell: usize, x: Vec3) -> Nearest {
    let found = closest_point(
        g.cell_kind(),
        g.map().degree,
        g.space_dim(),
        &nodes(g, cell),
        x,
    );
    Nearest {
        cell,
        ..found.unwrap()
    }
}

/// The nearest cell by looking at all: the plain twin of the locator.
fn brute(g: &dyn Geometry, x: Vec3, accept: impl Fn(usize) -> bool) -> Option<Nearest> {
    (0..g.topology().cell_count())
        .filter(|&c| accept(c))
        .map(|c| on_cell(g, c, x))
        .reduce(|a, b| if level(b) < level(a) { b } else { a })
}

/// Distances of one level are the same to a locator: squares rounded to 44 digits.
fn level(n: Nearest) -> u64 {
    ((n.distance * n.distance).to_bits() + 128) >> 8
}

fn wavy(x: Vec3) -> Vec3 {
    let [a, b, c] = x;
    [
        a + 0.06 * (3.0 * b + 1.0).sin() * (2.0 * c + 0.5).cos(),
        b + 0.07 * (2.5 * a).cos() * (1.0 + c),
        c + 0.05 * (3.0 * a + 2.0 * b).sin(),
    ]
}

fn wavy_plane(x: Vec3) -> Vec3 {
    let [a, b, _] = wavy([x[0], x[1], 0.0]);
    [a, b, 0.0]
}

/// Named meshes of every kind, in every dimension of space, straight and curved, around the
/// unit box or sphere.
fn meshes() -> Vec<(&'static str, Mesh)> {
    let line = segments(7, 0.0, 1.0).unwrap();
    let spiral: Vec<Vec3> = (0..=12)
        .map(|i| i as f64 / 3.0)
        .map(|t| [0.3 * t.cos() + 0.5, 0.3 * t.sin() + 0.5, 0.2 * t])
        .collect();
    let chain: Vec<u32> = (0..12).flat_map(|i| [i, i + 1]).collect();
    let spiral = Mesh::new(CellKind::Segment, 3, spiral, chain).unwrap();
    let triangles = rectangle_triangles([4, 5], [0.0; 2], [1.0; 2]).unwrap();
    let quads = rectangle_quads([4, 3], [0.0; 2], [1.0; 2]).unwrap();
    let tets = box_tets([3, 2, 2], [0.0; 3], [1.0; 3]).unwrap();
    let hexes = box_hexes([2, 3, 2], [0.0; 3], [1.0; 3]).unwrap();
    let bump = |x: f64, y: f64| 0.3 * (3.0 * x).sin() * (2.0 * y).cos();
    let quadratic = |m: &Mesh| m.elevated(2).unwrap();
    vec![
        ("segments", line.clone()),
        ("spiral", spiral.clone()),
        ("triangles", triangles.moved(wavy_plane).unwrap()),
        ("triangle surface", triangles.lifted(bump).unwrap()),
        ("sphere", sphere(1).unwrap()),
        ("quads", quads.moved(wavy_plane).unwrap()),
        ("quad surface", quads.lifted(bump).unwrap()),
        ("tets", tets.moved(wavy).unwrap()),
        ("hexes", hexes.moved(wavy).unwrap()),
        ("straight hexes", hexes.clone()),
        ("curved segments", quadratic(&spiral).moved(wavy).unwrap()),
        (
            "curved triangles",
            quadratic(&triangles).moved(wavy_plane).unwrap(),
        ),
        ("curved quads", quadratic(&quads).moved(wavy_plane).unwrap()),
        (
            "curved triangle surface",
            quadratic(&triangles).lifted(bump).unwrap(),
        ),
        (
            "curved quad surface",
            quadratic(&quads).lifted(bump).unwrap(),
        ),
        ("curved tets", quadratic(&tets).moved(wavy).unwrap()),
        ("curved hexes", quadratic(&hexes).moved(wavy).unwrap()),
        (
            "cubic triangles",
            triangles.elevated(3).unwrap().moved(wavy_plane).unwrap(),
        ),
    ]
}
