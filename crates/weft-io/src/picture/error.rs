//! Why a picture could not be made.

use std::io;
use std::path::PathBuf;

use super::MAX_SIZE;
use super::body::MAX_SQUARES;
use crate::vtu::MAX_DEGREE;
use weft::assemble::AssembleError;
use weft::element::CellKind;
use weft::form::Expr;

/// Why a picture could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// A size of 0 or above [`MAX_SIZE`].
    #[error("a picture of {0} × {1} pixels cannot be made; each side may have 1 to {MAX_SIZE}")]
    Size(usize, usize),
    /// Arrays that don't belong together.
    #[error(
        "a surface has {positions} corner positions, {values} corner values and {outlines} outline masks; a triangle has 3, 3 and (if any are given) 1"
    )]
    Length {
        /// Corner positions.
        positions: usize,
        /// Corner values.
        values: usize,
        /// Outline masks.
        outlines: usize,
    },
    /// A corner that is nowhere.
    #[error("corner {corner} of triangle {triangle} is at {position:?}; positions must be finite")]
    Position {
        /// Triangle of its surface.
        triangle: usize,
        /// 0, 1 or 2.
        corner: usize,
        /// The position.
        position: [f64; 3],
    },
    /// Values that don't belong to the particles.
    #[error("{positions} particles have {values} values; each needs one")]
    Particles {
        /// Particles.
        positions: usize,
        /// Values.
        values: usize,
    },
    /// A radius that is none.
    #[error("particles of radius {0} cannot be drawn; it must be finite and not negative")]
    Radius(f64),
    /// A box that is none.
    #[error("a window from {0:?} to {1:?} is impossible; it must rise and be finite")]
    Window([f64; 3], [f64; 3]),
    /// A corner that is no point of a body.
    #[error("triangle {triangle} has corner {corner}; there are {points} points")]
    Corner {
        /// Triangle of its body.
        triangle: usize,
        /// The corner.
        corner: u32,
        /// How many points there are.
        points: usize,
    },
    /// A number of squares that can't be drawn.
    #[error("a plane of {0} × {1} squares cannot be made; each side may have 1 to {MAX_SQUARES}")]
    Squares(usize, usize),
    /// A view along its own upward direction, or one that is no direction.
    #[error(
        "a view towards {toward:?} with {up:?} upwards is impossible; give two directions that are not parallel"
    )]
    View {
        /// Direction from the object to the viewer.
        toward: [f64; 3],
        /// Direction that points up in the picture.
        up: [f64; 3],
    },
    /// A range of colours, or of an axis, that is none.
    #[error(
        "the range {0} to {1} is impossible; it must rise, be finite, and on a logarithmic axis be positive"
    )]
    Range(f64, f64),
    /// Cells that have no faces to draw.
    #[error("{}s have no faces to draw; cells of dimension 2 or 3 have", .0.name())]
    NoFaces(CellKind),
    /// A number of parts of a face that can't be made.
    #[error("faces cannot be cut by degree {0}; accepted are 1 to {MAX_DEGREE}")]
    Degree(usize),
    /// A value of the wrong shape.
    #[error("{what} need {wanted}; `{expression}` is a {shape}")]
    Shape {
        /// What the value is for.
        what: &'static str,
        /// What it should be.
        wanted: &'static str,
        /// The expression.
        expression: String,
        /// Its shape.
        shape: String,
    },
    /// An expression that has no values on the surface.
    #[error(transparent)]
    Evaluate(Box<AssembleError>),
    /// The file system refused.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl From<AssembleError> for PictureError {
    fn from(error: AssembleError) -> PictureError {
        PictureError::Evaluate(Box::new(error))
    }
}

impl PictureError {
    pub(super) fn shape(what: &'static str, wanted: &'static str, e: &Expr) -> PictureError {
        PictureError::Shape {
            what,
            wanted,
            expression: e.to_string(),
            shape: e.shape().to_string(),
        }
    }
}
