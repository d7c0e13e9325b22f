//! Checkpoints: named arrays in one binary file, from which a run goes on.
//!
//! [`write()`] writes the sections, [`read`] checks the whole file and gives [`Sections`].
//!
//! ```no_run
//! use weft_io::checkpoint;
//! # let (position, velocity) = (vec![[0.0f64; 3]; 5], vec![[0.0f32; 3]; 5]);
//! let sections = [("position", (&position).into()), ("velocity", (&velocity).into())];
//! checkpoint::write("run.weft", 1, &sections)?;
//! let saved = checkpoint::read("run.weft", 1)?;
//! assert_eq!(saved.get::<[f64; 3]>("position")?, position);
//! # Ok::<(), weft_io::checkpoint::CheckpointError>(())
//! ```
//!
//! The invariant: a file is whole or absent, and what is read is, bit by bit, what was written:
//! every byte is under a checksum, and nothing is allocated by a length that the file hasn't.
//!
//! # Format
//!
//! All numbers are little endian. Checksums are CRC-32 (IEEE 802.3).
//!
//! | part | bytes |
//! |---|---|
//! | magic | `89 57 46 54 0d 0a 1a 0a` |
//! | version of this layout | 4 |
//! | version of the content | 4 |
//! | number of sections | 4 |
//! | size of the file | 8 |
//! | checksum of all before | 4 |
//!
//! Then for each section:
//!
//! | part | bytes |
//! |---|---|
//! | type of the numbers: 1 to 8 for `u8 u16 u32 u64 i32 i64 f32 f64` | 1 |
//! | length of the name | 1 |
//! | numbers of an item | 4 |
//! | number of items | 8 |
//! | name, UTF-8 | its length |
//! | checksum of all before in the section | 4 |
//! | the numbers | their size |
//! | checksum of the numbers | 4 |

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::values::sealed::Item as _;
use crate::values::{Flat, type_name, type_size};
use crate::{Item, Values};

