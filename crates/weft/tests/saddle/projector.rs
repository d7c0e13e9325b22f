//! Conditions by projectors: normalised from forms, and on blocks that couple two spaces.

use crate::common::{Random, assert_close, shared, unit_mesh};
use crate::{dense_product, random_matrix};
use weft::assemble::{integrate, matrix, vector};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, Scope};
use weft::geometry::{Geometry, Mesh};
use weft::problem::{Dirichlet, ProblemError};
use weft::solve::{
    BlockJacobi, Constraints, Jacobi, Krylov, KrylovOptions, Method, Preconditioner, SolveError,
    SymmetricEigen,
};
use weft::space::Space;
use weft::sparse::BlockMatrix;

/// Orthonormal vectors.
fn frame(b: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut m = random.numbers(b * b);
    for k in 0..b {
        m[k * b + k] += 0.3;
    }
    let eigen = SymmetricEigen::new(b, &m);
    (0..b).map(|k| eigen.vector(k).to_vec()).collect()
}

#[test]
fn forms_are_normalised_to_projectors() {
    let mut random = Random(31);
    for b in 1..=4 {
        for rank in 0..=b {
            for scale in [1e-12, 1.0, 1e12] {
                let q = frame(b, &mut random);
                let weights: Vec<f64> = (0..rank).map(|k| scale * (1.0 + k as f64)).collect();
                let x = random.numbers(b);
                let (mut p, mut g) = (vec![0.0; b * b], vec![0.0; b]);
                let (mut projector, mut target) = (vec![0.0; b * b], vec![0.0; b]);
                for (q, w) in q.iter().zip(&weights) {
                    let along: f64 = q.iter().zip(&x).map(|(q, x)| q * x).sum();
                    for i in 0..b {
                        g[i] += w * along * q[i];
                        target[i] += along * q[i];
                        for j in 0..b {
                            p[i * b + j] += w * q[i] * q[j];
                            projector[i * b + j] += q[i] * q[j];
                        }
                    }
                }
                // Node 0 is constrained, node 1 is inside: its block is zero.
                let mut values = p.clone();
                values.extend(vec![0.0; b * b]);
                let form = BlockMatrix::from_block_diagonal([b, b], values).unwrap();
                g.extend(vec![0.0; b]);
                let c = Constraints::from_forms(&form, &g).unwrap();
                assert_eq!((c.rank(0), c.rank(1)), (rank, 0));
                let matrix = c.projector_matrix().unwrap();
                let near =
                    |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13);
                assert!(near(matrix.get(0, 0).unwrap(), &projector));
                assert!(near(&c.targets()[..b], &target));
                // P² = P = Pᵀ.
                let square = matrix.times(&matrix).unwrap();
                assert!(near(square.values(), matrix.values()) && matrix.is_symmetric(0.0));
                // P again gives P again.
                let again = Constraints::from_forms(&matrix, &c.targets()).unwrap();
                assert!(near(
                    again.projector_matrix().unwrap().values(),
                    matrix.values()
                ));
                assert!(near(&again.targets(), &c.targets()));
            }
        }
    }
    // Modes below 1e-6 of the trace are noise, those above are conditions.
    for (small, rank) in [(1e-8, 1), (1e-4, 2), (-1e-9, 1)] {
        let form = BlockMatrix::from_block_diagonal([2, 2], vec![1.0, 0.0, 0.0, small]).unwrap();
        assert_eq!(
            Constraints::from_forms(&form, &[1.0, 0.0]).unwrap().rank(0),
            rank
        );
    }
    let refused = |values: Vec<f64>, g: &[f64]| {
        let form = BlockMatrix::from_block_diagonal([2, 2], values).unwrap();
        Constraints::from_forms(&form, g).unwrap_err()
    };
    let negative = refused(vec![1.0, 0.0, 0.0, -0.1], &[0.0; 2]);
    assert!(
        matches!(negative, SolveError::Constraint { node: 0, .. }),
        "{negative}"
    );
    assert!(matches!(
        refused(vec![f64::NAN; 4], &[0.0; 2]),
        SolveError::NonFinite { .. }
    ));
    assert!(matches!(
        refused(vec![1.0; 4], &[f64::INFINITY; 2]),
        SolveError::NonFinite { .. }
    ));
    assert!(matches!(
        refused(vec![1.0; 4], &[0.0; 3]),
        SolveError::Size { .. }
    ));
    assert!(
        Constraints::from_forms(&random_matrix(2, 3, [1, 1], 1, &mut Random(1)), &[0.0; 2])
            .is_err()
    );
}

