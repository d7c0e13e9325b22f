//! A cursor over the bytes of an MSH file: numbers in text or binary, and where they stand.
//!
//! The invariant: `at` never passes the end, and nothing is allocated by a count read from
//! the file: [`Cursor::capacity`] caps each reservation by what the remaining bytes can hold.

use super::error::{GmshError, Place};

type Result<T> = std::result::Result<T, GmshError>;

/// Read position in a file held in memory.
pub(super) struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
    /// Numbers in sections are binary.
    pub binary: bool,
    /// Binary numbers have the most significant byte first.
    pub big_endian: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        let at = if data.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        Cursor {
            data,
            at,
            binary: false,
            big_endian: false,
        }
    }

    /// Byte offset of the next item.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Offset of the next item that is not white space.
    pub fn next_at(&mut self) -> usize {
        if !self.binary {
            self.skip_space();
        }
        self.at
    }

    /// The offset as people count it.
    pub fn place(&self, at: usize) -> Place {
        if self.binary {
            Place::Byte(at)
        } else {
            let before = &self.data[..at.min(self.data.len())];
            Place::Line(1 + before.iter().filter(|&&b| b == b'\n').count())
        }
    }

    /// How many of `promised` items to make room for, each at least `bytes` long in the file.
    pub fn capacity(&self, promised: u64, bytes: usize) -> usize {
        let room = (self.data.len() - self.at) / bytes.max(1);
        usize::try_from(promised).map_or(room, |n| n.min(room))
    }

    fn truncated(&self, expected: &str) -> GmshError {
        GmshError::Truncated {
            place: self.place(self.data.len()),
            expected: expected.to_string(),
        }
    }

    /// The error that something other than `expected` stands at `at`.
    pub fn unexpected(&self, at: usize, expected: impl Into<String>) -> GmshError {
        let rest = &self.data[at.min(self.data.len())..];
        if rest.is_empty() {
            return self.truncated(&expected.into());
        }
        let end = rest
            .iter()
            .position(|b| b.is_ascii_whitespace())
            .unwrap_or(rest.len())
            .clamp(1, 40);
        GmshError::Unexpected {
            place: self.place(at),
            expected: expected.into(),
            found: format!("\"{}\"", rest[..end].escape_ascii()),
        }
    }

    pub fn skip_space(&mut self) {
        let rest = &self.data[self.at..];
        self.at += rest
            .iter()
            .position(|b| !b.is_ascii_whitespace())
            .unwrap_or(rest.len());
    }

    pub fn at_end(&self) -> bool {
        self.at == self.data.len()
    }

    /// The rest of the current line, trimmed; the cursor moves behind its end.
    pub fn line(&mut self) -> &'a [u8] {
        let rest = &self.data[self.at..];
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at = (self.at + end + 1).min(self.data.len());
        rest[..end].trim_ascii()
    }

    /// The next run of characters without white space.
    fn token(&mut self, expected: &str) -> Result<&'a [u8]> {
        self.skip_space();
        let rest = &self.data[self.at..];
        let end = rest
            .iter()
            .position(|b| b.is_ascii_whitespace())
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(self.truncated(expected));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    fn take<const N: usize>(&mut self, expected: &str) -> Result<[u8; N]> {
        match self.data[self.at..].first_chunk::<N>() {
            Some(bytes) => {
                self.at += N;
                let mut bytes = *bytes;
                if self.big_endian {
                    bytes.reverse();
                }
                Ok(bytes)
            }
            None => Err(self.truncated(expected)),
        }
    }

    /// A whole number in text, whatever the file's mode.
    pub fn text_int(&mut self, expected: &str) -> Result<i64> {
        let token = self.token(expected)?;
        let (negative, digits) = match token {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        // 18 digits can't overflow; more are no number that a mesh file holds.
        if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
            return Err(self.unexpected(self.at - token.len(), expected));
        }
        let value = digits
            .iter()
            .fold(0i64, |n, d| n * 10 + i64::from(d - b'0'));
        Ok(if negative { -value } else { value })
    }

    /// A count that text writes even in binary files.
    pub fn text_count(&mut self, expected: &str) -> Result<u64> {
        self.skip_space();
        let start = self.at;
        let value = self.text_int(expected)?;
        u64::try_from(value).map_err(|_| self.unexpected(start, expected))
    }

    /// A C `int`.
    pub fn int(&mut self, expected: &str) -> Result<i64> {
        if self.binary {
            Ok(i64::from(i32::from_le_bytes(self.take(expected)?)))
        } else {
            self.text_int(expected)
        }
    }

    /// A C `size_t` of eight bytes.
    pub fn size(&mut self, expected: &str) -> Result<u64> {
        if self.binary {
            Ok(u64::from_le_bytes(self.take(expected)?))
        } else {
            self.text_count(expected)
        }
    }

    /// A positive C `int` (the tags of version 2.2).
    pub fn positive_int(&mut self, expected: &str) -> Result<u64> {
        let start = self.next_at();
        let value = self.int(expected)?;
        if value > 0 {
            Ok(value as u64)
        } else {
            Err(GmshError::Unexpected {
                place: self.place(start),
                expected: expected.to_string(),
                found: value.to_string(),
            })
        }
    }

    /// A C `double`.
    pub fn float(&mut self, expected: &str) -> Result<f64> {
        if self.binary {
            return Ok(f64::from_le_bytes(self.take(expected)?));
        }
        let token = self.token(expected)?;
        std::str::from_utf8(token)
            .ok()
            .and_then(|t| t.parse().ok())
            .ok_or_else(|| self.unexpected(self.at - token.len(), expected))
    }

    /// Skips `count` doubles.
    pub fn skip_floats(&mut self, count: usize, expected: &str) -> Result<()> {
        for _ in 0..count {
            self.float(expected)?;
        }
        Ok(())
    }

    /// Skips `count` C `int`s; each is read, so a hostile count ends at the end of the file.
    pub fn skip_ints(&mut self, count: u64, expected: &str) -> Result<()> {
        for _ in 0..count {
            self.int(expected)?;
        }
        Ok(())
    }

    /// The name of the section that starts here; `None` at the end of the file.
    pub fn section(&mut self) -> Result<Option<(usize, String)>> {
        self.skip_space();
        if self.at_end() {
            return Ok(None);
        }
        let start = self.at;
        match self.line() {
            [b'$', name @ ..] if !name.is_empty() => {
                Ok(Some((start, String::from_utf8_lossy(name).into_owned())))
            }
            _ => Err(self.unexpected(start, "a section ($Name)")),
        }
    }

    /// Consumes `$End<name>`.
    pub fn end_section(&mut self, name: &str) -> Result<()> {
        self.skip_space();
        let (start, expected) = (self.at, format!("$End{name}"));
        if self.line() == expected.as_bytes() {
            Ok(())
        } else {
            Err(self.unexpected(start, expected))
        }
    }

    /// Moves behind `$End<name>`, whatever comes before it: in binary data a chance match of
    /// a whole such line has a probability below 2⁻⁶⁴.
    pub fn skip_section(&mut self, name: &str) -> Result<()> {
        let end = format!("$End{name}");
        let mut from = self.at;
        while let Some(found) = self.data[from..]
            .windows(end.len())
            .position(|w| w == end.as_bytes())
        {
            let (start, stop) = (from + found, from + found + end.len());
            let starts_line = start == self.at || self.data[start - 1] == b'\n';
            // Binary data is not always followed by a line end before the marker.
            let ends_line = self.data.get(stop).is_none_or(u8::is_ascii_whitespace);
            if ends_line && (starts_line || self.binary) {
                self.at = stop;
                return Ok(());
            }
            from = stop;
        }
        Err(self.truncated(&end))
    }

    /// Reads the number 1 in binary and takes the byte order from it.
    pub fn detect_byte_order(&mut self) -> Result<()> {
        let start = self.at;
        self.big_endian = false;
        match i32::from_le_bytes(self.take("the number one in binary")?) {
            1 => Ok(()),
            0x0100_0000 => {
                self.big_endian = true;
                Ok(())
            }
            _ => Err(self.unexpected(start, "the number one in binary, in either byte order")),
        }
    }
}
