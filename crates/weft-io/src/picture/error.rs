//! Why a picture could not be made.

use std::io;
use std::path::PathBuf;

use super::MAX_SIZE;

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
    /// A range of colours that is none.
    #[error("the colour range {0} to {1} is impossible; it must rise and be finite")]
    Range(f64, f64),
    /// The file system refused.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
