//! Functions on both sides of a side, however the cells and their vertices are numbered.

use crate::common::{Random, permutations, rings, shared};
use weft::assemble::integrate;
use weft::element::CellKind;
use weft::field::Field;
use weft::form::Scope;
use weft::geometry::{Geometry, Mesh};
use weft::space::Space;

/// Two cells that share a side, in general position.
fn pair(kind: CellKind) -> (Vec<[f64; 3]>, [Vec<u32>; 2]) {
    match kind {
        CellKind::Triangle => (
            vec![[0.0; 3], [1.0, 0.1, 0.0], [0.2, 0.9, 0.0], [1.3, 1.1, 0.0]],
            [vec![0, 1, 2], vec![1, 3, 2]],
        ),
        CellKind::Quad => (
            vec![
                [0.0; 3],
                [1.0, 0.1, 0.0],
                [1.1, 1.0, 0.0],
                [0.1, 0.9, 0.0],
                [2.0, -0.1, 0.0],
                [2.2, 1.2, 0.0],
            ],
            [vec![0, 1, 2, 3], vec![1, 4, 5, 2]],
        ),
        CellKind::Tet => (
            vec![
                [0.0; 3],
                [1.0, 0.1, 0.0],
                [0.2, 0.9, 0.1],
                [0.1, 0.0, 1.1],
                [1.2, 1.0, 1.3],
            ],
            [vec![0, 1, 2, 3], vec![1, 3, 2, 4]],
        ),
        _ => (
            vec![
                [0.0; 3],
                [1.0, 0.1, 0.0],
                [1.1, 1.0, 0.1],
                [0.1, 0.9, 0.0],
                [0.0, 0.1, 1.0],
                [1.1, 0.0, 1.1],
                [1.0, 1.1, 0.9],
                [0.0, 1.0, 1.0],
                [2.0, 0.0, 0.1],
                [2.1, 1.1, 0.0],
                [2.0, 0.2, 1.0],
                [2.2, 1.0, 1.1],
            ],
            [vec![0, 1, 2, 3, 4, 5, 6, 7], vec![1, 8, 9, 2, 5, 10, 11, 6]],
        ),
    }
}

/// Every numbering of a cell's vertices that maps the cell onto itself: of a simplex all, of a quad or
/// hex its rotations and reflections.
fn symmetries(kind: CellKind) -> Vec<Vec<usize>> {
    let n = kind.vertex_count();
    if !kind.is_tensor() {
        return permutations(n);
    }
    let dim = kind.dim();
    let mut all = Vec::new();
    for axes in permutations(dim) {
        for flips in 0..1 << dim {
            let image = |v: usize| {
                let x = kind.vertices()[v];
                let mut y = [0.0; 3];
                for d in 0..dim {
                    let c = x[axes[d]];
                    y[d] = if flips >> d & 1 == 1 { 1.0 - c } else { c };
                }
                kind.vertices().iter().position(|&w| w == y).unwrap()
            };
            all.push((0..n).map(image).collect());
        }
    }
    all
}

/// The pair with its second cell and all vertices renumbered. An inverted cell is turned round by
/// the mesh, which is one more numbering.
fn renumbered(kind: CellKind, cell: &[usize], vertices: &[usize]) -> Mesh {
    let (points, [first, second]) = pair(kind);
    let mut moved = points.clone();
    for (old, &new) in vertices.iter().enumerate() {
        moved[new] = points[old];
    }
    let second: Vec<u32> = cell.iter().map(|&i| second[i]).collect();
    let cells = first
        .iter()
        .chain(&second)
        .map(|&v| vertices[v as usize] as u32);
    Mesh::reoriented(kind, kind.dim(), moved, cells.collect()).unwrap()
}

fn numberings(kind: CellKind) -> Vec<Mesh> {
    let mut random = Random(7);
    let count = pair(kind).0.len();
    let mut all = Vec::new();
    for cell in symmetries(kind) {
        let mut labels = vec![(0..count).collect(), (0..count).rev().collect()];
        labels.extend((0..3).map(|_| random.shuffled(count)));
        all.extend(
            labels
                .iter()
                .map(|l: &Vec<usize>| renumbered(kind, &cell, l)),
        );
    }
    all
}

fn spaces(mesh: &Mesh) -> Vec<Space> {
    let mut all = vec![Space::bubble(mesh).unwrap()];
    all.extend((1..=6).map(|p| Space::lagrange(mesh, p).unwrap()));
    all.extend((1..=4).filter_map(|p| Space::serendipity(mesh, p).ok()));
    all
}

const KINDS: [CellKind; 4] = [
    CellKind::Triangle,
    CellKind::Quad,
    CellKind::Tet,
    CellKind::Hex,
];

