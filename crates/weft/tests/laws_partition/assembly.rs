//! Assembly, products and solutions by parts equal those of the whole. Threads play the parts.

use super::*;
use common::{assert_close, straight_cases};
use std::sync::{Barrier, Mutex};
use weft::assemble::{matrix, vector};
use weft::form::{Expr, Form, Measure, dot, grad};
use weft::sparse::BlockMatrix;

/// What one part knows, and how it talks to the others.
struct Part<'a> {
    nodes: &'a SpacePartition,
    exchange: &'a Exchange,
    mail: &'a Mail,
}

/// A box for the numbers from each part to each part.
struct Mail {
    parts: usize,
    boxes: Vec<Mutex<Vec<f64>>>,
    barrier: Barrier,
}

impl Mail {
    fn new(parts: usize) -> Mail {
        Mail {
            parts,
            boxes: (0..parts * parts).map(|_| Mutex::default()).collect(),
            barrier: Barrier::new(parts),
        }
    }

    fn put(&self, from: u32, to: u32, values: Vec<f64>) {
        *self.boxes[from as usize * self.parts + to as usize]
            .lock()
            .unwrap() = values;
    }

    fn take(&self, from: u32, to: u32) -> Vec<f64> {
        std::mem::take(
            &mut self.boxes[from as usize * self.parts + to as usize]
                .lock()
                .unwrap(),
        )
    }
}

impl Part<'_> {
    fn gather(list: &[u32], x: &[f64]) -> Vec<f64> {
        list.iter().map(|&l| x[l as usize]).collect()
    }

    /// Halo values from their owners.
    fn update(&self, x: &mut [f64]) {
        let rank = self.nodes.rank();
        for (k, &q) in self.exchange.neighbours().iter().enumerate() {
            self.mail
                .put(rank, q, Part::gather(self.exchange.send(k), x));
        }
        self.mail.barrier.wait();
        for (k, &q) in self.exchange.neighbours().iter().enumerate() {
            let list = self.exchange.receive(k);
            for (&l, value) in list.iter().zip(self.mail.take(q, rank)) {
                x[l as usize] = value;
            }
        }
        self.mail.barrier.wait();
    }

    /// Contributions on halo nodes to their owners.
    fn add_to_owners(&self, x: &mut [f64]) {
        let rank = self.nodes.rank();
        for (k, &q) in self.exchange.neighbours().iter().enumerate() {
            self.mail
                .put(rank, q, Part::gather(self.exchange.receive(k), x));
        }
        self.mail.barrier.wait();
        for (k, &q) in self.exchange.neighbours().iter().enumerate() {
            let list = self.exchange.send(k);
            for (&l, value) in list.iter().zip(self.mail.take(q, rank)) {
                x[l as usize] += value;
            }
        }
        self.mail.barrier.wait();
    }

    /// Sum of one number over all parts, in order of the parts.
    fn sum(&self, value: f64) -> f64 {
        let rank = self.nodes.rank();
        let all = 0..self.mail.parts as u32;
        all.clone()
            .for_each(|q| self.mail.put(rank, q, vec![value]));
        self.mail.barrier.wait();
        let sum = all.map(|q| self.mail.take(q, rank)[0]).sum();
        self.mail.barrier.wait();
        sum
    }

    fn owned<'x>(&self, x: &'x [f64]) -> &'x [f64] {
        &x[..self.nodes.owned_count()]
    }
}

/// Runs `work` for all parts at once and puts the owned values that it returns in their places in the
/// space. Fails if a part neither owns nor has in its halo a node that its cells wrote to.
fn by_parts(
    space: &Space,
    cells: &[GeometryPartition],
    work: impl Fn(&Part, &GeometryPartition) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let nodes: Vec<_> = cells
        .iter()
        .map(|p| SpacePartition::new(space, p).unwrap())
        .collect();
    let lists: Vec<_> = nodes
        .iter()
        .zip(cells)
        .map(|(n, c)| Exchange::new(n, c).unwrap())
        .collect();
    let mail = Mail::new(cells.len());
    let mut all = vec![f64::NAN; space.node_count()];
    std::thread::scope(|scope| {
        let parts: Vec<_> = nodes
            .iter()
            .zip(&lists)
            .zip(cells)
            .map(|((nodes, exchange), cells)| {
                let part = Part {
                    nodes,
                    exchange,
                    mail: &mail,
                };
                let work = &work;
                scope.spawn(move || work(&part, cells))
            })
            .collect();
        for (thread, nodes) in parts.into_iter().zip(&nodes) {
            let values = thread.join().unwrap();
            for (&node, value) in nodes.owned_nodes().iter().zip(values) {
                assert!(all[node as usize].is_nan());
                all[node as usize] = value;
            }
        }
    });
    // Nodes that no cell touches keep the value 0 of assembly in part 0.
    all
}

