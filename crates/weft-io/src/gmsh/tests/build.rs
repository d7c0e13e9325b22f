//! A small writer of MSH files in every encoding, independent of the reader.

use weft::element::CellKind;

#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub v4: bool,
    pub binary: bool,
    pub big: bool,
}

pub fn encodings() -> impl Iterator<Item = Encoding> {
    [false, true].into_iter().flat_map(|v4| {
        [(false, false), (true, false), (true, true)].map(|(binary, big)| Encoding {
            v4,
            binary,
            big,
        })
    })
}

/// A mesh as Gmsh describes it.
pub struct Mesh {
    pub kind: CellKind,
    pub degree: usize,
    pub nodes: Vec<(u64, [f64; 3])>,
    pub names: Vec<(usize, i64, &'static str)>,
    /// Element type, physical groups, node tags.
    pub elements: Vec<(i64, Vec<i64>, Vec<u64>)>,
}

struct Out {
    bytes: Vec<u8>,
    e: Encoding,
}

impl Out {
    fn line(&mut self, s: &str) {
        self.bytes.extend(s.as_bytes());
        self.bytes.push(b'\n');
    }
    fn raw(&mut self, mut b: Vec<u8>) {
        if self.e.big {
            b.reverse();
        }
        self.bytes.extend(b);
    }
    fn text(&mut self, s: String) {
        self.bytes.extend(s.as_bytes());
        self.bytes.push(b' ');
    }
    fn int(&mut self, v: i64) {
        if self.e.binary {
            self.raw((v as i32).to_le_bytes().to_vec())
        } else {
            self.text(v.to_string())
        }
    }
    fn size(&mut self, v: u64) {
        if self.e.binary {
            self.raw(v.to_le_bytes().to_vec())
        } else {
            self.text(v.to_string())
        }
    }
    fn float(&mut self, v: f64) {
        if self.e.binary {
            self.raw(v.to_le_bytes().to_vec())
        } else {
            self.text(format!("{v:?}"))
        }
    }
    fn end(&mut self) {
        self.bytes.push(b'\n');
    }
    /// Ends a line in text, nothing in binary.
    fn text_end(&mut self) {
        if !self.e.binary {
            self.end();
        }
    }
}

fn dim_of(number: i64) -> usize {
    match number {
        15 => 0,
        1 | 8 => 1,
        2 | 3 | 9 | 10 | 16 => 2,
        _ => 3,
    }
}

impl Mesh {
    /// Two triangles, one of them inverted; sparse unordered tags; a node without cells.
    pub fn two_triangles() -> Mesh {
        Mesh {
            kind: CellKind::Triangle,
            degree: 1,
            nodes: vec![
                (900, [0.1, 0.2, 0.0]),
                (7, [1.0, 0.0, 0.0]),
                (77, [9.0, 9.0, 9.0]),
                (100_000, [1.0, 1.0, 0.0]),
                (3, [0.0, 1.0, 0.0]),
            ],
            names: vec![
                (2, 5, "all \"of\" it"),
                (1, 1, "wall"),
                (1, 8, "empty"),
                (0, 1, "corner"),
            ],
            elements: vec![
                (15, vec![1], vec![900]),
                (1, vec![1], vec![7, 900]),
                (1, vec![-1], vec![7, 100_000]),
                (1, vec![], vec![3, 900]),
                (2, vec![5], vec![900, 7, 100_000]),
                (2, vec![5, 9], vec![900, 3, 100_000]),
            ],
        }
    }

    /// One cell of each accepted type, with nodes at random-looking places.
    pub fn samples() -> Vec<Mesh> {
        let mut all = vec![Mesh::two_triangles()];
        for (number, kind, degree, count) in [
            (1, CellKind::Segment, 1, 2),
            (8, CellKind::Segment, 2, 3),
            (2, CellKind::Triangle, 1, 3),
            (9, CellKind::Triangle, 2, 6),
            (3, CellKind::Quad, 1, 4),
            (10, CellKind::Quad, 2, 9),
            (4, CellKind::Tet, 1, 4),
            (11, CellKind::Tet, 2, 10),
            (5, CellKind::Hex, 1, 8),
            (12, CellKind::Hex, 2, 27),
        ] {
            let nodes: Vec<_> = (0..count)
                .map(|i| {
                    (
                        2 * i + 1,
                        [0.1, 0.7, 1.3].map(|s| (s * (i * i + 1) as f64 * 3.7).sin()),
                    )
                })
                .collect();
            let tags = nodes.iter().map(|n| n.0).collect();
            all.push(Mesh {
                kind,
                degree,
                nodes,
                names: vec![(kind.dim(), 2, "body")],
                elements: vec![(15, vec![1], vec![1]), (number, vec![2, 3], tags)],
            });
        }
        all
    }

