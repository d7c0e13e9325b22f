use std::sync::Arc;

use weft::adapt::{Transfer, TransferError};
use weft::assemble::{evaluate_at, integrate, interpolate};
use weft::field::Field;
use weft::form::{Expr, Measure, Scope};
use weft::geometry::Geometry;
use weft::space::Space;

use super::*;

fn integral(field: &Field, grid: &AdaptiveVoxelGrid) -> f64 {
    integrate(&field.expr().over(&Measure::cells(grid).degree(8))).unwrap()
}

fn random(space: &Space, seed: u64) -> Field {
    let mut random = Random::new(seed);
    let values = (0..space.dof_count())
        .map(|_| random.unit() - 0.2)
        .collect();
    Field::from_values(space, values).unwrap()
}

fn marks(grid: &AdaptiveVoxelGrid, seed: u64) -> Vec<Mark> {
    let mut random = Random::new(seed);
    (0..grid.cell_count())
        .map(|cell| match random.unit() {
            r if r < 0.2 && grid.cell_level(cell) > 0 => Mark::Refine,
            r if r < 0.3 => Mark::Keep,
            _ => Mark::Coarsen,
        })
        .collect()
}

/// Grids that differ in both directions, by more than one level in places.
fn pair(grading: Grading) -> [AdaptiveVoxelGrid; 2] {
    let voxels: Vec<[i32; 3]> = (0..8).map(|i| [i / 4 - 1, i / 2 % 2 - 1, i % 2]).collect();
    let start = AdaptiveVoxelGrid::uniform(&voxels, 3, skew_map()).unwrap();
    let start = start.graded(grading).unwrap();
    let adapt = |seeds: [u64; 3]| {
        seeds.iter().fold(start.clone(), |grid, &seed| {
            grid.adapted(&marks(&grid, seed)).unwrap()
        })
    };
    [adapt([1, 2, 3]), adapt([4, 5, 6])]
}