/// Like PNG's, so that a transfer as text shows at once.
const MAGIC: [u8; 8] = *b"\x89WFT\r\n\x1a\n";
/// Version of the layout.
const LAYOUT: u32 = 1;
/// Bytes before the first section.
const HEADER: usize = 32;
/// Bytes of a section before its name.
const SECTION: usize = 14;
/// Numbers that are turned into bytes at a time.
const BLOCK: usize = 1 << 13;

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Any other error, with the file's name.
    #[error("{}: {source}", path.display())]
    InFile {
        /// The file as the caller named it.
        path: PathBuf,
        /// What is wrong.
        source: Box<CheckpointError>,
    },
    /// The file is something else.
    #[error("not a checkpoint: it begins with \"{}\"", .0.escape_ascii())]
    Magic(Vec<u8>),
    /// A layout that this program doesn't know.
    #[error("the layout has version {0}; this program reads version {LAYOUT}")]
    Layout(u32),
    /// Content of another version.
    #[error("the content has version {found}; this program reads version {accepted}")]
    Version {
        /// The file's.
        found: u32,
        /// The reader's.
        accepted: u32,
    },
    /// The file is shorter or longer than when it was written.
    #[error("the file has {found} bytes; {expected} were written")]
    Size {
        /// By the header.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The file ends too early.
    #[error("byte {at}: {what} needs {needed} bytes, {left} are left")]
    Truncated {
        /// Where it begins.
        at: u64,
        /// What is cut off.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        left: u64,
    },
    /// Bytes follow the last section.
    #[error("byte {at}: {left} bytes follow the last section")]
    Trailing {
        /// Where they begin.
        at: u64,
        /// How many.
        left: u64,
    },
    /// Bytes were changed.
    #[error("byte {at}: the checksum of {what} is {computed:08x}, but {stored:08x} was written")]
    Checksum {
        /// Where the checked bytes begin.
        at: u64,
        /// What they are.
        what: String,
        /// Of the bytes as they are.
        computed: u32,
        /// As the file says.
        stored: u32,
    },
    /// A section that can't be: an unknown type, a name that is no text.
    #[error("byte {at}: {what}")]
    Section {
        /// Where the section begins.
        at: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A name that is empty or longer than 255 bytes.
    #[error("a section cannot be called \"{0}\"; a name has 1 to 255 bytes")]
    Name(String),
    /// Two sections of one name.
    #[error("two sections are called \"{0}\"")]
    RepeatedName(String),
    /// Numbers that are no whole number of items.
    #[error("section \"{name}\" has {numbers} numbers, which are not items of {width}")]
    Length {
        /// The section.
        name: String,
        /// How many numbers.
        numbers: usize,
        /// Numbers of an item.
        width: usize,
    },
    /// More sections, or longer items, than the format can count.
    #[error("{0} is too many: the format counts to 2³² - 1")]
    TooMany(usize),
    /// A section that is not there.
    #[error("there is no section \"{name}\"; there are {}", found.join(", "))]
    Missing {
        /// The name.
        name: String,
        /// Names of those that are there.
        found: Vec<String>,
    },
    /// A section of other items than asked for.
    #[error("section \"{name}\" has items of {found}, not of {wanted}")]
    Type {
        /// The section.
        name: String,
        /// What it has.
        found: String,
        /// What was asked for.
        wanted: String,
    },
}

type Result<T> = std::result::Result<T, CheckpointError>;

fn in_file(path: &Path) -> impl FnOnce(CheckpointError) -> CheckpointError {
    let path = path.to_path_buf();
    move |source| CheckpointError::InFile {
        path,
        source: Box::new(source),
    }
}

/// Items as messages name them.
fn items_of(code: u8, width: usize) -> String {
    let name = type_name(code).unwrap_or("unknown");
    match width {
        1 => name.to_string(),
        _ => format!("{width} {name}"),
    }
}

/// Writes named arrays; `version` says what they mean and is asked for when they are read.
///
/// # Errors
/// [`CheckpointError::InFile`] with [`Name`](CheckpointError::Name),
/// [`RepeatedName`](CheckpointError::RepeatedName), [`Length`](CheckpointError::Length),
/// [`TooMany`](CheckpointError::TooMany), or [`Io`](CheckpointError::Io); then what stood at
/// `path` before still does.
pub fn write(path: impl AsRef<Path>, version: u32, sections: &[(&str, Values<'_>)]) -> Result<()> {
    let path = path.as_ref();
    check(sections)
        .and_then(|heads| {
            let size = HEADER as u64 + heads.iter().zip(sections).map(section_size).sum::<u64>();
            let mut head = MAGIC.to_vec();
            let count = heads.len() as u32;
            for word in [LAYOUT, version, count] {
                head.extend(word.to_le_bytes());
            }
            head.extend(size.to_le_bytes());
            seal(&mut head);
            crate::atomic::write(path, |out| {
                out.write_all(&head)?;
                for (head, (_, values)) in heads.iter().zip(sections) {
                    out.write_all(head)?;
                    write_numbers(values.numbers(), out)?;
                }
                Ok(())
            })?;
            Ok(())
        })
        .map_err(in_file(path))
}

/// Bytes of a section: its head with the name, its numbers, their checksum.
fn section_size((head, (_, values)): (&Vec<u8>, &(&str, Values<'_>))) -> u64 {
    let numbers = values.numbers();
    head.len() as u64 + numbers.len() as u64 * numbers.size() as u64 + 4
}

/// Appends the checksum.
fn seal(bytes: &mut Vec<u8>) {
    bytes.extend(crc32fast::hash(bytes).to_le_bytes());
}

/// Checks the sections and gives the bytes before the numbers of each.
fn check(sections: &[(&str, Values<'_>)]) -> Result<Vec<Vec<u8>>> {
    if u32::try_from(sections.len()).is_err() {
        return Err(CheckpointError::TooMany(sections.len()));
    }
    let mut names: Vec<&str> = sections.iter().map(|s| s.0).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        return Err(CheckpointError::RepeatedName(twice[0].to_string()));
    }
    let head = |(name, values): &(&str, Values<'_>)| {
        let (numbers, width) = (values.numbers(), values.width());
        let length = u8::try_from(name.len()).ok().filter(|&n| n > 0);
        let length = length.ok_or_else(|| CheckpointError::Name(name.to_string()))?;
        if width == 0 || !numbers.len().is_multiple_of(width) {
            return Err(CheckpointError::Length {
                name: name.to_string(),
                numbers: numbers.len(),
                width,
            });
        }
        let items = (numbers.len() / width) as u64;
        let width = u32::try_from(width).map_err(|_| CheckpointError::TooMany(width))?;
        let mut head = vec![numbers.code(), length];
        head.extend(width.to_le_bytes());
        head.extend(items.to_le_bytes());
        head.extend(name.as_bytes());
        seal(&mut head);
        Ok(head)
    };
    sections.iter().map(head).collect()
}

fn write_numbers(numbers: Flat<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut checksum = crc32fast::Hasher::new();
    let mut bytes = Vec::with_capacity(BLOCK.min(numbers.len()) * numbers.size());
    for start in (0..numbers.len()).step_by(BLOCK) {
        bytes.clear();
        numbers.put(start..(start + BLOCK).min(numbers.len()), &mut bytes);
        checksum.update(&bytes);
        out.write_all(&bytes)?;
    }
    out.write_all(&checksum.finalize().to_le_bytes())
}

/// Reads and checks a whole file of this `version`.
///
/// # Errors
/// [`CheckpointError::InFile`] with what is wrong.
pub fn read(path: impl AsRef<Path>, version: u32) -> Result<Sections> {
    let path = path.as_ref();
    let open = || {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        parse(BufReader::with_capacity(1 << 16, file), size, version)
    };
    open().map_err(in_file(path))
}

/// As [`read`], from memory.
///
/// # Errors
/// [`CheckpointError`] for bytes that are no whole checkpoint of this version.
pub fn from_bytes(bytes: &[u8], version: u32) -> Result<Sections> {
    parse(bytes, bytes.len() as u64, version)
}

/// A file of known size, read from front to back.
struct Source<R> {
    input: R,
    at: u64,
    size: u64,
}

impl<R: Read> Source<R> {
    fn left(&self) -> u64 {
        self.size - self.at
    }

    /// The next bytes, which must be there before memory is taken for them.
    fn take(&mut self, needed: u64, what: impl Fn() -> String) -> Result<Vec<u8>> {
        let truncated = |at, left| CheckpointError::Truncated {
            at,
            what: what(),
            needed,
            left,
        };
        let short = needed > self.left();
        let Some(count) = usize::try_from(needed).ok().filter(|_| !short) else {
            return Err(truncated(self.at, self.left()));
        };
        let mut bytes = Vec::with_capacity(count);
        let found = self.input.by_ref().take(needed).read_to_end(&mut bytes)?;
        // The file may have been cut since it was opened.
        if found < count {
            return Err(truncated(self.at, found as u64));
        }
        self.at += needed;
        Ok(bytes)
    }

    /// Checks `bytes`, which began at `at`, by the checksum that comes next.
    fn check(&mut self, at: u64, bytes: &[u8], what: impl Fn() -> String) -> Result<()> {
        let sum = self.take(4, || format!("the checksum of {}", what()))?;
        let (stored, computed) = (u32::load(&sum), crc32fast::hash(bytes));
        match stored == computed {
            true => Ok(()),
            false => Err(CheckpointError::Checksum {
                at,
                what: what(),
                computed,
                stored,
            }),
        }
    }
}

fn parse(input: impl Read, size: u64, accepted: u32) -> Result<Sections> {
    let mut source = Source { input, at: 0, size };
    let header = || "the header".to_string();
    let mut head = source.take(size.min(MAGIC.len() as u64), header)?;
    if head != MAGIC[..head.len()] {
        return Err(CheckpointError::Magic(head));
    }
    head.extend(source.take((HEADER - 4 - head.len()) as u64, header)?);
    // Another layout may have another header, so this comes first.
    let layout = u32::load(&head[8..]);
    if layout != LAYOUT {
        return Err(CheckpointError::Layout(layout));
    }
    source.check(0, &head, header)?;
    let (found, count) = (u32::load(&head[12..]), u32::load(&head[16..]));
    let expected = u64::load(&head[20..]);
    if expected != size {
        let found = size;
        return Err(CheckpointError::Size { expected, found });
    }
    if found != accepted {
        return Err(CheckpointError::Version { found, accepted });
    }
    let mut sections: Vec<Section> = Vec::new();
    for i in 0..count {
        let section = read_section(&mut source, i)?;
        if sections.iter().any(|s| s.name == section.name) {
            return Err(CheckpointError::RepeatedName(section.name));
        }
        sections.push(section);
    }
    match source.left() {
        0 => Ok(Sections(sections)),
        left => Err(CheckpointError::Trailing {
            at: source.at,
            left,
        }),
    }
}

fn read_section(source: &mut Source<impl Read>, i: u32) -> Result<Section> {
    let at = source.at;
    let what = || format!("the head of section {i}");
    let mut head = source.take(SECTION as u64, what)?;
    let length = head[1];
    head.extend(source.take(length.into(), what)?);
    source.check(at, &head, what)?;
    let wrong = |what: String| CheckpointError::Section { at, what };
    let Some(size) = type_size(head[0]) else {
        return Err(wrong(format!("type {} is unknown", head[0])));
    };
    let (width, items) = (u32::load(&head[2..]), u64::load(&head[6..]));
    if width == 0 {
        return Err(wrong("items of no numbers".to_string()));
    }
    let name = String::from_utf8(head[SECTION..].to_vec());
    let name = name.map_err(|_| wrong("the name is not UTF-8".to_string()))?;
    let what = || format!("section \"{name}\"");
    // A product that overflows is more than any file has.
    let needed = u64::from(width).checked_mul(size as u64);
    let needed = needed.and_then(|n| n.checked_mul(items));
    let at = source.at;
    let bytes = source.take(needed.unwrap_or(u64::MAX), what)?;
    source.check(at, &bytes, what)?;
    Ok(Section {
        code: head[0],
        width: width as usize,
        bytes,
        name,
    })
}

/// The arrays of a checkpoint.
#[derive(Clone, Debug)]
pub struct Sections(Vec<Section>);

#[derive(Clone, Debug)]
struct Section {
    name: String,
    code: u8,
    width: usize,
    bytes: Vec<u8>,
}

impl Sections {
    /// The names, in the order in which they were written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|s| s.name.as_str())
    }

    /// The items of a section, of the type that was written: `[f32; 3]` for vectors and so on.
    ///
    /// # Errors
    /// [`CheckpointError::Missing`], [`CheckpointError::Type`].
    pub fn get<T: Item>(&self, name: &str) -> Result<Vec<T>> {
        let Some(section) = self.0.iter().find(|s| s.name == name) else {
            return Err(CheckpointError::Missing {
                name: name.to_string(),
                found: self.names().map(|n| format!("\"{n}\"")).collect(),
            });
        };
        if (section.code, section.width) != (T::CODE, T::WIDTH) {
            return Err(CheckpointError::Type {
                name: name.to_string(),
                found: items_of(section.code, section.width),
                wanted: items_of(T::CODE, T::WIDTH),
            });
        }
        // The width is not 0, as the section's isn't.
        Ok(section.bytes.chunks_exact(T::BYTES).map(T::load).collect())
    }
}

#[cfg(test)]
mod tests;
