//! What can be wrong with a geometry: errors that stop it, and warnings that do not.

use crate::element::CellKind;

/// Why a geometry was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GeometryError {
    /// An adaptive grid was refused.
    #[error(transparent)]
    Adaptive(#[from] super::adaptive::AdaptiveError),
    /// Points cannot be cells.
    #[error("cells of kind '{}' are not supported; use segment, triangle, quad, tet or hex", kind.name())]
    UnsupportedKind {
        /// The kind asked for.
        kind: CellKind,
    },
    /// The space has too few or too many dimensions.
    #[error("a mesh of {}s needs a space dimension from {} to 3, not {space_dim}", kind.name(), kind.dim())]
    SpaceDim {
        /// Kind of the cells.
        kind: CellKind,
        /// The space dimension asked for.
        space_dim: usize,
    },
    /// A flat index array does not divide into cells.
    #[error("{length} cell indices do not divide into {}s of {per_cell} indices each", kind.name())]
    Length {
        /// Kind of the cells.
        kind: CellKind,
        /// Length of the array.
        length: usize,
        /// Indices per cell.
        per_cell: usize,
    },
    /// A mesh without cells.
    #[error("the mesh has no cells; at least one is needed")]
    NoCells,
    /// A cell names a vertex or node that does not exist.
    #[error("cell {cell} has index {index} at local position {local}; accepted are {}", range(*limit))]
    IndexOutOfRange {
        /// The cell.
        cell: usize,
        /// Position in the cell.
        local: usize,
        /// The index found there.
        index: u32,
        /// Number of vertices or nodes.
        limit: usize,
    },
    /// A cell names one vertex twice.
    #[error(
        "cell {cell} has vertex {vertex} twice, at local positions {} and {}; its vertices must be distinct",
        locals[0],
        locals[1]
    )]
    RepeatedVertex {
        /// The cell.
        cell: usize,
        /// The vertex.
        vertex: u32,
        /// Where it is found in the cell.
        locals: [usize; 2],
    },
    /// A coordinate that is not a usable number.
    #[error(
        "point {point} is at ({}, {}, {}); coordinates must be finite and at most 1e100 in size",
        position[0],
        position[1],
        position[2]
    )]
    BadCoordinate {
        /// Index of the point in the array of vertices (or nodes).
        point: usize,
        /// The position.
        position: [f64; 3],
    },
    /// A coordinate past the space dimension is not 0.
    #[error(
        "point {point} is at ({}, {}, {}), outside the space of dimension {space_dim}; coordinates past it must be 0",
        position[0],
        position[1],
        position[2]
    )]
    OutsideSpace {
        /// Index of the point in the array of vertices (or nodes).
        point: usize,
        /// The position.
        position: [f64; 3],
        /// The space dimension.
        space_dim: usize,
    },
    /// More entities than 32-bit indices can number.
    #[error("{count} {what} are too many; at most {limit} can be numbered")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: u128,
        /// How many are accepted.
        limit: u128,
    },
    /// New positions for a mesh with another number of points.
    #[error("{found} positions for a mesh of {expected} points; one position per point is needed")]
    PointCount {
        /// Points of the mesh.
        expected: usize,
        /// Positions given.
        found: usize,
    },
    /// The cell's map has a negative Jacobian everywhere.
    #[error(
        "cell {cell} is inverted: its volume is {volume:e}; reverse its vertices, or let Mesh::reoriented do it"
    )]
    InvertedCell {
        /// The cell.
        cell: usize,
        /// Signed measure: the mean Jacobian at the nodes times the reference measure.
        volume: f64,
    },
    /// The cell has no measure (up to rounding, relative to its size).
    #[error("cell {cell} is degenerate: its measure is {measure:e}, zero up to rounding")]
    DegenerateCell {
        /// The cell.
        cell: usize,
        /// Its measure.
        measure: f64,
    },
    /// The Jacobian is positive at some nodes of the cell and not at others.
    #[error(
        "cell {cell} is folded: the Jacobian of its map is {jacobian:e} at local node {node} and positive elsewhere"
    )]
    FoldedCell {
        /// The cell.
        cell: usize,
        /// Local node, in Lagrange numbering.
        node: usize,
        /// The Jacobian there.
        jacobian: f64,
    },
    /// More than two cells share a side.
    #[error(
        "side {} belongs to {} cells: {}; at most two may share a side",
        list(vertices),
        cells.len(),
        list(cells)
    )]
    NonManifoldSide {
        /// Vertices of the side.
        vertices: Vec<u32>,
        /// The cells.
        cells: Vec<u32>,
    },
    /// Two hexes have a face with the same vertices in different cyclic order.
    #[error(
        "cells {} and {} share the vertices {} but not the order of the quad; one of them is twisted",
        cells[0],
        cells[1],
        list(vertices)
    )]
    TwistedSide {
        /// Vertices in the first cell's order.
        vertices: Vec<u32>,
        /// The two cells.
        cells: [u32; 2],
    },
    /// Two curved cells share a side's vertices but not its other nodes.
    #[error(
        "cells {} and {} share the side {} but not all geometry nodes on it",
        cells[0],
        cells[1],
        list(vertices)
    )]
    SideNodes {
        /// Vertices of the side.
        vertices: Vec<u32>,
        /// The two cells.
        cells: [u32; 2],
    },
    /// Degree of a curved mesh out of range.
    #[error("geometry of degree {degree} is not supported; accepted are 1 to {max}")]
    Degree {
        /// The degree asked for.
        degree: usize,
        /// The largest accepted.
        max: usize,
    },
    /// A tag lists an entity that does not exist.
    #[error("tag '{tag}' lists {entity} {index}; accepted are {}", range(*limit))]
    TagIndex {
        /// "cell", "side" or "vertex".
        entity: &'static str,
        /// The tag.
        tag: String,
        /// The index listed.
        index: u32,
        /// Number of such entities.
        limit: usize,
    },
    /// A tag without a name.
    #[error("a {entity} tag has an empty name")]
    TagName {
        /// "cell", "side" or "vertex".
        entity: &'static str,
    },
    /// A condition that was to select entities for a tag selected none.
    #[error("no {entity} was selected for tag '{tag}'")]
    EmptyTag {
        /// "cell", "boundary side" or "vertex".
        entity: &'static str,
        /// The tag.
        tag: String,
    },
    /// No tag of that name.
    #[error("no {entity} tag is named '{tag}'; there are: {}", names(known))]
    UnknownTag {
        /// "cell", "side" or "vertex".
        entity: &'static str,
        /// The name asked for.
        tag: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A count (of cells along an axis, of rings) that must be at least 1.
    #[error("{what} must be at least 1, not 0")]
    ZeroCount {
        /// What is counted.
        what: &'static str,
    },
    /// Bounds that leave no room for the cells.
    #[error(
        "bounds {lower} to {upper} along axis {axis} leave no room for {cells} cells; the lower must be smaller, both finite and at most 1e100 in size"
    )]
    Bounds {
        /// The axis: 0, 1 or 2.
        axis: usize,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
        /// Cells along the axis.
        cells: usize,
    },
    /// A scale factor of 0 or not finite.
    #[error("scale factor {factor} along axis {axis}; it must be finite and not 0")]
    ScaleFactor {
        /// The axis: 0, 1 or 2.
        axis: usize,
        /// The factor.
        factor: f64,
    },
    /// An operation defined only in a plane.
    #[error("a mesh in a space of dimension {space_dim} cannot be lifted; it must be 2")]
    NotPlanar {
        /// The space dimension.
        space_dim: usize,
    },
    /// A curved mesh asked to have a map of lower degree.
    #[error("a mesh of degree {present} cannot have its degree lowered to {degree}")]
    LowerDegree {
        /// The degree asked for.
        degree: usize,
        /// The degree of the mesh.
        present: usize,
    },
    /// A voxel grid without cells.
    #[error("a voxel grid needs at least one active cell; {found}")]
    NoActiveCell {
        /// What was given instead.
        found: String,
    },
    /// A map that cannot place voxels.
    #[error("the map of a voxel grid was refused: {reason}")]
    VoxelMap {
        /// Why.
        reason: String,
    },
    /// A voxel too far from the lattice's origin.
    #[error(
        "{what} {index} is in the voxel at ({}, {}, {}); coordinates must be from {} to {}",
        voxel[0],
        voxel[1],
        voxel[2],
        -limit,
        limit - 1
    )]
    VoxelRange {
        /// "coordinates", "point" or "cell".
        what: &'static str,
        /// Its number in what was given.
        index: usize,
        /// The lattice coordinates, rounded down.
        voxel: [f64; 3],
        /// Size of the largest coordinates.
        limit: i32,
    },
    /// A rebuild would have passed the capacity that was set.
    #[error("the voxel grid would have {needed} {what}; its capacity is {capacity}")]
    VoxelCapacity {
        /// "cells" or "leaves".
        what: &'static str,
        /// How many there would be.
        needed: u64,
        /// How many may be.
        capacity: u64,
    },
    /// An array with an entry for each of something, of the wrong length.
    #[error("{what} has {found} entries; it needs one for each of the {expected} {of}")]
    EntryCount {
        /// The array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What there is one entry for.
        of: &'static str,
        /// How many of them there are.
        expected: usize,
    },
    /// Voxel grids that lie differently in space.
    #[error("only voxel grids with equal maps can be merged")]
    DifferentVoxelMaps,
    /// Voxel grids with different numbers of environments.
    #[error(
        "grids of {} and {} environments cannot be merged; the numbers must be equal",
        counts[0], counts[1]
    )]
    EnvironmentCounts {
        /// Number of environments of both.
        counts: [usize; 2],
    },
    /// A position among several environments that overlap in space.
    #[error("the grid has {count} environments in one place; say which one is meant")]
    NeedsEnvironment {
        /// Number of environments.
        count: usize,
    },
    /// Environments too close together or too far apart.
    #[error("{guard} vacant layers between environments; accepted are 1 to 1048576")]
    EnvironmentGuard {
        /// The number of layers asked for.
        guard: i32,
    },
    /// Offsets of environments that bring two of them too close together.
    #[error(
        "environments {} and {} would lie at voxels {:?} to {:?} and {:?} to {:?}; between them \
         must be at least {guard} vacant layers along some axis: move their offsets apart",
        environments[0], environments[1],
        voxels[0][0], voxels[0][1], voxels[1][0], voxels[1][1]
    )]
    EnvironmentOverlap {
        /// The environments.
        environments: [usize; 2],
        /// Lowest and highest voxel of the boxes around both, with their offsets.
        voxels: [[[i32; 3]; 2]; 2],
        /// Vacant layers that must be between.
        guard: i32,
    },
    /// An environment that does not exist.
    #[error("environment {environment} does not exist; accepted are {}", range(*count))]
    EnvironmentIndex {
        /// The environment named.
        environment: usize,
        /// Number of environments.
        count: usize,
    },
}

