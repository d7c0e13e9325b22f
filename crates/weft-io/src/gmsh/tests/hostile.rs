//! Bad input: each a clear error with a place, never a panic, never a large allocation.

use super::build::{Encoding, Mesh, encodings};
use super::*;
use proptest::prelude::*;

const V2: &str = "$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
1
1 1 \"wall\"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
$EndNodes
$Elements
3
1 1 2 1 1 1 2
2 2 2 5 1 1 2 3
3 2 2 5 1 1 3 4
$EndElements
";

const V4: &str = "$MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
0 1 1 0
1 0 0 0 1 0 0 1 1 0
1 0 0 0 1 1 0 1 5 1 1
$EndEntities
$Nodes
1 4 1 4
2 1 0 4
1
2
3
4
0 0 0
1 0 0
1 1 0
0 1 0
$EndNodes
$Elements
2 3 1 3
1 1 1 1
1 1 2
2 1 2 2
2 1 2 3
3 1 3 4
$EndElements
";

fn message(text: &str) -> String {
    RawMesh::parse(text.as_bytes()).map_or_else(|e| e.to_string(), |m| panic!("accepted: {m:?}"))
}

/// The file `base` with `old` replaced must fail with a message that has all of `parts`.
#[track_caller]
fn bad(base: &str, old: &str, new: &str, parts: &[&str]) {
    assert!(base.contains(old), "{old}");
    let m = message(&base.replacen(old, new, 1));
    assert!(parts.iter().all(|p| m.contains(p)), "{m}");
}

#[test]
fn the_bases_are_good() {
    assert_eq!(RawMesh::parse(V2.as_bytes()).unwrap().cell_count(), 2);
    assert_eq!(
        RawMesh::parse(V4.as_bytes()).unwrap().cell_groups["group_2_5"],
        [0, 1]
    );
}

#[test]
fn bad_headers() {
    assert!(message("").contains("not a Gmsh MSH file"));
    assert!(message("solid x\n").contains("solid x"));
    assert!(message("$Nodes\n0\n$EndNodes\n").contains("$MeshFormat"));
    bad(V2, "2.2 0 8", "4.0 0 8", &["line 2", "4.0", "2.2 or 4.1"]);
    bad(V2, "2.2 0 8", "1 0 8", &["line 2", "version 1"]);
    bad(V2, "2.2 0 8", "", &["line 2", "(none)"]);
    bad(V2, "2.2 0 8", "2.2 2 8", &["line 2", "file type"]);
    bad(V2, "2.2 0 8", "2.2 0 4", &["line 2", "data size 8"]);
    bad(
        V2,
        "$EndMeshFormat",
        "$EndNodes",
        &["line 3", "$EndMeshFormat", "$EndNodes"],
    );
}

#[test]
fn bad_names_and_entities() {
    bad(V2, "1 1 \"wall\"", "1 1 wall", &["line 6", "double quotes"]);
    bad(V2, "1 1 \"wall\"", "1 1 \"", &["line 6", "double quotes"]);
    bad(V2, "1 1 \"wall\"", "9 1 \"wall\"", &["line 6", "0 to 3"]);
    bad(
        V2,
        "1\n1 1 \"wall\"",
        "99999999999\n1 1 \"wall\"",
        &["line 7", "dimension"],
    );
    bad(V4, "0 1 1 0\n", "0 1 1 -1\n", &["line 5", "-1"]);
    bad(
        V4,
        "1 0 0 0 1 0 0 1 1 0",
        "1 0 0 x 1 0 0 1 1 0",
        &["line 6", "\"x\""],
    );
    bad(
        V4,
        "0 0 1 1 0\n",
        "0 0 888888888888888888 1 0\n",
        &["line 8", "physical tag"],
    );
}

