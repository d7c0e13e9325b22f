//! What leaves a system singular is named.

use crate::samples::*;
use weft::solve::{Constraints, Singularity, diagnose};
use weft::sparse::BlockMatrix;

/// What `diagnose` says once the conditions are imposed.
fn diagnosis(a: &BlockMatrix, positions: &[[f64; 3]], c: &Constraints, dim: usize) -> String {
    let mut a = a.clone();
    c.eliminate(&mut a).unwrap();
    diagnose(&a, positions, c, dim)
        .unwrap()
        .map_or("none".to_string(), |s| s.to_string())
}

#[test]
fn free_constants_are_named() {
    for size in [[5, 1, 1], [6, 7, 1], [10, 11, 12]] {
        let a = laplacian(size);
        let n = a.rows();
        let positions = vec![[0.0; 3]; n];
        let mut c = Constraints::empty(n, 1);
        let text = diagnosis(&a, &positions, &c, 3);
        let expected =
            format!("nothing fixes the constant of the part that holds node 0 ({n} nodes)");
        assert!(text.contains(&expected), "{text}");
        c.constrain_component(n - 1, 0, 1.0).unwrap();
        assert_eq!(diagnosis(&a, &positions, &c, 3), "none");
    }
}

#[test]
fn parts_without_support_are_found() {
    // Two chains; the second is fixed nowhere.
    let mut t = Triplets::default();
    for i in [0, 1, 2, 4, 5] {
        t.bond(i, i + 1, &[1.0]);
    }
    let a = t.matrix(7, 1);
    let mut c = Constraints::empty(7, 1);
    c.constrain_component(1, 0, 0.0).unwrap();
    let text = diagnosis(&a, &[[0.0; 3]; 7], &c, 1);
    assert!(text.contains("node 4 (3 nodes)"), "{text}");
    // What the fixed node cuts off the first chain stays supported.
    c.constrain_component(6, 0, 0.0).unwrap();
    assert_eq!(diagnosis(&a, &[[0.0; 3]; 7], &c, 1), "none");
    // Unknowns without equation.
    let mut t = Triplets::default();
    t.push(0, 0, &[1.0, 0.0, 0.0, 1.0]);
    t.push(1, 1, &[1.0, 0.0, 0.0, 0.0]);
    let m = t.matrix(2, 2);
    let found = diagnose(&m, &[[0.0; 3]; 2], &Constraints::empty(2, 2), 2)
        .unwrap()
        .unwrap();
    assert_eq!(
        found,
        Singularity::EmptyRow {
            node: 1,
            component: 1,
            scalar: false
        }
    );
    assert!(found.to_string().contains("component 1 of node 1"));
    let m = Triplets::default().matrix(1, 1);
    let text = diagnosis(&m, &[[0.0; 3]; 1], &Constraints::empty(1, 1), 1);
    assert!(text.contains("node 0 has no equation"));
    assert_eq!(
        diagnosis(
            &Triplets::default().matrix(0, 1),
            &[],
            &Constraints::empty(0, 1),
            1
        ),
        "none"
    );
}

#[test]
fn rigid_motions_in_the_plane_are_named() {
    let (a, p) = truss([5, 4, 1], 2);
    let mut c = Constraints::empty(p.len(), 2);
    let free = diagnosis(&a, &p, &c, 2);
    assert!(
        free.contains("translation along x, translation along y, rotation about z of"),
        "{free}"
    );
    c.constrain_component(7, 0, 0.0).unwrap();
    let free = diagnosis(&a, &p, &c, 2);
    assert!(
        free.contains("nothing fixes translation along y, rotation about z of"),
        "{free}"
    );
    c.constrain_component(7, 1, 0.0).unwrap();
    let free = diagnosis(&a, &p, &c, 2);
    assert!(
        free.contains("nothing fixes rotation about z of the part"),
        "{free}"
    );
    // Node 8 is on the line through node 7 along x: y fixes the turn, x doesn't.
    let mut along = c.clone();
    along.constrain_component(8, 0, 0.0).unwrap();
    let free = diagnosis(&a, &p, &along, 2);
    assert!(free.contains("nothing fixes rotation about z of"), "{free}");
    c.constrain_component(8, 1, 0.0).unwrap();
    assert_eq!(diagnosis(&a, &p, &c, 2), "none");
    // Rollers on an inclined line leave sliding along it.
    let mut c = Constraints::empty(p.len(), 2);
    for node in 0..3 {
        c.constrain_direction(node, &unit(&[1.0, 1.0]), 0.0)
            .unwrap();
    }
    let free = diagnosis(&a, &p, &c, 2);
    assert!(
        free.contains("translation along (") && free.contains("0.707"),
        "{free}"
    );
}

