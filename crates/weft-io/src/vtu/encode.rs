//! The bytes of a data array: plain text, raw, or zlib blocks.
//!
//! Layout of appended data: VTK file formats, "XML file formats", with 64-bit headers.

use std::io::{self, Write};
use std::ops::Range;

use flate2::{Compression, write::ZlibEncoder};
use rayon::prelude::*;

use crate::Values;

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

/// The numbers of an array, as they are held or as they follow from the cells.
#[derive(Clone, Copy)]
pub(crate) enum Numbers<'a> {
    /// As they are; vectors of 2 and matrices of 2×2 numbers are padded with zeros.
    Held(Values<'a>),
    /// Node of each cell in VTK's order.
    Connectivity {
        cell_nodes: &'a [u32],
        permutation: &'a [u32],
    },
    /// `count` whole numbers in equal steps.
    Steps {
        first: usize,
        step: usize,
        count: usize,
    },
    /// One type for all cells.
    Types { cells: usize, cell_type: u8 },
}

/// An array's place in the XML.
pub(crate) struct Array<'a> {
    pub name: &'a str,
    pub numbers: Numbers<'a>,
}

impl Numbers<'_> {
    pub fn type_name(&self) -> &'static str {
        match self {
            Numbers::Held(values) => values.numbers().vtk(),
            Numbers::Connectivity { .. } | Numbers::Steps { .. } => "Int64",
            Numbers::Types { .. } => "UInt8",
        }
    }

    /// Numbers of an item in the file.
    pub fn components(&self) -> usize {
        match self {
            Numbers::Held(values) => values.padded_width(),
            _ => 1,
        }
    }

    /// Numbers in the file.
    fn len(&self) -> usize {
        match self {
            Numbers::Held(values) => {
                values.numbers().len() / values.width().max(1) * self.components()
            }
            Numbers::Connectivity { cell_nodes, .. } => cell_nodes.len(),
            Numbers::Steps { count, .. } | Numbers::Types { cells: count, .. } => *count,
        }
    }

    /// Bytes of a number.
    fn size(&self) -> usize {
        match self {
            Numbers::Held(values) => values.numbers().size(),
            Numbers::Connectivity { .. } | Numbers::Steps { .. } => 8,
            Numbers::Types { .. } => 1,
        }
    }

    /// Bytes in the file before compression.
    pub fn byte_count(&self) -> usize {
        self.size() * self.len()
    }

    /// Whole number `i`, for arrays that follow from the cells.
    fn int(&self, i: usize) -> i64 {
        match self {
            Numbers::Connectivity {
                cell_nodes,
                permutation,
            } => {
                let n = permutation.len();
                i64::from(cell_nodes[i / n * n + permutation[i % n] as usize])
            }
            Numbers::Steps { first, step, .. } => (first + i * step) as i64,
            Numbers::Types { cell_type, .. } => i64::from(*cell_type),
            Numbers::Held(_) => 0,
        }
    }

    /// Appends the bytes of the numbers of a range.
    fn put(&self, range: Range<usize>, out: &mut Vec<u8>) {
        match self {
            Numbers::Held(values) if values.width() == self.components() => {
                values.numbers().put(range, out);
            }
            Numbers::Held(values) => {
                let numbers = values.numbers();
                for i in range {
                    match padded(values.width(), self.components(), i) {
                        Some(source) => numbers.put(source..source + 1, out),
                        None => out.resize(out.len() + numbers.size(), 0),
                    }
                }
            }
            Numbers::Types { cell_type, .. } => out.resize(out.len() + range.len(), *cell_type),
            _ => range.for_each(|i| out.extend(self.int(i).to_le_bytes())),
        }
    }

    /// Writes the numbers in text, some to a line.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let per_line = match self {
            Numbers::Held(_) => self.components(),
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
                Numbers::Held(values) => match padded(values.width(), self.components(), i) {
                    Some(source) => write!(out, "{}{end}", values.numbers().text(source))?,
                    None => write!(out, "0{end}")?,
                },
                _ => write!(out, "{}{end}", self.int(i))?,
            }
        }
        Ok(())
    }

    /// Writes a header with the byte count, then the bytes.
    pub fn write_raw(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&(self.byte_count() as u64).to_le_bytes())?;
        let per_block = BLOCK / self.size();
        let mut bytes = Vec::with_capacity(BLOCK.min(self.byte_count()));
        for start in (0..self.len()).step_by(per_block) {
            bytes.clear();
            self.put(start..(start + per_block).min(self.len()), &mut bytes);
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// The header and the blocks, compressed in parallel.
    pub fn compress(&self) -> io::Result<Vec<u8>> {
        let (per_block, len) = (BLOCK / self.size(), self.len());
        let blocks = (0..len.div_ceil(per_block)).into_par_iter().map(|b| {
            let mut bytes = Vec::with_capacity(BLOCK);
            self.put(b * per_block..((b + 1) * per_block).min(len), &mut bytes);
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&bytes)?;
            encoder.finish()
        });
        let blocks = blocks.collect::<io::Result<Vec<Vec<u8>>>>()?;
        let sizes = blocks.iter().map(|b| b.len() as u64);
        // Number of blocks, size of each, size of the last if smaller, compressed sizes.
        let last = (self.byte_count() % BLOCK) as u64;
        let head = [blocks.len() as u64, BLOCK as u64, last];
        let mut all: Vec<u8> = head
            .into_iter()
            .chain(sizes)
            .flat_map(u64::to_le_bytes)
            .collect();
        blocks.iter().for_each(|b| all.extend_from_slice(b));
        Ok(all)
    }
}

/// Where number `i` of the file is held, if it isn't a zero that pads an item of `held` numbers
/// to `written` ones.
fn padded(held: usize, written: usize, i: usize) -> Option<usize> {
    let (item, component) = (i / written, i % written);
    // A 2×2 matrix sits in the upper left of a 3×3 one.
    let source = if (held, written) == (4, 9) {
        let (row, column) = (component / 3, component % 3);
        (row < 2 && column < 2).then_some(2 * row + column)
    } else {
        (component < held).then_some(component)
    };
    source.map(|c| item * held + c)
}

/// Bytes of a block: a multiple of every number's size.
const BLOCK: usize = 1 << 18;
