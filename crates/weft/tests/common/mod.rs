//! What several test binaries share: random numbers, meshes of every kind, thread pools.
// Each binary uses a part of it.
#![allow(dead_code)]

use std::sync::Arc;
use weft::element::CellKind;
use weft::form::{Expr, Shape};
use weft::geometry::shapes::*;
use weft::geometry::{Geometry, Mesh};
use weft::space::ValueKind;

/// A small generator of reproducible numbers (Marsaglia's xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn numbers(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.between(-1.0, 1.0)).collect()
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A point inside the cell.
    pub fn point(&mut self, kind: CellKind) -> [f64; 3] {
        loop {
            let mut x = [0.0; 3];
            for c in x.iter_mut().take(kind.dim()) {
                *c = self.unit();
            }
            if kind.is_tensor() || x.iter().sum::<f64>() < 1.0 {
                return x;
            }
        }
    }

    pub fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// The unit segment, square or cube in equal parts, `n` along each axis.
pub fn unit_mesh(kind: CellKind, n: [usize; 3]) -> Mesh {
    let (low2, high2, low3, high3) = ([0.0; 2], [1.0; 2], [0.0; 3], [1.0; 3]);
    match kind {
        CellKind::Segment => segments(n[0], 0.0, 1.0),
        CellKind::Triangle => rectangle_triangles([n[0], n[1]], low2, high2),
        CellKind::Quad => rectangle_quads([n[0], n[1]], low2, high2),
        CellKind::Tet => box_tets(n, low3, high3),
        _ => box_hexes(n, low3, high3),
    }
    .unwrap()
}

/// The same with every vertex moved to and fro by up to 0.15 of a cell along each axis, in a
/// pattern that repeats: refined meshes look the same everywhere, boundary included, and quads
/// and hexes stay far from parallelograms.
pub fn zigzag_mesh(kind: CellKind, n: usize) -> Mesh {
    let step = if kind == CellKind::Tet { 0.1 } else { 0.15 } / n as f64;
    unit_mesh(kind, [n; 3])
        .moved(|x| {
            let index = x.map(|c| (c * n as f64).round() as i32);
            std::array::from_fn(|d| {
                let sign = 1 - 2 * ((index[d] + index[(d + 1) % 3]) & 1);
                if d < kind.dim() {
                    x[d] + step * sign as f64
                } else {
                    0.0
                }
            })
        })
        .unwrap()
}

/// A general smooth map of the unit cube, not affine on any cell.
pub fn bend(x: [f64; 3], dim: usize) -> [f64; 3] {
    let [a, b, c] = x;
    let y = [
        a + 0.1 * b * c + 0.07 * b * (1.0 - a) + 0.05 * a * a,
        b + 0.12 * a * c + 0.08 * a * b + 0.03 * a,
        c + 0.09 * a * b - 0.06 * b * c + 0.04 * b,
    ];
    std::array::from_fn(|d| if d < dim { y[d] } else { 0.0 })
}

/// A named mesh to sweep over.
pub struct Case {
    pub name: &'static str,
    pub mesh: Mesh,
}

/// Counts of cells that do not fill their last block of eight.
fn odd_counts(kind: CellKind) -> [usize; 3] {
    match kind {
        CellKind::Segment => [11, 1, 1],
        CellKind::Triangle => [3, 2, 1],
        CellKind::Quad => [3, 3, 1],
        CellKind::Tet => [2, 1, 1],
        _ => [3, 1, 1],
    }
}

/// Straight distorted meshes, one of each kind in the space of its own dimension.
pub fn straight_cases() -> Vec<Case> {
    let names = ["segment", "triangle", "quad", "tet", "hex"];
    names
        .into_iter()
        .zip(CellKind::CELLS)
        .map(|(name, kind)| Case {
            name,
            mesh: unit_mesh(kind, odd_counts(kind))
                .moved(|x| bend(x, kind.dim()))
                .unwrap(),
        })
        .collect()
}

/// Second-order curved meshes, one of each kind in the space of its own dimension.
pub fn curved_cases() -> Vec<Case> {
    let names = [
        "curved segment",
        "curved triangle",
        "curved quad",
        "curved tet",
        "curved hex",
    ];
    names
        .into_iter()
        .zip(CellKind::CELLS)
        .map(|(name, kind)| {
            let n = if kind.dim() == 3 { [1; 3] } else { [2, 1, 1] };
            let mesh = unit_mesh(kind, n).elevated(2).unwrap();
            Case {
                name,
                mesh: mesh.moved(|x| bend(x, kind.dim())).unwrap(),
            }
        })
        .collect()
}

