//! Parts of geometries and spaces: who owns which cells and nodes, and what crosses between parts.
//!
//! - [`GeometryPartition`]: the cells of one part, its sides, and the frontier to the other parts;
//!   [`graph_parts`] divides any geometry evenly with short frontiers.
//! - [`SpacePartition`]: the nodes of one part, owned ones first; [`Exchange`]: which of them travel
//!   between parts.
//! - [`SpaceRestriction`]: the elements at each node, found by [`NodeLists`], a parallel stable sort
//!   (the reference system's "node compression").
//! - [`Environments`]: independent sets of cells in one geometry, such as the copies of a [`Batch`];
//!   [`EnvironmentOrder`] numbers nodes environment by environment.
//!
//! **One owner.** Over all parts every node has exactly one owner: the smallest part among those
//! whose cells touch the node (part 0 for nodes that no cell touches). The owner follows from
//! the owners of the cells alone, so all parts agree without talking to one another.
//!
//! **All or nothing.** A rebuild checks its input and gets its memory before it writes anything;
//! after an error the object is bit for bit what it was. Memory is kept and reused.

mod batch;
mod batch_locator;
mod compress;
mod environment;
mod error;
mod exchange;
mod geometry;
mod graph;
mod radix;
mod restriction;
mod slots;
mod space;

pub use batch::Batch;
pub use batch_locator::BatchLocator;
pub use compress::NodeLists;
pub use environment::{EnvironmentOrder, Environments};
pub use error::PartitionError;
pub use exchange::Exchange;
pub use geometry::{Capacity, GeometryPartition, Overflow, PartitionRule};
pub use graph::graph_parts;
pub use restriction::{Entry, RestrictionDomain, SpaceRestriction};
pub use space::{NodeClass, SpacePartition};

/// The index in empty slots, and of what is not in a part.
pub const NULL: u32 = u32::MAX;
