//! Laws of partitions: tables against naive twins, one owner for each node, matching exchange
//! lists, restrictions, environments, assembly by parts.

mod assembly;
mod environments;
mod faults;
mod geometry;
mod graph;
mod properties;
mod restriction;
mod space;

#[path = "../common/mod.rs"]
mod common;

use common::{Random, all_cases, scrambled, unit_mesh};
use std::sync::Arc;
use weft::element::{CellKind, NodeFamily};
use weft::geometry::{Geometry, Grid2, Grid3, Mesh, VoxelGrid, VoxelMap, shapes};
use weft::partition::*;
use weft::space::Space;

type Shared = Arc<dyn Geometry>;

/// One geometry of each sort: grids, meshes of all kinds (straight, curved, embedded), shuffled
/// numbers, several pieces, a vertex without cells, copies, a single cell.
fn geometries() -> Vec<(String, Shared)> {
    let mut random = Random(11);
    let mut all: Vec<(String, Shared)> = all_cases()
        .into_iter()
        .map(|case| (case.name.to_string(), Arc::new(case.mesh) as Shared))
        .collect();
    let mut push = |name: &str, geometry: Shared| all.push((name.to_string(), geometry));
    push("grid 2", Arc::new(Grid2::unit([4, 3]).unwrap()));
    push("grid 3", Arc::new(Grid3::unit([3, 2, 2]).unwrap()));
    push("one cell", Arc::new(Grid3::unit([1; 3]).unwrap()));
    push("sphere", Arc::new(shapes::sphere(1).unwrap()));
    for kind in CellKind::CELLS {
        let mesh = scrambled(&unit_mesh(kind, [3, 2, 1]), &mut random);
        push(&format!("scrambled {}", kind.name()), Arc::new(mesh));
    }
    push("pieces", Arc::new(pieces()));
    push("voxels", Arc::new(voxels()));
    let grid: Shared = Arc::new(Grid2::unit([2, 3]).unwrap());
    push("batch", Arc::new(Batch::new(grid, 3).unwrap()));
    all
}

/// Voxels around the origin under a sheared map: some touch in an edge or a vertex only.
fn voxels() -> VoxelGrid {
    let mut random = Random(29);
    let mut coordinate = || random.below(4) as i32 - 2;
    let all: Vec<[i32; 3]> = (0..20)
        .map(|_| std::array::from_fn(|_| coordinate()))
        .collect();
    let matrix = [[0.5, 0.1, 0.0], [-0.1, 0.4, 0.1], [0.0, 0.1, 0.3]];
    let map = VoxelMap::affine(matrix, [-1.0, 2.0, 0.5]).unwrap();
    VoxelGrid::from_coordinates(&all, map).unwrap()
}

/// Two triangles at one vertex, one apart, and a vertex without cells.
fn pieces() -> Mesh {
    let points = [
        [0, 0],
        [1, 0],
        [0, 1],
        [-1, 0],
        [0, -1],
        [5, 5],
        [6, 5],
        [5, 6],
        [9, 9],
    ];
    let points = points.map(|[x, y]| [f64::from(x), f64::from(y), 0.0]);
    let cells = vec![0, 1, 2, 0, 3, 4, 5, 6, 7];
    Mesh::new(CellKind::Triangle, 2, points.to_vec(), cells).unwrap()
}

fn space(geometry: &Shared, degree: usize, continuous: bool) -> Space {
    Space::on(geometry.clone(), degree, NodeFamily::Lobatto, continuous).unwrap()
}

/// Spaces of degrees 1 to 3, and discontinuous ones.
fn spaces(geometry: &Shared) -> Vec<Space> {
    let mut all: Vec<Space> = (1..=3).map(|p| space(geometry, p, true)).collect();
    all.extend([0, 2].map(|p| space(geometry, p, false)));
    all
}

/// Some ways to give the cells to `parts` parts.
fn divisions(geometry: &Shared, parts: u32, random: &mut Random) -> Vec<Vec<u32>> {
    let n = geometry.topology().cell_count();
    let run = n.div_ceil(parts as usize).max(1);
    vec![
        (0..n).map(|c| (c / run) as u32).collect(),
        graph_parts(&**geometry, parts).unwrap(),
        (0..n)
            .map(|_| random.below(parts as usize) as u32)
            .collect(),
    ]
}

/// All parts of a division.
fn all_parts(geometry: &Shared, owners: &[u32], parts: u32) -> Vec<GeometryPartition> {
    (0..parts)
        .map(|rank| GeometryPartition::by_owner(geometry.clone(), owners, rank, parts).unwrap())
        .collect()
}

fn random_mask(n: usize, random: &mut Random) -> Vec<bool> {
    let share = random.unit();
    (0..n).map(|_| random.unit() < share).collect()
}

/// Everything a geometry partition says.
fn seen(p: &GeometryPartition) -> Vec<Vec<u32>> {
    let n = p.topology().cell_count();
    let overflow = p.overflow().unwrap_or_default();
    vec![
        p.cells().to_vec(),
        p.cell_slots().to_vec(),
        p.side_slots().to_vec(),
        p.boundary_side_slots().to_vec(),
        p.frontier_side_slots().to_vec(),
        [
            p.sides().len(),
            p.boundary_sides().len(),
            p.frontier_sides().len(),
        ]
        .map(|n| n as u32)
        .to_vec(),
        (0..n).map(|c| p.owner(c)).collect(),
        (0..n)
            .map(|c| p.local_cell(c).map_or(NULL, |c| c as u32))
            .collect(),
        vec![
            p.rank(),
            p.part_count(),
            overflow.cells as u32,
            overflow.sides as u32,
        ],
    ]
}

/// Everything a space partition says.
fn seen_nodes(p: &SpacePartition) -> Vec<Vec<u32>> {
    vec![
        p.node_slots().to_vec(),
        p.nodes().to_vec(),
        p.local_nodes().to_vec(),
        p.node_offsets().map(|n| n as u32).to_vec(),
        (0..p.space().node_count()).map(|n| p.owner(n)).collect(),
        (0..p.node_count()).map(|n| p.class_of(n) as u32).collect(),
        vec![p.rank(), p.part_count(), p.overflow().unwrap_or(0) as u32],
    ]
}

/// Everything a restriction says.
fn seen_entries(r: &SpaceRestriction) -> [Vec<u32>; 4] {
    [
        r.elements().to_vec(),
        r.lists().slots().to_vec(),
        r.lists().offsets().to_vec(),
        vec![r.nodes_per_element() as u32],
    ]
}
