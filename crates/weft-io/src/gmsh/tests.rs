//! Tests of the reader: files built here in every encoding, real files, hostile bytes.

mod build;
mod hostile;

use super::*;
use build::{Encoding, Mesh, encodings};
use weft::element::CellKind;
use weft::geometry::Geometry;

fn data(name: &str) -> String {
    format!("{}/../../cases/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn real(name: &str) -> RawMesh {
    read_raw(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn triangle_area(m: &RawMesh, t: &[u32]) -> f64 {
    let p = |i: usize| m.points[t[i] as usize];
    let n = cross(sub(p(1), p(0)), sub(p(2), p(0)));
    dot(n, n).sqrt() / 2.0
}

/// Gmsh writes text with 16 significant digits, one fewer than a double may need; binary
/// coordinates rounded in the same way must be the text's to the last bit.
fn rounded_to_16_digits(mut mesh: RawMesh) -> RawMesh {
    for x in mesh.points.iter_mut().flatten() {
        *x = format!("{x:.15e}").parse().unwrap();
    }
    mesh
}

#[test]
fn the_three_bracket_files_are_one_mesh() {
    let text = read_raw(data("bracket.msh")).unwrap();
    let mut others = [
        read_raw(data("bracket_v22.msh")).unwrap(),
        rounded_to_16_digits(read_raw(data("bracket_binary.msh")).unwrap()),
    ];
    for other in &mut others {
        // Element tags are the file's business; all else is the same to the last bit.
        other.side_tags = text.side_tags.clone();
        assert!(&text == other);
    }
    assert_eq!(
        (text.kind, text.degree, text.space_dim),
        (CellKind::Tet, 1, 3)
    );
    assert_eq!(
        (text.points.len(), text.vertex_count, text.cell_count()),
        (1430, 1430, 4413)
    );
    assert_eq!(text.cell_groups["steel"].len(), 4413);
    assert_eq!(
        text.side_groups.keys().collect::<Vec<_>>(),
        ["bolts", "free", "load"]
    );
    let volume: f64 = text
        .cell_nodes
        .chunks(4)
        .map(|c| {
            let p = |i: usize| text.points[c[i] as usize];
            dot(cross(sub(p(1), p(0)), sub(p(2), p(0))), sub(p(3), p(0))) / 6.0
        })
        .sum();
    assert!((volume - 6.961104e-05).abs() < 5e-12, "{volume}");
    let load: f64 = text.side_groups["load"]
        .chunks(3)
        .map(|t| triangle_area(&text, t))
        .sum();
    assert!((load - 4.965652e-04).abs() < 5e-11, "{load}");
}

#[test]
fn the_other_data_files_have_their_groups() {
    let plate = read_raw(data("plate_hole.msh")).unwrap();
    assert_eq!(
        (plate.kind, plate.space_dim, plate.degree),
        (CellKind::Triangle, 2, 1)
    );
    assert_eq!(
        plate.side_groups.keys().collect::<Vec<_>>(),
        ["bottom", "hole", "left", "right", "top"]
    );
    let area: f64 = plate
        .cell_nodes
        .chunks(3)
        .map(|t| triangle_area(&plate, t))
        .sum();
    assert!((area - 0.99215863).abs() < 5e-9, "{area}");

    let coils = read_raw(data("coils.msh")).unwrap();
    assert_eq!(
        coils.cell_groups.keys().collect::<Vec<_>>(),
        ["air", "coil_minus", "coil_plus", "iron"]
    );
    assert_eq!(
        coils.cell_groups.values().map(Vec::len).sum::<usize>(),
        coils.cell_count()
    );
    assert_eq!(coils.side_groups.keys().collect::<Vec<_>>(), ["outer"]);

    let beam = read_raw(data("beam_hex.msh")).unwrap();
    assert_eq!(
        (beam.kind, beam.cell_count(), beam.points.len()),
        (CellKind::Hex, 40 * 36, 41 * 49)
    );
    assert_eq!(beam.side_groups["tip"].len(), 36 * 4);
    assert_eq!(beam.side_groups["free"].len(), 40 * 24 * 4);
}

/// A cell's nodes in Lagrange numbering, as reference coordinates of degree 2.
fn lattice(kind: CellKind) -> Vec<[f64; 3]> {
    let mid = |e: &[u8; 2]| {
        let (a, b) = (
            kind.vertices()[e[0] as usize],
            kind.vertices()[e[1] as usize],
        );
        [
            (a[0] + b[0]) / 2.0,
            (a[1] + b[1]) / 2.0,
            (a[2] + b[2]) / 2.0,
        ]
    };
    let half = [0.0, 0.5, 1.0];
    match kind {
        CellKind::Segment => half.map(|x| [x, 0.0, 0.0]).to_vec(),
        CellKind::Quad => half
            .iter()
            .flat_map(|&x| half.map(|y| [x, y, 0.0]))
            .collect(),
        CellKind::Hex => {
            let line = |x, y| half.map(|z| [x, y, z]);
            half.iter()
                .flat_map(|&x| half.iter().flat_map(move |&y| line(x, y)))
                .collect()
        }
        _ => kind
            .vertices()
            .iter()
            .copied()
            .chain(kind.edges().iter().map(mid))
            .collect(),
    }
}

/// The vertex map of a cell at reference coordinates.
fn vertex_map(kind: CellKind, vertices: &[[f64; 3]], x: [f64; 3]) -> [f64; 3] {
    let mut y = [0.0; 3];
    for (v, r) in vertices.iter().zip(kind.vertices()) {
        let weight = if kind.is_tensor() {
            (0..kind.dim())
                .map(|d| if r[d] == 1.0 { x[d] } else { 1.0 - x[d] })
                .product()
        } else if r.iter().all(|&c| c == 0.0) {
            1.0 - x[0] - x[1] - x[2]
        } else {
            dot(*r, x)
        };
        for d in 0..3 {
            y[d] += weight * v[d];
        }
    }
    y
}

/// Each node of a straight second-order cell lies where Lagrange numbering says.
fn check_straight(mesh: &RawMesh, tolerance: f64) {
    let lattice = lattice(mesh.kind);
    assert_eq!(lattice.len(), mesh.nodes_per_cell());
    for cell in mesh.cell_nodes.chunks(lattice.len()) {
        let at =
            |r: &[f64; 3]| mesh.points[cell[lattice.iter().position(|l| l == r).unwrap()] as usize];
        let vertices: Vec<_> = mesh.kind.vertices().iter().map(at).collect();
        for (i, &x) in lattice.iter().enumerate() {
            let (expected, found) = (
                vertex_map(mesh.kind, &vertices, x),
                mesh.points[cell[i] as usize],
            );
            let d = sub(expected, found);
            assert!(
                dot(d, d).sqrt() <= tolerance,
                "{:?} node {i}: {found:?} not {expected:?}",
                mesh.kind
            );
        }
    }
}

#[test]
fn second_order_nodes_of_real_files_stand_in_lagrange_numbering() {
    for (name, kind) in [
        ("triangle6_v41.msh", CellKind::Triangle),
        ("quad9_v22_binary.msh", CellKind::Quad),
        ("tet10_v41_binary.msh", CellKind::Tet),
        ("hex27_v22.msh", CellKind::Hex),
    ] {
        let mesh = real(name);
        assert_eq!((mesh.kind, mesh.degree), (kind, 2), "{name}");
        assert!(mesh.vertex_count < mesh.points.len());
        // Coordinates are of order 1 and come from a division by two.
        check_straight(&mesh, 1e-14);
    }
}

#[test]
fn partitioned_and_periodic_files_are_read() {
    let (a, b, c) = (
        real("partition_v41.msh"),
        real("partition_v41_binary.msh"),
        real("partition_v22.msh"),
    );
    for m in [&a, &b, &c] {
        assert_eq!((m.kind, m.space_dim), (CellKind::Triangle, 2));
        assert_eq!(m.cell_groups["square"].len(), m.cell_count());
        assert!(
            (m.cell_nodes
                .chunks(3)
                .map(|t| triangle_area(m, t))
                .sum::<f64>()
                - 1.0)
                .abs()
                < 1e-14
        );
        let right = &m.side_groups["right"];
        assert!(right.iter().all(|&v| m.points[v as usize][0] == 1.0));
        assert_eq!(right.len(), a.side_groups["right"].len());
    }
    assert!(a == rounded_to_16_digits(b));
}

#[test]
fn every_encoding_gives_the_same_mesh() {
    for mesh in Mesh::samples() {
        let reference = RawMesh::parse(&mesh.write(Encoding {
            v4: true,
            binary: false,
            big: false,
        }))
        .unwrap();
        assert_eq!(reference.kind, mesh.kind);
        assert_eq!(reference.degree, mesh.degree);
        for encoding in encodings() {
            let bytes = mesh.write(encoding);
            let found = RawMesh::parse(&bytes).unwrap_or_else(|e| panic!("{encoding:?}: {e}"));
            assert!(
                found == reference,
                "{encoding:?}: {found:?} not {reference:?}"
            );
            if !encoding.binary {
                let windows = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
                assert!(RawMesh::parse(windows.as_bytes()).unwrap() == reference);
                let with_mark = format!("\u{feff}{windows}");
                assert!(RawMesh::parse(with_mark.as_bytes()).unwrap() == reference);
            }
        }
    }
}

#[test]
fn names_groups_and_unused_nodes() {
    let mesh = RawMesh::parse(&Mesh::two_triangles().write(Encoding {
        v4: false,
        binary: false,
        big: false,
    }))
    .unwrap();
    // Node 77 belongs to no cell.
    assert_eq!(mesh.points.len(), 4);
    assert_eq!(mesh.space_dim, 2);
    assert_eq!(mesh.cell_groups["all \"of\" it"], [0, 1]);
    assert_eq!(mesh.cell_groups["group_2_9"], [1]);
    assert_eq!(mesh.side_groups["wall"].len(), 4);
    assert_eq!(mesh.vertex_groups["corner"], [0]);
    assert!(!mesh.side_groups.contains_key("empty"));
}

#[test]
fn space_dimension_follows_the_coordinates() {
    let mut mesh = Mesh::two_triangles();
    mesh.nodes[0].1[2] = 0.25;
    let lifted = RawMesh::parse(&mesh.write(Encoding {
        v4: true,
        binary: true,
        big: true,
    }))
    .unwrap();
    assert_eq!(lifted.space_dim, 3);
    for (z, y, dim) in [(0.0, 0.0, 1), (0.0, 1.0, 2), (1.0, 0.0, 3)] {
        let line = Mesh {
            kind: CellKind::Segment,
            degree: 1,
            nodes: vec![(1, [0.0; 3]), (2, [1.0, y, z])],
            names: vec![],
            elements: vec![(1, vec![4], vec![1, 2]), (15, vec![3], vec![1])],
        };
        let raw = RawMesh::parse(&line.write(Encoding {
            v4: true,
            binary: false,
            big: false,
        }))
        .unwrap();
        assert_eq!(raw.space_dim, dim);
        // The ends of a segment are its sides.
        assert_eq!(raw.side_groups["group_0_3"], [0]);
    }
}

#[test]
fn meshes_carry_their_tags() {
    for name in [
        "bracket.msh",
        "bracket_binary.msh",
        "bracket_v22.msh",
        "plate_hole.msh",
        "coils.msh",
        "beam_hex.msh",
    ] {
        let raw = read_raw(data(name)).unwrap();
        let mesh = read(data(name)).unwrap();
        let (topology, tags) = (mesh.topology(), mesh.tags());
        assert_eq!(topology.cell_count(), raw.cell_count(), "{name}");
        for (group, cells) in &raw.cell_groups {
            assert_eq!(tags.cells(group).unwrap(), cells);
        }
        for (group, vertices) in &raw.side_groups {
            let sides = tags.sides(group).unwrap();
            assert_eq!(
                sides.len(),
                vertices.len() / raw.kind.side_kind().vertex_count()
            );
            assert!(sides.iter().all(|&s| topology.is_boundary(s as usize)));
        }
        // Every boundary side has a group in the three files of solids.
        if raw.kind.dim() == 3 {
            let tagged: usize = raw
                .side_groups
                .keys()
                .map(|g| tags.sides(g).unwrap().len())
                .sum();
            assert_eq!(tagged, topology.boundary_sides().len());
        }
    }
}

#[test]
fn second_order_files_make_curved_meshes_either_way_round() {
    for name in [
        "triangle6_v41.msh",
        "quad9_v22_binary.msh",
        "tet10_v41_binary.msh",
        "hex27_v22.msh",
    ] {
        let raw = real(name);
        let mut mirrored = raw.clone();
        mirrored.points.iter_mut().for_each(|p| p[0] = -p[0]);
        for raw in [raw, mirrored] {
            let (vertices, corner) = (raw.vertex_count, raw.points[0]);
            let mesh = raw.into_mesh().unwrap();
            assert_eq!(mesh.map().degree, 2, "{name}");
            assert_eq!(mesh.topology().vertex_count(), vertices);
            // Vertices keep their numbers, so vertex groups mean the same points.
            assert_eq!(mesh.map().nodes[0], corner);
            assert!(
                mesh.map()
                    .vertex_nodes
                    .as_ref()
                    .is_none_or(|v| v.iter().zip(0..).all(|(&n, i)| n == i))
            );
        }
    }
}

#[test]
fn faulty_meshes_are_named_with_their_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flat.msh");
    let mut mesh = Mesh::two_triangles();
    mesh.nodes[3].1 = [0.55, 0.1, 0.0];
    std::fs::write(
        &path,
        mesh.write(Encoding {
            v4: true,
            binary: false,
            big: false,
        }),
    )
    .unwrap();
    let message = read(&path).unwrap_err().to_string();
    assert!(
        message.contains("flat.msh") && message.contains("cell 0"),
        "{message}"
    );
    let message = read(dir.path().join("none.msh")).unwrap_err().to_string();
    assert!(
        message.contains("none.msh") && message.contains("cannot read"),
        "{message}"
    );
    // A tagged segment across the square's other diagonal is no side.
    let mut across = Mesh::two_triangles();
    across.elements[1].2 = vec![7, 3];
    let raw = RawMesh::parse(&across.write(Encoding {
        v4: true,
        binary: false,
        big: false,
    }))
    .unwrap();
    let message = raw.into_mesh().unwrap_err().to_string();
    assert!(
        message.contains("\"wall\"") && message.contains("element 20"),
        "{message}"
    );
}
