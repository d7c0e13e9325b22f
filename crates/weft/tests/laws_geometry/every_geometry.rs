//! What holds for every geometry there is, asked through the [`Geometry`] trait alone: both cells
//! of a side see it in the same way, maps are inverted, points are found in their cells.

use std::sync::Arc;

use super::common::{Random, all_cases, scrambled, unit_mesh};
use super::*;
use weft::assemble::Deformation;
use weft::element::Quadrature;
use weft::form::Scope;
use weft::partition::Batch;

type Vec3 = [f64; 3];

/// Agreement that is asked for, in cells' sizes.
const TOLERANCE: f64 = 1e-10;

struct Subject {
    name: String,
    geometry: Arc<dyn Geometry>,
    /// Environment of each cell: cells of different ones may lie in the same place.
    environments: Vec<usize>,
}

impl Subject {
    fn new(name: impl Into<String>, geometry: impl Geometry + 'static) -> Subject {
        let environments = vec![0; geometry.topology().cell_count()];
        Subject {
            name: name.into(),
            geometry: Arc::new(geometry),
            environments,
        }
    }

    fn of(self, environment: impl Fn(usize) -> usize) -> Subject {
        let environments = (0..self.environments.len()).map(environment).collect();
        Subject {
            environments,
            ..self
        }
    }

    fn cells(&self) -> usize {
        self.environments.len()
    }

    fn position(&self, cell: usize, xi: Vec3) -> Vec3 {
        frame_at(&*self.geometry, cell, xi).position
    }

    fn nodes(&self, cell: usize) -> Vec<Vec3> {
        let map = self.geometry.map();
        let n = map.cell_nodes.len() / self.cells();
        let numbers = &map.cell_nodes[cell * n..(cell + 1) * n];
        numbers.iter().map(|&i| map.nodes[i as usize]).collect()
    }

    /// Largest extent of a cell's nodes, and what rounding of coordinates allows besides.
    fn tolerance(&self, cell: usize) -> f64 {
        let nodes = self.nodes(cell);
        let far = |d: usize, f: fn(f64, f64) -> f64| nodes.iter().map(|x| x[d]).reduce(f).unwrap();
        let size = (0..3).map(|d| far(d, f64::max) - far(d, f64::min));
        let reach = nodes.iter().flatten().fold(0.0f64, |m, c| m.max(c.abs()));
        TOLERANCE * size.fold(0.0, f64::max) + 16.0 * f64::EPSILON * reach
    }
}

/// Rotated, sheared and moved.
const SKEW: [Vec3; 3] = [
    [0.30, -0.17, 0.06],
    [0.12, 0.21, -0.05],
    [-0.08, 0.11, 0.26],
];
const AWAY: Vec3 = [3.0, -7.0, 1.5];

fn voxels() -> Vec<(&'static str, VoxelGrid)> {
    let mut random = Random(5);
    let mut coordinate = || random.below(5) as i32 - 4;
    let blob: Vec<[i32; 3]> = (0..40)
        .map(|_| std::array::from_fn(|_| coordinate()))
        .collect();
    let map = VoxelMap::uniform(0.5).unwrap();
    let skew = VoxelMap::affine(SKEW, AWAY).unwrap();
    vec![
        (
            "voxels",
            VoxelGrid::from_coordinates(&blob, map.centred()).unwrap(),
        ),
        (
            "skew voxels",
            VoxelGrid::from_coordinates(&blob, skew).unwrap(),
        ),
    ]
}

/// Cells of three sizes around the origin, with faces and edges that hang by one level and two.
fn adaptive() -> Vec<(&'static str, AdaptiveVoxelGrid)> {
    let grid = |map: VoxelMap, grading: Grading| {
        let coarse: Vec<[i32; 3]> = (0..12)
            .map(|n| [n / 4 - 2, n / 2 % 2 - 1, n % 2 - 1])
            .collect();
        let start = AdaptiveVoxelGrid::uniform(&coarse, 2, map).unwrap();
        (0..2).fold(start.graded(grading).unwrap(), |grid, _| {
            let near = |c: usize| grid.cell_origin(c).iter().all(|&i| (-2..1).contains(&i));
            let marks: Vec<Mark> = (0..grid.cell_count())
                .map(
                    |c| match grid.cell_level(c) > 0 && (near(c) || c % 9 == 7) {
                        true => Mark::Refine,
                        false => Mark::Keep,
                    },
                )
                .collect();
            grid.adapted(&marks).unwrap()
        })
    };
    let plain = VoxelMap::uniform(0.25).unwrap();
    let skew = VoxelMap::affine(SKEW, AWAY).unwrap();
    vec![
        ("adaptive voxels", grid(plain, Grading::None)),
        ("graded adaptive voxels", grid(plain, Grading::Vertex)),
        ("skew adaptive voxels", grid(skew, Grading::None)),
    ]
}

