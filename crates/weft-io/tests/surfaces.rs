//! Readers of surfaces: the same body from every format, and bad files.

use proptest::prelude::*;
use weft::geometry::{Geometry, Surface};
use weft_io::stl::Weld;
use weft_io::{Triangles, TrianglesError, obj, ply, stl};

/// A cube with outward quads, from 0.
const POINTS: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 0.0, 1.0],
    [1.0, 1.0, 1.0],
    [0.0, 1.0, 1.0],
];
const QUADS: [[u32; 4]; 6] = [
    [0, 3, 2, 1],
    [4, 5, 6, 7],
    [0, 1, 5, 4],
    [1, 2, 6, 5],
    [2, 3, 7, 6],
    [3, 0, 4, 7],
];

fn triangles() -> Vec<[u32; 3]> {
    QUADS
        .iter()
        .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]])
        .collect()
}

fn check(read: &Triangles) {
    assert_eq!(read.triangles.len(), 12);
    assert_eq!((read.points.len(), read.dropped), (8, 0));
    let surface = Surface::new(&read.clone().into_mesh().unwrap()).unwrap();
    assert!((surface.volume() - 1.0).abs() < 1e-15);
    let middle = surface.signed_distance([0.5; 3], 1.0).unwrap();
    assert_eq!(middle.distance, -0.5);
}

fn obj_text() -> String {
    let mut text = "# a cube\nmtllib cube.mtl\no cube\n".to_string();
    for [x, y, z] in POINTS {
        text += &format!("v {x} {y} {z}\n");
    }
    text += "vt 0 0\nvn 0 0 1\ns off\nusemtl red\n";
    for (i, quad) in QUADS.iter().enumerate() {
        let corner = |v: &u32| match i % 4 {
            0 => format!("{}", v + 1),
            1 => format!("{}/1/1", v + 1),
            2 => format!("{}//1", v + 1),
            _ => format!("{}/1", *v as i64 - 8),
        };
        let corners: Vec<String> = quad.iter().map(corner).collect();
        text += &format!("f {}\n", corners.join(" "));
    }
    text
}

fn stl_text() -> String {
    let mut text = "solid the cube\n".to_string();
    for t in triangles() {
        text += "facet normal 0 0 0\n outer loop\n";
        for v in t {
            let [x, y, z] = POINTS[v as usize];
            text += &format!("  vertex {x:e} {y} {z:?}\n");
        }
        text += " endloop\nendfacet\n";
    }
    text + "endsolid the cube\n"
}

fn stl_binary() -> Vec<u8> {
    // Some writers begin binary files with the word of text files.
    let mut data = b"solid but binary".to_vec();
    data.resize(80, b' ');
    data.extend(12u32.to_le_bytes());
    for t in triangles() {
        data.extend([0; 12]);
        for v in t {
            for c in POINTS[v as usize] {
                data.extend((c as f32).to_le_bytes());
            }
        }
        data.extend([7, 7]);
    }
    data
}

fn ply_text() -> String {
    let mut text = "ply\nformat ascii 1.0\ncomment made by hand\nelement vertex 8\n\
        property float x\nproperty float y\nproperty uchar red\nproperty double z\n\
        element edge 1\nproperty int a\nproperty list uchar float b\n\
        element face 6\nproperty uchar flag\nproperty list uchar int vertex_indices\nend_header\n"
        .to_string();
    for [x, y, z] in POINTS {
        text += &format!("{x} {y} 255 {z}\n");
    }
    text += "3 2 0.5 0.25\n";
    for [a, b, c, d] in QUADS {
        text += &format!("1 4 {a} {b} {c} {d}\n");
    }
    text
}

