//! From a measure to blocks of elements.
//!
//! Elements are sorted along a Morton curve, so that neighbours in space are neighbours in
//! memory whatever the mesh generator did, and packed eight to a block. Sides are grouped so
//! that one set of tables serves a whole block: by local side, and on interior sides by how
//! the outer cell sees the side.

use super::error::AssembleError;
use super::lanes::LANES;
use crate::form::{DomainKind, FormError, Measure, Subset};
use crate::geometry::{GeometryMap, SideMap, Topology};
use std::collections::BTreeMap;

/// How the cells of a block see their side: the inner cell, and the outer one of interior
/// sides; nothing for cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GroupKey {
    pub maps: Vec<SideMap>,
}

impl GroupKey {
    /// Numbers that order keys; any order does, as long as it is always the same.
    fn bits(&self) -> Vec<u64> {
        let numbers = self
            .maps
            .iter()
            .flat_map(|m| m.origin.into_iter().chain(m.axes.into_iter().flatten()));
        numbers.map(f64::to_bits).collect()
    }
}

/// Up to eight elements of one group. Unused lanes repeat the last element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub group: u16,
    pub count: u8,
    /// Inner cells (or the cells themselves).
    pub inside: [u32; LANES],
    /// Outer cells; equal to `inside` unless the elements are interior sides.
    pub outside: [u32; LANES],
    /// Numbers of the elements in the geometry: of cells or sides.
    pub element: [u32; LANES],
}

impl Block {
    /// Cells on the inside (0) or the outside (1).
    pub fn cells(&self, side: usize) -> &[u32; LANES] {
        if side == 0 {
            &self.inside
        } else {
            &self.outside
        }
    }
}

pub(crate) struct Elements {
    pub groups: Vec<GroupKey>,
    pub blocks: Vec<Block>,
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let list: Vec<String> = names.map(|n| format!("\"{n}\"")).collect();
    if list.is_empty() {
        "no named groups".to_owned()
    } else {
        list.join(", ")
    }
}

/// Sorted element numbers that a measure selects.
fn select(measure: &Measure, topology: &Topology) -> Result<Vec<u32>, AssembleError> {
    let domain = |m: String| AssembleError::Form(FormError::Domain(m));
    let (what, total) = match measure.kind {
        DomainKind::Cells => ("cell", topology.cell_count()),
        _ => ("side", topology.side_count()),
    };
    let of_kind = |side: u32| match measure.kind {
        DomainKind::Cells => true,
        DomainKind::BoundarySides => topology.is_boundary(side as usize),
        DomainKind::InteriorSides => !topology.is_boundary(side as usize),
    };
    let mut elements: Vec<u32> = match &measure.subset {
        Subset::All => match measure.kind {
            DomainKind::Cells => (0..total as u32).collect(),
            DomainKind::BoundarySides => topology.boundary_sides().to_vec(),
            DomainKind::InteriorSides => (0..total as u32).filter(|&s| of_kind(s)).collect(),
        },
        Subset::Tagged(names) => {
            let tags = measure.geometry.tags();
            let mut all = Vec::new();
            for name in names {
                let (group, known) = match measure.kind {
                    DomainKind::Cells => (tags.cells(name), quoted(tags.cell_names())),
                    _ => (tags.sides(name), quoted(tags.side_names())),
                };
                let Some(group) = group else {
                    let near = match measure.kind {
                        DomainKind::Cells => crate::form::nearest(name, tags.cell_names()),
                        _ => crate::form::nearest(name, tags.side_names()),
                    };
                    let hint = near.map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
                    return Err(domain(format!(
                        "no group of {what}s is called \"{name}\"; the mesh has {known}{hint}"
                    )));
                };
                let before = all.len();
                all.extend(group.iter().copied().filter(|&e| of_kind(e)));
                if all.len() == before && !group.is_empty() {
                    return Err(domain(format!(
                        "the sides called \"{name}\" lie {}; use {} for them",
                        if measure.kind == DomainKind::BoundarySides {
                            "between two cells"
                        } else {
                            "on the boundary"
                        },
                        if measure.kind == DomainKind::BoundarySides {
                            "dS"
                        } else {
                            "ds"
                        },
                    )));
                }
            }
            all.sort_unstable();
            all.dedup();
            all
        }
        Subset::Listed(list) => {
            let mut all = list.to_vec();
            all.sort_unstable();
            if let Some(pair) = all.windows(2).find(|w| w[0] == w[1]) {
                return Err(domain(format!("{what} {} is listed twice", pair[0])));
            }
            all
        }
        Subset::Masked(mask) => {
            if mask.len() != total {
                return Err(domain(format!(
                    "the mask has {} entries; the geometry has {total} {what}s",
                    mask.len()
                )));
            }
            (0..total as u32).filter(|&e| mask[e as usize]).collect()
        }
    };
    if let Some(&bad) = elements.iter().find(|&&e| e as usize >= total) {
        return Err(domain(format!(
            "{what} {bad} does not exist; the geometry has {total} {what}s"
        )));
    }
    if let (Subset::Listed(_) | Subset::Masked(_), Some(bad)) =
        (&measure.subset, elements.iter().find(|&&e| !of_kind(e)))
    {
        return Err(domain(format!(
            "side {bad} is {} the boundary, where this measure does not go",
            if measure.kind == DomainKind::InteriorSides {
                "on"
            } else {
                "not on"
            }
        )));
    }
    elements.shrink_to_fit();
    Ok(elements)
}