/// The geometry bent by a field of degree `degree`.
fn bent<G: Geometry + Clone + 'static>(geometry: &G, degree: usize) -> Deformed {
    let scope = Scope::new(Arc::new(geometry.clone()));
    let text = match geometry.space_dim() {
        2 => "[0.05*sin(x[0] + 2*x[1]), 0.06*cos(x[0] - x[1])]",
        _ => "0.05*[sin(x[0] + x[1]), cos(x[1] - x[2]), sin(x[0] + 2*x[2])]",
    };
    let by = scope.expression(text).unwrap();
    let moved = Deformation::by(geometry, &by, degree).unwrap();
    moved.geometry().clone()
}

/// Every geometry: meshes of every kind (straight, curved, embedded, with scrambled numbers),
/// grids, voxel grids, adaptive ones with hanging faces, these deformed, in batches and with
/// several environments in one place.
fn every_geometry() -> Vec<Subject> {
    let mut random = Random(3);
    let mut all = Vec::new();
    for case in all_cases() {
        all.push(Subject::new(case.name, case.mesh));
    }
    for kind in CellKind::CELLS {
        let mesh = scrambled(&unit_mesh(kind, [3, 2, 2]), &mut random);
        all.push(Subject::new(format!("scrambled {}", kind.name()), mesh));
    }
    let surface = sphere(1).unwrap();
    all.push(Subject::new("sphere", surface));
    let grid2 = Grid2::new([3, 2], [-1.0, 0.5], [0.25, 1.5]).unwrap();
    let grid3 = Grid3::new([2, 3, 2], [-1.0, 0.5, -2.0], [0.25, 1.5, 1.0]).unwrap();
    all.push(Subject::new("deformed grid 2", bent(&grid2, 3)));
    all.push(Subject::new("deformed grid 3", bent(&grid3, 2)));
    let tets = unit_mesh(CellKind::Tet, [2, 2, 1]);
    all.push(Subject::new("deformed tets", bent(&tets, 2)));
    for (name, grid) in voxels() {
        all.push(Subject::new(format!("deformed {name}"), bent(&grid, 2)));
        let batch = Batch::new(Arc::new(grid.clone()), 3).unwrap();
        let environments = batch.clone();
        all.push(
            Subject::new(format!("batch of {name}"), batch)
                .of(|cell| environments.cell_environment(cell)),
        );
        let cells = grid.cells().all_coordinates().to_vec();
        let of: Vec<u32> = (0..cells.len() as u32).map(|n| n % 3).collect();
        let packed = VoxelGrid::from_environments(&cells, &of, 3, 2, grid.voxel_map()).unwrap();
        let snapshot = packed.cells();
        all.push(
            Subject::new(format!("environments of {name}"), packed)
                .of(|cell| snapshot.environment_of(cell)),
        );
        all.push(Subject::new(name, grid));
    }
    for (name, grid) in adaptive() {
        assert!(
            !grid
                .node_numbering(&grid.topology(), 1)
                .unwrap()
                .hanging
                .is_empty()
        );
        all.push(Subject::new(format!("deformed {name}"), bent(&grid, 2)));
        let offsets = vec![[0.0; 3], [9.0, 0.0, 0.0]];
        let batch = Batch::moved(Arc::new(grid.clone()), offsets).unwrap();
        all.push(Subject::new(format!("batch of {name}"), batch));
        all.push(Subject::new(name, grid));
    }
    let batch = Batch::new(Arc::new(bent(&grid2, 3)), 2).unwrap();
    let environments = batch.clone();
    all.push(
        Subject::new("batch of deformed grid 2", batch)
            .of(|cell| environments.cell_environment(cell)),
    );
    all.push(Subject::new("grid 2", grid2));
    all.push(Subject::new("grid 3", grid3));
    all
}

