//! Numbering of Lagrange nodes that a geometry prescribes, and nodes that hang.

/// Nodes of a continuous Lagrange space as a geometry numbers them. The nodes are equispaced if
/// any hang, and of any family otherwise.
///
/// Nodes `0..count` carry degrees of freedom. Nodes from `count` on *hang*: their values are
/// fixed combinations of those of other nodes, which keeps functions continuous where small
/// cells meet large ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeNumbering {
    /// Nodes that carry degrees of freedom.
    pub count: usize,
    /// Nodes of each cell in Lagrange numbering, hanging ones included.
    pub cell_nodes: Vec<u32>,
    /// What the hanging nodes are made of.
    pub hanging: Hanging,
}

/// Hanging nodes: for each, the nodes with degrees of freedom and their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Hanging {
    offsets: Vec<usize>,
    masters: Vec<u32>,
    weights: Vec<f64>,
}

impl Default for Hanging {
    fn default() -> Hanging {
        Hanging {
            offsets: vec![0],
            masters: Vec::new(),
            weights: Vec::new(),
        }
    }
}

impl Hanging {
    /// Append a node; `masters` are numbers of nodes that do not hang.
    pub fn push(&mut self, masters: impl IntoIterator<Item = (u32, f64)>) {
        for (master, weight) in masters {
            self.masters.push(master);
            self.weights.push(weight);
        }
        self.offsets.push(self.masters.len());
    }

    /// Number of hanging nodes.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether no node hangs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Masters and weights of hanging node `k`, counted from 0.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn masters(&self, k: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.offsets[k]..self.offsets[k + 1];
        self.masters[range.clone()]
            .iter()
            .copied()
            .zip(self.weights[range].iter().copied())
    }
}
