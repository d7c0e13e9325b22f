//! The solve in plain loops and double precision.

use super::flow::twin::Law;
use super::{Contacts, LANES, Lane, Node, Sites, SolveOptions, SolveReport};
use crate::eigen::symmetric;

/// T(sym(u ⊗ b)).
fn pack(u: [f64; 3], b: [f64; 3]) -> [f64; 6] {
    let a = |i: usize, j: usize| u[i] * b[j];
    let trace = a(0, 0) + a(1, 1) + a(2, 2);
    [
        trace / 6f64.sqrt(),
        0.5 * (a(0, 0) - a(1, 1)),
        0.5 * 3f64.sqrt() * (a(2, 2) - trace / 3.0),
        0.5 * (a(1, 2) + a(2, 1)),
        0.5 * (a(0, 2) + a(2, 0)),
        0.5 * (a(0, 1) + a(1, 0)),
    ]
}

fn unpack(d: &[f64; 6]) -> [[f64; 3]; 3] {
    let a = d[0] * (2.0f64 / 3.0).sqrt();
    let b = d[2] / 3f64.sqrt();
    [
        [a + d[1] - b, d[5], d[4]],
        [d[5], a - d[1] - b, d[3]],
        [d[4], d[3], a + 2.0 * b],
    ]
}

struct Row {
    d: [f64; 6],
    turn: [[f64; 5]; 5],
    law: Law,
}

/// Plain Gauss-Seidel.
#[derive(Debug, Default)]
pub(crate) struct RheologySolver {}

struct Work<'a> {
    sites: &'a Sites,
    v: Vec<[f64; 3]>,
    m: Vec<f64>,
    r: Vec<[f64; 6]>,
    half: f64,
}

impl Work<'_> {
    fn column(&self, block: usize, c: usize, lane: usize) -> usize {
        self.sites.columns[block * self.sites.width + c][lane] as usize
    }
    fn b(&self, at: usize, c: usize, lane: usize) -> [f64; 3] {
        let b = &self.sites.b[at * self.sites.width + c];
        [0, 1, 2].map(|d| f64::from(b[d][lane]))
    }
    fn strain(&self, block: usize, row: usize, lane: usize) -> [f64; 6] {
        let rows = self.sites.rows;
        let at = block * rows + row;
        let mut u: [f64; 6] = std::array::from_fn(|k| f64::from(self.sites.offset[at][k][lane]));
        for c in 0..self.sites.width {
            let t = pack(self.v[self.column(block, c, lane)], self.b(at, c, lane));
            for k in 0..6 {
                u[k] += 2.0 * t[k];
            }
        }
        if !self.sites.compliance.is_empty() {
            for other in 0..rows {
                let c = &self.sites.compliance[at * rows + other];
                let r = &self.r[(block * rows + other) * LANES + lane];
                for k in 0..6 {
                    u[k] += f64::from(c[usize::from(k > 0)][lane]) * r[k];
                }
            }
        }
        u
    }
    fn push(&mut self, block: usize, row: usize, lane: usize, dr: &[f64; 6]) {
        let at = block * self.sites.rows + row;
        let s = unpack(dr);
        for c in 0..self.sites.width {
            let (j, b) = (self.column(block, c, lane), self.b(at, c, lane));
            for i in 0..3 {
                let f: f64 = (0..3).map(|d| s[i][d] * b[d]).sum();
                self.v[j][i] += self.half * self.m[j] * f;
            }
        }
    }
}

