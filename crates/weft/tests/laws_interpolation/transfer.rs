//! Prolongation and restriction.

use crate::common::*;
use crate::random_field;
use std::sync::Arc;
use weft::adapt::Transfer;
use weft::assemble::{AssembleError, evaluate_at, evaluate_at_positions, matrix, prolongation};
use weft::element::{CellKind, VectorFamily};
use weft::field::{CrossField, Field};
use weft::form::{Expr, Scope, Shape};
use weft::geometry::{AdaptiveVoxelGrid, Geometry, Grid2, Grid3, Mark, Mesh, VoxelMap, frame_at};
use weft::space::{Space, ValueKind};

fn carried(coarse: &Field, fine: &Space) -> Field {
    let p = prolongation(coarse.space(), fine).unwrap();
    let mut values = vec![0.0; fine.dof_count()];
    p.multiply(&coarse.values(), &mut values).unwrap();
    Field::from_values(fine, values).unwrap()
}

/// Functions of nested spaces stay what they are: to higher degrees and other bases on one mesh.
#[test]
fn nested_degrees() {
    let mut random = Random(61);
    for Case { name, mesh } in all_cases() {
        let points: Vec<[f64; 3]> = (0..4).map(|_| random.point(mesh.cell_kind())).collect();
        let lagrange = |p| Space::lagrange(&mesh, p).unwrap();
        let apart = |p| Space::discontinuous(&mesh, p).unwrap();
        let mut pairs = vec![
            (lagrange(1), lagrange(2)),
            (lagrange(2), lagrange(4)),
            (lagrange(2), apart(3)),
            (apart(1), apart(2)),
            (apart(0), apart(1)),
        ];
        if let Ok(serendipity) = Space::serendipity(&mesh, 2) {
            pairs.push((serendipity, lagrange(2)));
        }
        for (coarse, fine) in pairs {
            for kind in [
                ValueKind::Scalar,
                ValueKind::Vector(2),
                ValueKind::Symmetric(3),
            ] {
                let (coarse, fine) = (
                    coarse.with_value(kind).unwrap(),
                    fine.with_value(kind).unwrap(),
                );
                let field = random_field(&coarse, &mut random);
                let found = carried(&field, &fine);
                let of = |f: &Field| evaluate_at(&f.expr(), &shared(&mesh), &points).unwrap();
                assert_close(&of(&found), &of(&field), 1e-11, name);
            }
        }
    }
}

/// The same on refined meshes, whose cells lie in those of the coarse one.
#[test]
fn nested_meshes() {
    let mut random = Random(62);
    for kind in CellKind::CELLS {
        let coarse_mesh = zigzag_mesh(kind, 2);
        let fine_mesh = coarse_mesh.refined().unwrap();
        for p in 1..=3 {
            for continuous in [true, false] {
                let make = |mesh: &Mesh| match continuous {
                    true => Space::lagrange(mesh, p),
                    false => Space::discontinuous(mesh, p),
                };
                let (coarse, fine) = (make(&coarse_mesh).unwrap(), make(&fine_mesh).unwrap());
                let field = random_field(&coarse, &mut random);
                let found = carried(&field, &fine);
                // Compare where points lie inside of cells of both.
                let points: Vec<[f64; 3]> = (0..3).map(|_| random.point(kind)).collect();
                let truth = weft::field::CrossField::new(&field).unwrap().expr();
                let of = |e: &Expr| evaluate_at(e, &shared(&fine_mesh), &points).unwrap();
                let what = format!("{} {p} {continuous}", kind.name());
                assert_close(&of(&found.expr()), &of(&truth), 1e-8, &what);
            }
        }
    }
}