fn meshes() -> Vec<Mesh> {
    CellKind::CELLS
        .into_iter()
        .filter(|k| k.dim() > 1)
        .map(|k| unit_mesh(k, [2; 3]))
        .collect()
}

fn form_constraints(
    mesh: &Mesh,
    space: &Space,
    p: &str,
    g: &str,
) -> Result<Constraints, SolveError> {
    let mut scope = Scope::new(shared(mesh));
    scope.set("u", Expr::trial(space));
    scope.set("v", Expr::test(space));
    let p = matrix(&scope.form(p).unwrap()).unwrap();
    let g = match g {
        "" => vec![0.0; p.rows()],
        _ => vector(&scope.form(g).unwrap()).unwrap(),
    };
    Constraints::from_forms(&p, &g)
}

fn dirichlet_constraints(conditions: &[Dirichlet]) -> Constraints {
    let space = conditions[0].space();
    let mut constraints = Constraints::empty(space.node_count(), space.components());
    for condition in conditions {
        condition.apply(&mut constraints).unwrap();
    }
    constraints
}

#[track_caller]
fn assert_same(a: &Constraints, b: &Constraints, what: &str) {
    let (p, q) = (a.projector_matrix().unwrap(), b.projector_matrix().unwrap());
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10);
    assert!(near(p.values(), q.values()), "{what}: projectors");
    assert!(near(&a.targets(), &b.targets()), "{what}: targets");
}

#[test]
fn assembled_forms_prescribe_what_conditions_do() {
    for mesh in meshes() {
        let dim = mesh.space_dim();
        for degree in 1..=2 {
            let space = Space::lagrange(&mesh, degree).unwrap().vector(dim).unwrap();
            let what = format!("{:?} {degree}", mesh.cell_kind());
            let value: Vec<f64> = (0..dim).map(|d| 1.5 - d as f64).collect();
            let text = format!("{value:?}");
            let whole =
                form_constraints(&mesh, &space, "dot(u, v)*ds", &format!("dot({text}, v)*ds"));
            let by_name = Dirichlet::on_boundary(&space)
                .value(Expr::vector(&value))
                .unwrap();
            if mesh.cell_kind() == CellKind::Tet && degree == 2 {
                // The vertex functions of quadratic triangles have mean zero.
                assert!(matches!(whole, Err(SolveError::Constraint { .. })));
                continue;
            }
            assert_same(&whole.unwrap(), &dirichlet_constraints(&[by_name]), &what);
            let slip = form_constraints(&mesh, &space, "dot(u, n)*dot(v, n)*ds", "");
            let normal = Dirichlet::on_boundary(&space).normal().unwrap();
            assert_same(&slip.unwrap(), &dirichlet_constraints(&[normal]), &what);
        }
    }
}