/// Spread the low 21 bits of `v` to every third bit.
fn spread(v: u64) -> u64 {
    let mut x = v & 0x1f_ffff;
    x = (x | x << 32) & 0x1f00000000ffff;
    x = (x | x << 16) & 0x1f0000ff0000ff;
    x = (x | x << 8) & 0x100f00f00f00f00f;
    x = (x | x << 4) & 0x10c30c30c30c30c3;
    (x | x << 2) & 0x1249249249249249
}

/// Morton codes of the cells' centres in the bounding box of the geometry.
fn morton(map: &GeometryMap, cells: usize) -> Vec<u64> {
    let n = map.cell_nodes.len() / cells.max(1);
    let mut low = [f64::INFINITY; 3];
    let mut high = [f64::NEG_INFINITY; 3];
    for x in &map.nodes {
        for d in 0..3 {
            low[d] = low[d].min(x[d]);
            high[d] = high[d].max(x[d]);
        }
    }
    let scale: [f64; 3] = std::array::from_fn(|d| {
        let extent = high[d] - low[d];
        if extent > 0.0 {
            (1u64 << 21) as f64 / extent
        } else {
            0.0
        }
    });
    map.cell_nodes
        .chunks_exact(n.max(1))
        .map(|nodes| {
            let mut code = 0;
            for d in 0..3 {
                let sum: f64 = nodes
                    .iter()
                    .map(|&v| map.nodes[v as usize][d] - low[d])
                    .sum();
                let at = (sum / n as f64 * scale[d]) as u64;
                code |= spread(at.min((1 << 21) - 1)) << d;
            }
            code
        })
        .collect()
}

/// Resolve a measure into groups and blocks.
pub(crate) fn elements(measure: &Measure) -> Result<Elements, AssembleError> {
    let topology = measure.geometry.topology();
    let selected = select(measure, &topology)?;
    let codes = morton(&measure.geometry.map(), topology.cell_count());

    // (group, code, element) sorts into blocks.
    let plain = measure.kind == DomainKind::Cells;
    let mut keys: BTreeMap<Vec<u64>, (u16, GroupKey)> = BTreeMap::new();
    let mut order: Vec<(u16, u64, u32)> = Vec::with_capacity(selected.len());
    if plain {
        keys.insert(Vec::new(), (0, GroupKey::default()));
        order.extend(selected.iter().map(|&c| (0, codes[c as usize], c)));
    } else {
        let seen = if measure.kind == DomainKind::InteriorSides {
            2
        } else {
            1
        };
        let mut keyed = Vec::with_capacity(selected.len());
        for &side in &selected {
            let maps = measure.geometry.side_maps(&topology, side as usize);
            let key = GroupKey {
                maps: maps[..seen].to_vec(),
            };
            let bits = key.bits();
            keys.entry(bits.clone()).or_insert((0, key));
            keyed.push((bits, side));
        }
        if keys.len() > u16::MAX as usize {
            return Err(AssembleError::Form(FormError::Domain(format!(
                "the sides are seen in {} different ways; at most {} are supported",
                keys.len(),
                u16::MAX
            ))));
        }
        for (number, (group, _)) in keys.values_mut().enumerate() {
            *group = number as u16;
        }
        order.extend(keyed.iter().map(|(bits, side)| {
            let cell = topology.side_cells(*side as usize)[0];
            (keys[bits].0, codes[cell as usize], *side)
        }));
    }
    order.sort_unstable();

    let mut blocks = Vec::with_capacity(order.len().div_ceil(LANES));
    for run in order.chunk_by(|a, b| a.0 == b.0) {
        for part in run.chunks(LANES) {
            let pick = |lane: usize| part[lane.min(part.len() - 1)].2;
            let cells = |side: usize| -> [u32; LANES] {
                std::array::from_fn(|lane| {
                    let element = pick(lane);
                    if plain {
                        element
                    } else {
                        topology.side_cells(element as usize)[side]
                    }
                })
            };
            blocks.push(Block {
                group: part[0].0,
                count: part.len() as u8,
                inside: cells(0),
                outside: cells(1),
                element: std::array::from_fn(pick),
            });
        }
    }
    Ok(Elements {
        groups: keys.into_values().map(|(_, key)| key).collect(),
        blocks,
    })
}
