//! A block matrix spelt out in scalars, as the factorisations want it.

use crate::sparse::BlockMatrix;

/// Compressed rows of scalars without exact zeros; the upper triangle only, if so asked.
///
/// Read as compressed columns this is the transposed matrix: for a symmetric one its lower triangle.
#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) offsets: Vec<usize>,
    pub(super) columns: Vec<usize>,
    pub(super) values: Vec<f64>,
    /// Where each value comes from.
    sources: Vec<usize>,
    upper: bool,
}

impl Scalar {
    pub(super) fn new(a: &BlockMatrix, upper: bool) -> Scalar {
        let n = a.rows();
        let mut this = Scalar {
            offsets: Vec::with_capacity(n + 1),
            columns: Vec::new(),
            values: Vec::new(),
            sources: Vec::new(),
            upper,
        };
        this.offsets.push(0);
        each_entry(a, upper, |row, column, source| {
            // Rows without entries end where they start.
            while this.offsets.len() <= row {
                this.offsets.push(this.columns.len());
            }
            let value = a.values()[source];
            if value != 0.0 || row == column {
                this.columns.push(column);
                this.values.push(value);
                this.sources.push(source);
            }
        });
        this.offsets.resize(n + 1, this.columns.len());
        this
    }

    pub(super) fn size(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn row(&self, row: usize) -> &[usize] {
        &self.columns[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Takes the values of a matrix of the same pattern; false if an entry dropped before isn't zero
    /// any more (values are then unchanged).
    pub(super) fn update(&mut self, a: &BlockMatrix) -> bool {
        let values = a.values();
        let kept = self
            .sources
            .iter()
            .filter(|&&source| values[source] != 0.0)
            .count();
        let mut present = 0;
        each_entry(a, self.upper, |_, _, source| {
            present += usize::from(values[source] != 0.0)
        });
        if kept != present {
            return false;
        }
        for (value, &source) in self.values.iter_mut().zip(&self.sources) {
            *value = values[source];
        }
        true
    }
}

/// Calls `f(row, column, index of the value)` for all scalar entries (with column ≥ row, if `upper`),
/// row by row, columns ascending.
fn each_entry(a: &BlockMatrix, upper: bool, mut f: impl FnMut(usize, usize, usize)) {
    let [r, c] = a.block();
    let pattern = a.pattern();
    for node in 0..pattern.rows() {
        for i in 0..r {
            let row = node * r + i;
            for position in pattern.row_range(node) {
                let first = pattern.columns()[position] as usize * c;
                if upper && first + c <= row {
                    continue;
                }
                let start = position * r * c + i * c;
                for j in 0..c {
                    if !upper || first + j >= row {
                        f(row, first + j, start + j);
                    }
                }
            }
        }
    }
}