impl RheologySolver {
    pub fn solve(
        &mut self,
        sites: &mut Sites,
        contacts: &mut Contacts,
        nodes: &mut [Node],
        options: &SolveOptions,
    ) -> SolveReport {
        let rows = sites.rows;
        let shared = &*sites;
        let mut w = Work {
            sites: shared,
            v: nodes
                .iter()
                .map(|n| [0, 1, 2].map(|d| f64::from(n[d])))
                .collect(),
            m: nodes.iter().map(|n| f64::from(n[3])).collect(),
            r: vec![[0.0; 6]; shared.volume.len() * LANES],
            half: if options.legacy_half_adjoint {
                0.5
            } else {
                1.0
            },
        };
        let mut local: Vec<Option<Row>> = Vec::new();
        for block in 0..shared.used.len() {
            for row in 0..rows {
                for lane in 0..LANES {
                    let at = block * rows + row;
                    let volume = f64::from(shared.volume[at][lane]);
                    if lane >= usize::from(shared.used[block]) || volume <= 0.0 {
                        local.push(None);
                        continue;
                    }
                    let mut d = [[0.0; 6]; 6];
                    for c in 0..shared.width {
                        let (j, b) = (w.column(block, c, lane), w.b(at, c, lane));
                        for a in 0..3 {
                            let mut e = [0.0; 3];
                            e[a] = 1.0;
                            let t = pack(e, b).map(|x| 2.0 * x);
                            for k in 0..6 {
                                for l in 0..6 {
                                    d[k][l] += w.m[j] * t[k] * t[l];
                                }
                            }
                        }
                    }
                    if !shared.compliance.is_empty() {
                        let c = &shared.compliance[at * rows + row];
                        for k in 0..6 {
                            d[k][k] += f64::from(c[usize::from(k > 0)][lane]);
                        }
                    }
                    let trace: f64 = (0..6).map(|k| d[k][k]).sum();
                    let floor = 1e-6 * trace / 6.0;
                    let t: [[f64; 5]; 5] =
                        std::array::from_fn(|i| std::array::from_fn(|j| d[i + 1][j + 1]));
                    let (values, turn) = symmetric(t);
                    let y = std::array::from_fn(|k| f64::from(shared.yields[at][k][lane]));
                    let d = std::array::from_fn(|k| match k {
                        0 => d[0][0] + floor,
                        _ => values[k - 1] + floor,
                    });
                    local.push((trace > 0.0).then(|| Row {
                        d,
                        turn,
                        law: Law::new(&y, volume),
                    }));
                }
            }
        }
        // First guess.
        for block in 0..shared.used.len() {
            for row in 0..rows {
                for lane in 0..LANES {
                    let at = (block * rows + row) * LANES + lane;
                    if local[at].is_none() {
                        continue;
                    }
                    let s = std::array::from_fn(|k| shared.stress[at / LANES][k][lane]);
                    let y = std::array::from_fn(|k| shared.yields[at / LANES][k][lane]);
                    let r = super::project(&y, &s).map(f64::from);
                    w.r[at] = r;
                    w.push(block, row, lane, &r);
                }
            }
        }
        let mut touching = vec![0.0f64; nodes.len()];
        for k in 0..contacts.count {
            for c in 0..contacts.width {
                let at = k / LANES * contacts.width + c;
                if contacts.weights[at][k % LANES] > 0.0 {
                    touching[contacts.columns[at][k % LANES] as usize] += 1.0;
                }
            }
        }
        let mut impulses: Vec<[f64; 3]> = (0..contacts.count)
            .map(|k| [0, 1, 2].map(|d| f64::from(contacts.impulse[k / LANES][d][k % LANES])))
            .collect();
        let each = |contacts: &Contacts, k: usize| -> Vec<(usize, f64)> {
            (0..contacts.width)
                .map(|c| {
                    let at = k / LANES * contacts.width + c;
                    (
                        contacts.columns[at][k % LANES] as usize,
                        f64::from(contacts.weights[at][k % LANES]),
                    )
                })
                .collect()
        };
        for k in 0..contacts.count {
            let (block, lane) = (k / LANES, k % LANES);
            let n = [0, 1, 2].map(|d| f64::from(contacts.normal[block][d][lane]));
            let mu = f64::from(contacts.friction[block][lane]);
            let a = f64::from(contacts.adhesion[block][lane]);
            let shifted = [0, 1, 2].map(|d| impulses[k][d] + a * n[d]);
            let normal: f64 = (0..3).map(|d| shifted[d] * n[d]).sum();
            let t = [0, 1, 2].map(|d| shifted[d] - normal * n[d]);
            let size = t.iter().map(|x| x * x).sum::<f64>().sqrt();
            let new = if normal <= 0.0 {
                [0.0; 3]
            } else {
                let s = if size > mu * normal {
                    mu * normal / size
                } else {
                    1.0
                };
                [0, 1, 2].map(|d| normal * n[d] + s * t[d])
            };
            impulses[k] = [0, 1, 2].map(|d| new[d] - a * n[d]);
            for (j, h) in each(contacts, k) {
                for d in 0..3 {
                    w.v[j][d] += w.m[j] * h * impulses[k][d];
                }
            }
        }
        let mut report = SolveReport::default();
        let count = local.iter().flatten().count();
        for sweep in 1..=options.max_iterations {
            let mut delta = vec![[0.0; 3]; contacts.count];
            for k in 0..contacts.count {
                let (block, lane) = (k / LANES, k % LANES);
                let n = [0, 1, 2].map(|d| f64::from(contacts.normal[block][d][lane]));
                let mu = f64::from(contacts.friction[block][lane]);
                let a = f64::from(contacts.adhesion[block][lane]);
                let mut u0 = [0, 1, 2].map(|d| -f64::from(contacts.target[block][d][lane]));
                let mut weight = 0.0;
                for (j, h) in each(contacts, k) {
                    weight += h * h * w.m[j] * touching[j];
                    for d in 0..3 {
                        u0[d] += h * w.v[j][d];
                    }
                }
                if weight <= 0.0 {
                    continue;
                }
                let b = [0, 1, 2].map(|d| u0[d] - (impulses[k][d] + a * n[d]) * weight);
                let bn: f64 = (0..3).map(|d| b[d] * n[d]).sum();
                let mut u = b;
                if bn < 0.0 {
                    let t = [0, 1, 2].map(|d| b[d] - bn * n[d]);
                    let size = t.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let s = if size <= mu * -bn {
                        0.0
                    } else {
                        1.0 + mu * bn / size
                    };
                    u = t.map(|x| x * s);
                }
                delta[k] = [0, 1, 2].map(|d| (u[d] - u0[d]) / weight);
            }
            for k in 0..contacts.count {
                for d in 0..3 {
                    impulses[k][d] += delta[k][d];
                }
                for (j, h) in each(contacts, k) {
                    for d in 0..3 {
                        w.v[j][d] += w.m[j] * h * delta[k][d];
                    }
                }
            }
            let (mut sum, mut most) = (0.0f64, 0.0f64);
            for block in 0..shared.used.len() {
                for lane in 0..LANES {
                    for row in 0..rows {
                        let at = (block * rows + row) * LANES + lane;
                        let Some(own) = &local[at] else { continue };
                        let u = w.strain(block, row, lane);
                        let rotate = |x: &[f64; 6]| -> [f64; 6] {
                            std::array::from_fn(|k| match k {
                                0 => x[0],
                                _ => (0..5).map(|l| own.turn[k - 1][l] * x[l + 1]).sum(),
                            })
                        };
                        let (ur, rr) = (rotate(&u), rotate(&w.r[at]));
                        let b = std::array::from_fn(|k| ur[k] - own.d[k] * rr[k]);
                        let (_, r) = own.law.solve(&own.d, &b);
                        let dr: [f64; 6] =
                            std::array::from_fn(|k| f64::from(options.relaxation) * (r[k] - rr[k]));
                        let residual: f64 = (0..6).map(|k| (own.d[k] * dr[k]).powi(2)).sum();
                        sum += residual;
                        most = most.max(residual);
                        let back: [f64; 6] = std::array::from_fn(|k| match k {
                            0 => dr[0],
                            _ => (0..5).map(|l| own.turn[l][k - 1] * dr[l + 1]).sum(),
                        });
                        for k in 0..6 {
                            w.r[at][k] += back[k];
                        }
                        w.push(block, row, lane, &back);
                    }
                }
            }
            report.sweeps = sweep;
            report.residual_l2 = (sum / (1.0 + count as f64)).sqrt() as f32;
            report.residual_max = most.sqrt() as f32;
            let tolerance = options.tolerance;
            if sweep % options.check_every == 0
                && report.residual_l2 < tolerance
                && report.residual_max < tolerance
            {
                break;
            }
        }
        let (v, r) = (w.v, w.r);
        for (node, v) in nodes.iter_mut().zip(&v) {
            for d in 0..3 {
                node[d] = v[d] as f32;
            }
        }
        for (at, r) in r.iter().enumerate() {
            for k in 0..6 {
                sites.stress[at / LANES][k][at % LANES] = r[k] as f32;
            }
        }
        for (k, impulse) in impulses.iter().enumerate() {
            for d in 0..3 {
                contacts.impulse[k / LANES][d][k % LANES] = impulse[d] as f32;
            }
        }
        report
    }

