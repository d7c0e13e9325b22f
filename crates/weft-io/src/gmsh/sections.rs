//! The sections of MSH 2.2 and 4.1, text and binary.
//!
//! Layout of the sections: Gmsh reference manual, "MSH file format" and "Legacy formats".

use std::collections::BTreeMap;

use super::elements::{Elements, Span};
use super::error::GmshError;
use super::kinds;
use super::nodes::Nodes;
use super::scan::Cursor;

type Result<T> = std::result::Result<T, GmshError>;

/// What the sections hold.
pub(super) struct File {
    /// Names of physical groups by dimension and tag.
    pub names: BTreeMap<(usize, u64), String>,
    pub nodes: Nodes,
    pub elements: Elements,
}

/// A run of elements of one entity (version 4.1).
struct Block {
    entity: (usize, i64),
    span: Span,
}

#[derive(Default)]
struct Seen {
    names: bool,
    entities: bool,
    partitioned: bool,
    nodes: bool,
    elements: bool,
}

/// Reads all sections.
pub(super) fn read(data: &[u8]) -> Result<File> {
    let mut file = Cursor::new(data);
    let v4 = read_format(&mut file, data)?;
    let mut names = BTreeMap::new();
    let mut entities = BTreeMap::new();
    let mut nodes = Nodes::default();
    let mut elements = Elements::new();
    let mut blocks = Vec::new();
    let mut seen = Seen::default();
    while let Some((start, name)) = file.section()? {
        let flag = match name.as_str() {
            "PhysicalNames" => &mut seen.names,
            "Entities" if v4 => &mut seen.entities,
            "PartitionedEntities" if v4 => &mut seen.partitioned,
            "Nodes" | "ParametricNodes" => &mut seen.nodes,
            "Elements" => &mut seen.elements,
            "MeshFormat" => &mut true,
            _ => {
                file.skip_section(&name)?;
                continue;
            }
        };
        if std::mem::replace(flag, true) {
            return Err(GmshError::RepeatedSection {
                place: file.place(start),
                section: name,
            });
        }
        match name.as_str() {
            "PhysicalNames" => read_names(&mut file, &mut names)?,
            "Entities" => read_entities(&mut file, &mut entities)?,
            "PartitionedEntities" => read_partitioned_entities(&mut file, &mut entities)?,
            "Nodes" if v4 => read_nodes_v4(&mut file, start, &mut nodes)?,
            "Nodes" | "ParametricNodes" => {
                read_nodes_v2(&mut file, start, name == "ParametricNodes", &mut nodes)?;
            }
            // Only "Elements" is left.
            _ if !seen.nodes => {
                return Err(GmshError::MissingSection {
                    section: "Nodes",
                    late: true,
                });
            }
            _ if v4 => read_elements_v4(&mut file, start, &nodes, &mut elements, &mut blocks)?,
            _ => read_elements_v2(&mut file, start, &nodes, &mut elements)?,
        }
        file.end_section(&name)?;
    }
    if !seen.nodes || !seen.elements {
        let section = if seen.nodes { "Elements" } else { "Nodes" };
        return Err(GmshError::MissingSection {
            section,
            late: false,
        });
    }
    for block in &blocks {
        let dim = block.entity.0;
        for &physical in entities.get(&block.entity).into_iter().flatten() {
            elements.add_to_group((dim, physical), block.span);
        }
    }
    Ok(File {
        names,
        nodes,
        elements,
    })
}

/// Reads `$MeshFormat` (after any `$Comments`); true for version 4.1.
fn read_format(file: &mut Cursor<'_>, data: &[u8]) -> Result<bool> {
    loop {
        match file.section() {
            Ok(Some((_, name))) if name == "MeshFormat" => break,
            Ok(Some((_, name))) if name == "Comments" => file.skip_section(&name)?,
            _ => {
                let start = &data[..data.len().min(16)];
                return Err(GmshError::NotMsh {
                    found: format!("\"{}\"", start.escape_ascii()),
                });
            }
        }
    }
    let at = file.at();
    let line = String::from_utf8_lossy(file.line()).into_owned();
    let mut words = line.split_ascii_whitespace();
    let v4 = match words.next() {
        Some("4.1") => true,
        Some("2.2") => false,
        found => {
            let found = found.unwrap_or("(none)").chars().take(20).collect();
            return Err(GmshError::Version {
                place: file.place(at),
                found,
            });
        }
    };
    let binary = match words.next() {
        Some("0") => false,
        Some("1") => true,
        _ => {
            return Err(
                file.unexpected(at, "version, file type 0 (text) or 1 (binary), data size 8")
            );
        }
    };
    if words.next() != Some("8") {
        return Err(file.unexpected(at, "version, file type and data size 8"));
    }
    file.binary = binary;
    if binary {
        file.detect_byte_order()?;
    }
    file.end_section("MeshFormat")?;
    Ok(v4)
}