#[test]
fn bad_nodes() {
    bad(
        V2,
        "3 1 1 0\n",
        "2 1 1 0\n",
        &["node tag 2", "twice", "line 8"],
    );
    bad(V4, "3\n4\n", "3\n3\n", &["node tag 3", "twice", "line 11"]);
    bad(
        V2,
        "3 1 1 0\n",
        "3 nan 1 0\n",
        &["line 12", "node 3", "NaN"],
    );
    bad(
        V2,
        "3 1 1 0\n",
        "3 1e999 1 0\n",
        &["line 12", "inf", "finite"],
    );
    bad(V2, "3 1 1 0\n", "3 1 1\n", &["line 13", "coordinate"][..1]);
    bad(
        V2,
        "3 1 1 0\n",
        "-3 1 1 0\n",
        &["line 12", "-3", "node tag"],
    );
    bad(
        V2,
        "3 1 1 0\n",
        "99999999999999999999 1 1 0\n",
        &["line 12", "node tag"],
    );
    bad(
        V2,
        "$Nodes\n4",
        "$Nodes\n5",
        &["line 14", "node tag", "$EndNodes"],
    );
    bad(V2, "$Nodes\n4", "$Nodes\n3", &["line 13", "$EndNodes"]);
    bad(V2, "$Nodes\n4", "$Nodes\n-4", &["line 9", "-4"]);
    bad(
        V4,
        "1 4 1 4\n",
        "1 7 1 4\n",
        &["promises 7 nodes", "hold 4"],
    );
    bad(
        V4,
        "1 4 1 4\n",
        "18446744073709551615 4 1 4\n",
        &["line 10"],
    );
    bad(V4, "2 1 0 4\n", "2 1 0 999999999999999\n", &["line 20"]);
    bad(V4, "2 1 0 4\n", "5 1 0 4\n", &["line 11", "0 to 3"]);
    bad(V4, "2 1 0 4\n", "2 1 7 4\n", &["line 11", "parametric"]);
    let twice = V2.replace("$Elements", "$Nodes\n0\n$EndNodes\n$Elements");
    assert!(message(&twice).contains("second $Nodes"));
}

#[test]
fn bad_elements() {
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "3 2 2 5 1 1 3 8",
        &["line 19", "element 3", "node 8"],
    );
    bad(
        V4,
        "3 1 3 4\n",
        "3 1 3 18\n",
        &["line 27", "element 3", "node 18"],
    );
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "2 2 2 5 1 1 3 4",
        &["element tag 2", "twice"],
    );
    bad(
        V4,
        "3 1 3 4\n",
        "2 1 3 4\n",
        &["element tag 2", "twice", "line 25"],
    );
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "3 777 2 5 1 1 3 4",
        &["line 19", "type 777"],
    );
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "3 2 -2 5 1 1 3 4",
        &["line 19", "number of tags"],
    );
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "3 2 999999999 5 1 1 3 4",
        &["tag of an element"],
    );
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "3 3 2 5 1 1 2 3 4",
        &["mixes", "1 triangle3", "1 quad4"],
    );
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "3 6 2 5 1 1 2 3 4 1 2",
        &["prism6", "element 3", "tet4"],
    );
    bad(
        V2,
        "3 2 2 5 1 1 3 4",
        "3 17 2 5 1 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4",
        &["hex20"],
    );
    bad(
        V2,
        "$Elements\n3",
        "$Elements\n4",
        &["line 20", "element number"],
    );
    bad(
        V2,
        "$Elements\n3",
        "$Elements\n2",
        &["line 19", "$EndElements"],
    );
    bad(
        V4,
        "2 3 1 3\n",
        "2 4 1 3\n",
        &["promises 4 elements", "hold 3"],
    );
    bad(
        V4,
        "2 1 2 2\n",
        "3 1 2 2\n",
        &["line 25", "dimension 2", "triangle3"],
    );
    bad(V4, "2 1 2 2\n", "2 1 34 2\n", &["line 25", "type 34"]);
    bad(
        V4,
        "2 3 1 3\n1 1 1 1\n1 1 2\n2 1 2 2\n2 1 2 3\n3 1 3 4\n",
        "0 0 0 0\n",
        &["no cells"],
    );
    let swapped = V2
        .replace("$Nodes", "$Later")
        .replace("$EndNodes", "$EndLater");
    assert!(message(&swapped).contains("no $Nodes section before $Elements"));
    let cut = &V2[..V2.find("$Elements").unwrap()];
    assert!(message(cut).contains("no $Elements section"));
    assert!(message(&format!("{V2}stray\n")).contains("line 21"));
    assert!(message(&format!("{V2}$Open\n1 2 3\n")).contains("$EndOpen"));
}