fn ply_binary(big: bool) -> Vec<u8> {
    let name = if big { "big" } else { "little" };
    let mut data = format!(
        "ply\r\nformat binary_{name}_endian 1.0\r\nelement face 6\r\n\
         property list ushort uint vertex_index\r\nproperty list int8 double weights\r\n\
         element vertex 8\r\nproperty double x\r\nproperty float32 y\r\nproperty int16 z\r\n\
         end_header\r\n"
    )
    .into_bytes();
    let mut push = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if big {
            bytes.reverse();
        }
        data.extend(bytes);
    };
    for quad in QUADS {
        push(&4u16.to_le_bytes());
        quad.iter().for_each(|v| push(&v.to_le_bytes()));
        push(&[1]);
        push(&0.5f64.to_le_bytes());
    }
    for [x, y, z] in POINTS {
        push(&x.to_le_bytes());
        push(&(y as f32).to_le_bytes());
        push(&(z as i16).to_le_bytes());
    }
    data
}

#[test]
fn the_cube_comes_out_of_every_format() {
    let from_obj = obj::parse(obj_text().as_bytes()).unwrap();
    let from_ply = ply::parse(ply_text().as_bytes()).unwrap();
    for read in [
        &from_obj,
        &from_ply,
        &ply::parse(&ply_binary(false)).unwrap(),
        &ply::parse(&ply_binary(true)).unwrap(),
    ] {
        check(read);
        assert_eq!(read.points, POINTS);
        assert_eq!(read.triangles, triangles());
    }
    for weld in [Weld::Equal, Weld::Within(1e-6)] {
        let text = stl::parse(stl_text().as_bytes(), weld).unwrap();
        let binary = stl::parse(&stl_binary(), weld).unwrap();
        check(&text);
        assert_eq!(text, binary);
        // Numbered as they appear: 0 3 2, 0 2 1.
        assert_eq!(text.triangles[..2], [[0, 1, 2], [0, 2, 3]]);
    }
}

#[test]
fn files_are_read_and_named_in_errors() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, data: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, data).unwrap();
        path
    };
    let obj_file = write("cube.obj", obj_text().as_bytes());
    let stl_file = write("cube.stl", &stl_binary());
    let ply_file = write("cube.ply", &ply_binary(true));
    let meshes = [
        obj::read(&obj_file).unwrap(),
        stl::read(&stl_file, Weld::Equal).unwrap(),
        ply::read(&ply_file).unwrap(),
    ];
    for mesh in meshes {
        assert_eq!(mesh.topology().boundary_sides().len(), 0);
        assert_eq!(mesh.topology().cell_count(), 12);
        assert!(mesh.warnings().is_empty());
    }
    let wrong = write("wrong.ply", b"solid");
    let message = ply::read(&wrong).unwrap_err().to_string();
    assert!(
        message.contains("wrong.ply") && message.contains("line 1"),
        "{message}"
    );
    let missing = dir.path().join("missing.obj");
    let error = obj::read(&missing).unwrap_err();
    assert!(matches!(error, TrianglesError::InFile { .. }));
    assert!(error.to_string().contains("missing.obj"));
}

#[test]
fn welding() {
    let facet = |shift: f64| {
        let vertex = |x: [f64; 3]| format!("vertex {} {} {}\n", x[0] + shift, x[1], x[2]);
        format!(
            "facet normal nan nan nan\nouter loop\n{}{}{}endloop\nendfacet\n",
            vertex([0.0; 3]),
            vertex([1.0, 0.0, -0.0]),
            vertex([0.0, 1.0, 0.0])
        )
    };
    let text = format!(
        "solid\n{}endsolid\nSOLID two\n{}EndSolid two\n",
        facet(0.0),
        facet(1e-7)
    );
    let apart = stl::parse(text.as_bytes(), Weld::Equal).unwrap();
    assert_eq!(apart.points.len(), 6);
    let close = stl::parse(text.as_bytes(), Weld::Within(1e-6)).unwrap();
    assert_eq!(close.points.len(), 3);
    assert_eq!(close.triangles, [[0, 1, 2], [0, 1, 2]]);
    // Everything in one point leaves nothing.
    let error = stl::parse(text.as_bytes(), Weld::Within(10.0)).unwrap_err();
    assert!(matches!(error, TrianglesError::NoTriangles { dropped: 2 }));
    for tolerance in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-20] {
        let error = stl::parse(text.as_bytes(), Weld::Within(tolerance)).unwrap_err();
        assert!(
            matches!(error, TrianglesError::Tolerance { .. }),
            "{tolerance}"
        );
    }
}