#[test]
fn tangential_conditions_leave_the_normal_free() {
    for mesh in meshes() {
        let dim = mesh.space_dim();
        let space = Space::lagrange(&mesh, 2).unwrap().vector(dim).unwrap();
        let value = Expr::vector(&[0.5, -2.0, 3.0][..dim]);
        let one_side = Dirichlet::on(&space, "left").unwrap();
        let left =
            dirichlet_constraints(&[one_side.tangential().unwrap().value(value.clone()).unwrap()]);
        assert!(!left.is_empty());
        for node in left.nodes() {
            let p = left.projector(node);
            for i in 0..dim {
                for j in 0..dim {
                    let expected = if i == j && i > 0 { 1.0 } else { 0.0 };
                    assert!((p[i * dim + j] - expected).abs() < 1e-14);
                }
            }
            let target = left.target(node).unwrap();
            assert!(target[0].abs() < 1e-14 && (target[1] + 2.0).abs() < 1e-14);
        }
        // Normal and tangential together are everything, and corners are so at once.
        let tangential = Dirichlet::on_boundary(&space).tangential().unwrap();
        let all =
            dirichlet_constraints(&[tangential, Dirichlet::on_boundary(&space).normal().unwrap()]);
        assert_same(
            &all,
            &dirichlet_constraints(&[Dirichlet::on_boundary(&space)]),
            "all",
        );
        let scalar = Space::lagrange(&mesh, 1).unwrap();
        let refused = Dirichlet::on_boundary(&scalar).tangential().unwrap_err();
        assert!(matches!(refused, ProblemError::Mismatch(_)), "{refused}");
    }
}

#[test]
fn diffusion_with_projected_sides_is_exact() {
    // −ν Δu = 1 with u = 5 where x is 0 or 1 and nothing elsewhere: u = 5 + x (1 − x)/(2ν), quadratic.
    for kind in [CellKind::Quad, CellKind::Triangle, CellKind::Hex] {
        let mesh = unit_mesh(kind, [4; 3]);
        let space = Space::lagrange(&mesh, 2).unwrap();
        let mut scope = Scope::new(shared(&mesh));
        scope.set("u", Expr::trial(&space));
        scope.set("v", Expr::test(&space));
        let mut a = matrix(&scope.form("2*dot(grad(u), grad(v))*dx").unwrap()).unwrap();
        let mut b = vector(&scope.form("v*dx").unwrap()).unwrap();
        let p = matrix(&scope.form("u*v*ds('left', 'right')").unwrap()).unwrap();
        let g = vector(&scope.form("5*v*ds('left', 'right')").unwrap()).unwrap();
        Constraints::from_forms(&p, &g)
            .unwrap()
            .apply(&mut a, &mut b)
            .unwrap();
        let u = Field::zeros(&space);
        let options = KrylovOptions {
            tolerance: 1e-13,
            ..KrylovOptions::default()
        };
        let mut solver = Krylov::new(Method::Cg, options).unwrap();
        let jacobi = Jacobi::new(&a).unwrap();
        solver.solve(&a, &jacobi, &b, &mut u.values_mut()).unwrap();
        scope.set_field("w", &u);
        let off = integrate(&scope.form("(w - 5 - x[0]*(1 - x[0])/4)^2*dx").unwrap()).unwrap();
        assert!(off.sqrt() < 1e-10, "{kind:?}: {off:e}");
        let largest = u.values().iter().fold(0.0, |m: f64, v| m.max(*v));
        assert!((largest - 5.0625).abs() < 1e-10);
    }
}