#[test]
fn bad_sides() {
    // A tagged segment with a node of no cell; a tagged quad in a tet mesh.
    let loose = V2
        .replace("$Nodes\n4", "$Nodes\n5")
        .replace("$EndNodes", "9 5 5 5\n$EndNodes");
    bad(
        &loose,
        "1 1 2 1 1 1 2",
        "1 1 2 1 1 1 9",
        &["wall", "element 1", "not a side"],
    );
    let tets = V2.replace(
        "2 2 2 5 1 1 2 3\n3 2 2 5 1 1 3 4",
        "2 3 2 5 1 1 2 3 4\n3 4 2 5 1 1 2 3 4",
    );
    let m = message(&tets);
    assert!(
        ["group_2_5", "element 2", "quad4", "triangles"]
            .iter()
            .all(|p| m.contains(p)),
        "{m}"
    );
}

#[test]
fn bad_binary() {
    let good = Mesh::two_triangles().write(Encoding {
        v4: true,
        binary: true,
        big: false,
    });
    let mut order = good.clone();
    order[20] = 7;
    let m = RawMesh::parse(&order).unwrap_err().to_string();
    assert!(m.contains("byte 20") && m.contains("byte order"), "{m}");
    let size = good.replace_at(b"4.1 1 8", b"4.1 1 4");
    assert!(
        RawMesh::parse(&size)
            .unwrap_err()
            .to_string()
            .contains("data size 8")
    );
    // The largest count where the number of node blocks stands.
    let mut huge = good.clone();
    let at = find(&huge, b"$Nodes\n\x02") + 7;
    huge[at..at + 16].fill(0xff);
    assert!(matches!(
        RawMesh::parse(&huge),
        Err(GmshError::Unexpected { .. } | GmshError::Truncated { .. })
    ));
}

fn find(data: &[u8], what: &[u8]) -> usize {
    data.windows(what.len()).position(|w| w == what).unwrap()
}

trait ReplaceAt {
    fn replace_at(&self, old: &[u8], new: &[u8]) -> Vec<u8>;
}

impl ReplaceAt for Vec<u8> {
    fn replace_at(&self, old: &[u8], new: &[u8]) -> Vec<u8> {
        let at = find(self, old);
        [&self[..at], new, &self[at + old.len()..]].concat()
    }
}

#[test]
fn every_truncation_is_an_error_or_the_same_mesh() {
    for mesh in Mesh::samples() {
        for encoding in encodings() {
            let bytes = mesh.write(encoding);
            let whole = RawMesh::parse(&bytes).unwrap();
            let end = find(&bytes, b"$EndElements");
            for length in 0..bytes.len() {
                match RawMesh::parse(&bytes[..length]) {
                    Ok(part) => {
                        assert!(length > end && part == whole, "{length} bytes are accepted")
                    }
                    Err(e) => assert!(!e.to_string().is_empty()),
                }
            }
        }
    }
    for text in [V2, V4] {
        let lines: Vec<&str> = text.lines().collect();
        for skip in 0..lines.len() {
            let without: String = lines
                .iter()
                .enumerate()
                .filter(|l| l.0 != skip)
                .map(|l| format!("{}\n", l.1))
                .collect();
            let _ = RawMesh::parse(without.as_bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes_never_panic(tail in prop::collection::vec(any::<u8>(), 0..200), header in 0usize..3) {
        let head: &[u8] = [b"" as &[u8], b"$MeshFormat\n4.1 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n", b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"][header];
        let _ = RawMesh::parse(&[head, &tail].concat());
    }

    #[test]
    fn mutations_never_panic(
        which in 0usize..6,
        sample in 0usize..11,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let encoding = encodings().nth(which).unwrap();
        let mut bytes = Mesh::samples()[sample].write(encoding);
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if let Ok(mesh) = RawMesh::parse(&bytes) {
            prop_assert!(mesh.cell_nodes.iter().all(|&n| (n as usize) < mesh.points.len()));
            prop_assert!(mesh.points.iter().flatten().all(|x| x.is_finite()));
        }
    }
}