    pub fn increments(
        &mut self,
        sites: &Sites,
        nodes: &[Node],
        plastic: &mut Vec<[Lane; 6]>,
        elastic: &mut Vec<[Lane; 6]>,
        critical: &[Lane],
    ) {
        plastic.resize(sites.volume.len(), [[0.0; LANES]; 6]);
        elastic.resize(sites.volume.len(), [[0.0; LANES]; 6]);
        let mut w = Work {
            sites,
            v: nodes
                .iter()
                .map(|n| [0, 1, 2].map(|d| f64::from(n[d])))
                .collect(),
            m: Vec::new(),
            r: vec![[0.0; 6]; sites.volume.len() * LANES],
            half: 1.0,
        };
        for (at, r) in w.r.iter_mut().enumerate() {
            *r = std::array::from_fn(|k| f64::from(sites.stress[at / LANES][k][at % LANES]));
        }
        let rows = sites.rows;
        for block in 0..sites.used.len() {
            for row in 0..rows {
                for lane in 0..LANES {
                    let at = block * rows + row;
                    let live =
                        lane < usize::from(sites.used[block]) && sites.volume[at][lane] > 0.0;
                    let u = w.strain(block, row, lane);
                    for k in 0..6 {
                        let mut e = -f64::from(sites.offset[at][k][lane]);
                        if k == 0 && !critical.is_empty() {
                            e += f64::from(critical[at][lane]);
                        }
                        if !sites.compliance.is_empty() {
                            for other in 0..rows {
                                let c = &sites.compliance[at * rows + other];
                                e -= f64::from(c[usize::from(k > 0)][lane])
                                    * w.r[(block * rows + other) * LANES + lane][k];
                            }
                        }
                        plastic[at][k][lane] = if live { u[k] as f32 } else { 0.0 };
                        elastic[at][k][lane] = if live { e as f32 } else { 0.0 };
                    }
                }
            }
        }
    }
}
