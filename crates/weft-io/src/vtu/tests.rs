//! The written files, taken apart again.

use super::*;
use flate2::read::ZlibDecoder;
use std::io::Read;

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    let start = tag.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
    &tag[start..start + tag[start..].find('"').unwrap()]
}

/// The bytes of an array of a file, decoded by the rules of the format.
pub(crate) fn read_array(file: &[u8], name: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(file);
    let at = text.find(&format!("Name=\"{name}\"")).unwrap();
    let start = text[..at].rfind('<').unwrap();
    let tag = &text[start..start + text[start..].find('>').unwrap() + 1];
    if attribute(tag, "format") == "ascii" {
        let body = &text[start + tag.len()..];
        let words = body[..body.find('<').unwrap()].split_ascii_whitespace();
        macro_rules! bytes {
            ($($name:literal $number:ty)*) => {
                match attribute(tag, "type") {
                    $($name => words
                        .flat_map(|w| w.parse::<$number>().unwrap().to_le_bytes())
                        .collect(),)*
                    other => panic!("{other}"),
                }
            };
        }
        return bytes!("UInt8" u8 "UInt16" u16 "UInt32" u32 "UInt64" u64 "Int32" i32 "Int64" i64
            "Float32" f32 "Float64" f64);
    }
    let marker = b"<AppendedData encoding=\"raw\">\n_";
    let base = file
        .windows(marker.len())
        .position(|w| w == marker)
        .unwrap()
        + marker.len();
    let data = &file[base + attribute(tag, "offset").parse::<usize>().unwrap()..];
    let word = |i: usize| u64::from_le_bytes(data[8 * i..8 * i + 8].try_into().unwrap()) as usize;
    if !text.contains("compressor=") {
        return data[8..8 + word(0)].to_vec();
    }
    let (blocks, size, last) = (word(0), word(1), word(2));
    let mut at = 8 * (3 + blocks);
    let mut all = Vec::new();
    for b in 0..blocks {
        let before = all.len();
        ZlibDecoder::new(&data[at..at + word(3 + b)])
            .read_to_end(&mut all)
            .unwrap();
        let expected = if b + 1 == blocks && last > 0 {
            last
        } else {
            size
        };
        assert_eq!(all.len() - before, expected);
        at += word(3 + b);
    }
    all
}