/// What a cell sees of a side at one of its points.
struct Seen {
    position: Vec3,
    /// Images of the side's axes.
    tangents: [Vec3; 2],
    /// Outward normal (in embedded cells the one in the cell's plane) times the measure density,
    /// by Nanson's formula from the cell's Jacobian.
    area: Vec3,
}

fn seen(g: &dyn Geometry, cell: usize, map: &SideMap, point: Vec3) -> Seen {
    let frame = frame_at(g, cell, map.apply(point));
    let image = |v: Vec3| std::array::from_fn(|d| dot(frame.jacobian[d], v));
    let n = map.normal(g.cell_kind());
    Seen {
        position: frame.position,
        tangents: map.axes.map(image),
        area: frame.push_gradient(n).map(|c| c * frame.measure),
    }
}

/// Measure density of a side from its tangents.
fn density(kind: CellKind, tangents: [Vec3; 2]) -> f64 {
    match kind.dim() {
        0 => 1.0,
        1 => norm(tangents[0]),
        _ => norm(cross(tangents[0], tangents[1])),
    }
}

#[test]
fn side_points_agree_on_every_geometry() {
    for subject in every_geometry() {
        let g = &*subject.geometry;
        let (topology, name) = (g.topology(), &subject.name);
        let kind = g.cell_kind();
        let full = kind.dim() == g.space_dim();
        let rule = Quadrature::new(kind.side_kind(), 8).unwrap();
        // Of each cell the sum of its sides' area vectors.
        let mut closed = vec![[0.0; 3]; subject.cells()];
        for side in 0..topology.side_count() {
            let cells = topology.side_cells(side).map(|c| c as usize);
            assert_eq!(
                subject.environments[cells[0]], subject.environments[cells[1]],
                "{name}: side {side} joins environments"
            );
            let boundary = topology.is_boundary(side);
            assert_eq!(boundary, cells[0] == cells[1], "{name}: side {side}");
            let maps = g.side_maps(&topology, side);
            let eps = subject.tolerance(cells[0].min(cells[1]));
            for (&point, &weight) in rule.points().iter().zip(rule.weights()) {
                let [a, b] = [0, 1].map(|k| seen(g, cells[k], &maps[k], point));
                let off = norm(sub(a.position, b.position));
                assert!(off <= eps, "{name}: side {side} is {off:e} apart");
                let measure = density(kind.side_kind(), a.tangents);
                let relative = |x: f64| (x / measure).abs() <= TOLERANCE;
                assert!(measure > 0.0, "{name}: side {side} has no size");
                for seen in [&a, &b] {
                    let other = density(kind.side_kind(), seen.tangents);
                    assert!(relative(other - measure), "{name}: side {side}, tangents");
                    let other = norm(seen.area);
                    assert!(relative(other - measure), "{name}: side {side}, measure");
                    for t in seen.tangents {
                        let along = dot(seen.area, t) / norm(t).max(1e-300);
                        assert!(relative(along), "{name}: side {side}, not normal");
                    }
                }
                for k in 0..2 {
                    let off = norm(sub(a.tangents[k], b.tangents[k]));
                    assert!(off <= eps, "{name}: side {side}, tangent {k}: {off:e}");
                }
                // From the first cell out, into the second; in a surface with edges the planes
                // of the two differ.
                let sum = norm(add(a.area, b.area));
                if boundary {
                    assert_eq!(a.area, b.area, "{name}: side {side}");
                } else if full {
                    assert!(relative(sum), "{name}: side {side}, normals {sum:e}");
                }
                let share = weight * kind.side_kind().reference_measure();
                for (k, seen) in [a, b].iter().enumerate().take(2 - usize::from(boundary)) {
                    let sum = &mut closed[cells[k]];
                    *sum = add(*sum, seen.area.map(|c| c * share));
                }
            }
        }
        // The sides of a cell leave no gap: its area vectors add up to zero.
        if full {
            for (cell, sum) in closed.iter().enumerate() {
                let measure = frame_at(g, cell, kind.center()).measure;
                let size = measure.powf((kind.dim() as f64 - 1.0) / kind.dim() as f64);
                let gap = norm(*sum) / size;
                assert!(gap <= 10.0 * TOLERANCE, "{name}: cell {cell}, gap {gap:e}");
            }
        }
    }
}