    pub fn write(&self, e: Encoding) -> Vec<u8> {
        let mut o = Out {
            bytes: Vec::new(),
            e,
        };
        o.line("$MeshFormat");
        o.line(&format!(
            "{} {} 8",
            if e.v4 { "4.1" } else { "2.2" },
            i32::from(e.binary)
        ));
        if e.binary {
            o.int(1);
            o.end();
        }
        o.line("$EndMeshFormat");
        o.line("$Comments\nanything $Nodes\n$Nodes\n$EndComments");
        if !self.names.is_empty() {
            o.line(&format!("$PhysicalNames\n{}", self.names.len()));
            for (dim, tag, name) in &self.names {
                o.line(&format!("{dim} {tag} \"{name}\""));
            }
            o.line("$EndPhysicalNames");
        }
        if e.v4 {
            self.write_v4(&mut o)
        } else {
            self.write_v2(&mut o)
        }
        o.line("$NodeData\n1\n\"T\"\n1\n0\n3\n0\n1\n1\n1 5\n$EndNodeData");
        o.bytes
    }

    fn write_v2(&self, o: &mut Out) {
        o.line(&format!("$Nodes\n{}", self.nodes.len()));
        for (tag, p) in &self.nodes {
            o.int(*tag as i64);
            p.iter().for_each(|&x| o.float(x));
            o.text_end();
        }
        o.end();
        // An element in several groups is written once for each, as Gmsh does.
        let mut rows = Vec::new();
        for (number, groups, nodes) in &self.elements {
            let groups = if groups.is_empty() { &vec![0] } else { groups };
            rows.extend(groups.iter().map(|g| (*number, *g, nodes)));
        }
        o.line(&format!("$EndNodes\n$Elements\n{}", rows.len()));
        for (i, (number, group, nodes)) in rows.iter().enumerate() {
            let tag = 10 * i as i64 + 10;
            if o.e.binary {
                [*number, 1, 2, tag].iter().for_each(|&v| o.int(v));
            } else {
                [tag, *number, 2].iter().for_each(|&v| o.int(v));
            }
            o.int(*group);
            o.int(1);
            nodes.iter().for_each(|&n| o.int(n as i64));
            o.text_end();
        }
        o.end();
        o.line("$EndElements");
    }

    fn write_v4(&self, o: &mut Out) {
        // Each element is an entity of its own.
        o.line("$Entities");
        let of = |dim| {
            self.elements
                .iter()
                .enumerate()
                .filter(move |(_, e)| dim_of(e.0) == dim)
        };
        (0..4).for_each(|d| o.size(of(d).count() as u64));
        o.text_end();
        for dim in 0..4 {
            for (i, element) in of(dim) {
                o.int(i as i64 + 1);
                (0..if dim == 0 { 3 } else { 6 }).for_each(|_| o.float(0.5));
                o.size(element.1.len() as u64);
                element.1.iter().for_each(|&g| o.int(g));
                if dim > 0 {
                    o.size(2);
                    o.int(1);
                    o.int(-2);
                }
                o.text_end();
            }
        }
        o.end();
        o.line("$EndEntities\n$Nodes");
        // Two blocks, the second parametric.
        let (a, b) = self.nodes.split_at(self.nodes.len() / 2);
        [2, self.nodes.len() as u64, 1, 1]
            .iter()
            .for_each(|&n| o.size(n));
        o.text_end();
        for (block, parametric) in [(a, 0), (b, 1)] {
            [2, 1, parametric].iter().for_each(|&n| o.int(n));
            o.size(block.len() as u64);
            o.text_end();
            block.iter().for_each(|n| o.size(n.0));
            o.text_end();
            for (_, p) in block {
                p.iter().for_each(|&x| o.float(x));
                (0..2 * parametric).for_each(|_| o.float(0.125));
                o.text_end();
            }
        }
        o.end();
        o.line("$EndNodes\n$Elements");
        let count = self.elements.len() as u64;
        [count, count, 1, 1].iter().for_each(|&n| o.size(n));
        o.text_end();
        // Version 2.2 numbers an element once a group; give the same tag to the first of them.
        let mut tag = 10;
        for (i, (number, groups, nodes)) in self.elements.iter().enumerate() {
            [dim_of(*number) as i64, i as i64 + 1, *number]
                .iter()
                .for_each(|&n| o.int(n));
            o.size(1);
            o.text_end();
            o.size(tag);
            nodes.iter().for_each(|&n| o.size(n));
            o.text_end();
            tag += 10 * groups.len().max(1) as u64;
        }
        o.end();
        o.line("$EndElements");
        o.line("$Periodic");
        o.size(1);
        [1, 2, 3].iter().for_each(|&n| o.int(n));
        o.size(0);
        o.size(1);
        o.size(1);
        o.size(2);
        o.end();
        o.line("$EndPeriodic");
    }
}
