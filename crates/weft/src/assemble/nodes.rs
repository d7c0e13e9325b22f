//! Where the nodes of a space are on the elements of a measure.

use super::domain;
use super::error::AssembleError;
use crate::element::{Element, ElementFamily};
use crate::form::{DomainKind, Measure};
use crate::geometry::SideMap;
use crate::space::Space;

/// Points closer than this in reference coordinates are one.
const SAME: f64 = 1e-9;

/// A row, such as a node, as an element has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Place of the element in the ascending list of those of the measure.
    pub element: u32,
    /// Number of the point.
    pub point: u32,
}

/// For each node, or other row, its places, ascending.
pub(super) struct NodePlaces {
    /// Reference coordinates in an element.
    pub points: Vec<[f64; 3]>,
    /// Node weights times the reference measure.
    pub weights: Vec<f64>,
    /// Whether all elements have a node at each point.
    pub full: bool,
    offsets: Vec<usize>,
    places: Vec<Place>,
}

impl NodePlaces {
    /// The nodes in the cells, or those on the sides as both neighbours have them.
    pub fn new(space: &Space, measure: &Measure) -> Result<NodePlaces, AssembleError> {
        NodePlaces::of_first(space, measure, space.node_count())
    }

    /// The same, with hanging nodes after those with degrees of freedom.
    pub fn with_hanging(space: &Space, measure: &Measure) -> Result<NodePlaces, AssembleError> {
        NodePlaces::of_first(space, measure, space.all_node_count())
    }

    fn of_first(
        space: &Space,
        measure: &Measure,
        count: usize,
    ) -> Result<NodePlaces, AssembleError> {
        let elements = domain::elements(measure)?;
        let mut numbers: Vec<u32> = elements
            .blocks
            .iter()
            .flat_map(|b| b.element[..b.count as usize].to_vec())
            .collect();
        numbers.sort_unstable();
        let element = space.element();
        let on_sides = measure.kind != DomainKind::Cells;
        let mut points = Vec::new();
        // For each group and side the nodes of the cell with their points.
        let mut seen: Vec<Vec<Vec<(usize, u32)>>> = Vec::new();
        let mut full = true;
        if on_sides {
            for group in &elements.groups {
                let of = |map: &SideMap| on_side(map, element, &mut points);
                seen.push(group.maps.iter().map(of).collect());
            }
            let whole = |nodes: &Vec<_>| !nodes.is_empty() && nodes.len() == points.len();
            full = seen.iter().flatten().all(whole);
        } else {
            points = element.nodes().to_vec();
            seen.push(vec![(0..points.len()).map(|i| (i, i as u32)).collect()]);
        }
        let context = |source| AssembleError::Element {
            context: format!("the weights of the nodes of a {}", element.name()),
            source,
        };
        let weights = match on_sides {
            true => side_weights(element, &points),
            false => {
                let scale = element.kind().reference_measure();
                let all = element.node_weights().map_err(context)?;
                all.into_iter().map(|w| w * scale).collect()
            }
        };
        let mut all: Vec<(u32, Place)> = Vec::new();
        for block in &elements.blocks {
            for (lane, number) in block.element[..block.count as usize].iter().enumerate() {
                // Every element of a block is in the list.
                let place = numbers.binary_search(number).unwrap_or(0) as u32;
                for (side, nodes) in seen[block.group as usize].iter().enumerate() {
                    let of_cell = space.cell_nodes(block.cells(side)[lane] as usize);
                    let here = nodes.iter().map(|&(i, point)| {
                        let element = place;
                        (of_cell[i], Place { element, point })
                    });
                    all.extend(here.filter(|(node, _)| (*node as usize) < count));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        let (offsets, places) = by_row(count, all);
        Ok(NodePlaces {
            points,
            weights,
            full,
            offsets,
            places,
        })
    }

    /// Rows that are points: those of the first element, then of the second.
    pub fn points(elements: usize, points: usize) -> NodePlaces {
        let rows = 0..elements * points;
        let place = |row: usize| Place {
            element: (row / points) as u32,
            point: (row % points) as u32,
        };
        NodePlaces {
            points: Vec::new(),
            weights: Vec::new(),
            full: true,
            offsets: (0..=rows.end).collect(),
            places: rows.map(place).collect(),
        }
    }

    /// Places of a node.
    pub fn of(&self, node: usize) -> &[Place] {
        &self.places[self.offsets[node]..self.offsets[node + 1]]
    }

    pub fn node_count(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// Where the entries of each of `rows` rows start, and these, from entries sorted by row.
pub(super) fn by_row<T>(rows: usize, sorted: Vec<(u32, T)>) -> (Vec<usize>, Vec<T>) {
    let mut offsets = vec![0; rows + 1];
    for (row, _) in &sorted {
        offsets[*row as usize + 1] += 1;
    }
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    (
        offsets,
        sorted.into_iter().map(|(_, entry)| entry).collect(),
    )
}

/// Nodes of the cell on a side, with their points, which are added to the list if they are new.
fn on_side(map: &SideMap, element: &Element, points: &mut Vec<[f64; 3]>) -> Vec<(usize, u32)> {
    let near = |a: &[f64; 3], b: &[f64; 3]| (0..3).all(|d| (a[d] - b[d]).abs() < SAME);
    let mut found = Vec::new();
    for (i, node) in element.nodes().iter().enumerate() {
        let at = map.coordinates(*node);
        if !near(&map.apply(at), node) || !map.holds(*node) {
            continue;
        }
        let known = points.iter().position(|x| near(x, &at));
        let point = known.unwrap_or_else(|| {
            points.push(at);
            points.len() - 1
        });
        found.push((i, point as u32));
    }
    found
}

/// Weights times the reference measure of points on a side: those of the side's own element, or equal
/// ones if it has none.
fn side_weights(element: &Element, points: &[[f64; 3]]) -> Vec<f64> {
    let kind = element.kind().side_kind();
    let own = match element.family() {
        ElementFamily::Lagrange(family) => Element::new_lagrange(kind, element.degree(), family),
        ElementFamily::Serendipity => Element::new_serendipity(kind, element.degree()),
        _ => Element::new_polynomial(kind, 0),
    };
    let scale = kind.reference_measure();
    let equal = scale / points.len().max(1) as f64;
    let Some((nodes, weights)) = own.ok().and_then(|own| {
        let weights = own.node_weights().ok()?;
        Some((own.nodes().to_vec(), weights))
    }) else {
        return vec![equal; points.len()];
    };
    let of = |x: &[f64; 3]| {
        let near = |y: &[f64; 3]| (0..3).all(|d| (x[d] - y[d]).abs() < SAME);
        Some(scale * weights[nodes.iter().position(near)?])
    };
    let all: Option<Vec<f64>> = points.iter().map(of).collect();
    all.unwrap_or_else(|| vec![equal; points.len()])
}
