//! smoke
use std::time::Instant;
use weft::assemble::{self, MatrixPlan};
use weft::form::*;
use weft::geometry::*;
use weft::space::Space;
fn bench(name: &str, mesh: &Mesh, p: usize, elastic: bool) {
    let mut s = Space::lagrange(mesh, p).unwrap();
    if elastic {
        s = s.vector(3).unwrap();
    }
    let (u, v) = (Expr::trial(&s), Expr::test(&s));
    let a = if elastic {
        (2.0 * inner(&sym(&grad(&u)), &sym(&grad(&v))) + div(&u) * div(&v)).dx(mesh)
    } else {
        inner(&grad(&u), &grad(&v)).dx(mesh)
    };
    let t = Instant::now();
    let mut plan = MatrixPlan::new(&a).unwrap();
    let setup = t.elapsed().as_secs_f64();
    let mut m = plan.matrix();
    plan.assemble(&mut m).unwrap();
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let t = Instant::now();
        plan.assemble(&mut m).unwrap();
        best = best.min(t.elapsed().as_secs_f64());
    }
    let n = mesh.topology().cell_count();
    println!("{name} p={p} elastic={elastic} ne={n} dofs={} setup={setup:.3} assemble={best:.4} {:.3} Mel/s", s.dof_count(), n as f64 / best / 1e6);
}
fn main() {
    let m = shapes::box_hexes([2, 2, 2], [0.0; 3], [1.0; 3]).unwrap();
    let m = m.moved(|x| [x[0] + 0.1 * x[1] * x[2], x[1], x[2] + 0.05 * x[0] * x[1]]).unwrap();
    let s = Space::lagrange(&m, 2).unwrap();
    let (u, v) = (Expr::trial(&s), Expr::test(&s));
    println!("vol {}", assemble::integrate(&Expr::constant(1.0).dx(&m)).unwrap());
    let k = assemble::matrix(&inner(&grad(&u), &grad(&v)).dx(&m)).unwrap();
    let ones = vec![1.0; s.dof_count()];
    let mut y = ones.clone();
    k.multiply(&ones, &mut y).unwrap();
    println!("K1 {:?}", y.iter().cloned().fold(0.0, f64::max));
    println!("sym {}", k.is_symmetric(0.0));
    let warp = |m: Mesh| m.moved(|x| [x[0] + 0.05 * x[1] * x[2], x[1] + 0.03 * x[0] * x[2], x[2] + 0.05 * x[0] * x[1]]).unwrap();
    let pool = |t| rayon::ThreadPoolBuilder::new().num_threads(t).build().unwrap();
    for t in [1, 2] {
        println!("threads {t}");
        pool(t).install(|| {
            let h48 = warp(shapes::box_hexes([48; 3], [0.0; 3], [1.0; 3]).unwrap());
            bench("hex48", &h48, 1, false);
            bench("hex48", &h48, 1, true);
            let h24 = warp(shapes::box_hexes([24; 3], [0.0; 3], [1.0; 3]).unwrap());
            bench("hex24", &h24, 2, false);
            bench("hex24", &h24, 2, true);
            let t24 = warp(shapes::box_tets([24; 3], [0.0; 3], [1.0; 3]).unwrap());
            for e in [false, true] {
                bench("tet", &t24, 1, e);
                bench("tet", &t24, 2, e);
            }
        });
    }
}
