//! Gauss–Seidel for one row at a time in double precision, straight from the definitions.

use super::problem::Problem;
use crate::eigen::symmetric;
use crate::solve::flow::twin::Law;

type Six = [f64; 6];

/// T of the symmetric part.
pub fn pack(a: &[[f64; 3]; 3]) -> Six {
    let trace = a[0][0] + a[1][1] + a[2][2];
    [
        trace / 6f64.sqrt(),
        0.5 * (a[0][0] - a[1][1]),
        0.75f64.sqrt() * (a[2][2] - trace / 3.0),
        0.5 * (a[1][2] + a[2][1]),
        0.5 * (a[0][2] + a[2][0]),
        0.5 * (a[0][1] + a[1][0]),
    ]
}

pub fn unpack(d: &Six) -> [[f64; 3]; 3] {
    let a = d[0] * (2.0 / 3.0f64).sqrt();
    let b = d[2] / 3f64.sqrt();
    [
        [a + d[1] - b, d[5], d[4]],
        [d[5], a - d[1] - b, d[3]],
        [d[4], d[3], a + 2.0 * b],
    ]
}

/// 2 T(sym(u ⊗ b)).
pub fn strain(u: [f64; 3], b: [f64; 3]) -> Six {
    pack(&std::array::from_fn(|i| {
        std::array::from_fn(|k| u[i] * b[k])
    }))
    .map(|x| 2.0 * x)
}

/// Velocities and stresses after some sweeps, `[block * rows + row][lane]`.
pub struct Outcome {
    pub velocity: Vec<[f64; 3]>,
    pub stress: Vec<[Six; 8]>,
    /// Root of the summed squared corrections of the last sweep over 1 + rows.
    pub residual: f64,
}

/// What a row is, gathered from its lane.
pub struct Line {
    pub columns: Vec<(usize, [f64; 3])>,
    pub law: Law,
    pub offset: Six,
    /// With each row of the site.
    pub compliance: Vec<Six>,
    pub values: Six,
    pub axes: [Six; 6],
}

pub fn line(problem: &Problem, block: usize, row: usize, lane: usize) -> Line {
    let sites = &problem.sites;
    let (width, rows) = (sites.width, sites.rows);
    let at = block * rows + row;
    let columns: Vec<_> = (0..width)
        .map(|c| {
            let b = sites.b[at * width + c].map(|b| f64::from(b[lane]));
            (sites.columns[block * width + c][lane] as usize, b)
        })
        .collect();
    let compliance: Vec<Six> = (0..rows)
        .map(|other| {
            let c = sites.compliance.get(at * rows + other);
            let c = c.map_or([0.0; 2], |c| c.map(|c| f64::from(c[lane])));
            [c[0], c[1], c[1], c[1], c[1], c[1]]
        })
        .collect();
    let mut d = [[0.0; 6]; 6];
    for (node, b) in &columns {
        for a in 0..3 {
            let unit = std::array::from_fn(|i| f64::from(i == a));
            let t = strain(unit, *b);
            for i in 0..6 {
                for j in 0..6 {
                    d[i][j] += f64::from(problem.nodes[*node][3]) * t[i] * t[j];
                }
            }
        }
    }
    for i in 1..6 {
        d[0][i] = 0.0;
        d[i][0] = 0.0;
    }
    for i in 0..6 {
        d[i][i] += compliance[row][i];
    }
    let trace: f64 = (0..6).map(|i| d[i][i]).sum();
    for (i, row) in d.iter_mut().enumerate() {
        row[i] += 1e-6 * trace / 6.0;
    }
    let (values, vectors) = symmetric(d);
    let axes = std::array::from_fn(|i| vectors.map(|v| v[i]));
    let yields = sites.yields[at].map(|y| f64::from(y[lane]));
    Line {
        columns,
        law: Law::new(&yields, f64::from(sites.volume[at][lane])),
        offset: sites.offset[at].map(|x| f64::from(x[lane])),
        compliance,
        values,
        axes,
    }
}

impl Line {
    /// Integrated strain B v + C r + offset.
    pub fn strain(&self, velocity: &[[f64; 3]], stress: &[Six]) -> Six {
        let mut sum = self.offset;
        for (node, b) in &self.columns {
            let part = strain(velocity[*node], *b);
            (0..6).for_each(|i| sum[i] += part[i]);
        }
        for (c, stress) in self.compliance.iter().zip(stress) {
            (0..6).for_each(|i| sum[i] += c[i] * stress[i]);
        }
        sum
    }

    pub fn to_local(&self, x: &Six) -> Six {
        std::array::from_fn(|i| (0..6).map(|k| self.axes[k][i] * x[k]).sum())
    }

    pub fn to_global(&self, x: &Six) -> Six {
        std::array::from_fn(|i| (0..6).map(|k| self.axes[i][k] * x[k]).sum())
    }

    /// The spherical number is the axis of its own, but not always the first of the eigenvectors.
    pub fn law_in_order(&self) -> usize {
        (0..6)
            .max_by(|a, b| self.axes[0][*a].abs().total_cmp(&self.axes[0][*b].abs()))
            .unwrap()
    }
}

pub fn sweep(problem: &Problem, sweeps: usize, relaxation: f64, adjoint: f64) -> Outcome {
    let sites = &problem.sites;
    let rows = sites.rows;
    let masses: Vec<f64> = problem.nodes.iter().map(|n| f64::from(n[3])).collect();
    let mut velocity: Vec<[f64; 3]> = problem
        .nodes
        .iter()
        .map(|n| std::array::from_fn(|d| f64::from(n[d])))
        .collect();
    let mut stress = vec![[[0.0; 6]; 8]; sites.stress.len()];
    let mut residual = 0.0;
    let mut count = 0;
    for _ in 0..sweeps {
        residual = 0.0;
        count = 0;
        for block in 0..sites.used.len() {
            for lane in 0..usize::from(sites.used[block]) {
                for row in 0..rows {
                    let at = block * rows + row;
                    if sites.volume[at][lane] <= 0.0 {
                        continue;
                    }
                    count += 1;
                    let line = line(problem, block, row, lane);
                    assert_eq!(line.law_in_order(), 0);
                    let site: Vec<Six> = (0..rows)
                        .map(|other| stress[block * rows + other][lane])
                        .collect();
                    let u = line.to_local(&line.strain(&velocity, &site));
                    let old = line.to_local(&site[row]);
                    let d = line.values;
                    let b = std::array::from_fn(|i| u[i] - d[i] * old[i]);
                    let (_, new) = line.law.solve(&d, &b);
                    let delta: Six = std::array::from_fn(|i| new[i] - old[i]);
                    residual += (0..6).map(|i| (d[i] * delta[i]).powi(2)).sum::<f64>();
                    let delta = line.to_global(&delta.map(|x| x * relaxation));
                    (0..6).for_each(|i| stress[at][lane][i] += delta[i]);
                    let s = unpack(&delta);
                    for (node, b) in &line.columns {
                        for i in 0..3 {
                            let force: f64 = (0..3).map(|k| s[i][k] * b[k]).sum();
                            velocity[*node][i] += adjoint * masses[*node] * force;
                        }
                    }
                }
            }
        }
    }
    Outcome {
        velocity,
        stress,
        residual: (residual / (1 + count) as f64).sqrt(),
    }
}
