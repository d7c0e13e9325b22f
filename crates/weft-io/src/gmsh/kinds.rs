//! The element types of Gmsh, and the node order of those that become cells.
//!
//! Source of the numbers and orders: Gmsh reference manual, "MSH file format" and "Node
//! ordering"; the tests check the orders geometrically.

use weft::element::CellKind;

/// The shape of a Gmsh element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Cell(CellKind),
    Prism,
    Pyramid,
}

impl Shape {
    pub fn dim(self) -> usize {
        match self {
            Shape::Cell(kind) => kind.dim(),
            Shape::Prism | Shape::Pyramid => 3,
        }
    }

    pub fn vertex_count(self) -> usize {
        match self {
            Shape::Cell(kind) => kind.vertex_count(),
            Shape::Prism => 6,
            Shape::Pyramid => 5,
        }
    }
}

/// An element type of Gmsh.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ElementType {
    pub number: u16,
    pub name: &'static str,
    pub shape: Shape,
    pub nodes: usize,
    /// 1 or 2 where cells of this type are read.
    pub degree: Option<usize>,
}

const fn row(
    number: u16,
    name: &'static str,
    shape: Shape,
    nodes: usize,
    degree: usize,
) -> ElementType {
    let degree = if degree == 0 { None } else { Some(degree) };
    ElementType {
        number,
        name,
        shape,
        nodes,
        degree,
    }
}

use CellKind::{Hex, Point, Quad, Segment, Tet, Triangle};
use Shape::{Cell, Prism, Pyramid};

/// Sorted by number. Types whose degree is 0 here are read over.
const TYPES: &[ElementType] = &[
    row(1, "line2", Cell(Segment), 2, 1),
    row(2, "triangle3", Cell(Triangle), 3, 1),
    row(3, "quad4", Cell(Quad), 4, 1),
    row(4, "tet4", Cell(Tet), 4, 1),
    row(5, "hex8", Cell(Hex), 8, 1),
    row(6, "prism6", Prism, 6, 0),
    row(7, "pyramid5", Pyramid, 5, 0),
    row(8, "line3", Cell(Segment), 3, 2),
    row(9, "triangle6", Cell(Triangle), 6, 2),
    row(10, "quad9", Cell(Quad), 9, 2),
    row(11, "tet10", Cell(Tet), 10, 2),
    row(12, "hex27", Cell(Hex), 27, 2),
    row(13, "prism18", Prism, 18, 0),
    row(14, "pyramid14", Pyramid, 14, 0),
    row(15, "point", Cell(Point), 1, 0),
    row(16, "quad8", Cell(Quad), 8, 0),
    row(17, "hex20", Cell(Hex), 20, 0),
    row(18, "prism15", Prism, 15, 0),
    row(19, "pyramid13", Pyramid, 13, 0),
    row(20, "triangle9", Cell(Triangle), 9, 0),
    row(21, "triangle10", Cell(Triangle), 10, 0),
    row(22, "triangle12", Cell(Triangle), 12, 0),
    row(23, "triangle15", Cell(Triangle), 15, 0),
    row(24, "incomplete triangle15", Cell(Triangle), 15, 0),
    row(25, "triangle21", Cell(Triangle), 21, 0),
    row(26, "line4", Cell(Segment), 4, 0),
    row(27, "line5", Cell(Segment), 5, 0),
    row(28, "line6", Cell(Segment), 6, 0),
    row(29, "tet20", Cell(Tet), 20, 0),
    row(30, "tet35", Cell(Tet), 35, 0),
    row(31, "tet56", Cell(Tet), 56, 0),
    row(36, "quad16", Cell(Quad), 16, 0),
    row(37, "quad25", Cell(Quad), 25, 0),
    row(38, "quad36", Cell(Quad), 36, 0),
    row(39, "quad12", Cell(Quad), 12, 0),
    row(92, "hex64", Cell(Hex), 64, 0),
    row(93, "hex125", Cell(Hex), 125, 0),
    row(99, "hex32", Cell(Hex), 32, 0),
];

/// How many types there are.
pub(super) const TYPE_COUNT: usize = TYPES.len();

/// Position in the table of the type with this number.
pub(super) fn find(number: i64) -> Option<usize> {
    let number = u16::try_from(number).ok()?;
    TYPES.binary_search_by_key(&number, |t| t.number).ok()
}

/// The type at a position of the table.
pub(super) fn get(slot: usize) -> &'static ElementType {
    &TYPES[slot]
}

/// For each node in Lagrange numbering of degree 2, its place in Gmsh's order.
pub(super) fn second_order(kind: CellKind) -> &'static [u8] {
    match kind {
        Point => &[0],
        Segment => &[0, 2, 1],
        Triangle => &[0, 1, 2, 3, 4, 5],
        // Lattice (i, j), j fastest; Gmsh: vertices, edges 01 12 23 30, centre.
        Quad => &[0, 7, 3, 4, 8, 6, 1, 5, 2],
        // Gmsh's edges: 01 12 20 03 23 13; Weft's: 01 12 20 03 13 23.
        Tet => &[0, 1, 2, 3, 4, 5, 6, 7, 9, 8],
        // Lattice (i, j, k), k fastest; Gmsh: vertices, edges 01 03 04 12 15 23 26 37 45 47 56 67,
        // faces z=0 y=0 x=0 x=1 y=1 z=1, centre.
        Hex => &[
            0, 10, 4, 9, 22, 17, 3, 15, 7, // x = 0
            8, 21, 16, 20, 26, 25, 13, 24, 19, // x = 1/2
            1, 12, 5, 11, 23, 18, 2, 14, 6, // x = 1
        ],
    }
}
