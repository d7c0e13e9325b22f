//! Tables of independent codes in `tests/data`: members of finite-element spaces on reference cells,
//! and eigenvalues of their matrices. The formats are in the README files beside the tables.
// Each binary uses a part of it.
#![allow(dead_code)]

use crate::common::{Random, scrambled};
use std::str::{FromStr, SplitAsciiWhitespace};
use weft::assemble::matrix;
use weft::element::{CellKind, NodeFamily};
use weft::form::{Expr, Measure};
use weft::geometry::Mesh;
use weft::space::Space;
use weft::sparse::BlockMatrix;

/// Words of a table, comments left out.
struct Words<'a>(Vec<SplitAsciiWhitespace<'a>>);

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        let lines = text.lines().rev().filter(|l| !l.starts_with('#'));
        Words(lines.map(str::split_ascii_whitespace).collect())
    }

    fn next(&mut self) -> Option<&'a str> {
        loop {
            match self.0.last_mut()?.next() {
                Some(word) => return Some(word),
                None => self.0.pop(),
            };
        }
    }

    fn read<T: FromStr>(&mut self) -> T {
        let word = self.next().unwrap();
        word.parse().unwrap_or_else(|_| panic!("`{word}`"))
    }

    fn list<T: FromStr>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| self.read()).collect()
    }

    /// The number after a keyword.
    fn after(&mut self, keyword: &str) -> usize {
        assert_eq!(self.next(), Some(keyword));
        self.read()
    }

    fn points(&mut self, n: usize, dim: usize) -> Vec<[f64; 3]> {
        let one = |words: &mut Self| {
            let mut x = [0.0; 3];
            x[..dim].copy_from_slice(&words.list::<f64>(dim));
            x
        };
        (0..n).map(|_| one(self)).collect()
    }
}

/// Some members of a space on a reference cell.
pub struct Span {
    pub name: String,
    pub degree: usize,
    pub dimension: usize,
    /// Degrees of freedom of each vertex, edge, face and the interior.
    pub dofs: Vec<usize>,
    pub points: Vec<[f64; 3]>,
    /// By point, then component.
    pub members: Vec<Vec<f64>>,
}

pub fn spans(kind: CellKind) -> Vec<Span> {
    let text = match kind {
        CellKind::Segment => include_str!("../data/spans/segment.txt"),
        CellKind::Triangle => include_str!("../data/spans/triangle.txt"),
        CellKind::Quad => include_str!("../data/spans/quad.txt"),
        CellKind::Tet => include_str!("../data/spans/tet.txt"),
        _ => include_str!("../data/spans/hex.txt"),
    };
    let mut words = Words::new(text);
    let (count, dim) = (words.after("points"), words.read());
    assert_eq!(dim, kind.dim());
    let points = words.points(count, dim);
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        assert_eq!(word, "element");
        let name = words.read();
        let degree = words.after("degree");
        let components = words.after("components");
        let dimension = words.after("dimension");
        assert_eq!(words.next(), Some("dofs"));
        let dofs = words.list(dim + 1);
        let used = words.after("points");
        let members = words.after("combinations");
        all.push(Span {
            name,
            degree,
            dimension,
            dofs,
            points: points[..used].to_vec(),
            members: (0..members)
                .map(|_| words.list(used * components))
                .collect(),
        });
    }
    all
}