#[test]
fn inverse_maps_on_every_geometry() {
    let mut random = Random(17);
    for subject in every_geometry() {
        let (g, name) = (&*subject.geometry, &subject.name);
        let (kind, degree) = (g.cell_kind(), g.map().degree);
        for cell in 0..subject.cells() {
            let nodes = subject.nodes(cell);
            let eps = subject.tolerance(cell);
            let corners = kind.vertices().iter().copied();
            let inside: Vec<Vec3> = (0..8).map(|_| random.point(kind)).collect();
            for xi in inside.into_iter().chain([kind.center()]).chain(corners) {
                let x = subject.position(cell, xi);
                let back = closest_point(kind, degree, g.space_dim(), &nodes, x).unwrap();
                let off = norm(sub(back.xi, xi));
                assert!(
                    off <= 10.0 * TOLERANCE,
                    "{name}: cell {cell} {xi:?} {off:e}"
                );
                assert!(back.distance <= eps, "{name}: cell {cell} {xi:?}");
                let there = norm(sub(subject.position(cell, back.xi), x));
                assert!(there <= eps, "{name}: cell {cell} {xi:?} {there:e}");
            }
        }
    }
}

#[test]
fn lookup_on_every_geometry() {
    let mut random = Random(19);
    for subject in every_geometry() {
        let (g, name) = (&*subject.geometry, &subject.name);
        let kind = g.cell_kind();
        let locator = Locator::new(g);
        let several = subject.environments.iter().any(|&e| e > 0);
        for cell in 0..subject.cells() {
            let own = |c: usize| subject.environments[c] == subject.environments[cell];
            let eps = subject.tolerance(cell);
            for n in 0..4 {
                let xi = match n {
                    0 => kind.center(),
                    _ => random.point(kind),
                };
                let x = subject.position(cell, xi);
                let found = locator.find_among(x, 1e-9, &own).unwrap();
                assert_eq!(found.cell, cell, "{name}: {xi:?}");
                let off = norm(sub(found.xi, xi));
                assert!(
                    off <= 10.0 * TOLERANCE,
                    "{name}: cell {cell} {xi:?} {off:e}"
                );
                // With guesses, right, wrong and impossible.
                let search = Search::within(1e-6).among(&own);
                for guess in [cell, 0, subject.cells() - 1, usize::MAX] {
                    let near = locator.closest_with(x, &search.near(guess)).unwrap();
                    assert_eq!(near.cell, cell, "{name}: {xi:?} from {guess}");
                    assert!(near.distance <= eps, "{name}: {:e}", near.distance);
                    assert!(norm(sub(near.position, x)) <= eps);
                }
                if !several {
                    assert_eq!(locator.find(x, 1e-9), Some(found), "{name}");
                    assert_eq!(locate(g, x, 1e-9), Some((found.cell, found.xi)), "{name}");
                }
                // A filter that leaves one cell, however far.
                let first = |c: usize| c == 0;
                let near = locator.closest_with(x, &Search::within(1e3).among(&first));
                assert_eq!(near.unwrap().cell, 0, "{name}");
            }
        }
        // The closest point p of x is the closest of every point between the two.
        for _ in 0..30 {
            let from = subject.position(random.below(subject.cells()), kind.center());
            let x: Vec3 = std::array::from_fn(|d| {
                let away = if d < g.space_dim() {
                    random.between(-3.0, 3.0)
                } else {
                    0.0
                };
                from[d] + away
            });
            let near = locator.closest(x, f64::INFINITY).unwrap();
            let eps = 10.0 * subject.tolerance(near.cell);
            assert!(norm(sub(subject.position(near.cell, near.xi), near.position)) <= eps);
            let off = (norm(sub(x, near.position)) - near.distance).abs();
            assert!(off <= eps, "{name}: {off:e}");
            let between = std::array::from_fn(|d| 0.9 * near.position[d] + 0.1 * x[d]);
            let again = locator.closest(between, f64::INFINITY).unwrap();
            let off = norm(sub(again.position, near.position));
            assert!(off <= eps, "{name}: {x:?} {off:e}");
            if near.distance > 1e-6 {
                assert!(
                    locator.closest(x, 0.999 * near.distance).is_none(),
                    "{name}"
                );
            }
        }
    }
}