/// Curves and surfaces in spaces of more dimensions.
pub fn embedded_cases() -> Vec<Case> {
    let height = |x: f64, y: f64| 0.3 * x * y + 0.2 * x * x;
    let plane = |kind| {
        unit_mesh(kind, odd_counts(kind))
            .moved(|x| bend(x, 2))
            .unwrap()
    };
    let curve = |space_dim: usize| {
        let at = |k: usize| {
            let t = k as f64 / 5.0;
            let x = [t.cos(), t.sin(), 0.3 * t];
            std::array::from_fn(|d| if d < space_dim { x[d] } else { 0.0 })
        };
        let cells = (0..5).flat_map(|k| [k, k + 1]).collect();
        Mesh::new(
            CellKind::Segment,
            space_dim,
            (0..6).map(at).collect(),
            cells,
        )
        .unwrap()
    };
    vec![
        Case {
            name: "segment in 2-D",
            mesh: curve(2),
        },
        Case {
            name: "segment in 3-D",
            mesh: curve(3),
        },
        Case {
            name: "triangle in 3-D",
            mesh: plane(CellKind::Triangle).lifted(height).unwrap(),
        },
        Case {
            name: "quad in 3-D",
            mesh: plane(CellKind::Quad).lifted(height).unwrap(),
        },
        Case {
            name: "curved triangle in 3-D",
            mesh: plane(CellKind::Triangle)
                .lifted(height)
                .unwrap()
                .elevated(2)
                .unwrap(),
        },
    ]
}

/// Every case there is.
pub fn all_cases() -> Vec<Case> {
    [straight_cases(), curved_cases(), embedded_cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// The mesh with vertices renumbered at random and every cell turned at random.
pub fn scrambled(mesh: &Mesh, random: &mut Random) -> Mesh {
    let (topology, map) = (mesh.topology(), mesh.map());
    let number = random.shuffled(topology.vertex_count());
    let mut points = vec![[0.0; 3]; number.len()];
    for (old, &new) in number.iter().enumerate() {
        points[new] = map.vertex(old as u32);
    }
    let turns = rotations(mesh.cell_kind());
    let order = random.shuffled(topology.cell_count());
    let cells = order.into_iter().flat_map(|cell| {
        let vertices = topology.cell_vertices(cell);
        let turn = random.pick(&turns);
        turn.iter()
            .map(|&k| number[vertices[k] as usize] as u32)
            .collect::<Vec<_>>()
    });
    let cells = cells.collect();
    Mesh::new(mesh.cell_kind(), mesh.space_dim(), points, cells).unwrap()
}

/// Renumberings of the reference cell's vertices by its rotations (no reflections).
fn rotations(kind: CellKind) -> Vec<Vec<usize>> {
    let n = kind.vertex_count();
    let dim = kind.dim();
    let vertices = kind.vertices();
    permutations(n)
        .into_iter()
        .filter(|p| {
            // Affine: opposite differences agree; and positive: the determinant of the axes.
            let image = |v: usize| vertices[p[v]];
            let axis = |d: usize| {
                let unit = vertices
                    .iter()
                    .position(|x| x[d] == 1.0 && x.iter().sum::<f64>() == 1.0);
                let (a, b) = (image(0), image(unit.unwrap()));
                std::array::from_fn::<f64, 3, _>(|k| b[k] - a[k])
            };
            let axes: Vec<[f64; 3]> = (0..dim).map(axis).collect();
            let affine = (0..n).all(|v| {
                let x: [f64; 3] = std::array::from_fn(|k| {
                    image(0)[k] + (0..dim).map(|d| vertices[v][d] * axes[d][k]).sum::<f64>()
                });
                x == image(v)
            });
            let det = match dim {
                1 => axes[0][0],
                2 => axes[0][0] * axes[1][1] - axes[0][1] * axes[1][0],
                _ => (0..3)
                    .map(|k| {
                        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                        axes[0][k] * (axes[1][i] * axes[2][j] - axes[1][j] * axes[2][i])
                    })
                    .sum(),
            };
            affine && det > 0.0
        })
        .collect()
}

/// All orders of `n` things.
pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(n - 1) {
        for at in 0..n {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            all.push(longer);
        }
    }
    all
}

/// Cells around a vertex of the plane or an edge in space: five triangles, four tets, three quads or hexes.
pub fn ring(kind: CellKind) -> Mesh {
    let at = |k: usize, n: usize, z: f64| {
        let angle = std::f64::consts::TAU * k as f64 / n as f64;
        let radius = 1.0 + 0.3 * (k % 2) as f64 + 0.05 * k as f64;
        [radius * angle.cos(), radius * angle.sin(), z]
    };
    let (points, cells): (Vec<[f64; 3]>, Vec<Vec<usize>>) = match kind {
        CellKind::Triangle => (
            std::iter::once([0.1, 0.0, 0.0])
                .chain((0..5).map(|k| at(k, 5, 0.0)))
                .collect(),
            (0..5).map(|k| vec![0, 1 + k, 1 + (k + 1) % 5]).collect(),
        ),
        CellKind::Tet => (
            [[0.1, 0.0, -1.0], [0.0, 0.1, 1.2]]
                .into_iter()
                .chain((0..4).map(|k| at(k, 4, 0.1 * k as f64)))
                .collect(),
            (0..4).map(|k| vec![2 + k, 2 + (k + 1) % 4, 0, 1]).collect(),
        ),
        _ => {
            let layer = |z: f64| {
                let bend = move |k: usize| at(k, 6, z + 0.1 * (z + 0.5) * (k % 3) as f64);
                std::iter::once([0.1 * z, 0.05, z]).chain((0..6).map(bend))
            };
            let quad = |j: usize| vec![0, 1 + 2 * j, 2 + 2 * j, 1 + (2 * j + 2) % 6];
            let both = |q: Vec<usize>| [q.clone(), q.iter().map(|v| v + 7).collect()].concat();
            match kind.dim() {
                2 => (
                    layer(0.0).map(|x| [x[0], x[1], 0.0]).collect(),
                    (0..3).map(quad).collect(),
                ),
                _ => (
                    layer(0.0).chain(layer(1.0)).collect(),
                    (0..3).map(|j| both(quad(j))).collect(),
                ),
            }
        }
    };
    let cells = cells.concat().into_iter().map(|v| v as u32).collect();
    Mesh::reoriented(kind, kind.dim(), points, cells).unwrap()
}

/// The same with vertices renumbered: in every way of up to six, else in many.
pub fn rings(kind: CellKind, random: &mut Random) -> Vec<Mesh> {
    let ring = ring(kind);
    let (topology, map) = (ring.topology(), ring.map());
    let n = topology.vertex_count();
    let orders = match n {
        0..=6 => permutations(n),
        _ => (0..300).map(|_| random.shuffled(n)).collect(),
    };
    let renumbered = |order: Vec<usize>| {
        let mut points = vec![[0.0; 3]; n];
        for (old, &new) in order.iter().enumerate() {
            points[new] = map.vertex(old as u32);
        }
        let cells = topology.cells().iter().map(|&v| order[v as usize] as u32);
        Mesh::new(kind, kind.dim(), points, cells.collect()).unwrap()
    };
    orders.into_iter().map(renumbered).collect()
}

/// The geometry as the engine holds it.
pub fn shared(mesh: &Mesh) -> Arc<dyn Geometry> {
    Arc::new(mesh.clone())
}

/// A pool of this many threads.
pub fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

/// Largest difference of two arrays, relative to the largest entry of the second.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let scale = b
        .iter()
        .fold(0.0f64, |m, x| m.max(x.abs()))
        .max(f64::MIN_POSITIVE);
    a.iter().zip(b).fold(0.0f64, |m, (x, y)| {
        if x.is_nan() || y.is_nan() {
            f64::NAN
        } else {
            m.max((x - y).abs())
        }
    }) / scale
}