#[test]
fn continuous_functions_agree_at_nodes_of_the_side() {
    let mut random = Random(8);
    for kind in KINDS {
        for mesh in numberings(kind) {
            let topology = mesh.topology();
            let side = topology.interior_sides()[0] as usize;
            let maps = mesh.side_maps(&topology, side);
            let cells = topology.side_cells(side).map(|c| c as usize);
            let points: Vec<_> = (0..4).map(|_| random.point(kind.side_kind())).collect();
            let at = |k: usize| points.iter().map(|&p| maps[k].apply(p)).collect::<Vec<_>>();
            for space in spaces(&mesh) {
                assert!(space.is_continuous());
                let values = random.numbers(space.node_count());
                let [inside, outside] = [0, 1].map(|k| {
                    let table = space.element().tabulate(&at(k));
                    let nodes = space.cell_nodes(cells[k]);
                    let value = |q: usize| -> f64 {
                        let phi = table.values_at(q).iter().zip(nodes);
                        phi.map(|(phi, &node)| phi * values[node as usize]).sum()
                    };
                    (0..points.len()).map(value).collect::<Vec<f64>>()
                });
                for (a, b) in inside.iter().zip(&outside) {
                    assert!((a - b).abs() < 1e-11, "{}", space.element().name());
                }
                // Neighbours share what lies on the side and nothing else.
                let mut common = space.cell_nodes(cells[0]).to_vec();
                common.retain(|node| space.cell_nodes(cells[1]).contains(node));
                let local = topology.side_locals(side)[0] as usize;
                let expected = space.element().closure_nodes(local).len();
                assert_eq!(common.len(), expected, "{}", space.element().name());
            }
        }
    }
}

#[test]
fn nodes_of_neighbours_lie_at_one_place() {
    for kind in KINDS {
        for mesh in numberings(kind) {
            for space in spaces(&mesh) {
                // Positions come from the first cell; the second must say the same.
                let places = space.node_positions();
                let x = weft::form::Expr::position(&mesh);
                let geometry = shared(&mesh);
                let nodes = space.element().nodes();
                let all = weft::assemble::evaluate_at(&x, &geometry, nodes).unwrap();
                let dim = kind.dim();
                for cell in 0..2 {
                    for (i, &node) in space.cell_nodes(cell).iter().enumerate() {
                        let at = &all[(cell * nodes.len() + i) * dim..][..dim];
                        for d in 0..dim {
                            let off = (at[d] - places[node as usize][d]).abs();
                            assert!(off < 1e-13, "{}", space.element().name());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn crouzeix_raviart_functions_agree_on_average() {
    let mut random = Random(9);
    for kind in [CellKind::Triangle, CellKind::Tet] {
        for mesh in numberings(kind) {
            let space = Space::crouzeix_raviart(&mesh).unwrap();
            assert!(!space.is_continuous() && space.shares_nodes());
            assert_eq!(space.node_count(), mesh.topology().side_count());
            let values = random.numbers(space.node_count());
            let field = Field::from_values(&space, values).unwrap();
            let mut scope = Scope::new(shared(&mesh));
            scope.set_field("f", &field);
            let mean = integrate(&scope.form("jump(f)*dS").unwrap()).unwrap();
            assert!(mean.abs() < 1e-14, "{kind:?}: {mean}");
            let size = integrate(&scope.form("jump(f)^2*dS").unwrap()).unwrap();
            assert!(size > 1e-6, "{kind:?}: {size}");
        }
    }
}

/// Where many cells meet, however their vertices are numbered.
#[test]
fn continuous_functions_agree_around_vertices_and_edges() {
    let mut random = Random(10);
    for kind in KINDS {
        for (count, mesh) in rings(kind, &mut random).into_iter().enumerate() {
            assert!(mesh.topology().interior_sides().len() >= 3);
            for space in spaces(&mesh) {
                // Of high degrees some numberings.
                let p = space.degree();
                if count % (p * p) != 0 {
                    continue;
                }
                let values = random.numbers(space.node_count());
                let u = Field::from_values(&space, values).unwrap();
                let scope = {
                    let mut scope = Scope::new(shared(&mesh));
                    scope.set_field("u", &u);
                    scope.set_degree(Some(2 * p));
                    scope
                };
                let of = |text: &str| integrate(&scope.form(text).unwrap()).unwrap();
                let (jump, size) = (of("jump(u)^2*dS"), of("inside(u)^2*dS"));
                let name = space.element().name();
                assert!(jump < 1e-22 * size, "{name}: {jump:e} of {size:e}");
                assert!(
                    of("dot(jump(grad(u)), jump(grad(u)))*dS") > 1e-3 * size,
                    "{name}"
                );
            }
        }
    }
}
