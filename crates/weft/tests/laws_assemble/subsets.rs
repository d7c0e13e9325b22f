//! Parts of a geometry: groups, masks, lists; and meshes that change under a plan.

use crate::common::*;
use crate::{field, form, scope, value};
use weft::assemble::{MatrixPlan, ScalarPlan, VectorPlan, integrate, matrix};
use weft::element::CellKind;
use weft::form::{DomainKind, Expr, Form, Measure};
use weft::geometry::{Geometry, Mesh, Tags};
use weft::space::Space;

/// Sums over the two parts of a random split equal the whole, by every way to say which.
#[test]
fn parts_add_up_to_the_whole() {
    let mut random = Random(6);
    for Case { name, mesh } in straight_cases() {
        let topology = mesh.topology();
        let cells: Vec<u32> = (0..topology.cell_count() as u32).collect();
        let (boundary, interior) = (topology.boundary_sides(), topology.interior_sides());
        for (all, kind) in [
            (cells.as_slice(), DomainKind::Cells),
            (boundary, DomainKind::BoundarySides),
            (interior, DomainKind::InteriorSides),
        ] {
            let (first, second): (Vec<u32>, Vec<u32>) =
                all.iter().partition(|_| random.unit() < 0.5);
            check_split(&mesh, kind, first, second, &format!("{kind:?} of {name}"));
        }
    }
}

fn check_split(mesh: &Mesh, kind: DomainKind, first: Vec<u32>, second: Vec<u32>, what: &str) {
    let mut tags = Tags::new();
    for (tag, part) in [("first", &first), ("second", &second)] {
        match kind {
            DomainKind::Cells => tags.insert_cells(tag, part.clone()),
            _ => tags.insert_sides(tag, part.clone()),
        }
    }
    let mesh = mesh.clone().with_tags(tags).unwrap();
    let (measure, total) = match kind {
        DomainKind::Cells => (Measure::cells(&mesh), mesh.topology().cell_count()),
        DomainKind::BoundarySides => (Measure::boundary(&mesh), mesh.topology().side_count()),
        DomainKind::InteriorSides => (Measure::interior(&mesh), mesh.topology().side_count()),
    };
    let space = Space::discontinuous(&mesh, 1).unwrap();
    let e = (1.0 + Expr::position(&mesh).at(0)) * Expr::trial(&space) * Expr::test(&space);
    let dense = |m: Measure| matrix(&e.over(&m)).unwrap().to_dense();
    let whole = dense(measure.clone());
    let mask = |part: &[u32]| {
        (0..total as u32)
            .map(|e| part.contains(&e))
            .collect::<Vec<_>>()
    };
    let mut backwards = second.clone();
    backwards.reverse();
    let m = || measure.clone();
    for (way, parts) in [
        ("tags", [m().tagged("first"), m().tagged("second")]),
        ("lists", [m().listed(first.clone()), m().listed(backwards)]),
        (
            "masks",
            [m().masked(mask(&first)), m().masked(mask(&second))],
        ),
    ] {
        let [a, b] = parts.map(dense);
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_close(&sum, &whole, 1e-14, &format!("{way}: {what}"));
    }
    let both = m().tagged("first").tagged("second").tagged("first");
    assert_close(&dense(both), &whole, 1e-14, what);
    assert!(dense(m().listed(vec![])).iter().all(|v| *v == 0.0));
}

#[test]
fn wrong_lists_and_masks_are_errors() {
    let mesh = unit_mesh(CellKind::Quad, [3, 2, 1]);
    let topology = mesh.topology();
    let refused = |measure: Measure, part: &str| {
        let message = integrate(&Expr::from(1.0).over(&measure))
            .unwrap_err()
            .to_string();
        assert!(message.contains(part), "{message}");
    };
    let interior = topology.interior_sides()[0];
    let boundary = topology.boundary_sides()[0];
    refused(
        Measure::cells(&mesh).listed(vec![1, 2, 1]),
        "cell 1 is listed twice",
    );
    refused(
        Measure::cells(&mesh).listed(vec![6]),
        "cell 6 does not exist; the geometry has 6 cells",
    );
    refused(
        Measure::boundary(&mesh).listed(vec![u32::MAX]),
        "side 4294967295 does not exist",
    );
    refused(
        Measure::boundary(&mesh).listed(vec![interior]),
        "not on the boundary",
    );
    refused(
        Measure::interior(&mesh).listed(vec![boundary]),
        "is on the boundary",
    );
    refused(
        Measure::cells(&mesh).masked(vec![true; 5]),
        "the mask has 5 entries; the geometry has 6 cells",
    );
    refused(
        Measure::interior(&mesh).masked(vec![false; 5]),
        "the mask has 5 entries",
    );
    let all = Measure::boundary(&mesh).masked(vec![true; topology.side_count()]);
    refused(all, "not on the boundary");
    // A second group of sides of the wrong kind is noticed too.
    let mut tags = mesh.tags().as_ref().clone();
    tags.insert_sides("middle", vec![interior]);
    let mesh = mesh.with_tags(tags).unwrap();
    refused(
        Measure::boundary(&mesh).tagged("left").tagged("middle"),
        "lie between two cells; use dS",
    );
}