/// Aᴴ = Pᵀ A P where the coarse space lies in the fine one.
#[test]
fn galerkin_products_are_the_coarse_matrices() {
    let form = |space: &Space| {
        let mut scope = Scope::new(space.geometry().clone());
        scope.set("u", Expr::trial(space));
        scope.set("v", Expr::test(space));
        scope
            .form("dot(grad(u), grad(v))*dx + (1 + x[0])*u*v*dx")
            .unwrap()
    };
    let check = |coarse: &Space, fine: &Space, what: &str| {
        let p = prolongation(coarse, fine).unwrap();
        let restriction = p.transpose();
        let a = matrix(&form(fine)).unwrap();
        let product = restriction.times(&a.times(&p).unwrap()).unwrap();
        let direct = matrix(&form(coarse)).unwrap();
        assert_close(&product.to_dense(), &direct.to_dense(), 1e-11, what);
        // What is restricted keeps its sum: functions of the fine space sum to those of the coarse.
        let load: Vec<f64> = (0..fine.dof_count()).map(|k| (k as f64).sin()).collect();
        let mut restricted = vec![0.0; coarse.dof_count()];
        restriction.multiply(&load, &mut restricted).unwrap();
        let sums = [load.iter().sum::<f64>(), restricted.iter().sum()];
        assert!((sums[0] - sums[1]).abs() < 1e-10, "{what} {sums:?}");
    };
    for kind in CellKind::CELLS {
        let mesh = unit_mesh(kind, [2, 2, 1]);
        let fine = mesh.refined().unwrap();
        for p in 1..=2 {
            let space = |m: &Mesh, p| Space::lagrange(m, p).unwrap();
            check(&space(&mesh, p), &space(&fine, p), kind.name());
            check(&space(&mesh, p), &space(&mesh, p + 1), kind.name());
        }
    }
    let (coarse, fine) = (Grid2::unit([3, 2]).unwrap(), Grid2::unit([6, 4]).unwrap());
    check(
        &Space::lagrange(&coarse, 2).unwrap(),
        &Space::lagrange(&fine, 2).unwrap(),
        "grid",
    );
    let (coarse, fine) = (
        Grid3::unit([1, 2, 1]).unwrap(),
        Grid3::unit([3, 4, 2]).unwrap(),
    );
    check(
        &Space::lagrange(&coarse, 1).unwrap(),
        &Space::lagrange(&fine, 1).unwrap(),
        "grid in space",
    );
}