fn read_names(file: &mut Cursor<'_>, names: &mut BTreeMap<(usize, u64), String>) -> Result<()> {
    let count = file.text_count("the number of physical names")?;
    for _ in 0..count {
        file.skip_space();
        let start = file.at();
        let dim = file.text_count("the dimension of a physical group")?;
        let tag = file.text_int("the tag of a physical group")?;
        let line = file.line();
        let name = line.strip_prefix(b"\"").and_then(|l| l.strip_suffix(b"\""));
        match (usize::try_from(dim), name) {
            (Ok(dim @ 0..=3), Some(name)) => {
                names.insert(
                    (dim, tag.unsigned_abs()),
                    String::from_utf8_lossy(name).into_owned(),
                );
            }
            _ => {
                return Err(file.unexpected(
                    start,
                    "a dimension from 0 to 3, a tag and a name in double quotes",
                ));
            }
        }
    }
    Ok(())
}

type Entities = BTreeMap<(usize, i64), Vec<u64>>;

/// What follows an entity's tag: its box, its physical groups, its boundary.
fn read_entity(file: &mut Cursor<'_>, dim: usize) -> Result<Vec<u64>> {
    file.skip_floats(
        if dim == 0 { 3 } else { 6 },
        "the bounding box of an entity",
    )?;
    let count = file.size("the number of physical tags of an entity")?;
    let mut physicals = Vec::with_capacity(file.capacity(count, 2));
    for _ in 0..count {
        // The sign says how the entity is oriented in the group.
        physicals.push(file.int("a physical tag")?.unsigned_abs());
    }
    physicals.sort_unstable();
    physicals.dedup();
    if dim > 0 {
        let boundary = file.size("the number of bounding entities")?;
        file.skip_ints(boundary, "the tag of a bounding entity")?;
    }
    Ok(physicals)
}

fn read_counts(file: &mut Cursor<'_>) -> Result<[u64; 4]> {
    let mut counts = [0; 4];
    for n in &mut counts {
        *n = file.size("the number of entities of a dimension")?;
    }
    Ok(counts)
}

fn read_entities(file: &mut Cursor<'_>, entities: &mut Entities) -> Result<()> {
    let counts = read_counts(file)?;
    for (dim, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            let tag = file.int("the tag of an entity")?;
            let physicals = read_entity(file, dim)?;
            entities.insert((dim, tag), physicals);
        }
    }
    Ok(())
}

fn read_partitioned_entities(file: &mut Cursor<'_>, entities: &mut Entities) -> Result<()> {
    file.size("the number of partitions")?;
    let ghosts = file.size("the number of ghost entities")?;
    for _ in 0..ghosts {
        file.skip_ints(2, "a ghost entity and its partition")?;
    }
    let counts = read_counts(file)?;
    for (dim, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            let tag = file.int("the tag of an entity")?;
            file.skip_ints(2, "the parent of an entity")?;
            let partitions = file.size("the number of partitions of an entity")?;
            file.skip_ints(partitions, "the partition of an entity")?;
            let physicals = read_entity(file, dim)?;
            entities.insert((dim, tag), physicals);
        }
    }
    Ok(())
}

fn check_count(
    file: &Cursor<'_>,
    start: usize,
    section: &'static str,
    what: &'static str,
    promised: u64,
    found: usize,
) -> Result<()> {
    if promised == found as u64 {
        return Ok(());
    }
    Err(GmshError::Count {
        place: file.place(start),
        section,
        what,
        promised,
        found: found as u64,
    })
}

fn read_nodes_v4(file: &mut Cursor<'_>, start: usize, nodes: &mut Nodes) -> Result<()> {
    let blocks = file.size("the number of node blocks")?;
    let promised = file.size("the number of nodes")?;
    file.size("the smallest node tag")?;
    file.size("the largest node tag")?;
    let room = file.capacity(promised, 8);
    nodes.points.reserve(room);
    nodes.tags.reserve(room);
    for _ in 0..blocks {
        let at = file.next_at();
        let dim = file.int("the dimension of a block of nodes")?;
        file.int("the entity of a block of nodes")?;
        let parametric = file.int("the parametric flag of a block of nodes")?;
        let count = file.size("the number of nodes in a block")?;
        if !(0..=3).contains(&dim) || !(0..=1).contains(&parametric) {
            return Err(file.unexpected(
                at,
                "a dimension from 0 to 3, an entity tag, a parametric flag 0 or 1, a count",
            ));
        }
        nodes.blocks.push((nodes.tags.len(), at));
        for _ in 0..count {
            nodes.tags.push(file.size("a node tag")?);
        }
        for i in nodes.points.len()..nodes.tags.len() {
            nodes.push(file, nodes.tags[i])?;
            if parametric == 1 {
                file.skip_floats(dim as usize, "a parametric coordinate")?;
            }
        }
    }
    check_count(file, start, "Nodes", "nodes", promised, nodes.points.len())?;
    nodes.index(file)
}

