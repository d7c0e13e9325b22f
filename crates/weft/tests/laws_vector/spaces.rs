//! Spaces: continuity across sides, the discrete sequence, twins of assembled numbers.

use crate::common::{
    Random, assert_close, bend, difference, permutations, pool, rings, scrambled, shared,
    unit_mesh, zigzag_mesh,
};
use crate::{DEGREES, families};
use weft::assemble::{evaluate_at, integrate, interpolate, matrix, project, vector};
use weft::element::{CellKind, Piola, VectorFamily};
use weft::field::Field;
use weft::form::{Expr, Measure, Scope, Shape};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grid2, Grid3, Mesh, VoxelGrid, VoxelMap};
use weft::problem::Dirichlet;
use weft::solve::Constraints;
use weft::space::{Space, SpaceError};

const KINDS: [CellKind; 4] = [
    CellKind::Triangle,
    CellKind::Quad,
    CellKind::Tet,
    CellKind::Hex,
];

fn space<G: Geometry + Clone + 'static>(g: &G, family: VectorFamily, degree: usize) -> Space {
    match family {
        VectorFamily::Nedelec => Space::nedelec(g, degree),
        VectorFamily::RaviartThomas => Space::raviart_thomas(g, degree),
        VectorFamily::BrezziDouglasMarini => Space::bdm(g, degree),
        VectorFamily::NedelecSecond => Space::nedelec_second(g, degree),
    }
    .unwrap()
}

fn random_field(space: &Space, random: &mut Random) -> Field {
    Field::from_values(space, random.numbers(space.dof_count())).unwrap()
}

/// The part of a function that should be continuous: what crosses sides, or goes along them.
fn trace(e: &Expr, piola: Piola, g: &dyn Geometry) -> Expr {
    let n = Expr::normal(g);
    match piola {
        Piola::Contravariant => e.dot(&n),
        Piola::Covariant => n.cross(e),
    }
}

/// Two cells with a common side.
fn pair(kind: CellKind) -> Mesh {
    match kind {
        CellKind::Triangle => unit_mesh(kind, [1, 1, 1]),
        CellKind::Tet => {
            let points = vec![
                [0.0, 0.0, 0.0],
                [1.0, 0.1, 0.0],
                [0.2, 1.0, 0.1],
                [0.3, 0.1, 1.0],
                [0.9, 1.1, 1.2],
            ];
            let cells = vec![0, 1, 2, 3, 1, 2, 3, 4];
            Mesh::reoriented(kind, 3, points, cells).unwrap()
        }
        _ => unit_mesh(kind, [2, 1, 1]),
    }
    .moved(|x| bend(x, kind.dim()))
    .unwrap()
}

/// The mesh with vertices renumbered, cells as they are.
fn renumbered(mesh: &Mesh, number: &[usize]) -> Mesh {
    let (topology, map) = (mesh.topology(), mesh.map());
    let mut points = vec![[0.0; 3]; number.len()];
    for (old, &new) in number.iter().enumerate() {
        points[new] = map.vertex(old as u32);
    }
    let cells = topology.cells().iter().map(|&v| number[v as usize] as u32);
    Mesh::new(mesh.cell_kind(), mesh.space_dim(), points, cells.collect()).unwrap()
}

/// A mesh of affine cells; simplices of several shapes.
fn straight_mesh(kind: CellKind) -> Mesh {
    if kind.is_tensor() {
        unit_mesh(kind, [2; 3])
    } else {
        zigzag_mesh(kind, 2)
    }
}

/// Squares of the jump of the trace and of the trace itself, over all functions at once.
fn jumps<G: Geometry + Clone + 'static>(g: &G, field: &Field) -> [f64; 2] {
    let space = field.space();
    let piola = space.vector_element().unwrap().piola();
    let measure = Measure::interior(g).degree(2 * space.degree() + 4);
    let u = trace(&field.expr(), piola, g);
    let square = |e: Expr| integrate(&e.inner(&e).over(&measure)).unwrap();
    [square(u.jump()), square(u.inside())]
}

