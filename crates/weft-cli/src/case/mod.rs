//! A case file, typed: what to solve, on what, how, and what to report.
//!
//! Main type: [`Case`]. Invariant: names that refer to something else in the file (the unknown, a
//! condition's field) exist there, files exist, and numbers are in range. Tags and formulas are
//! kept as text with their place; they are checked against the mesh by [`crate::run`].

mod check;
pub(crate) mod convert;
pub(crate) mod mesh;
mod problem;
pub(crate) mod read;
pub(crate) mod results;

use crate::args::Setting;
use crate::diagnose::{Diagnostic, Diagnostics, Located, Place, Text};
use crate::document::Document;
use std::path::{Path, PathBuf};

pub use check::RESERVED;

/// Everything a case file says.
#[derive(Clone, Debug)]
pub struct Case {
    /// Path of the file.
    pub path: PathBuf,
    /// Name of the file without its ending; names the folder of the results.
    pub name: String,
    /// A line that says what the case is.
    pub title: Option<String>,
    /// `[mesh]`.
    pub mesh: Mesh,
    /// `[spaces.NAME]`, at least one, in the order of the file.
    pub spaces: Vec<Space>,
    /// `[parameters]`, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// `[problem]`.
    pub problem: Problem,
    /// `[[dirichlet]]`; where they overlap they must agree.
    pub dirichlet: Vec<Dirichlet>,
    /// `[solver]`.
    pub solver: Solver,
    /// `[[report]]`; names differ.
    pub reports: Vec<Report>,
    /// `[output]`.
    pub output: Output,
}

impl Case {
    /// Reads a case file and applies the settings of the command line.
    ///
    /// # Errors
    /// All faults found, each with its place.
    pub fn read(path: &Path, settings: &[Setting]) -> Result<Case, Diagnostics> {
        let text = crate::scene::text_of(path)?;
        Case::parse(path, &text, settings)
    }

    /// [`Case::read`] for text at hand; `path` names it, and files are relative to its folder.
    ///
    /// # Errors
    /// As [`Case::read`].
    pub fn parse(path: &Path, text: &str, settings: &[Setting]) -> Result<Case, Diagnostics> {
        let mut document = Document::parse(&path.display().to_string(), text)?;
        for setting in settings {
            document.set(setting)?;
        }
        read::case(path, &document)
    }

    /// The space of the unknown.
    pub fn unknown(&self) -> &Space {
        let name = &self.problem.unknown.value;
        self.spaces
            .iter()
            .find(|space| space.name.value == *name)
            // Proven: checked when the case was read.
            .expect("the unknown is a space")
    }
}

/// `[mesh]`: where cells come from.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// File or built-in shape.
    pub source: MeshSource,
    /// How far inner vertices are moved, as a part of the cell size, from 0 up to 0.5: for testing.
    pub distort: f64,
}

/// A mesh file, or a built-in shape.
#[derive(Clone, Debug)]
pub enum MeshSource {
    /// An existing file, with the place of its name.
    File(Located<PathBuf>),
    /// A shape of [`weft::geometry`].
    Shape(Shape),
}

/// A built-in shape with its size.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Which.
    pub kind: ShapeKind,
    /// Cells along each axis; rings of a disk; refinements of a sphere.
    pub cells: Vec<usize>,
    /// Lower corner, as many numbers as `cells`; unused by disk and sphere.
    pub lower: Vec<f64>,
    /// Upper corner, in each direction above the lower.
    pub upper: Vec<f64>,
    /// Where it is written.
    pub at: Place,
}

/// The built-in shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeKind {
    /// An interval.
    Segments,
    /// A rectangle of triangles.
    RectangleTriangles,
    /// A rectangle of quads.
    RectangleQuads,
    /// A box of tets.
    BoxTets,
    /// A box of hexes.
    BoxHexes,
    /// The unit disk in triangles.
    Disk,
    /// The unit sphere's surface in triangles.
    Sphere,
    /// A uniform grid in the plane.
    Grid2,
    /// A uniform grid in space.
    Grid3,
}