#[test]
fn triangles_with_a_vertex_twice_are_left_out() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 1 2\nf 1 2 3\nf 3 2 3\n";
    let read = obj::parse(text.as_bytes()).unwrap();
    assert_eq!(
        (read.triangles.as_slice(), read.dropped),
        (&[[0, 1, 2]][..], 2)
    );
    let read = obj::parse(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 1 2\n");
    assert!(matches!(
        read,
        Err(TrianglesError::NoTriangles { dropped: 1 })
    ));
}

#[test]
fn odd_but_valid_obj_files() {
    // Faces first, a byte order of lines with returns, joined lines, colours, weights.
    let text =
        "f 1 2 \\\r\n 3\r\n\r\n  v 0 0 0 1.0\r\nv 1e0 +0 -0 0.5 0.5 0.5 # red\r\nv 0 .5 0\r\n";
    let read = obj::parse(text.as_bytes()).unwrap();
    assert_eq!(read.triangles, [[0, 1, 2]]);
    assert_eq!(read.points[2], [0.0, 0.5, 0.0]);
    assert!(read.points[1][2].is_sign_positive());
}

/// Messages that must contain some words, the place among them.
fn refused(read: Result<Triangles, TrianglesError>, words: &[&str]) {
    let message = match read {
        Err(error) => error.to_string(),
        Ok(read) => panic!("accepted: {read:?}, expected {words:?}"),
    };
    for word in words {
        assert!(message.contains(word), "{message:?} lacks {word:?}");
    }
}

#[test]
fn bad_obj_files() {
    for (text, words) in [
        ("", &["no triangles"][..]),
        ("v 0 0 0\n", &["no triangles"]),
        ("v 0 0\nf 1 1 1\n", &["line 1", "coordinates", "nothing"]),
        ("v 0 zero 0\n", &["line 1", "zero"]),
        ("\nv 0 0 nan\n", &["line 2", "finite"]),
        ("v 1e999 0 0\n", &["line 1", "finite"]),
        ("v 0 0 0\nf 1 2\n", &["line 2", "at least 3"]),
        ("f\n", &["line 1", "0 vertices"]),
        (
            "v 0 0 0\nf 1 2 3\n",
            &["line 2", "vertex 3", "1 vertices", "from 1"],
        ),
        ("v 0 0 0\nf 0 1 1\n", &["line 2", "from 1 or negative"]),
        ("v 0 0 0\nf -1 -2 1\n", &["line 2", "vertex -2"]),
        ("v 0 0 0\nf 1 x 1\n", &["line 2", "\"x\""]),
        ("v 0 0 0\nf 1/y 1 1\n", &["line 2", "\"y\""]),
        (
            "v 0 0 0\nf 1 1 99999999999999999999\n",
            &["line 2", "index"],
        ),
        ("v 0 0 0\nf 1 1 4294967297\n", &["line 2", "4294967297"]),
        ("surf 0 1 0 1 1 2 3 4\n", &["line 1", "surf"]),
        ("hello\n", &["line 1", "hello"]),
        ("v 0 0 0\n\x00\x01\n", &["line 2"]),
    ] {
        refused(obj::parse(text.as_bytes()), words);
    }
}