#[test]
fn traces_are_continuous_on_two_cells_numbered_in_every_way() {
    let mut random = Random(31);
    for kind in KINDS {
        let mesh = pair(kind);
        let n = mesh.topology().vertex_count();
        // Twelve vertices of hexes have too many orders; what counts is how the common side and
        // the others are seen, of which many random orders reach all.
        let orders = match kind {
            CellKind::Hex => (0..150).map(|_| random.shuffled(n)).collect(),
            _ => permutations(n),
        };
        for (count, order) in orders.iter().enumerate() {
            let mesh = renumbered(&mesh, order);
            for family in families(kind) {
                for degree in DEGREES {
                    // Quads have many orders, of which high degrees see some.
                    if count % [1, 4, 9][degree - 1] != 0 && kind.is_tensor() {
                        continue;
                    }
                    let space = space(&mesh, family, degree);
                    let [jump, size] = jumps(&mesh, &random_field(&space, &mut random));
                    assert!(
                        jump < 1e-22 * size && size > 0.0,
                        "{family} {degree} on {kind:?}, {order:?}: {jump:e} of {size:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn traces_are_continuous_around_vertices_and_edges() {
    let mut random = Random(34);
    for kind in KINDS {
        for (count, mesh) in rings(kind, &mut random).into_iter().enumerate() {
            for family in families(kind) {
                for degree in DEGREES {
                    if count % [1, 4, 9][degree - 1] != 0 {
                        continue;
                    }
                    let space = space(&mesh, family, degree);
                    let [jump, size] = jumps(&mesh, &random_field(&space, &mut random));
                    assert!(
                        jump < 1e-22 * size && size > 0.0,
                        "{family} {degree} on {kind:?}: {jump:e} of {size:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn traces_are_continuous_on_scrambled_meshes() {
    let mut random = Random(32);
    for kind in KINDS {
        let whole = unit_mesh(kind, [2; 3])
            .moved(|x| bend(x, kind.dim()))
            .unwrap();
        for _ in 0..3 {
            let mesh = scrambled(&whole, &mut random);
            for family in families(kind) {
                for degree in DEGREES {
                    let space = space(&mesh, family, degree);
                    let field = random_field(&space, &mut random);
                    let [jump, size] = jumps(&mesh, &field);
                    assert!(
                        jump < 1e-22 * size,
                        "{family} {degree} on {kind:?}: {jump:e}"
                    );
                    // The other components do jump.
                    let e = field.expr().jump();
                    let all = e.inner(&e).over(&Measure::interior(&mesh));
                    assert!(integrate(&all).unwrap() > 1e-3 * size, "{family} {degree}");
                }
            }
        }
    }
}

#[test]
fn traces_are_continuous_on_grids_and_voxels() {
    let mut random = Random(33);
    let plane = Grid2::unit([3, 2]).unwrap();
    let cube = Grid3::unit([2, 3, 2]).unwrap();
    let corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [-1, 0, 0]];
    let map = VoxelMap::uniform(0.5).unwrap();
    let voxels = VoxelGrid::from_coordinates(&corners, map).unwrap();
    for degree in DEGREES {
        for family in families(CellKind::Quad) {
            let check = |[jump, size]: [f64; 2]| {
                assert!(
                    jump < 1e-22 * size && size > 0.0,
                    "{family} {degree}: {jump:e}"
                );
            };
            check(jumps(
                &plane,
                &random_field(&space(&plane, family, degree), &mut random),
            ));
            check(jumps(
                &cube,
                &random_field(&space(&cube, family, degree), &mut random),
            ));
            check(jumps(
                &voxels,
                &random_field(&space(&voxels, family, degree), &mut random),
            ));
        }
    }
}

#[test]
fn degrees_of_freedom_are_counted_by_entity() {
    let grid = Grid3::unit([2, 3, 4]).unwrap();
    let t = grid.topology();
    let k = 2;
    let nedelec = Space::nedelec(&grid, k).unwrap();
    let expected = t.edge_count() * k
        + t.side_count() * 2 * k * (k - 1)
        + t.cell_count() * 3 * k * (k - 1) * (k - 1);
    assert_eq!(nedelec.dof_count(), expected);
    let rt = Space::raviart_thomas(&grid, k).unwrap();
    let expected = t.side_count() * k * k + t.cell_count() * 3 * k * k * (k - 1);
    assert_eq!(rt.dof_count(), expected);
    let mesh = unit_mesh(CellKind::Tet, [2; 3]);
    let bdm = Space::bdm(&mesh, 1).unwrap();
    assert_eq!(bdm.dof_count(), 3 * mesh.topology().side_count());
    assert_eq!(bdm.components(), 1);
    assert_eq!(bdm.shape(), Shape::Vector(3));
    // All of them are used.
    let mut used: Vec<u32> = (0..mesh.topology().cell_count())
        .flat_map(|c| bdm.cell_nodes(c).to_vec())
        .collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), bdm.dof_count());
}

fn size(e: &Expr, g: &Mesh, degree: usize) -> f64 {
    let measure = Measure::cells(g).degree(degree);
    integrate(&e.inner(e).over(&measure)).unwrap().sqrt()
}

#[test]
fn gradient_then_curl_then_divergence_stay_in_the_sequence() {
    let mut random = Random(34);
    for kind in KINDS {
        for bent in [false, true] {
            let dim = kind.dim();
            let mesh = if bent {
                unit_mesh(kind, [2; 3]).moved(|x| bend(x, dim)).unwrap()
            } else {
                unit_mesh(kind, [2; 3])
            };
            let mesh = scrambled(&mesh, &mut random);
            for k in DEGREES {
                let p = Space::lagrange(&mesh, k).unwrap();
                let f = random_field(&p, &mut random).expr().grad();
                let curls = Space::nedelec(&mesh, k).unwrap();
                let g = interpolate(&f, &curls).unwrap().expr();
                let what = format!("{kind:?} {k} bent {bent}");
                let scale = size(&f, &mesh, 2 * k + 2);
                assert!(
                    size(&(&g - &f), &mesh, 2 * k + 2) < 1e-10 * scale,
                    "grad {what}"
                );
                assert!(
                    size(&g.curl(), &mesh, 2 * k + 2) < 1e-8 * scale,
                    "curl grad {what}"
                );
                if dim == 2 {
                    continue;
                }
                let c = random_field(&curls, &mut random).expr().curl();
                let fluxes = Space::raviart_thomas(&mesh, k).unwrap();
                let h = interpolate(&c, &fluxes).unwrap().expr();
                let scale = size(&c, &mesh, 2 * k + 2);
                assert!(
                    size(&(&h - &c), &mesh, 2 * k + 2) < 1e-10 * scale,
                    "curl {what}"
                );
                assert!(
                    size(&h.div(), &mesh, 2 * k + 2) < 1e-8 * scale,
                    "div curl {what}"
                );
            }
        }
    }
}

/// A polynomial vector of a degree in each variable.
fn polynomial(scope: &Scope, dim: usize, degree: usize) -> Expr {
    let text = match (dim, degree) {
        (2, 1) => "[x[0] - 2*x[1], 3*x[0] + x[1] - 1]",
        (2, 2) => "[x[0]^2 - 2*x[1]*x[0], 3*x[0]^2 + x[1]^2 - 1]",
        (2, _) => "[x[0]^3 - 2*x[1]^2*x[0], 3*x[0]^3 + x[1]^3 - x[0]*x[1]]",
        (_, 1) => "[x[0] - 2*x[1], 3*x[2] + x[1] - 1, x[0] + x[1] - x[2]]",
        (_, 2) => "[x[0]^2 - 2*x[1]*x[2], 3*x[2]^2 + x[1]^2 - 1, x[0]*x[1] - x[2]]",
        _ => "[x[0]^3 - 2*x[1]^2*x[2], 3*x[2]^3 + x[1]^3 - 1, x[0]*x[1]*x[2] - x[2]^2]",
    };
    scope.expression(text).unwrap()
}

#[test]
fn interpolation_commutes_with_curl_and_divergence() {
    let mut random = Random(35);
    for kind in KINDS {
        // Straight cells, where moments of polynomials are exact.
        let mesh = scrambled(&straight_mesh(kind), &mut random);
        let scope = Scope::new(shared(&mesh));
        for k in DEGREES {
            let w = polynomial(&scope, kind.dim(), k);
            let what = format!("{kind:?} {k}");
            let broken = Space::discontinuous(&mesh, k - 1).unwrap();
            let rt = Space::raviart_thomas(&mesh, k).unwrap();
            let one = interpolate(&w, &rt).unwrap().expr().div();
            let other = project(&w.div(), &broken).unwrap().expr();
            assert!(size(&(&one - &other), &mesh, 2 * k) < 1e-10, "div {what}");
            let n1 = Space::nedelec(&mesh, k).unwrap();
            let one = interpolate(&w, &n1).unwrap().expr().curl();
            let other = match kind.dim() {
                2 => project(&w.curl(), &broken).unwrap().expr(),
                _ => interpolate(&w.curl(), &rt).unwrap().expr(),
            };
            assert!(size(&(&one - &other), &mesh, 2 * k) < 1e-10, "curl {what}");
        }
    }
}

#[test]
fn polynomials_of_the_element_are_reproduced() {
    let mut random = Random(36);
    for kind in KINDS {
        let mesh = scrambled(&straight_mesh(kind), &mut random);
        let scope = Scope::new(shared(&mesh));
        for family in families(kind) {
            for degree in DEGREES {
                let full = matches!(
                    family,
                    VectorFamily::BrezziDouglasMarini | VectorFamily::NedelecSecond
                );
                let held = if full { degree } else { degree - 1 };
                let w = match held {
                    0 => Expr::vector(&[1.0, -2.0, 0.5][..kind.dim()]),
                    n => polynomial(&scope, kind.dim(), n),
                };
                let space = space(&mesh, family, degree);
                let field = interpolate(&w, &space).unwrap();
                let off = size(&(field.expr() - &w), &mesh, 2 * degree + 2);
                assert!(off < 1e-11, "{family} {degree} on {kind:?}: {off:e}");
                // Interpolation and projection leave functions of the space as they are.
                let field = random_field(&space, &mut random);
                let again = interpolate(&field.expr(), &space).unwrap();
                assert_close(&again.values(), &field.values(), 1e-10, "interpolate");
                let again = project(&field.expr(), &space).unwrap();
                assert_close(&again.values(), &field.values(), 1e-9, "project");
            }
        }
    }
}

#[test]
fn matrices_and_vectors_are_those_of_fields() {
    let mut random = Random(37);
    for kind in KINDS {
        let mesh = unit_mesh(kind, [2; 3])
            .moved(|x| bend(x, kind.dim()))
            .unwrap();
        let mesh = scrambled(&mesh, &mut random);
        for family in families(kind) {
            for degree in DEGREES {
                let space = space(&mesh, family, degree);
                let piola = space.vector_element().unwrap().piola();
                let other = Space::lagrange(&mesh, 2)
                    .unwrap()
                    .vector(kind.dim())
                    .unwrap();
                let (f, g) = (
                    random_field(&space, &mut random),
                    random_field(&space, &mut random),
                );
                let h = random_field(&other, &mut random);
                let natural = |e: &Expr| match piola {
                    Piola::Covariant => e.curl(),
                    Piola::Contravariant => e.div(),
                };
                let rule = |m: Measure| m.degree(2 * degree + 2);
                let (dx, ds, inner) = (
                    rule(Measure::cells(&mesh)),
                    rule(Measure::boundary(&mesh)),
                    rule(Measure::interior(&mesh)),
                );
                let n = Expr::normal(&mesh);
                let x = Expr::position(&mesh).at(0);
                // Bilinear in any two functions.
                type Form<'a> = Box<dyn Fn(&Expr, &Expr) -> weft::form::Form + 'a>;
                let square: Vec<Form> = vec![
                    Box::new(|u, v| (&x * &u.dot(v)).over(&dx)),
                    Box::new(|u, v| natural(u).inner(&natural(v)).over(&dx)),
                    Box::new(|u, v| {
                        let c = natural(u);
                        match c.shape().is_scalar() {
                            true => (c * v.at(1)).over(&dx),
                            false => c.dot(v).over(&dx),
                        }
                    }),
                    Box::new(|u, v| u.dot(&n).inner(&v.at(1)).over(&ds)),
                    Box::new(|u, v| u.jump().at(1).inner(&v.avg().at(0)).over(&inner)),
                ];
                for (number, form) in square.iter().enumerate() {
                    let (u, v) = (Expr::trial(&space), Expr::test(&space));
                    let a = matrix(&form(&u, &v)).unwrap();
                    let n = space.dof_count();
                    let dense = a.to_dense();
                    let (fv, gv) = (f.values(), g.values());
                    let image: Vec<f64> = (0..n)
                        .map(|i| (0..n).map(|j| dense[i * n + j] * fv[j]).sum())
                        .collect();
                    let by_matrix: f64 = image.iter().zip(gv.iter()).map(|(a, b)| a * b).sum();
                    let number_of = integrate(&form(&f.expr(), &g.expr())).unwrap();
                    let what = format!("{family} {degree} on {kind:?}, form {number}");
                    let scale: f64 = image.iter().map(|v| v.abs()).sum();
                    assert!((by_matrix - number_of).abs() < 1e-11 * scale, "{what}");
                    let load = vector(&form(&f.expr(), &v)).unwrap();
                    assert_close(&load, &image, 1e-10, &what);
                }
                // With a space of another kind on either side.
                let mixed = |u: &Expr, v: &Expr| u.dot(v).over(&dx);
                let a = matrix(&mixed(&Expr::trial(&other), &Expr::test(&space))).unwrap();
                let b = matrix(&mixed(&Expr::trial(&space), &Expr::test(&other))).unwrap();
                assert_close(&a.to_dense(), &b.transpose().to_dense(), 1e-12, "transpose");
                let load = vector(&mixed(&h.expr(), &Expr::test(&space))).unwrap();
                let by_vector: f64 = load.iter().zip(f.values().iter()).map(|(a, b)| a * b).sum();
                let exact = integrate(&mixed(&h.expr(), &f.expr())).unwrap();
                assert!(
                    (by_vector - exact).abs() < 1e-10 * exact.abs().max(1.0),
                    "{family}"
                );
            }
        }
    }
}

/// The value of an expression at a point of a cell.
fn at(e: &Expr, g: &Mesh, cell: usize, xi: [f64; 3]) -> Vec<f64> {
    let all = evaluate_at(e, &shared(g), &[xi]).unwrap();
    let n = e.shape().len();
    all[cell * n..(cell + 1) * n].to_vec()
}

#[test]
fn values_at_points_are_those_of_assembly() {
    let mut random = Random(38);
    for kind in KINDS {
        let dim = kind.dim();
        for bent in [false, true] {
            let mesh = match bent {
                true => unit_mesh(kind, [2; 3]).moved(|x| bend(x, dim)).unwrap(),
                false => straight_mesh(kind),
            };
            let mesh = scrambled(&mesh, &mut random);
            for family in families(kind) {
                for degree in DEGREES {
                    let space = space(&mesh, family, degree);
                    let f = random_field(&space, &mut random);
                    let piola = space.vector_element().unwrap().piola();
                    let cell = random.below(mesh.topology().cell_count());
                    let xi = random.point(kind);
                    let got = f.evaluate(cell, xi).unwrap();
                    let what = format!("{family} {degree} on {kind:?} bent {bent}");
                    assert_close(&got.value, &at(&f.expr(), &mesh, cell, xi), 1e-12, &what);
                    let g = &got.gradient;
                    let natural = match (piola, dim) {
                        (Piola::Contravariant, _) => vec![(0..dim).map(|d| g[d][d]).sum()],
                        (_, 2) => vec![g[1][0] - g[0][1]],
                        _ => vec![g[2][1] - g[1][2], g[0][2] - g[2][0], g[1][0] - g[0][1]],
                    };
                    let e = match piola {
                        Piola::Contravariant => f.expr().div(),
                        Piola::Covariant => f.expr().curl(),
                    };
                    assert_close(&natural, &at(&e, &mesh, cell, xi), 1e-9, &what);
                    {
                        let flat: Vec<f64> = g.iter().flat_map(|r| r[..dim].to_vec()).collect();
                        let full = at(&f.expr().grad(), &mesh, cell, xi);
                        assert_close(&flat, &full, 1e-10, &what);
                    }
                    // Differences along the reference axes, through the Jacobian.
                    let frame = weft::geometry::frame_at(&mesh, cell, xi);
                    let h = 1e-5;
                    for k in 0..dim {
                        let step = |s: f64| {
                            let mut y = xi;
                            y[k] += s;
                            f.evaluate(cell, y).unwrap().value
                        };
                        let (plus, minus) = (step(h), step(-h));
                        let size = g.iter().flatten().fold(1.0, |m: f64, v| m.max(v.abs()));
                        for c in 0..dim {
                            let slope = (plus[c] - minus[c]) / (2.0 * h);
                            let sum: f64 = (0..dim).map(|d| g[c][d] * frame.jacobian[d][k]).sum();
                            assert!((slope - sum).abs() < 1e-5 * size, "{what} {slope} {sum}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn products_and_sums_have_their_divergence_and_curl_on_bent_cells() {
    let mut random = Random(39);
    for kind in [CellKind::Quad, CellKind::Hex] {
        let mesh = unit_mesh(kind, [2; 3])
            .moved(|x| bend(x, kind.dim()))
            .unwrap();
        let x = Expr::position(&mesh);
        for family in families(kind) {
            let space = space(&mesh, family, 2);
            let piola = space.vector_element().unwrap().piola();
            let (f, g) = (
                random_field(&space, &mut random),
                random_field(&space, &mut random),
            );
            let (f, g) = (f.expr(), g.expr());
            let of = |e: &Expr| match piola {
                Piola::Contravariant => e.div(),
                Piola::Covariant => e.curl(),
            };
            let w = x.at(0) * x.at(1);
            let whole = of(&(&w * &f - 2.0 * &g));
            let slope = match piola {
                Piola::Contravariant => w.grad().dot(&f),
                Piola::Covariant => w.grad().cross(&f),
            };
            let parts = &w * &of(&f) + slope - 2.0 * of(&g);
            assert!(size(&(&whole - &parts), &mesh, 6) < 1e-11 * size(&whole, &mesh, 6));
            // The full gradient holds the same.
            let g = f.grad();
            let at = |i: usize, j: usize| g.at2(i, j);
            let from_gradient = match (piola, kind.dim()) {
                (Piola::Contravariant, _) => g.trace(),
                (_, 2) => at(1, 0) - at(0, 1),
                _ => {
                    let parts = vec![
                        at(2, 1) - at(1, 2),
                        at(0, 2) - at(2, 0),
                        at(1, 0) - at(0, 1),
                    ];
                    Expr::tensor(Shape::Vector(3), parts)
                }
            };
            let off = size(&(from_gradient - of(&f)), &mesh, 6);
            assert!(
                off < 1e-10 * size(&of(&f), &mesh, 6),
                "{family} on {kind:?}"
            );
        }
    }
}

#[test]
fn derivatives_by_fields_are_those_of_forms() {
    let mut random = Random(40);
    let mesh = zigzag_mesh(CellKind::Tet, 1);
    let space = Space::nedelec(&mesh, 2).unwrap();
    let f = random_field(&space, &mut random);
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let dx = Measure::cells(&mesh).degree(8);
    let c = f.expr().curl();
    let energy = (c.dot(&c) * (1.0 + f.expr().dot(&f.expr()))).over(&dx);
    let residual = energy.deriv(&f, &v);
    let tangent = matrix(&residual.deriv(&f, &u)).unwrap();
    let at = |h: f64, direction: &[f64]| {
        let moved: Vec<f64> = f
            .values()
            .iter()
            .zip(direction)
            .map(|(a, b)| a + h * b)
            .collect();
        let old = f.values().to_vec();
        f.values_mut().copy_from_slice(&moved);
        let r = vector(&residual).unwrap();
        f.values_mut().copy_from_slice(&old);
        r
    };
    let direction = random.numbers(space.dof_count());
    let h = 1e-5;
    let (plus, minus) = (at(h, &direction), at(-h, &direction));
    let slope: Vec<f64> = plus
        .iter()
        .zip(&minus)
        .map(|(a, b)| (a - b) / (2.0 * h))
        .collect();
    let n = direction.len();
    let dense = tangent.to_dense();
    let image: Vec<f64> = (0..n)
        .map(|i| (0..n).map(|j| dense[i * n + j] * direction[j]).sum())
        .collect();
    assert_close(&slope, &image, 1e-6, "tangent");
}

#[test]
fn conditions_prescribe_traces() {
    let mut random = Random(41);
    for kind in KINDS {
        let mesh = scrambled(&unit_mesh(kind, [2; 3]), &mut random);
        let scope = Scope::new(shared(&mesh));
        for family in families(kind) {
            for degree in DEGREES {
                let space = space(&mesh, family, degree);
                let piola = space.vector_element().unwrap().piola();
                let w = Expr::vector(&[1.0, -2.0, 0.5][..kind.dim()]);
                let condition = Dirichlet::on_boundary(&space).value(w.clone()).unwrap();
                let mut constraints = Constraints::empty(space.node_count(), 1);
                condition.apply(&mut constraints).unwrap();
                // Whatever the other degrees of freedom, the trace is that of the value.
                let field = random_field(&space, &mut random);
                constraints.set(&mut field.values_mut()).unwrap();
                let off = trace(&(field.expr() - &w), piola, &mesh);
                let ds = Measure::boundary(&mesh).degree(2 * degree + 2);
                let off = integrate(&off.inner(&off).over(&ds)).unwrap();
                assert!(off < 1e-22, "{family} {degree} on {kind:?}: {off:e}");
                let off = field.expr() - &w;
                assert!(size(&off, &mesh, 4) > 1e-3, "{family} {degree} on {kind:?}");
                assert!(Dirichlet::on_boundary(&space).normal().is_err());
                assert!(Dirichlet::on_boundary(&space).component(0).is_err());
            }
        }
        drop(scope);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut random = Random(42);
    let mesh = scrambled(&zigzag_mesh(CellKind::Tet, 3), &mut random);
    let space = Space::nedelec_second(&mesh, 2).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let form = (u.curl().dot(&v.curl()) + u.dot(&v)).dx(&mesh);
    let run = |threads| pool(threads).install(|| matrix(&form).unwrap().values().to_vec());
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads");
    }
    assert!(matrix(&form).unwrap().is_symmetric(0.0));
}

#[test]
fn what_cannot_be_done_is_refused_in_words() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let hanging = AdaptiveVoxelGrid::from_cells(&[([0, 0, 0], 0)], map).unwrap();
    let error = Space::nedelec(&hanging, 1).unwrap_err();
    assert!(matches!(error, SpaceError::VectorHanging(_)), "{error}");
    let surface = Mesh::new(
        CellKind::Triangle,
        3,
        vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]],
        vec![0, 1, 2],
    )
    .unwrap();
    let error = Space::raviart_thomas(&surface, 1).unwrap_err();
    assert!(
        matches!(error, SpaceError::VectorOnSurface { .. }),
        "{error}"
    );
    let mesh = unit_mesh(CellKind::Quad, [1; 3]);
    assert!(Space::bdm(&mesh, 1).is_err());
    for degree in [0, 4] {
        assert!(Space::nedelec(&mesh, degree).is_err());
    }
    let space = Space::nedelec(&mesh, 1).unwrap();
    let error = space.vector(2).unwrap_err();
    assert!(matches!(error, SpaceError::VectorValue(_)), "{error}");
    assert!(interpolate(&Expr::constant(1.0), &space).is_err());
    assert_eq!(space.node_positions().len(), 4);
    assert!(difference(&space.node_positions()[0], &[0.5, 0.0, 0.0]) < 1e-15);
}