#[test]
fn tagged_boundaries_have_their_lengths_and_normals() {
    let mesh = unit_mesh(CellKind::Hex, [2, 3, 1]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let scope = scope(&mesh, &space, &field(&space, &mut Random(1)));
    for (tag, axis, sign) in [
        ("left", 0, -1.0),
        ("right", 0, 1.0),
        ("front", 1, -1.0),
        ("back", 1, 1.0),
        ("bottom", 2, -1.0),
        ("top", 2, 1.0),
    ] {
        assert_close(
            &[value(&scope, &format!("1*ds('{tag}')"))],
            &[1.0],
            1e-14,
            tag,
        );
        assert_close(
            &[value(&scope, &format!("n[{axis}]*ds('{tag}')"))],
            &[sign],
            1e-14,
            tag,
        );
    }
}

#[test]
fn a_rebuilt_mesh_is_refused_by_what_was_made_before() {
    let mesh = unit_mesh(CellKind::Triangle, [2; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let (u, v) = (Expr::trial(&space), Expr::test(&space));
    let form = (&u * &v).dx(&mesh);
    let mut matrices = MatrixPlan::new(&form).unwrap();
    let mut vectors = VectorPlan::new(&v.dx(&mesh)).unwrap();
    let mut numbers = ScalarPlan::new(&Expr::from(1.0).dx(&mesh)).unwrap();
    let mut target = matrices.matrix();
    matrices.assemble(&mut target).unwrap();
    let (topology, map) = (mesh.topology(), mesh.map());
    mesh.rebuild(map.nodes.clone(), topology.cells()[..9].to_vec())
        .unwrap();
    let mut out = vec![0.0; space.dof_count()];
    let errors = [
        matrices.assemble(&mut target).unwrap_err(),
        vectors.assemble(&mut out).unwrap_err(),
        numbers.evaluate().unwrap_err(),
        matrix(&form).unwrap_err(),
    ];
    for error in errors {
        assert!(
            error.to_string().contains("the mesh was rebuilt"),
            "{error}"
        );
    }
    let space = Space::lagrange(&mesh, 1).unwrap();
    assert!(matrix(&(Expr::trial(&space) * Expr::test(&space)).dx(&mesh)).is_ok());
}

#[test]
fn moved_vertices_are_seen_by_the_next_assembly() {
    for kind in CellKind::CELLS {
        // From equal boxes to general cells: the map's class changes too.
        let mesh = unit_mesh(kind, [2; 3]);
        let dim = kind.dim();
        let text = "dot(grad(u), grad(v))*dx + x[0]*u*v*ds";
        let make = |mesh: &Mesh| -> (Form, Form) {
            let space = Space::lagrange(mesh, 2).unwrap();
            let f = field(&space, &mut Random(2));
            let scope = scope(mesh, &space, &f);
            (form(&scope, text), form(&scope, "f*h*dx"))
        };
        let (bilinear, functional) = make(&mesh);
        let mut plan = MatrixPlan::new(&bilinear).unwrap();
        let mut numbers = ScalarPlan::new(&functional).unwrap();
        let mut target = plan.matrix();
        plan.assemble(&mut target).unwrap();
        let before = target.to_dense();
        let old = mesh.map().nodes.clone();
        mesh.move_vertices(old.iter().map(|&x| bend(x, dim)).collect())
            .unwrap();
        plan.assemble(&mut target).unwrap();
        let (bilinear, functional) = make(&mesh);
        assert_close(
            &target.to_dense(),
            &matrix(&bilinear).unwrap().to_dense(),
            1e-14,
            "moved",
        );
        let number = numbers.evaluate().unwrap();
        assert_close(
            &[number],
            &[integrate(&functional).unwrap()],
            1e-14,
            "number",
        );
        mesh.move_vertices(old).unwrap();
        plan.assemble(&mut target).unwrap();
        assert_close(&target.to_dense(), &before, 1e-15, "back");
    }
}

#[test]
fn numbers_that_are_not_finite_are_errors() {
    let mesh = unit_mesh(CellKind::Quad, [2; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let f = field(&space, &mut Random(1));
    let scope = scope(&mesh, &space, &f);
    f.values_mut()[3] = f64::NAN;
    let message = integrate(&form(&scope, "f*dx")).unwrap_err().to_string();
    assert!(
        message.contains("not a finite number") && message.contains("field"),
        "{message}"
    );
    let message = integrate(&form(&scope, "1/0*dx + x[0]*dx"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("not a finite number"), "{message}");
}
