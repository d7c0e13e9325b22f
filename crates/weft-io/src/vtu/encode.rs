//! The bytes of a data array: plain text, raw, or zlib blocks.
//!
//! Layout of appended data: VTK file formats, "XML file formats", with 64-bit headers.

use std::io::{self, Write};

use flate2::{Compression, write::ZlibEncoder};

/// How numbers stand in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Binary behind the XML, in zlib blocks: the smallest.
    #[default]
    Compressed,
    /// Binary behind the XML as it is: the fastest.
    Raw,
    /// Decimal numbers inside the XML: readable, exact, large.
    Ascii,
}

/// The numbers of an array, as they are held or as they follow from the grid.
pub(super) enum Numbers<'a> {
    /// Components in memory, components in the file (padded with zeros), values.
    Floats {
        held: usize,
        written: usize,
        values: &'a [f64],
    },
    /// Node of each cell in VTK's order.
    Connectivity {
        cell_nodes: &'a [u32],
        permutation: &'a [u32],
    },
    /// End of each cell's nodes.
    Offsets { cells: usize, nodes: usize },
    /// One type for all cells.
    Types { cells: usize, cell_type: u8 },
}

/// An array's place in the XML.
pub(super) struct Array<'a> {
    pub name: &'a str,
    pub numbers: Numbers<'a>,
}

impl Numbers<'_> {
    pub fn type_name(&self) -> &'static str {
        match self {
            Numbers::Floats { .. } => "Float64",
            Numbers::Connectivity { .. } | Numbers::Offsets { .. } => "Int64",
            Numbers::Types { .. } => "UInt8",
        }
    }

    pub fn components(&self) -> usize {
        match self {
            Numbers::Floats { written, .. } => *written,
            _ => 1,
        }
    }

    /// Numbers in the file.
    fn len(&self) -> usize {
        match self {
            Numbers::Floats {
                held,
                written,
                values,
            } => values.len() / held * written,
            Numbers::Connectivity { cell_nodes, .. } => cell_nodes.len(),
            Numbers::Offsets { cells, .. } | Numbers::Types { cells, .. } => *cells,
        }
    }

    /// Bytes in the file before compression.
    pub fn byte_count(&self) -> usize {
        match self {
            Numbers::Types { cells, .. } => *cells,
            _ => 8 * self.len(),
        }
    }

    fn float(&self, i: usize) -> f64 {
        match self {
            Numbers::Floats {
                held,
                written,
                values,
            } => {
                let (item, component) = (i / written, i % written);
                // A 2×2 matrix sits in the upper left of a 3×3 one.
                let source = if (*held, *written) == (4, 9) {
                    let (row, column) = (component / 3, component % 3);
                    (row < 2 && column < 2).then_some(2 * row + column)
                } else {
                    (component < *held).then_some(component)
                };
                source.map_or(0.0, |c| values[item * held + c])
            }
            _ => 0.0,
        }
    }

    fn int(&self, i: usize) -> i64 {
        match self {
            Numbers::Connectivity {
                cell_nodes,
                permutation,
            } => {
                let n = permutation.len();
                i64::from(cell_nodes[i / n * n + permutation[i % n] as usize])
            }
            Numbers::Offsets { nodes, .. } => ((i + 1) * nodes) as i64,
            Numbers::Types { cell_type, .. } => i64::from(*cell_type),
            Numbers::Floats { .. } => 0,
        }
    }

    /// Appends the bytes of the numbers of a range.
    fn put(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        match self {
            Numbers::Floats { .. } => range.for_each(|i| out.extend(self.float(i).to_le_bytes())),
            Numbers::Types { cell_type, .. } => out.resize(out.len() + range.len(), *cell_type),
            _ => range.for_each(|i| out.extend(self.int(i).to_le_bytes())),
        }
    }

    /// Calls `use_block` with all bytes, in blocks of [`BLOCK`] bytes but for the last.
    fn blocks(&self, mut use_block: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let size = self.byte_count() / self.len().max(1);
        let per_block = BLOCK / size.max(1);
        let mut bytes = Vec::with_capacity(BLOCK.min(self.byte_count()));
        let mut start = 0;
        while start < self.len() {
            let end = (start + per_block).min(self.len());
            bytes.clear();
            self.put(start..end, &mut bytes);
            use_block(&bytes)?;
            start = end;
        }
        Ok(())
    }

    /// Writes the numbers in text, some to a line.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let per_line = match self {
            Numbers::Floats { written, .. } => *written,
            Numbers::Connectivity { permutation, .. } => permutation.len(),
            _ => 16,
        };
        for i in 0..self.len() {
            let end = if (i + 1) % per_line == 0 || i + 1 == self.len() {
                '\n'
            } else {
                ' '
            };
            match self {
                Numbers::Floats { .. } => match self.float(i) {
                    x if x.is_nan() => write!(out, "nan{end}")?,
                    // Shortest text that reads back as the same number.
                    x => write!(out, "{x:?}{end}")?,
                },
                _ => write!(out, "{}{end}", self.int(i))?,
            }
        }
        Ok(())
    }

    /// Writes a header with the byte count, then the bytes.
    pub fn write_raw(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&(self.byte_count() as u64).to_le_bytes())?;
        self.blocks(|block| out.write_all(block))
    }

    /// The header and the compressed blocks.
    pub fn compress(&self) -> io::Result<Vec<u8>> {
        let mut sizes = Vec::new();
        let mut data = Vec::new();
        self.blocks(|block| {
            let before = data.len();
            let mut encoder = ZlibEncoder::new(&mut data, Compression::fast());
            encoder.write_all(block)?;
            encoder.finish()?;
            sizes.push((data.len() - before) as u64);
            Ok(())
        })?;
        // Number of blocks, size of each, size of the last if smaller, compressed sizes.
        let last = (self.byte_count() % BLOCK) as u64;
        let mut all = Vec::with_capacity(8 * (3 + sizes.len()) + data.len());
        for n in [sizes.len() as u64, BLOCK as u64, last]
            .into_iter()
            .chain(sizes)
        {
            all.extend(n.to_le_bytes());
        }
        all.append(&mut data);
        Ok(all)
    }
}

/// Bytes of a block: a multiple of every number's size.
const BLOCK: usize = 1 << 18;