impl Span {
    /// Demand that the functions with these values at the points span the space.
    pub fn check(&self, kind: CellKind, functions: Vec<Vec<f64>>) {
        let name = format!("{} {} on a {}", self.name, self.degree, kind.name());
        assert_eq!(functions.len(), self.dimension, "{name}");
        let (basis, least) = orthonormal(functions);
        assert!(least > 1e-8, "{name}: dependent, {least:e}");
        for member in &self.members {
            let off = distance(&basis, member);
            assert!(off < 1e-10, "{name}: a member is off by {off:e}");
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes the parts along `basis` away, twice against rounding.
fn remove(basis: &[Vec<f64>], v: &mut [f64]) {
    for _ in 0..2 {
        for b in basis {
            let part = dot(b, v);
            v.iter_mut().zip(b).for_each(|(v, b)| *v -= part * b);
        }
    }
}

/// Gram and Schmidt's basis, and the least part of a vector that those before it lack.
fn orthonormal(vectors: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, f64) {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut least = 1.0_f64;
    for mut v in vectors {
        let size = dot(&v, &v).sqrt();
        remove(&basis, &mut v);
        let rest = dot(&v, &v).sqrt();
        least = least.min(rest / size);
        v.iter_mut().for_each(|v| *v /= rest);
        basis.push(v);
    }
    (basis, least)
}

/// Relative distance from the span of an orthonormal basis.
pub fn distance(basis: &[Vec<f64>], f: &[f64]) -> f64 {
    let mut rest = f.to_vec();
    remove(basis, &mut rest);
    (dot(&rest, &rest) / dot(f, f)).sqrt()
}

/// Relative distance of a member of one space from another, given by values at the same points.
pub fn distance_from(functions: Vec<Vec<f64>>, f: &[f64]) -> f64 {
    distance(&orthonormal(functions).0, f)
}

/// Eigenvalues of K x = λ M x.
pub struct Spectrum {
    pub kind: CellKind,
    pub which: String,
    pub name: String,
    pub degree: usize,
    pub operator: String,
    pub dimension: usize,
    pub zeros: usize,
    /// Without the zeros, ascending.
    pub values: Vec<f64>,
    pub mesh: Mesh,
}

fn kind(name: &str) -> CellKind {
    let all = CellKind::CELLS;
    all.into_iter().find(|k| k.name() == name).unwrap()
}

pub fn spectra() -> Vec<Spectrum> {
    let mut words = Words::new(include_str!("../data/spectra/spectra.txt"));
    let mut meshes: Vec<(CellKind, String, Mesh)> = Vec::new();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let kind = kind(words.next().unwrap());
        let which: String = words.read();
        if word == "geometry" {
            let (vertices, dim) = (words.after("vertices"), words.read());
            let (cells, each) = (words.after("cells"), words.read::<usize>());
            let points = words.points(vertices, dim);
            let mesh = Mesh::new(kind, dim, points, words.list(cells * each)).unwrap();
            meshes.push((kind, which, mesh));
            continue;
        }
        assert_eq!(word, "spectrum");
        let name = words.read();
        let degree = words.after("degree");
        assert_eq!(words.next(), Some("operator"));
        let operator = words.read();
        let (dimension, zeros) = (words.after("dimension"), words.after("zeros"));
        let here = meshes.iter().find(|(k, w, _)| *k == kind && *w == which);
        all.push(Spectrum {
            kind,
            which,
            name,
            degree,
            operator,
            dimension,
            zeros,
            values: words.list(dimension - zeros),
            mesh: here.unwrap().2.clone(),
        });
    }
    all
}

impl Spectrum {
    /// Demand these eigenvalues of the matrices of a space, also where the mesh is renumbered and its
    /// cells are turned.
    pub fn check(&self, space: impl Fn(&Mesh) -> Space, random: &mut Random) {
        let Spectrum { name, which, .. } = self;
        let name = format!("{name} {} on {which} {}", self.degree, self.kind.name());
        for mesh in [self.mesh.clone(), scrambled(&self.mesh, random)] {
            let space = space(&mesh);
            assert_eq!(space.dof_count(), self.dimension, "{name}");
            let dx = Measure::cells(&mesh).degree(match self.kind {
                // Integrands are rational on distorted cells.
                CellKind::Quad | CellKind::Hex => 27,
                _ => 2 * space.degree(),
            });
            let (u, v) = (Expr::trial(&space), Expr::test(&space));
            let of = |e: &Expr| match self.operator.as_str() {
                "grad" => e.grad(),
                "curl" => e.curl(),
                _ => e.div(),
            };
            let k = dense(&matrix(&of(&u).inner(&of(&v)).over(&dx)).unwrap());
            let m = dense(&matrix(&u.inner(&v).over(&dx)).unwrap());
            let values = eigenvalues(k, m);
            let largest = self.values.last().copied().unwrap_or(1.0);
            let expected = vec![0.0; self.zeros];
            for (i, (a, b)) in values
                .iter()
                .zip(expected.iter().chain(&self.values))
                .enumerate()
            {
                let off = (a - b).abs() / largest;
                assert!(off < 1e-10, "{name}: eigenvalue {i} is {a}, not {b}");
            }
        }
    }
}

fn dense(a: &BlockMatrix) -> Vec<Vec<f64>> {
    let n = a.rows();
    let row = |i: usize| {
        let mut out = vec![0.0; n];
        let (columns, values) = a.row(i);
        for (&j, &v) in columns.iter().zip(values) {
            out[j as usize] = v;
        }
        out
    };
    (0..n).map(row).collect()
}

/// Eigenvalues of K x = λ M x, ascending: through Cholesky's factor of M, reflections to a tridiagonal
/// matrix, and bisection with Sturm sequences.
fn eigenvalues(mut k: Vec<Vec<f64>>, mut m: Vec<Vec<f64>>) -> Vec<f64> {
    let n = k.len();
    for i in 0..n {
        for j in 0..=i {
            let (rows, row) = m.split_at(i);
            let other = if j == i { &row[0] } else { &rows[j] };
            let rest = row[0][j] - dot(&row[0][..j], &other[..j]);
            let value = if i == j {
                rest.sqrt()
            } else {
                rest / rows[j][j]
            };
            m[i][j] = value;
        }
    }
    // L⁻¹ K, transposed, and once more.
    for _ in 0..2 {
        for i in 0..n {
            let (done, rest) = k.split_at_mut(i);
            for (j, row) in done.iter().enumerate() {
                let factor = m[i][j];
                rest[0]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(a, b)| *a -= factor * b);
            }
            rest[0].iter_mut().for_each(|a| *a /= m[i][i]);
        }
        k = (0..n)
            .map(|j| k.iter().map(|row| row[j]).collect())
            .collect();
    }
    let (diagonal, beside) = tridiagonal(k);
    let reach = |i: usize| {
        let off = |j: Option<usize>| j.and_then(|j| beside.get(j)).map_or(0.0, |b: &f64| b.abs());
        off(i.checked_sub(1)) + off(Some(i))
    };
    let bound = (0..n).fold(0.0, |b: f64, i| b.max(diagonal[i].abs() + reach(i)));
    // Pivots below zero are as many as eigenvalues below x.
    let below = |x: f64| {
        let mut pivot = 1.0_f64;
        let count = |i: usize| {
            let square = if i > 0 { beside[i - 1].powi(2) } else { 0.0 };
            pivot = diagonal[i] - x - square / pivot;
            if pivot == 0.0 {
                pivot = f64::EPSILON * bound;
            }
            pivot < 0.0
        };
        (0..n).map(count).filter(|&b| b).count()
    };
    let value = |i: usize| {
        let (mut low, mut high) = (-bound, bound);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if below(middle) > i {
                high = middle
            } else {
                low = middle
            }
        }
        0.5 * (low + high)
    };
    (0..n).map(value).collect()
}