#[test]
fn rigid_motions_in_space_are_named() {
    let (a, p) = truss([4, 3, 3], 3);
    let n = p.len();
    let mut c = Constraints::empty(n, 3);
    let free = diagnosis(&a, &p, &c, 3);
    for axis in ["x", "y", "z"] {
        assert!(
            free.contains(&format!("translation along {axis}")),
            "{free}"
        );
        assert!(free.contains(&format!("rotation about {axis}")), "{free}");
    }
    assert!(free.contains("(36 nodes)"));
    // A plane z = const on rollers: x, y and the turn about z stay.
    for node in 0..12 {
        c.constrain_component(node, 2, 0.0).unwrap();
    }
    let free = diagnosis(&a, &p, &c, 3);
    assert!(
        free.contains("translation along x, translation along y, rotation about z of"),
        "{free}"
    );
    c.constrain_component(0, 1, 0.0).unwrap();
    c.constrain_component(3, 1, 0.0).unwrap();
    let free = diagnosis(&a, &p, &c, 3);
    assert!(
        free.contains("nothing fixes translation along x of the part"),
        "{free}"
    );
    c.constrain_component(20, 0, 0.0).unwrap();
    assert_eq!(diagnosis(&a, &p, &c, 3), "none");
    // Two pinned nodes leave the turn about the line that joins them; one, all turns.
    for (pins, expected) in [
        (vec![0, 3], "nothing fixes rotation about x of"),
        (vec![0, 35], "nothing fixes rotation about an axis along ("),
        (
            vec![17],
            "nothing fixes rotation about x, rotation about y, rotation about z of",
        ),
        (vec![0, 3, 30], "none"),
    ] {
        let mut c = Constraints::empty(n, 3);
        for node in pins {
            c.constrain_node(node, &[0.0; 3]).unwrap();
        }
        let free = diagnosis(&a, &p, &c, 3);
        assert!(free.contains(expected), "{free}");
    }
}

#[test]
fn saddle_points_and_weak_supports_are_judged_right() {
    // [L+1 L; L 0]: the second unknown appears through differences only.
    let l = laplacian([6, 6, 1]);
    let n = l.rows();
    let mut t = Triplets::default();
    for i in 0..n {
        for (&j, v) in l.pattern().row(i).iter().zip(l.row(i).1) {
            t.push(i, j as usize, &[*v, *v, *v, 0.0]);
        }
        t.push(i, i, &[1.0, 0.0, 0.0, 0.0]);
    }
    let positions: Vec<[f64; 3]> = (0..n)
        .map(|i| [(i % 6) as f64, (i / 6) as f64, 0.0])
        .collect();
    let text = diagnosis(&t.matrix(n, 2), &positions, &Constraints::empty(n, 2), 3);
    assert!(
        text.contains("nothing fixes the constant of component 1 of"),
        "{text}"
    );
    // One spring of 1e-6 to the ground is a support.
    let mut weak = laplacian([20, 20, 20]);
    weak.get_mut(5, 5).unwrap()[0] += 1e-6;
    let n = weak.rows();
    assert_eq!(
        diagnosis(&weak, &vec![[0.0; 3]; n], &Constraints::empty(n, 1), 3),
        "none"
    );
}
