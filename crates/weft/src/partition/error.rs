//! What can be wrong with a partition or a request to it.

use std::collections::TryReserveError;

/// Why a partition, restriction or set of environments was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// An array of the wrong length.
    #[error(
        "the {what} has {found} entries; the geometry has {expected} cells, one entry for each is needed"
    )]
    Length {
        /// The array.
        what: &'static str,
        /// Cells of the geometry.
        expected: usize,
        /// Entries found.
        found: usize,
    },
    /// No parts at all.
    #[error("a geometry is divided into at least 1 part, not 0")]
    NoParts,
    /// A part that does not exist.
    #[error("part {rank} does not exist: there are {parts} parts, numbered from 0")]
    Rank {
        /// The part asked for.
        rank: u32,
        /// Number of parts.
        parts: u32,
    },
    /// A cell owned by a part that does not exist.
    #[error("cell {cell} belongs to part {owner}; there are {parts} parts, numbered from 0")]
    Owner {
        /// The cell.
        cell: usize,
        /// Its owner.
        owner: u32,
        /// Number of parts.
        parts: u32,
    },
    /// A rebuild that does not suit how the partition was made.
    #[error("this partition was made by rule '{found}'; it cannot be rebuilt from {from}")]
    Rule {
        /// What it was to be rebuilt from.
        from: &'static str,
        /// How it was made.
        found: &'static str,
    },
    /// Objects that belong to different states of a geometry, or to different geometries.
    #[error("{what} are on different topologies; rebuild both on the geometry as it is now")]
    Stale {
        /// The two objects.
        what: &'static str,
    },
    /// A geometry partition that was rebuilt after the space partition was made from it.
    #[error(
        "the space partition was not made from the geometry partition as it is now; rebuild it from that"
    )]
    Outdated,
    /// Objects that speak of different parts.
    #[error(
        "the space partition is part {} of {}, the geometry partition part {} of {}",
        space[0],
        space[1],
        geometry[0],
        geometry[1]
    )]
    Parts {
        /// Part and number of parts of the space partition.
        space: [u32; 2],
        /// The same of the geometry partition.
        geometry: [u32; 2],
    },
    /// A cell or side that does not exist.
    #[error("{what} {index} does not exist; there are {limit}")]
    Index {
        /// "cell", "side" or "node".
        what: &'static str,
        /// The index.
        index: u32,
        /// How many there are.
        limit: usize,
    },
    /// More than 32-bit indices can number.
    #[error("{count} {what} are too many; at most {limit} can be numbered")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many are accepted.
        limit: u64,
    },
    /// No memory.
    #[error("the system refused memory for the tables of a partition")]
    Memory,
    /// A partition that lost entries to its capacity.
    #[error(
        "the partition needs {needed} {what} and has room for {capacity}; its exchange lists would not match those of the other parts"
    )]
    Overflow {
        /// "cells" or "nodes".
        what: &'static str,
        /// Entries needed.
        needed: usize,
        /// Entries there is room for.
        capacity: usize,
    },
    /// A cell labelled with an environment that does not exist.
    #[error(
        "cell {cell} is in environment {label}; there are {count} environments, numbered from 0"
    )]
    Label {
        /// The cell.
        cell: usize,
        /// Its label.
        label: u32,
        /// Number of environments.
        count: u32,
    },
    /// A side between environments.
    #[error(
        "side {side} joins cell {} of environment {} to cell {} of environment {}; environments must not touch",
        cells[0],
        environments[0],
        cells[1],
        environments[1]
    )]
    CrossingSide {
        /// The side.
        side: u32,
        /// Its two cells.
        cells: [u32; 2],
        /// Their environments.
        environments: [u32; 2],
    },
    /// A vertex shared by environments.
    #[error(
        "vertex {vertex} belongs to cell {} of environment {} and to cell {} of environment {}; environments must not share vertices",
        cells[0],
        environments[0],
        cells[1],
        environments[1]
    )]
    CrossingVertex {
        /// The vertex.
        vertex: u32,
        /// Two cells at it.
        cells: [u32; 2],
        /// Their environments.
        environments: [u32; 2],
    },
    /// A node on which cells of two environments depend, at least one of them through hanging
    /// nodes.
    #[error(
        "nodes of cell {} of environment {} and of cell {} of environment {} hang on one another (at vertex node {node}); environments must not touch",
        cells[0],
        environments[0],
        cells[1],
        environments[1]
    )]
    CrossingNode {
        /// The node, in the geometry's numbering of degree 1.
        node: u32,
        /// Two cells that depend on it.
        cells: [u32; 2],
        /// Their environments.
        environments: [u32; 2],
    },
}

impl From<TryReserveError> for PartitionError {
    fn from(_: TryReserveError) -> PartitionError {
        PartitionError::Memory
    }
}
