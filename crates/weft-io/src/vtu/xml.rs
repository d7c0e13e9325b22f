//! The XML around the arrays, the same for every kind of data set.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::VtuError;
use super::encode::{Array, Encoding, Numbers};
use crate::Values;

/// A data set of one piece.
pub(crate) struct Document<'a> {
    /// VTK's name of the kind of data set.
    pub kind: &'static str,
    /// Version of the format.
    pub version: &'static str,
    /// Attributes of the piece: how many points and cells.
    pub counts: Vec<(&'static str, usize)>,
    /// The piece's elements with their arrays.
    pub sections: Vec<(&'static str, Vec<Array<'a>>)>,
}

/// Checks that each array has `items` items and a name of its own.
pub(crate) fn check_arrays<'a>(
    arrays: impl Iterator<Item = (&'a str, Values<'a>)> + Clone,
    items: usize,
) -> Result<(), VtuError> {
    let mut names: Vec<&str> = arrays.clone().map(|a| a.0).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
        return Err(VtuError::RepeatedName(twice[0].to_string()));
    }
    for (name, values) in arrays {
        let (components, found) = (values.width(), values.numbers().len());
        if components == 0 || items.checked_mul(components) != Some(found) {
            return Err(VtuError::Length {
                name: name.to_string(),
                items,
                components,
                found,
            });
        }
    }
    Ok(())
}

impl<'a> Array<'a> {
    pub fn held(name: &'a str, values: Values<'a>) -> Array<'a> {
        Array {
            name,
            numbers: Numbers::Held(values),
        }
    }
}

impl Document<'_> {
    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path, encoding: Encoding) -> Result<(), VtuError> {
        crate::atomic::write(path, |out| self.write_to(out, encoding)).map_err(|source| {
            VtuError::Io {
                path: path.to_path_buf(),
                source,
            }
        })
    }

    fn write_to(&self, out: &mut BufWriter<File>, encoding: Encoding) -> io::Result<()> {
        let (kind, version) = (self.kind, self.version);
        let compressor = match encoding {
            Encoding::Compressed => " compressor=\"vtkZLibDataCompressor\"",
            Encoding::Raw | Encoding::Ascii => "",
        };
        writeln!(out, "<?xml version=\"1.0\"?>")?;
        writeln!(
            out,
            "<VTKFile type=\"{kind}\" version=\"{version}\" byte_order=\"LittleEndian\" \
             header_type=\"UInt64\"{compressor}>"
        )?;
        write!(out, "<{kind}>\n<Piece")?;
        for (name, count) in &self.counts {
            write!(out, " {name}=\"{count}\"")?;
        }
        writeln!(out, ">")?;
        let mut offset = 0;
        let mut compressed = Vec::new();
        for (section, arrays) in &self.sections {
            writeln!(out, "<{section}>")?;
            for a in arrays {
                write!(
                    out,
                    "<DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" ",
                    a.numbers.type_name(),
                    escape(a.name),
                    a.numbers.components()
                )?;
                match encoding {
                    Encoding::Ascii => {
                        writeln!(out, "format=\"ascii\">")?;
                        a.numbers.write_text(out)?;
                        writeln!(out, "</DataArray>")?;
                        continue;
                    }
                    Encoding::Raw => {
                        writeln!(out, "format=\"appended\" offset=\"{offset}\"/>")?;
                        offset += 8 + a.numbers.byte_count();
                    }
                    Encoding::Compressed => {
                        writeln!(out, "format=\"appended\" offset=\"{offset}\"/>")?;
                        let data = a.numbers.compress()?;
                        offset += data.len();
                        compressed.push(data);
                    }
                }
            }
            writeln!(out, "</{section}>")?;
        }
        writeln!(out, "</Piece>\n</{kind}>")?;
        if encoding != Encoding::Ascii {
            write!(out, "<AppendedData encoding=\"raw\">\n_")?;
            for data in &compressed {
                out.write_all(data)?;
            }
            if encoding == Encoding::Raw {
                for a in self.sections.iter().flat_map(|s| &s.1) {
                    a.numbers.write_raw(out)?;
                }
            }
            writeln!(out, "\n</AppendedData>")?;
        }
        writeln!(out, "</VTKFile>")
    }
}

/// Text for an XML attribute. Characters that XML 1.0 can't hold become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", c as u32)),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The text of an attribute as [`escape`] wrote it; nothing if an entity isn't known.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let end = at + rest[at..].find(';')?;
        out.push(match &rest[at + 1..end] {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            code => code
                .strip_prefix('#')?
                .parse::<u32>()
                .ok()?
                .try_into()
                .ok()?,
        });
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Some(out)
}