/// Order of convergence when cells are halved, from errors of either sign.
pub fn order(coarse: f64, fine: f64) -> f64 {
    (coarse / fine).abs().log2()
}

/// Demand that two arrays agree to `tolerance`, relative to the largest entry.
#[track_caller]
pub fn assert_close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    let d = difference(a, b);
    assert!(
        d <= tolerance,
        "{what}: difference {d:e}\n{:?}\n{:?}",
        &a[..a.len().min(9)],
        &b[..b.len().min(9)]
    );
}

/// Every kind of value, with one or several sizes of each.
pub fn value_kinds() -> Vec<ValueKind> {
    let mut all = vec![
        ValueKind::Scalar,
        ValueKind::Vector(2),
        ValueKind::Vector(4),
        ValueKind::Matrix(1, 1),
        ValueKind::Matrix(2, 2),
        ValueKind::Matrix(2, 3),
        ValueKind::Matrix(3, 3),
        ValueKind::Matrix(4, 4),
    ];
    for n in [2, 3] {
        all.extend([
            ValueKind::Symmetric(n),
            ValueKind::Deviatoric(n),
            ValueKind::Skew(n),
        ]);
    }
    all
}

/// What the product of two values of a kind is in its degrees of freedom: the sum of their products
/// times this.
pub fn scale_of(kind: ValueKind) -> f64 {
    match kind {
        ValueKind::Symmetric(_) | ValueKind::Deviatoric(_) | ValueKind::Skew(_) => 2.0,
        _ => 1.0,
    }
}

/// Component `c`, row-major, of a value of any shape.
pub fn component(e: &Expr, c: usize) -> Expr {
    match e.shape() {
        Shape::Scalar => e.clone(),
        Shape::Vector(_) => e.at(c),
        Shape::Matrix(_, columns) => e.at2(c / columns, c % columns),
    }
}