/// A vector over the space in the numbering of a part; all that is not 0 must be in the part.
fn localised(nodes: &SpacePartition, global: &[f64]) -> Vec<f64> {
    for (node, &value) in global.iter().enumerate() {
        assert!(value == 0.0 || nodes.local_node(node).is_some());
    }
    nodes.nodes().iter().map(|&n| global[n as usize]).collect()
}

/// y += A x in the numbering of a part.
fn multiply(a: &BlockMatrix, nodes: &SpacePartition, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; nodes.node_count()];
    for row in 0..a.rows() {
        let (columns, values) = a.row(row);
        if columns.is_empty() {
            continue;
        }
        let to = nodes.local_node(row).unwrap();
        for (&column, value) in columns.iter().zip(values) {
            y[to] += value * x[nodes.local_node(column as usize).unwrap()];
        }
    }
    y
}

/// A form over measures of cells and of interior sides.
type FormOver = Box<dyn Fn(&Measure, &Measure) -> Form + Sync>;

struct Forms {
    a: FormOver,
    l: FormOver,
}

/// Bilinear and linear forms over cells and interior sides.
fn forms(mesh: &Mesh, space: &Space) -> Forms {
    let (u, v, x) = (Expr::trial(space), Expr::test(space), Expr::position(mesh));
    let weight = x.at(0) + 1.5;
    let cells = dot(&grad(&u), &grad(&v)) * &weight + &u * &v;
    let load = &v * &weight;
    // Single-valued for continuous spaces, and coupling both cells' gradients.
    let sides = dot(&grad(&u).jump(), &grad(&v).jump());
    let side_load = v.avg();
    Forms {
        a: Box::new(move |dx, ds| cells.over(dx) + sides.over(ds)),
        l: Box::new(move |dx, ds| load.over(dx) + side_load.over(ds)),
    }
}

fn measures(mesh: &Mesh, part: &GeometryPartition) -> (Measure, Measure) {
    let t = part.topology();
    let interior: Vec<u32> = part
        .sides()
        .iter()
        .copied()
        .filter(|&s| !t.is_boundary(s as usize))
        .collect();
    (
        Measure::cells(mesh).listed(part.cells().to_vec()),
        Measure::interior(mesh).listed(interior),
    )
}

#[test]
fn assembly_and_products_by_parts_equal_the_whole() {
    let mut random = Random(16);
    for case in straight_cases() {
        let mesh = scrambled(&case.mesh, &mut random);
        let geometry: Shared = Arc::new(mesh.clone());
        for degree in 1..=3 {
            let space = space(&geometry, degree, true);
            let forms = forms(&mesh, &space);
            let (dx, ds) = (Measure::cells(&mesh), Measure::interior(&mesh));
            let whole = matrix(&(forms.a)(&dx, &ds)).unwrap();
            let load = vector(&(forms.l)(&dx, &ds)).unwrap();
            let x = random.numbers(space.node_count());
            let mut product = vec![0.0; x.len()];
            whole.multiply(&x, &mut product).unwrap();
            for parts in [1, 2, 4] {
                for owners in divisions(&geometry, parts, &mut random) {
                    let cells = all_parts(&geometry, &owners, parts);
                    let found = by_parts(&space, &cells, |part, cells| {
                        let (dx, ds) = measures(&mesh, cells);
                        let global = vector(&(forms.l)(&dx, &ds)).unwrap();
                        let mut local = localised(part.nodes, &global);
                        part.add_to_owners(&mut local);
                        part.owned(&local).to_vec()
                    });
                    assert_close(&found, &load, 1e-13, case.name);
                    let found = by_parts(&space, &cells, |part, cells| {
                        let (dx, ds) = measures(&mesh, cells);
                        let a = matrix(&(forms.a)(&dx, &ds)).unwrap();
                        // Owned values are known here, those of the halo come from their owners.
                        let mut local = vec![f64::NAN; part.nodes.node_count()];
                        for (value, &node) in local.iter_mut().zip(part.nodes.owned_nodes()) {
                            *value = x[node as usize];
                        }
                        part.update(&mut local);
                        let mut y = multiply(&a, part.nodes, &local);
                        part.add_to_owners(&mut y);
                        part.owned(&y).to_vec()
                    });
                    assert_close(&found, &product, 1e-12, case.name);
                    // The matrices of the parts add up to that of the whole.
                    let mut sum = vec![0.0; whole.rows() * whole.cols()];
                    for part in &cells {
                        let (dx, ds) = measures(&mesh, part);
                        let dense = matrix(&(forms.a)(&dx, &ds)).unwrap().to_dense();
                        sum.iter_mut().zip(dense).for_each(|(s, d)| *s += d);
                    }
                    assert_close(&sum, &whole.to_dense(), 1e-13, case.name);
                }
            }
        }
    }
}