pub(crate) fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes
        .chunks(8)
        .map(|c| f64::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

pub(crate) fn ints(bytes: &[u8]) -> Vec<i64> {
    bytes
        .chunks(8)
        .map(|c| i64::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

pub(crate) const ALL: [Encoding; 3] = [Encoding::Compressed, Encoding::Raw, Encoding::Ascii];

fn written(grid: &VtuGrid<'_>, encoding: Encoding) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grid.vtu");
    grid.write(&path, encoding).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn every_encoding_holds_the_same_numbers() {
    // Enough points for several blocks.
    let points: Vec<[f64; 3]> = (0..40_000)
        .map(|i| [i as f64 * 0.1, (i % 7) as f64, -1e-300])
        .collect();
    let cell_nodes: Vec<u32> = (0..39_996).flat_map(|i| [i, i + 1, i + 2, i + 3]).collect();
    let vector: Vec<f64> = (0..80_000).map(|i| (i as f64).sqrt()).collect();
    let grid = VtuGrid {
        points: &points,
        kind: CellKind::Quad,
        degree: 1,
        cell_nodes: &cell_nodes,
        point_data: vec![VtuArray::new("plane vector", 2, vector.clone())],
        cell_data: vec![
            VtuArray::new("matrix", 4, (0..4 * 39_996).map(f64::from).collect()),
            VtuArray::new("s", 1, vec![f64::NAN; 39_996]),
        ],
    };
    for encoding in ALL {
        let file = written(&grid, encoding);
        assert_eq!(
            floats(&read_array(&file, "Points")),
            points.as_flattened(),
            "{encoding:?}"
        );
        let connectivity = ints(&read_array(&file, "connectivity"));
        assert_eq!(connectivity[4..8], [1, 3, 4, 2]);
        assert_eq!(connectivity.len(), cell_nodes.len());
        assert_eq!(ints(&read_array(&file, "offsets"))[39_995], 4 * 39_996);
        assert!(read_array(&file, "types").iter().all(|&t| t == 9));
        let padded = floats(&read_array(&file, "plane vector"));
        for (p, v) in padded.chunks(3).zip(vector.chunks(2)) {
            assert_eq!(p, [v[0], v[1], 0.0]);
        }
        let matrix = floats(&read_array(&file, "matrix"));
        assert_eq!(matrix[9..18], [4.0, 5.0, 0.0, 6.0, 7.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(floats(&read_array(&file, "s")).iter().all(|x| x.is_nan()));
    }
}

#[test]
fn lagrange_cells_carry_type_and_version() {
    for (kind, cell_type, count) in [
        (CellKind::Segment, 68, 3),
        (CellKind::Triangle, 69, 6),
        (CellKind::Quad, 70, 9),
        (CellKind::Tet, 71, 10),
        (CellKind::Hex, 72, 27),
    ] {
        let points = vec![[0.5; 3]; count];
        let cell_nodes: Vec<u32> = (0..count as u32).collect();
        let grid = VtuGrid {
            points: &points,
            kind,
            degree: 2,
            cell_nodes: &cell_nodes,
            point_data: vec![],
            cell_data: vec![],
        };
        let file = written(&grid, Encoding::Raw);
        assert!(String::from_utf8_lossy(&file).contains("version=\"2.2\""));
        assert_eq!(read_array(&file, "types"), [cell_type]);
        assert_eq!(ints(&read_array(&file, "offsets")), [count as i64]);
        let mut nodes = ints(&read_array(&file, "connectivity"));
        nodes.sort_unstable();
        assert_eq!(nodes, (0..count as i64).collect::<Vec<_>>());
    }
}

#[test]
fn names_are_escaped_and_empty_grids_are_fine() {
    let name = "a<b>&\"c'\u{1}\n";
    let grid = VtuGrid {
        points: &[],
        kind: CellKind::Tet,
        degree: 1,
        cell_nodes: &[],
        point_data: vec![VtuArray::new(name, 3, vec![])],
        cell_data: vec![VtuArray::new(name, 1, vec![])],
    };
    for encoding in ALL {
        let file = written(&grid, encoding);
        let text = String::from_utf8_lossy(&file);
        assert!(
            text.contains("Name=\"a&lt;b&gt;&amp;&quot;c&apos;\u{fffd}&#10;\""),
            "{text}"
        );
        assert!(read_array(&file, "Points").is_empty());
    }
}

#[test]
fn faulty_grids_are_refused_and_leave_nothing() {
    let points = [[0.0; 3]; 3];
    let good = VtuGrid {
        points: &points,
        kind: CellKind::Triangle,
        degree: 1,
        cell_nodes: &[0, 1, 2],
        point_data: vec![],
        cell_data: vec![],
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.vtu");
    let refuse = |grid: &VtuGrid<'_>, part: &str| {
        let message = grid.write(&path, Encoding::Raw).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    };
    refuse(
        &VtuGrid {
            degree: 0,
            ..good.clone()
        },
        "degree 0",
    );
    refuse(
        &VtuGrid {
            degree: 11,
            ..good.clone()
        },
        "1 to 10",
    );
    refuse(
        &VtuGrid {
            cell_nodes: &[0, 1],
            ..good.clone()
        },
        "no multiple of the 3",
    );
    refuse(
        &VtuGrid {
            cell_nodes: &[0, 1, 9],
            ..good.clone()
        },
        "cell 0 has node 9",
    );
    let one = |components, n| vec![VtuArray::new("u", components, vec![0.0; n])];
    refuse(
        &VtuGrid {
            point_data: one(1, 2),
            ..good.clone()
        },
        "\"u\" has 2 values",
    );
    refuse(
        &VtuGrid {
            point_data: one(0, 0),
            ..good.clone()
        },
        "\"u\"",
    );
    refuse(
        &VtuGrid {
            cell_data: one(3, 1),
            ..good.clone()
        },
        "need 3",
    );
    let twice = [one(1, 3), one(1, 3)].concat();
    refuse(
        &VtuGrid {
            point_data: twice,
            ..good.clone()
        },
        "two arrays",
    );
    let nowhere = good
        .write(dir.path().join("no/folder.vtu"), Encoding::Raw)
        .unwrap_err();
    assert!(nowhere.to_string().contains("folder.vtu"));
}

#[test]
fn a_series_is_complete_after_each_push() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.pvd");
    let mut series = Series::new(&path);
    series.push(0.0, dir.path().join("run_0.vtu")).unwrap();
    series.push(0.1, "elsewhere/<1>.vtu").unwrap();
    assert!(series.push(0.1, "x.vtu").is_err());
    assert!(series.push(f64::NAN, "x.vtu").is_err());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("timestep=\"0.0\" group=\"\" part=\"0\" file=\"run_0.vtu\""),
        "{text}"
    );
    assert!(
        text.contains("timestep=\"0.1\" group=\"\" part=\"0\" file=\"elsewhere/&lt;1&gt;.vtu\"")
    );
    assert!(text.trim_end().ends_with("</VTKFile>") && text.matches("<DataSet").count() == 2);
    let mut lost = Series::new(dir.path().join("no/run.pvd"));
    assert!(lost.push(0.0, "a.vtu").is_err());
}

#[test]
fn a_mesh_is_written_as_it_lies() {
    use weft::geometry::{Geometry, Mesh};
    let points = vec![[0.0; 3], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mesh = Mesh::new(CellKind::Quad, 2, points, vec![0, 1, 2, 3]).unwrap();
    let map = mesh.map();
    let file = written(
        &VtuGrid::of_map(mesh.cell_kind(), &map),
        Encoding::Compressed,
    );
    assert_eq!(ints(&read_array(&file, "connectivity")), [0, 1, 2, 3]);
}
