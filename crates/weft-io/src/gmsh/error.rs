//! What can be wrong with a Gmsh file, and where.

use std::fmt;
use std::path::PathBuf;

use weft::element::CellKind;

/// A position in a mesh file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line number, from 1 (text files).
    Line(usize),
    /// Byte offset, from 0 (binary files).
    Byte(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "line {n}"),
            Place::Byte(n) => write!(f, "byte {n}"),
        }
    }
}

/// Why a Gmsh file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GmshError {
    /// The file could not be opened or read.
    #[error("cannot read the file: {0}")]
    Io(#[from] std::io::Error),
    /// Any other error, with the file's name.
    #[error("{}: {source}", path.display())]
    InFile {
        /// The file as the caller named it.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<GmshError>,
    },
    /// The file does not start as an MSH file does.
    #[error("not a Gmsh MSH file: it starts with {found}, not with \"$MeshFormat\"")]
    NotMsh {
        /// The first bytes.
        found: String,
    },
    /// A version that is not read.
    #[error("{place}: MSH version {found} is not read; save the mesh as version 2.2 or 4.1")]
    Version {
        /// Where the version stands.
        place: Place,
        /// The version as written.
        found: String,
    },
    /// The file ends too early.
    #[error("{place}: the file ends where {expected} should be")]
    Truncated {
        /// The end of the file.
        place: Place,
        /// What is missing.
        expected: String,
    },
    /// Something else stands where a certain item must be.
    #[error("{place}: expected {expected}, found {found}")]
    Unexpected {
        /// Where it stands.
        place: Place,
        /// What is accepted there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A count disagrees with what is there.
    #[error(
        "{place}: the header of ${section} promises {promised} {what}, its blocks hold {found}"
    )]
    Count {
        /// Start of the section.
        place: Place,
        /// Section name without the dollar sign.
        section: &'static str,
        /// `"nodes"` or `"elements"`.
        what: &'static str,
        /// The count in the header.
        promised: u64,
        /// The count in the blocks.
        found: u64,
    },
    /// A section occurs twice.
    #[error("{place}: a second ${section} section; one is accepted")]
    RepeatedSection {
        /// Where the second one starts.
        place: Place,
        /// Section name without the dollar sign.
        section: String,
    },
    /// A section is not there, or comes too late.
    #[error("there is no ${section} section{}", if *.late { " before $Elements" } else { "" })]
    MissingSection {
        /// Section name without the dollar sign.
        section: &'static str,
        /// It is needed before `$Elements`.
        late: bool,
    },
    /// Two nodes with one tag.
    #[error("{place}: node tag {tag} is given twice")]
    DuplicateNode {
        /// Start of the block of nodes with the second one.
        place: Place,
        /// The tag.
        tag: u64,
    },
    /// Two elements with one tag.
    #[error("{place}: element tag {tag} is given twice")]
    DuplicateElement {
        /// Start of the block of elements with the second one.
        place: Place,
        /// The tag.
        tag: u64,
    },
    /// An element has a node that the file does not have.
    #[error("{place}: element {element} refers to node {node}, which is not in $Nodes")]
    UnknownNode {
        /// Where the reference stands.
        place: Place,
        /// Tag of the element.
        element: u64,
        /// The missing node tag.
        node: u64,
    },
    /// A coordinate that is not a finite number.
    #[error("{place}: node {node} has the coordinate {value}; coordinates must be finite")]
    NotFinite {
        /// Where the coordinate stands.
        place: Place,
        /// Tag of the node.
        node: u64,
        /// The coordinate.
        value: f64,
    },
    /// An element type whose size is unknown, so that the rest can't be read either.
    #[error(
        "{place}: element type {number} is not known, so the elements after it cannot be read; accepted are types 1 to 31 of Gmsh and a few of higher order"
    )]
    UnknownElementType {
        /// Where the type stands.
        place: Place,
        /// The number.
        number: i64,
    },
    /// The mesh is made of cells that Weft does not have.
    #[error(
        "the cells are of type {name} ({count} of them, the first is element {element}), which is not \
         supported; accepted are line2 line3 triangle3 triangle6 quad4 quad9 tet4 tet10 hex8 hex27"
    )]
    UnsupportedCells {
        /// Name of the element type.
        name: &'static str,
        /// How many.
        count: usize,
        /// Tag of the first one.
        element: u64,
    },
    /// Cells of several kinds or orders.
    #[error("the mesh mixes cells of several kinds: {counts}; one kind is accepted")]
    MixedCells {
        /// For example `"12 triangle3, 5 quad4"`.
        counts: String,
    },
    /// No element of dimension 1, 2 or 3.
    #[error(
        "the file has no cells (elements of dimension 1, 2 or 3); was the mesh generated before it was saved, and are the cells in a physical group?"
    )]
    NoCells,
    /// More nodes or elements than 32-bit indices can number.
    #[error("{place}: more than {} {what} are not supported", u32::MAX)]
    TooMany {
        /// Where the limit was passed.
        place: Place,
        /// `"nodes"` or `"elements"`.
        what: &'static str,
    },
    /// An element of a tagged side has the wrong shape.
    #[error("group \"{group}\": element {element} is a {found}, but the sides of a {kind} mesh are {expected}s", kind = .kind.name(), expected = .kind.side_kind().name())]
    SideKind {
        /// Physical group.
        group: String,
        /// Tag of the element.
        element: u64,
        /// Name of its type.
        found: &'static str,
        /// Kind of the cells.
        kind: CellKind,
    },
    /// A tagged side that belongs to no cell.
    #[error("group \"{group}\": element {element} is not a side of any cell")]
    DetachedSide {
        /// Physical group.
        group: String,
        /// Tag of the element.
        element: u64,
    },
    /// The cells and points do not make a mesh. Cells are numbered from 0 in file order, points
    /// as in [`RawMesh`](super::RawMesh).
    #[error("not a valid mesh: {0}")]
    Geometry(#[from] weft::geometry::GeometryError),
}