fn difference(a: &Field, b: &Field) -> f64 {
    let (a, b) = (a.values(), b.values());
    a.iter()
        .zip(b.iter())
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

#[test]
fn projection_conserves_the_integral() {
    for grading in [Grading::None, Grading::Face, Grading::Vertex] {
        let [old, new] = pair(grading);
        let transfer = Transfer::new(&old, &new).unwrap();
        let total = volume(&old);
        for p in 1..=3 {
            let sources = [
                Space::lagrange(&old, p).unwrap(),
                Space::discontinuous(&old, p - 1).unwrap(),
            ];
            for source in sources {
                let field = random(&source, p as u64);
                let targets = [
                    Space::lagrange(&new, p).unwrap(),
                    Space::discontinuous(&new, p).unwrap(),
                    Space::discontinuous(&new, 0).unwrap(),
                ];
                for target in targets {
                    let projected = transfer.project(&field, &target).unwrap();
                    let change = integral(&projected, &new) - integral(&field, &old);
                    assert!(change.abs() < 1e-12 * total, "{change:e} of {total}");
                }
            }
        }
    }
}

/// What both spaces hold is kept, by projection and interpolation.
#[test]
fn common_polynomials_are_kept() {
    for grading in [Grading::None, Grading::Face] {
        let [old, new] = pair(grading);
        let transfer = Transfer::new(&old, &new).unwrap();
        for p in 1..=3 {
            let on = |grid: &AdaptiveVoxelGrid, continuous: bool| {
                let space = match continuous {
                    true => Space::lagrange(grid, p).unwrap(),
                    false => Space::discontinuous(grid, p).unwrap(),
                };
                let text = [
                    "1 + x[0] - 2*x[1] + x[2]",
                    "x[0]*x[1] - x[2]^2",
                    "x[1]^3 - x[0]*x[2]^2",
                ];
                let f = Scope::new(Arc::new(grid.clone()))
                    .expression(text[p - 1])
                    .unwrap();
                interpolate(&f, &space).unwrap()
            };
            for (from, to) in [(true, true), (true, false), (false, true), (false, false)] {
                let (field, exact) = (on(&old, from), on(&new, to));
                let scale = exact.values().iter().fold(1.0f64, |m, v| m.max(v.abs()));
                let projected = transfer.project(&field, exact.space()).unwrap();
                assert!(difference(&projected, &exact) < 1e-10 * scale);
                let sampled = transfer.interpolate(&field, exact.space()).unwrap();
                assert!(difference(&sampled, &exact) < 1e-12 * scale);
            }
        }
    }
}

/// On a refined grid both give the same function back, exactly; on the way back from it too.
#[test]
fn refinement_keeps_any_function() {
    let [old, _] = pair(Grading::Face);
    let marks: Vec<Mark> = (0..old.cell_count())
        .map(|c| if c % 3 == 0 { Mark::Refine } else { Mark::Keep })
        .collect();
    let new = old.adapted(&marks).unwrap();
    let (there, back) = (
        Transfer::new(&old, &new).unwrap(),
        Transfer::new(&new, &old).unwrap(),
    );
    for p in 1..=3 {
        let spaces = |grid: &AdaptiveVoxelGrid| {
            [
                Space::lagrange(grid, p).unwrap(),
                Space::discontinuous(grid, p).unwrap(),
            ]
        };
        for (coarse, fine) in spaces(&old).into_iter().zip(spaces(&new)) {
            let vector = (coarse.vector(2).unwrap(), fine.vector(2).unwrap());
            let field = random(&vector.0, 9);
            let refined = there.project(&field, &vector.1).unwrap();
            let sampled = there.interpolate(&field, &vector.1).unwrap();
            if coarse.is_continuous() {
                assert!(difference(&refined, &sampled) < 1e-10);
            }
            let values = |field: &Field, grid: &AdaptiveVoxelGrid| {
                let f = Expr::from(field);
                let square = f.dot(&f).over(&Measure::cells(grid).degree(2 * p));
                integrate(&square).unwrap()
            };
            let (a, b) = (values(&field, &old), values(&refined, &new));
            assert!((a - b).abs() < 1e-11 * a);
            let again = back.project(&refined, &vector.0).unwrap();
            assert!(difference(&again, &field) < 1e-10);
            let geometry: Arc<dyn Geometry> = Arc::new(new.clone());
            assert!(evaluate_at(&refined.expr(), &geometry, &[[0.5; 3]]).is_ok());
        }
    }
}

#[test]
fn transfers_that_make_no_sense_are_refused() {
    let map = VoxelMap::uniform(1.0).unwrap();
    let make = |cells: &[([i32; 3], u8)]| AdaptiveVoxelGrid::from_cells(cells, map).unwrap();
    let old = make(&[([0, 0, 0], 0)]);
    let new = make(&[([0, 0, 0], 1)]);
    let gap = Transfer::new(&old, &new).unwrap_err();
    assert!(matches!(
        gap,
        TransferError::Gap {
            cell: 0,
            share: 0.125
        }
    ));
    let transfer = Transfer::new(&new, &old).unwrap();
    let (on_old, on_new) = (
        Space::lagrange(&old, 1).unwrap(),
        Space::lagrange(&new, 1).unwrap(),
    );
    let field = Field::zeros(&on_new);
    assert!(transfer.project(&field, &on_old).is_ok());
    let error = transfer.project(&field, &on_new).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the space is not on the new grid of the transfer"
    );
    let error = transfer
        .interpolate(&Field::zeros(&on_old), &on_old)
        .unwrap_err();
    assert!(matches!(
        error,
        TransferError::OtherGrid { what: "field", .. }
    ));
    let error = transfer
        .project(&field, &on_old.vector(3).unwrap())
        .unwrap_err();
    assert!(matches!(error, TransferError::Value { .. }));
}