/// Rows of owned nodes refer to nodes of the part only; rows of interior ones are complete when the
/// part's own cells are assembled.
#[test]
fn rows_of_owned_nodes_stay_in_the_part() {
    let mut random = Random(17);
    for case in straight_cases() {
        let mesh = case.mesh;
        let geometry: Shared = Arc::new(mesh.clone());
        let space = space(&geometry, 2, true);
        let (u, v) = (Expr::trial(&space), Expr::test(&space));
        let mass = |measure: &Measure| matrix(&(&u * &v).over(measure)).unwrap();
        let whole = mass(&Measure::cells(&mesh));
        for owners in divisions(&geometry, 3, &mut random) {
            for cells in all_parts(&geometry, &owners, 3) {
                let p = SpacePartition::new(&space, &cells).unwrap();
                let own = mass(&Measure::cells(&mesh).listed(cells.cells().to_vec()));
                for &row in p.owned_nodes() {
                    let (columns, _) = whole.row(row as usize);
                    assert!(columns.iter().all(|&c| p.local_node(c as usize).is_some()));
                }
                for local in p.class(NodeClass::OwnedInterior) {
                    let row = p.nodes()[local] as usize;
                    let ((columns, values), (of_own, own)) = (whole.row(row), own.row(row));
                    assert_eq!(columns, of_own);
                    assert_close(own, values, 1e-13, case.name);
                }
            }
        }
    }
}

/// Conjugate gradients with a thread for each part, halo updates and sums over parts.
#[test]
fn conjugate_gradients_by_parts() {
    let mesh = scrambled(&unit_mesh(CellKind::Triangle, [12, 12, 1]), &mut Random(18));
    let geometry: Shared = Arc::new(mesh.clone());
    let space = space(&geometry, 2, true);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let a = dot(&grad(&u), &grad(&v)) + &u * &v;
    let l = &v * (1.0 + Expr::position(&mesh).at(1));
    let whole = matrix(&a.over(&Measure::cells(&mesh))).unwrap();
    let load = vector(&l.over(&Measure::cells(&mesh))).unwrap();
    for parts in [1, 3, 4] {
        let owners = graph_parts(&mesh, parts).unwrap();
        let cells = all_parts(&geometry, &owners, parts);
        let x = by_parts(&space, &cells, |part, cells| {
            let dx = Measure::cells(&mesh).listed(cells.cells().to_vec());
            let a = matrix(&a.over(&dx)).unwrap();
            let mut r = localised(part.nodes, &vector(&l.over(&dx)).unwrap());
            part.add_to_owners(&mut r);
            let owned = part.nodes.owned_count();
            let dot = |a: &[f64], b: &[f64]| {
                let own: f64 = a[..owned].iter().zip(&b[..owned]).map(|(a, b)| a * b).sum();
                part.sum(own)
            };
            let mut x = vec![0.0; owned];
            let mut p = r.clone();
            let mut rr = dot(&r, &r);
            let goal = 1e-24 * rr;
            for _ in 0..1000 {
                if rr <= goal {
                    break;
                }
                part.update(&mut p);
                let mut ap = multiply(&a, part.nodes, &p);
                part.add_to_owners(&mut ap);
                let alpha = rr / dot(&p, &ap);
                for i in 0..owned {
                    x[i] += alpha * p[i];
                    r[i] -= alpha * ap[i];
                }
                let next = dot(&r, &r);
                for i in 0..owned {
                    p[i] = r[i] + next / rr * p[i];
                }
                rr = next;
            }
            x
        });
        let mut ax = vec![0.0; x.len()];
        whole.multiply(&x, &mut ax).unwrap();
        assert_close(&ax, &load, 1e-10, &format!("{parts} parts"));
    }
}