impl ShapeKind {
    /// Names in case files.
    pub const NAMES: &[(&str, ShapeKind)] = &[
        ("segments", ShapeKind::Segments),
        ("rectangle_triangles", ShapeKind::RectangleTriangles),
        ("rectangle_quads", ShapeKind::RectangleQuads),
        ("box_tets", ShapeKind::BoxTets),
        ("box_hexes", ShapeKind::BoxHexes),
        ("disk", ShapeKind::Disk),
        ("sphere", ShapeKind::Sphere),
        ("grid2", ShapeKind::Grid2),
        ("grid3", ShapeKind::Grid3),
    ];

    /// Dimension of space.
    pub fn space_dim(self) -> usize {
        match self {
            ShapeKind::Segments => 1,
            ShapeKind::RectangleTriangles
            | ShapeKind::RectangleQuads
            | ShapeKind::Disk
            | ShapeKind::Grid2 => 2,
            ShapeKind::BoxTets | ShapeKind::BoxHexes | ShapeKind::Sphere | ShapeKind::Grid3 => 3,
        }
    }

    /// Whether it has a number of cells for each axis, and corners.
    pub fn is_box(self) -> bool {
        !matches!(self, ShapeKind::Disk | ShapeKind::Sphere)
    }
}

/// `[spaces.NAME]`.
#[derive(Clone, Debug)]
pub struct Space {
    /// Its name, which is also that of its field in formulas.
    pub name: Text,
    /// Polynomial degree, 0 (discontinuous only) to 6.
    pub degree: usize,
    /// Shape of a value.
    pub value: ValueShape,
    /// Continuous across sides.
    pub continuous: bool,
    /// Where nodes are.
    pub nodes: Nodes,
}

/// The shape of a field's value; no size means the dimension of space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueShape {
    /// A number.
    Scalar,
    /// A vector.
    Vector(Option<usize>),
    /// A square matrix.
    Matrix(Option<usize>),
    /// A symmetric matrix.
    Symmetric(Option<usize>),
}

/// Families of Lagrange nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Gauss–Lobatto points.
    Lobatto,
    /// Equal distances.
    Equispaced,
}

/// A number, a formula as text, or a list of either (a vector; a list of lists is a matrix).
#[derive(Clone, Debug)]
pub enum Formula {
    /// A number.
    Number(Located<f64>),
    /// Text of the form language.
    Text(Text),
    /// Components.
    List(Located<Vec<Formula>>),
}

impl Formula {
    /// Where it is written.
    pub fn at(&self) -> &Place {
        match self {
            Formula::Number(number) => &number.at,
            Formula::Text(text) => &text.at,
            Formula::List(list) => &list.at,
        }
    }