#[test]
fn what_is_not_nested_is_said() {
    let coarse = Grid2::unit([2, 2]).unwrap();
    let fine = Grid2::new([4, 4], [0.5, 0.0], [1.5, 1.0]).unwrap();
    let (coarse, fine) = (
        Space::lagrange(&coarse, 1).unwrap(),
        Space::lagrange(&fine, 1).unwrap(),
    );
    match prolongation(&coarse, &fine) {
        Err(AssembleError::Outside {
            count,
            total,
            first,
        }) => {
            assert!(count > 0 && count < total && first[0] > 1.0);
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert!(prolongation(&coarse.vector(2).unwrap(), &fine).is_err());
    let cube = Space::lagrange(&Grid3::unit([1, 1, 1]).unwrap(), 1).unwrap();
    assert!(prolongation(&cube, &fine).is_err());
}

/// Functions of H(curl) and H(div) spaces stay what they are in higher degrees, on refined meshes and in
/// larger families; those of continuous vector spaces do in spaces that hold them.
#[test]
fn spaces_of_moments() {
    let mut random = Random(63);
    for Case { name, mesh } in straight_cases().into_iter().chain(curved_cases()) {
        let dim = mesh.space_dim();
        if dim == 1 {
            continue;
        }
        let points: Vec<[f64; 3]> = (0..4).map(|_| random.point(mesh.cell_kind())).collect();
        let straight = mesh.map().degree == 1;
        let affine = straight && matches!(mesh.cell_kind(), CellKind::Triangle | CellKind::Tet);
        let finer = mesh.refined().ok().filter(|_| affine);
        let families = [
            VectorFamily::Nedelec,
            VectorFamily::NedelecSecond,
            VectorFamily::RaviartThomas,
            VectorFamily::BrezziDouglasMarini,
        ];
        for family in families {
            let on = |mesh: &Mesh, p| Space::of_vectors(Arc::new(mesh.clone()), family, p);
            let Ok(one) = on(&mesh, 1) else {
                continue;
            };
            let field = random_field(&one, &mut random);
            for p in [1, 2] {
                let found = carried(&field, &on(&mesh, p).unwrap());
                let of = |f: &Field| evaluate_at(&f.expr(), &shared(&mesh), &points).unwrap();
                assert_close(&of(&found), &of(&field), 1e-10, name);
                if p == 1 {
                    assert_close(&found.values(), &field.values(), 1e-11, name);
                }
            }
            let Some(finer) = &finer else { continue };
            let found = carried(&field, &on(finer, 1).unwrap());
            let inside: Vec<[f64; 3]> = (0..20)
                .map(|_| {
                    let cell = random.below(mesh.topology().cell_count());
                    frame_at(&mesh, cell, random.point(mesh.cell_kind())).position
                })
                .collect();
            let at = |f: &Field| {
                let cross = CrossField::new(f).unwrap();
                let x = Expr::position(&mesh);
                evaluate_at_positions(
                    &cross.at(&x, Expr::zero(Shape::Vector(dim))),
                    &shared(&mesh),
                    &inside,
                    0.0,
                )
                .unwrap()
            };
            assert_close(&at(&found), &at(&field), 1e-9, name);
        }
        if affine {
            // Linear vectors are in the second family of degree 1, and not in the first.
            let linear = random_field(
                &Space::lagrange(&mesh, 1).unwrap().vector(dim).unwrap(),
                &mut random,
            );
            for space in [Space::nedelec_second(&mesh, 1), Space::bdm(&mesh, 1)] {
                let found = carried(&linear, &space.unwrap());
                let of = |f: &Field| evaluate_at(&f.expr(), &shared(&mesh), &points).unwrap();
                assert_close(&of(&found), &of(&linear), 1e-11, name);
            }
        }
        let scalar = Space::lagrange(&mesh, 1).unwrap();
        let error = prolongation(&scalar, &Space::nedelec(&mesh, 1).unwrap()).map(|_| ());
        assert!(error.unwrap_err().to_string().contains("scalar"));
    }
}

/// On adaptive grids it is what their own transfer does, hanging nodes and all.
#[test]
fn adaptive_grids() {
    let coarse = [[2, 0, 0], [0, 2, 0], [2, 2, 0]].map(|x| (x, 1));
    let fine = (0..8).map(|k| ([k & 1, k >> 1 & 1, k >> 2], 0));
    let cells: Vec<([i32; 3], u8)> = fine.chain(coarse).collect();
    let old = AdaptiveVoxelGrid::from_cells(&cells, VoxelMap::uniform(0.5).unwrap()).unwrap();
    let mut random = Random(63);
    let some: Vec<Mark> = (0..old.cell_count())
        .map(|c| if c % 3 == 1 { Mark::Refine } else { Mark::Keep })
        .collect();
    for marks in [some, vec![Mark::Refine; old.cell_count()]] {
        let new = old.adapted(&marks).unwrap();
        let transfer = Transfer::new(&old, &new).unwrap();
        for p in 1..=2 {
            for continuous in [true, false] {
                let make = |grid: &AdaptiveVoxelGrid| match continuous {
                    true => Space::lagrange(grid, p).unwrap(),
                    false => Space::discontinuous(grid, p).unwrap(),
                };
                let (coarse, fine) = (make(&old), make(&new));
                let field = random_field(&coarse, &mut random);
                let truth = transfer.interpolate(&field, &fine).unwrap();
                let found = carried(&field, &fine);
                let what = format!("{p} {continuous}");
                assert_close(&found.values(), &truth.values(), 1e-11, &what);
            }
        }
    }
}