#[test]
fn coupling_blocks_are_projected_as_by_hand() {
    let mut random = Random(37);
    for block in 1..=3 {
        let (n, m) = (9, 5);
        let mut c = Constraints::empty(n, block);
        c.constrain_node(2, &random.numbers(block)).unwrap();
        c.constrain_component(0, block - 1, 0.7).unwrap();
        if block > 1 {
            let q = frame(block, &mut random);
            c.constrain_direction(4, &q[0], -0.3).unwrap();
        }
        let size = n * block;
        let p = c.projector_matrix().unwrap().to_dense();
        let free: Vec<f64> = (0..size * size)
            .map(|k| {
                if k / size == k % size {
                    1.0 - p[k]
                } else {
                    -p[k]
                }
            })
            .collect();
        let b = random_matrix(m, n, [2, block], 3, &mut random);
        let mut columns = b.clone();
        c.eliminate_columns(&mut columns).unwrap();
        let by_hand = dense_product([2 * m, size, size], &b.to_dense(), &free);
        assert_close(&columns.to_dense(), &by_hand, 1e-14, "B (I - P)");
        let mut rows = b.transpose();
        c.eliminate_rows(&mut rows).unwrap();
        assert_close(&rows.transpose().to_dense(), &by_hand, 1e-14, "(I - P) B'");
        let mut rhs = random.numbers(2 * m);
        let image = dense_product([2 * m, size, 1], &b.to_dense(), &c.targets());
        let expected: Vec<f64> = rhs.iter().zip(&image).map(|(r, i)| r - i).collect();
        c.lift_columns(&b, &mut rhs).unwrap();
        assert_close(&rhs, &expected, 1e-14, "b - B g");
        for (mut wrong, in_rows) in [(b.clone(), true), (b.transpose(), false)] {
            let result = match in_rows {
                true => c.eliminate_rows(&mut wrong),
                false => c.eliminate_columns(&mut wrong),
            };
            assert!(matches!(result, Err(SolveError::Size { .. })));
        }
        assert!(c.lift_columns(&b.transpose(), &mut rhs).is_err());
    }
}

#[test]
fn small_eigenvalue_problems_come_back() {
    // Zero, identity, ranks 1, 2 and 4 of 4 × 4, and 6 × 6 with eigenvalues that nearly agree.
    let mut random = Random(41);
    let from = |n: usize, values: &[f64], q: &[Vec<f64>]| -> Vec<f64> {
        (0..n * n)
            .map(|k| {
                values
                    .iter()
                    .zip(q)
                    .map(|(v, q)| v * q[k / n] * q[k % n])
                    .sum()
            })
            .collect()
    };
    let near = [1.0, 1.0 + 1e-9, 1.0 - 1e-9, 2.0, 2.0 + 1e-12, 1e-9];
    for (n, values) in [
        (4, &[][..]),
        (4, &[1.0; 4][..]),
        (4, &[3.0][..]),
        (4, &[3.0, -0.5][..]),
        (4, &[3.0, -0.5, 1e-3, 40.0][..]),
        (6, &near[..]),
    ] {
        let q = frame(n, &mut random);
        let a = from(n, values, &q);
        let eigen = SymmetricEigen::new(n, &a);
        let vectors: Vec<Vec<f64>> = (0..n).map(|k| eigen.vector(k).to_vec()).collect();
        let back = from(n, eigen.values(), &vectors);
        let off: f64 = back.iter().zip(&a).map(|(b, a)| (b - a).powi(2)).sum();
        let size: f64 = a.iter().map(|a| a * a).sum();
        assert!(off <= 1e-28 * size.max(1.0), "{values:?}: {off:e}");
        let trace: f64 = (0..n).map(|i| a[i * n + i]).sum();
        assert!((eigen.values().iter().sum::<f64>() - trace).abs() <= 1e-14 * size.sqrt().max(1.0));
        let extreme = values.iter().fold(0.0, |m: f64, v| m.max(*v));
        assert!((eigen.values()[n - 1] - extreme).abs() <= 1e-14 * size.sqrt().max(1.0));
    }
    // Inverses of a hundred random 3 × 3 blocks.
    for _ in 0..100 {
        let m: Vec<f64> = (0..9).map(|_| random.between(0.0, 10.0)).collect();
        let inverse = BlockJacobi::new(&crate::one_block(3, 3, m.clone())).unwrap();
        let size = m.iter().fold(0.0f64, |s, v| s.max(*v));
        for j in 0..3 {
            let unit: Vec<f64> = (0..3).map(|i| (i == j) as usize as f64).collect();
            let mut column = vec![0.0; 3];
            inverse.apply(&unit, &mut column);
            let largest = column.iter().fold(0.0f64, |s, v| s.max(v.abs()));
            let image = dense_product([3, 3, 1], &m, &column);
            for i in 0..3 {
                assert!((image[i] - unit[i]).abs() < 1e-14 * (1.0 + size * largest));
            }
        }
    }
}