fn read_nodes_v2(
    file: &mut Cursor<'_>,
    start: usize,
    parametric: bool,
    nodes: &mut Nodes,
) -> Result<()> {
    let count = file.text_count("the number of nodes")?;
    start_binary(file, start)?;
    let room = file.capacity(count, 8);
    nodes.points.reserve(room);
    nodes.tags.reserve(room);
    nodes.blocks.push((0, start));
    for _ in 0..count {
        let tag = file.positive_int("a node tag")?;
        nodes.push(file, tag)?;
        nodes.tags.push(tag);
        if parametric {
            let dim = file.int("the dimension of a node's entity")?;
            file.int("the entity of a node")?;
            // Only nodes on curves and surfaces carry parameters.
            if let 1..=2 = dim {
                file.skip_floats(dim as usize, "a parametric coordinate")?;
            }
        }
    }
    nodes.index(file)
}

/// Behind a count in text, binary data starts on the next line.
fn start_binary(file: &mut Cursor<'_>, at: usize) -> Result<()> {
    if file.binary && !file.line().is_empty() {
        return Err(file.unexpected(at, "a line with a count only"));
    }
    Ok(())
}

fn find_type(file: &Cursor<'_>, at: usize, number: i64) -> Result<usize> {
    kinds::find(number).ok_or_else(|| GmshError::UnknownElementType {
        place: file.place(at),
        number,
    })
}

fn read_elements_v4(
    file: &mut Cursor<'_>,
    start: usize,
    nodes: &Nodes,
    elements: &mut Elements,
    blocks: &mut Vec<Block>,
) -> Result<()> {
    let block_count = file.size("the number of element blocks")?;
    let promised = file.size("the number of elements")?;
    file.size("the smallest element tag")?;
    file.size("the largest element tag")?;
    let mut tags = Vec::with_capacity(file.capacity(promised, 4));
    for _ in 0..block_count {
        let at = file.next_at();
        let dim = file.int("the dimension of a block of elements")?;
        let entity = file.int("the entity of a block of elements")?;
        let number = file.int("an element type")?;
        let count = file.size("the number of elements in a block")?;
        let slot = find_type(file, at, number)?;
        let kind = kinds::get(slot);
        if dim != kind.shape.dim() as i64 {
            return Err(GmshError::Unexpected {
                place: file.place(at),
                expected: format!(
                    "dimension {} for elements of type {}",
                    kind.shape.dim(),
                    kind.name
                ),
                found: dim.to_string(),
            });
        }
        elements.start_block(at);
        elements.reserve(
            slot,
            file.capacity(count, if file.binary { 8 } else { 2 } * (1 + kind.nodes)),
        );
        let first = elements.len(slot);
        for _ in 0..count {
            let tag = file.size("an element tag")?;
            elements.push(file, slot, tag, nodes, |f| f.size("a node tag"))?;
            tags.push(tag);
        }
        let span = Span {
            slot,
            start: first,
            end: elements.len(slot),
        };
        blocks.push(Block {
            entity: (kind.shape.dim(), entity),
            span,
        });
    }
    check_count(
        file,
        start,
        "Elements",
        "elements",
        promised,
        elements.count(),
    )?;
    elements.check_tags(file, tags)
}

/// Reads the tags of an element of version 2.2; gives its physical group, 0 for none.
fn read_tags_v2(file: &mut Cursor<'_>, count: i64) -> Result<u64> {
    let mut physical = 0;
    for i in 0..count {
        let tag = file.int("a tag of an element")?;
        if i == 0 {
            physical = tag.unsigned_abs();
        }
    }
    Ok(physical)
}

fn read_elements_v2(
    file: &mut Cursor<'_>,
    start: usize,
    nodes: &Nodes,
    elements: &mut Elements,
) -> Result<()> {
    let count = file.text_count("the number of elements")?;
    start_binary(file, start)?;
    elements.start_block(start);
    let mut tags = Vec::with_capacity(file.capacity(count, 8));
    let mut read = 0;
    while read < count {
        let at = file.next_at();
        // Text: number, type, tag count, then the rest. Binary: type, how many follow, tag count.
        let (number, mut following) = if file.binary {
            (
                file.int("an element type")?,
                file.positive_int("the number of elements that follow")?,
            )
        } else {
            let tag = file.positive_int("an element number")?;
            tags.push(tag);
            (file.int("an element type")?, 1)
        };
        let tag_count = file.int("the number of tags of an element")?;
        if tag_count < 0 {
            return Err(file.unexpected(at, "an element with a number of tags of 0 or more"));
        }
        let slot = find_type(file, at, number)?;
        following = following.min(count - read);
        read += following;
        for _ in 0..following {
            if file.binary {
                tags.push(file.positive_int("an element number")?);
            }
            // Pushed just before in both branches.
            let tag = tags[tags.len() - 1];
            let physical = read_tags_v2(file, tag_count)?;
            elements.push(file, slot, tag, nodes, |f| f.positive_int("a node tag"))?;
            elements.merge_last(slot);
            if physical != 0 {
                let end = elements.len(slot);
                let group = (kinds::get(slot).shape.dim(), physical);
                elements.add_to_group(
                    group,
                    Span {
                        slot,
                        start: end - 1,
                        end,
                    },
                );
            }
        }
    }
    elements.check_tags(file, tags)
}