/// Diagonal and subdiagonal of a tridiagonal matrix with the eigenvalues of a symmetric one.
fn tridiagonal(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<f64>) {
    let n = a.len();
    let mut beside = Vec::new();
    for k in 0..n.saturating_sub(1) {
        // A reflection that leaves one entry below the diagonal.
        let mut v: Vec<f64> = (k + 1..n).map(|i| a[i][k]).collect();
        let size = dot(&v, &v).sqrt();
        let alpha = if v[0] > 0.0 { -size } else { size };
        beside.push(alpha);
        v[0] -= alpha;
        let square = dot(&v, &v);
        if square == 0.0 {
            continue;
        }
        let p: Vec<f64> = (k + 1..n)
            .map(|i| 2.0 * dot(&a[i][k + 1..], &v) / square)
            .collect();
        let mean = dot(&p, &v) / square;
        let w: Vec<f64> = p.iter().zip(&v).map(|(p, v)| p - mean * v).collect();
        for i in 0..v.len() {
            for j in 0..v.len() {
                a[k + 1 + i][k + 1 + j] -= v[i] * w[j] + w[i] * v[j];
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), beside)
}

/// Families of nodes that make different bases of one space.
pub const NODES: [NodeFamily; 2] = [NodeFamily::Lobatto, NodeFamily::Equispaced];
