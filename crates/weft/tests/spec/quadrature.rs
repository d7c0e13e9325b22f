//! Chapter 2 and 13.2.

use crate::integral;
use weft::assemble::PointPlan;
use weft::element::{CellKind, Quadrature, RuleFamily};
use weft::form::{Expr, Measure};
use weft::geometry::Grid2;
use weft::particle::{Cloud, ParticleQuadrature, Sample};
use weft::partition::{GeometryPartition, SpacePartition};
use weft::space::Space;

const FAMILIES: [RuleFamily; 4] = [
    RuleFamily::GaussLegendre,
    RuleFamily::GaussLobatto,
    RuleFamily::NewtonCotesClosed,
    RuleFamily::NewtonCotesOpen,
];

fn sum(rule: &Quadrature, f: impl Fn([f64; 3]) -> f64) -> f64 {
    let points = rule.points().iter().zip(rule.weights());
    points.map(|(&x, w)| w * f(x)).sum()
}

#[test]
fn spec_2_3_every_family_integrates_powers_on_the_segment() {
    for family in FAMILIES {
        for d in 0..8 {
            let rule = Quadrature::with_family(CellKind::Segment, d, family).unwrap();
            let value = sum(&rule, |x| x[0].powi(d as i32));
            assert!(
                (value - 1.0 / (d + 1) as f64).abs() < 1e-4,
                "{family:?} {d}"
            );
        }
    }
}

#[test]
fn spec_2_3_monomials_on_the_triangle() {
    // ∫ y^a (1 − x)^b over the triangle, whose area is ½.
    let exact = |a: i32, b: i32| 1.0 / ((a + b + 2) * (a + 1)) as f64;
    let check = |rule: &Quadrature, a: i32, b: i32| {
        let value = 0.5 * sum(rule, |x| x[1].powi(a) * (1.0 - x[0]).powi(b));
        assert!(
            (value - exact(a, b)).abs() < 1e-4,
            "y^{a} (1 − x)^{b}: {value}"
        );
    };
    for a in 0..5 {
        for b in 0..5 {
            let degree = (a + b) as usize;
            check(&Quadrature::new(CellKind::Triangle, degree).unwrap(), a, b);
            if a < 4 && b < 4 {
                let rule = Quadrature::with_family(CellKind::Triangle, degree, FAMILIES[0]);
                check(&rule.unwrap(), a, b);
            }
        }
    }
    // Collapsed rules of other families would have points on the collapsed edge.
    for family in &FAMILIES[1..] {
        assert!(Quadrature::with_family(CellKind::Triangle, 3, *family).is_err());
    }
}

fn corner_cube(grid: &Grid2) -> Expr {
    let x = Expr::position(grid);
    x.at(0).pow(3.0) * x.at(1).pow(3.0)
}

/// x³y³ over the unit square, by points and weights given in each cell.
#[test]
fn spec_2_5_and_13_2_explicit_points() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let rule = Quadrature::new(CellKind::Quad, 4).unwrap();
    let (mut samples, mut volumes) = (Vec::new(), Vec::new());
    for cell in 0..4 {
        for (&xi, w) in rule.points().iter().zip(rule.weights()) {
            samples.push(Sample {
                particle: volumes.len() as u32,
                cell,
                xi,
                share: 1.0,
            });
            volumes.push(w * 0.25);
        }
    }
    let points = ParticleQuadrature::new(&grid);
    points.rebuild_from_samples(&samples, &volumes).unwrap();
    let measure = Measure::cells(&grid).on_particles(&points);
    let value = integral(&corner_cube(&grid), &measure);
    assert!((value - 1.0 / 16.0).abs() < 1e-5, "{value}");
}

/// The nodes of degree 2 as a rule of each cell: nine points, exact for x³y³ on Lobatto points.
#[test]
fn spec_2_5_and_13_2_nodes_as_points() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let space = Space::discontinuous(&grid, 2).unwrap();
    assert_eq!(space.nodes_per_cell(), 9);
    let weights = space.element().node_weights().unwrap();
    let plan = PointPlan::new(
        &corner_cube(&grid),
        &crate::share(&grid),
        space.element().nodes(),
    );
    let mut plan = plan.unwrap();
    let mut values = vec![0.0; plan.len()];
    plan.evaluate(&mut values).unwrap();
    let cells = values.chunks_exact(9);
    let value: f64 = cells
        .map(|v| {
            v.iter()
                .zip(&weights)
                .map(|(v, w)| 0.25 * v * w)
                .sum::<f64>()
        })
        .sum();
    assert!((value - 1.0 / 16.0).abs() < 1e-14, "{value}");
}