/// Something odd about a mesh that is allowed, and more often a mistake than not.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MeshWarning {
    /// Vertices (nodes in a curved mesh) that no cell uses.
    UnusedPoints {
        /// The points, ascending.
        points: Vec<u32>,
    },
    /// Vertices at one position (up to 1e-12 of the mesh's size).
    DuplicateVertices {
        /// Pairs of vertices; the first is the smallest vertex at that position.
        pairs: Vec<[u32; 2]>,
    },
    /// Cells with the same vertices.
    DuplicateCells {
        /// Pairs of cells, the smaller first.
        pairs: Vec<[u32; 2]>,
    },
    /// Cells on the same side of the side they share: in a surface their orientations disagree,
    /// in a body they overlap.
    OrientationMismatch {
        /// The sides, ascending.
        sides: Vec<u32>,
    },
    /// Parts without a common vertex.
    Disconnected {
        /// The smallest cell of each part.
        first_cells: Vec<u32>,
    },
}

impl std::fmt::Display for MeshWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MeshWarning::UnusedPoints { points } => {
                write!(
                    f,
                    "{} points belong to no cell: {}",
                    points.len(),
                    list(points)
                )
            }
            MeshWarning::DuplicateVertices { pairs } => write!(
                f,
                "{} vertices lie where another vertex lies: {}",
                pairs.len(),
                pair_list(pairs)
            ),
            MeshWarning::DuplicateCells { pairs } => write!(
                f,
                "{} cells have the same vertices as another cell: {}",
                pairs.len(),
                pair_list(pairs)
            ),
            MeshWarning::OrientationMismatch { sides } => write!(
                f,
                "at {} sides the two cells overlap or disagree about orientation: {}",
                sides.len(),
                list(sides)
            ),
            MeshWarning::Disconnected { first_cells } => write!(
                f,
                "the mesh has {} parts without a common vertex, beginning at cells {}",
                first_cells.len(),
                list(first_cells)
            ),
        }
    }
}

const SHOWN: usize = 8;

fn join(shown: impl Iterator<Item = String>, total: usize) -> String {
    let mut text = shown.take(SHOWN).collect::<Vec<_>>().join(", ");
    if total > SHOWN {
        text += &format!(", … ({} more)", total - SHOWN);
    }
    text
}

fn list(items: &[u32]) -> String {
    format!("({})", join(items.iter().map(u32::to_string), items.len()))
}

fn pair_list(pairs: &[[u32; 2]]) -> String {
    join(
        pairs.iter().map(|[a, b]| format!("{a} and {b}")),
        pairs.len(),
    )
}

fn names(known: &[String]) -> String {
    if known.is_empty() {
        return "none".to_string();
    }
    join(known.iter().map(|n| format!("'{n}'")), known.len())
}

fn range(limit: usize) -> String {
    match limit {
        0 => "none: there are no such entities".to_string(),
        _ => format!("0 to {}", limit - 1),
    }
}