    /// The same in the form language.
    pub fn to_text(&self) -> String {
        match self {
            Formula::Number(number) => format!("{:?}", number.value),
            Formula::Text(text) => text.value.clone(),
            Formula::List(list) => {
                let parts = list.value.iter().map(|part| match part {
                    Formula::Text(text) => format!("({})", text.value),
                    other => other.to_text(),
                });
                format!("[{}]", parts.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Where the bytes `range` of [`Formula::to_text`] are written; for a list, all of it.
    pub fn part(&self, range: std::ops::Range<usize>) -> Place {
        match self {
            Formula::Text(text) => text.part(range),
            _ => self.at().clone(),
        }
    }
}

/// A named value in formulas.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Text,
    /// Its value.
    pub value: ParameterValue,
}

/// One value everywhere, or one for each group of cells.
#[derive(Clone, Debug)]
pub enum ParameterValue {
    /// The same everywhere; text may use other parameters.
    Constant(Formula),
    /// Constant on each group of cells.
    ByTag {
        /// Value of cells in none of the groups; without it each cell must be in one.
        default: Option<Formula>,
        /// Name of a cell group and its value.
        tags: Vec<(Text, Formula)>,
    },
}

/// `[problem]`.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Name of the space that is solved for. The test function is `v`.
    pub unknown: Text,
    /// What to solve.
    pub form: Form,
    /// Degree that quadrature is exact to, instead of the estimated one.
    pub quadrature_degree: Option<usize>,
}

/// The weak form.
#[derive(Clone, Debug)]
pub enum Form {
    /// a(u, v) = L(v) for all v.
    Linear {
        /// Bilinear form.
        a: Text,
        /// Linear form; nothing if it was given as 0.
        load: Option<Text>,
    },
    /// F(u; v) = 0 for all v, solved by Newton's method.
    Residual(Text),
}

/// `[[dirichlet]]`: prescribed values.
#[derive(Clone, Debug)]
pub struct Dirichlet {
    /// Names of groups of sides, at least one.
    pub on: Vec<Text>,
    /// Name of the space.
    pub field: Text,
    /// What part of the value is prescribed.
    pub constraint: Constraint,
    /// The value.
    pub value: Formula,
    /// Where the condition is written.
    pub at: Place,
}

/// What part of a value is prescribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// All of it.
    Whole,
    /// One component, from 0.
    Component(usize),
    /// The component along the boundary's normal.
    Normal,
}

/// `[solver]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Solver {
    /// Linear solver.
    pub method: Method,
    /// Preconditioner of iterative methods.
    pub preconditioner: Preconditioner,
    /// Relative residual at which an iterative method stops.
    pub tolerance: f64,
    /// Most iterations of an iterative method.
    pub max_iterations: usize,
    /// Iterations between restarts of GMRES.
    pub restart: usize,
    /// Newton's method.
    pub newton: Newton,
}

/// Linear solvers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Sparse factorisation.
    Direct,
    /// Conjugate gradients.
    Cg,
    /// Minimal residual, for symmetric indefinite matrices.
    Minres,
    /// Stabilised bi-conjugate gradients.
    Bicgstab,
    /// Generalised minimal residual.
    Gmres,
}

/// Preconditioners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preconditioner {
    /// None.
    None,
    /// Diagonal.
    Jacobi,
    /// Diagonal blocks.
    BlockJacobi,
}

/// `[solver.newton]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Newton {
    /// Residual relative to the first at which it stops.
    pub tolerance: f64,
    /// Most iterations.
    pub max_iterations: usize,
}

/// `[[report]]`: a number of the solution.
#[derive(Clone, Debug)]
pub struct Report {
    /// Name in the results.
    pub name: Text,
    /// What it is.
    pub kind: ReportKind,
}

/// What a report computes.
#[derive(Clone, Debug)]
pub enum ReportKind {
    /// A form without test function, such as `1*ds('load')`.
    Integral(Text),
    /// Largest value at a vertex.
    Max(Formula),
    /// Smallest value at a vertex.
    Min(Formula),
    /// Value at a point of space.
    Point {
        /// The point.
        point: Located<Vec<f64>>,
        /// The value.
        value: Formula,
    },
    /// Sum of the reactions on groups of sides.
    Reaction(Vec<Text>),
}

/// `[output]`.
#[derive(Clone, Debug)]
pub struct Output {
    /// Write a `.vtu` file.
    pub vtu: bool,
    /// Draw a picture.
    pub picture: Option<Picture>,
    /// Fields in the `.vtu` file besides the unknown.
    pub fields: Vec<OutputField>,
}

/// `[output.picture]`.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What the colours show; the size of the unknown if not given.
    pub color: Option<Formula>,
    /// How much of the displacement is shown.
    pub deform: Deform,
    /// Direction from the body to the camera; chosen by the dimension if not given.
    pub view: Option<[f64; 3]>,
    /// Width and height in pixels.
    pub size: [usize; 2],
}

/// How the picture is deformed by the unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deform {
    /// As far as makes it visible.
    Auto,
    /// This many times the unknown; 0 leaves the body as it is.
    Scale(f64),
}

/// A field in the `.vtu` file.
#[derive(Clone, Debug)]
pub struct OutputField {
    /// Name in the file.
    pub name: Text,
    /// What it shows.
    pub value: Formula,
}
