//! profile
use weft::assemble::MatrixPlan;
use weft::form::*;
use weft::geometry::*;
use weft::space::Space;
fn main() {
    let el = std::env::args().nth(1).as_deref() == Some("e");
    let m = shapes::box_hexes([24; 3], [0.0; 3], [1.0; 3])
        .unwrap()
        .moved(|x| {
            [
                x[0] + 0.05 * x[1] * x[2],
                x[1] + 0.03 * x[0] * x[2],
                x[2] + 0.05 * x[0] * x[1],
            ]
        })
        .unwrap();
    let mut s = Space::lagrange(&m, 2).unwrap();
    if el {
        s = s.vector(3).unwrap();
    }
    let (u, v) = (Expr::trial(&s), Expr::test(&s));
    let a = if el {
        (2.0 * inner(&sym(&grad(&u)), &sym(&grad(&v))) + div(&u) * div(&v)).dx(&m)
    } else {
        inner(&grad(&u), &grad(&v)).dx(&m)
    };
    let mut plan = MatrixPlan::new(&a).unwrap();
    let mut k = plan.matrix();
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap()
        .install(|| {
            let mut best = f64::INFINITY;
            for _ in 0..10 {
                let t = std::time::Instant::now();
                plan.assemble(&mut k).unwrap();
                best = best.min(t.elapsed().as_secs_f64());
            }
            println!("best {best} {} Mel/s", 13824.0 / best / 1e6);
        });
}