#[test]
fn bad_stl_files() {
    let mut short = stl_binary();
    short.truncate(300);
    // Without the word, which sends it to the reader of text.
    short[..5].copy_from_slice(b"STL  ");
    let mut huge = short.clone();
    huge[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut infinite = stl_binary();
    infinite[84 + 12..84 + 16].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let mut empty = vec![0; 84];
    for (data, words) in [
        (vec![], &["byte 0", "solid"][..]),
        (b"STL".to_vec(), &["byte 3"]),
        (short, &["12 triangles", "684 bytes", "has 300"]),
        (huge, &["4294967295 triangles"]),
        (infinite, &["byte 96", "finite"]),
        (std::mem::take(&mut empty), &["no triangles"]),
    ] {
        refused(stl::parse(&data, Weld::Equal), words);
    }
    let start = "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n";
    for (text, words) in [
        ("solid".to_string(), &["line 1", "endsolid"][..]),
        ("solid a\nendsolid a\n".to_string(), &["no triangles"]),
        ("solid\nfacet\n".to_string(), &["line 3", "normal"]),
        ("solid\nvertex 0 0 0\n".to_string(), &["line 2", "facet"]),
        (start.to_string(), &["line 6", "vertex"]),
        (
            format!("{start}endloop\n"),
            &["line 6", "\"vertex\"", "endloop"],
        ),
        (
            format!("{start}vertex 0 1\nendloop"),
            &["line 7", "coordinates"],
        ),
        (format!("{start}vertex 0 1 inf\n"), &["line 6", "finite"]),
        (
            format!("{start}vertex 0 1 0\nvertex 1 1 0\n"),
            &["line 7", "endloop"],
        ),
        (
            format!("{start}vertex 0 1 0\nendloop\nfacet"),
            &["line 8", "endfacet"],
        ),
        ("solid\nendsolid\nrest".to_string(), &["line 3", "rest"]),
    ] {
        refused(stl::parse(text.as_bytes(), Weld::Equal), words);
    }
}

#[test]
fn bad_ply_files() {
    let vertex = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
    let face = "element face 1\nproperty list uchar int vertex_indices\n";
    let with =
        |elements: &str, body: &str| format!("ply\nformat ascii 1.0\n{elements}end_header\n{body}");
    let both = format!("{vertex}{face}");
    let corners = "0 0 0\n1 0 0\n0 1 0\n";
    for (text, words) in [
        (String::new(), &["line 1", "ply"][..]),
        ("plx\n".to_string(), &["line 1", "plx"]),
        ("ply\n".to_string(), &["line 2", "end_header"]),
        ("ply\nformat ascii 2.0\n".to_string(), &["line 2", "2.0"]),
        ("ply\nformat morse 1.0\n".to_string(), &["line 2", "morse"]),
        (format!("ply\n{both}end_header\n"), &["format ascii 1.0"]),
        (with(vertex, corners), &["face", "vertex_indices"]),
        (with(face, "3 0 1 2"), &["vertex", "x, y and z"]),
        (with("element vertex -3\n", ""), &["line 3", "-3"]),
        (with("element vertex many\n", ""), &["line 3", "many"]),
        (with("property float x\n", ""), &["line 3", "element"]),
        (
            with("element vertex 3\nproperty quad x\n", ""),
            &["line 4", "quad"],
        ),
        (
            with(&format!("{vertex}property int x\n"), ""),
            &["line 7", "another name"],
        ),
        (
            with(&format!("{vertex}{vertex}"), ""),
            &["line 7", "another name"],
        ),
        (
            with(
                &format!("{vertex}element face 1\nproperty list float int vertex_indices\n"),
                "",
            ),
            &["line 8", "length"],
        ),
        (
            with(
                &format!("{vertex}element face 1\nproperty list int float vertex_indices\n"),
                "",
            ),
            &["whole numbers"],
        ),
        (
            with(&format!("{both}property list char int vertex_index\n"), ""),
            &["another name"],
        ),
        (with(&both, ""), &["line 10", "coordinate"]),
        (with(&both, "0 0 0\n1 0 0\n0 x 0\n"), &["line 12", "\"x\""]),
        (
            with(&both, "0 0 0\n1 0 0\n0 NaN 0\n"),
            &["line 12", "finite"],
        ),
        (with(&both, corners), &["line 13", "length"]),
        (with(&both, &format!("{corners}3 0 1\n")), &["vertex index"]),
        (
            with(&both, &format!("{corners}2 0 1\n")),
            &["line 13", "at least 3"],
        ),
        (
            with(&both, &format!("{corners}-1\n")),
            &["line 13", "length"],
        ),
        (
            with(&both, &format!("{corners}3 0 1 3\n")),
            &["line 13", "vertex 3", "from 0"],
        ),
        (
            with(&both, &format!("{corners}3 0 -1 2\n")),
            &["line 13", "vertex -1"],
        ),
        (
            with(&both, &format!("{corners}3 0 1 1\n")),
            &["no triangles"],
        ),
        (
            with(
                &both.replace("vertex 3", "vertex 18446744073709551615"),
                corners,
            ),
            &["line 13", "coordinate"],
        ),
        (
            // An element that takes no room is no loop without end.
            with(
                &format!("element none 18446744073709551615\n{both}"),
                corners,
            ),
            &["line 14", "length"],
        ),
    ] {
        refused(ply::parse(text.as_bytes()), words);
    }
    let mut cut = ply_binary(false);
    let size = cut.len();
    cut.pop();
    refused(
        ply::parse(&cut),
        &[&format!("byte {}", size - 1), "coordinate"],
    );
    // A list that claims four thousand million entries.
    let mut long = with(&both, "")
        .replace("ascii", "binary_little_endian")
        .into_bytes();
    long = String::from_utf8(long)
        .unwrap()
        .replace("uchar", "uint")
        .into_bytes();
    long.extend([0; 36]);
    long.extend(u32::MAX.to_le_bytes());
    long.extend([0; 100]);
    refused(ply::parse(&long), &["vertex index", "byte"]);
}

#[test]
fn meshes_that_are_none() {
    // Three triangles at an edge, and three points on a line.
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 -1 0\nf 1 2 3\nf 1 2 4\nf 1 2 5\n";
    let error = obj::parse(text.as_bytes())
        .unwrap()
        .into_mesh()
        .unwrap_err();
    assert!(error.to_string().contains("3 cells"), "{error}");
    let text = "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n";
    let error = obj::parse(text.as_bytes())
        .unwrap()
        .into_mesh()
        .unwrap_err();
    assert!(error.to_string().contains("degenerate"), "{error}");
}

fn valid(read: Result<Triangles, TrianglesError>) {
    match read {
        Ok(read) => {
            let count = read.points.len() as u32;
            assert!(read.triangles.iter().flatten().all(|&v| v < count));
            assert!(read.points.iter().flatten().all(|c| c.is_finite()));
            // A mesh or a clean error.
            let _ = read.into_mesh();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes(data in proptest::collection::vec(any::<u8>(), 0..400)) {
        valid(obj::parse(&data));
        valid(stl::parse(&data, Weld::Equal));
        valid(stl::parse(&data, Weld::Within(0.1)));
        valid(ply::parse(&data));
        for start in ["solid ", "v 0 0 0\nf ", "ply\nformat binary_little_endian 1.0\n"] {
            let mut data = [start.as_bytes(), &data].concat();
            valid(obj::parse(&data));
            valid(stl::parse(&data, Weld::Equal));
            valid(ply::parse(&data));
            data.retain(u8::is_ascii);
            valid(obj::parse(&data));
            valid(stl::parse(&data, Weld::Equal));
        }
    }

    /// Good files with some bytes changed, cut out or doubled.
    #[test]
    fn damaged_files(
        pick in 0usize..6,
        damage in proptest::collection::vec((any::<u16>(), any::<u8>(), 0u8..3), 1..6),
    ) {
        let mut data = match pick {
            0 => obj_text().into_bytes(),
            1 => stl_text().into_bytes(),
            2 => stl_binary(),
            3 => ply_text().into_bytes(),
            4 => ply_binary(false),
            _ => ply_binary(true),
        };
        for (place, byte, kind) in damage {
            let at = usize::from(place) % data.len().max(1);
            match kind {
                0 => data[at] = byte,
                1 => drop(data.splice(at..(at + usize::from(byte)).min(data.len()), [])),
                _ => data.insert(at, byte),
            }
            if data.is_empty() {
                break;
            }
        }
        valid(obj::parse(&data));
        valid(stl::parse(&data, Weld::Within(1e-3)));
        valid(stl::parse(&data, Weld::Equal));
        valid(ply::parse(&data));
    }
}