/// Three particles in cells 3, 3 and 2.
#[test]
fn spec_2_5_and_13_2_particles() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let x = [[0.75, 0.75, 0.0], [0.9, 0.6, 0.0], [0.7, 0.2, 0.0]];
    // Volumes as the reference chooses them: a cell's over the number of its particles.
    let volumes = [0.125, 0.125, 0.25];
    let particles = ParticleQuadrature::new(&grid);
    particles.rebuild(&Cloud::new(&x, &volumes)).unwrap();
    let samples = particles.samples();
    let counts: Vec<usize> = (0..4).map(|c| samples.in_cell(c).len()).collect();
    assert_eq!(samples.occupied_cells().count(), 2);
    assert_eq!(counts.iter().max(), Some(&2));
    let index = Expr::cell_index(&grid);
    let value = integral(&index, &Measure::cells(&grid).on_particles(&particles));
    assert!((value - 1.25).abs() < 1e-14, "{value}");
}

/// Two particles, each half in two of four cells.
#[test]
fn spec_2_5_and_13_2_shared_particles() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let sample = |particle, cell| Sample {
        particle,
        cell,
        xi: [0.5, 0.5, 0.0],
        share: 0.5,
    };
    let samples = [sample(0, 0), sample(0, 1), sample(1, 2), sample(1, 3)];
    let particles = ParticleQuadrature::new(&grid);
    particles
        .rebuild_from_samples(&samples, &[0.25, 0.25])
        .unwrap();
    assert_eq!(particles.samples().len(), 4);
    let index = Expr::cell_index(&grid);
    let value = integral(&index, &Measure::cells(&grid).on_particles(&particles));
    assert!((value - 0.75).abs() < 1e-14, "{value}");
}

/// Reference coordinates change by ∂ξ/∂x = 2 on a 2 × 2 grid, weights by 1 over a cell's area: 4.
#[test]
fn spec_2_5_derivatives_by_particles() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let particles = ParticleQuadrature::new(&grid);
    particles
        .rebuild(&Cloud::new(&[[0.3, 0.6, 0.0]], &[1.0]))
        .unwrap();
    let xi = Expr::reference_position(&grid);
    let mut plan = PointPlan::position_gradient(&xi.at(0), &particles).unwrap();
    let mut slope = vec![0.0; plan.len()];
    plan.evaluate(&mut slope).unwrap();
    assert_eq!(slope, [2.0, 0.0]);
    let weight = PointPlan::on_particles(&Expr::quadrature_weight(&grid), &particles);
    let mut weight = weight.unwrap();
    let mut value = vec![0.0; 1];
    weight.evaluate(&mut value).unwrap();
    assert_eq!(value, [4.0]);
}

/// The value 5 on one of four cells integrates to 5/4, by nodes of a part.
#[test]
fn spec_13_2_nodes_of_a_part() {
    let grid = Grid2::unit([2, 2]).unwrap();
    let part = GeometryPartition::by_mask(crate::share(&grid), &[false, true, false, false]);
    let part = part.unwrap();
    let measure = Measure::cells(&grid).listed(part.cells());
    let value = integral(&Expr::constant(5.0), &measure);
    assert!((value - 1.25).abs() < 1e-14, "{value}");
    let space = Space::lagrange(&grid, 1).unwrap();
    let nodes = SpacePartition::new(&space, &part).unwrap();
    let weights = space.element().node_weights().unwrap();
    let mut lumped = vec![0.0; nodes.node_count()];
    for (&node, w) in space.cell_nodes(1).iter().zip(weights) {
        // Numbers of nodes in the part lead to the space and back.
        let local = nodes.local_node(node as usize).unwrap();
        assert_eq!(nodes.nodes()[local], node);
        lumped[local] += 5.0 * 0.25 * w;
    }
    assert!((lumped.iter().sum::<f64>() - 1.25).abs() < 1e-14);
    assert_eq!(nodes.owned_count(), 4);
}
