//! What went wrong, where: [`Diagnostic`] shows a message, the line and a caret under the fault.
//!
//! ```text
//! error: unknown key `degre` in [spaces.u]
//!  --> cases/bracket.toml:8:1
//!   |
//! 8 | degre = 2
//!   | ^^^^^ did you mean `degree`?
//!   = accepted here: `degree`, `value`, `size`, `continuous` or `nodes`
//! ```
//!
//! Invariant: a [`Place`] is a valid range of its source's text, on character boundaries.

use crate::names;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Where text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file, shown with line and column.
    File,
    /// An argument of the command line.
    CommandLine,
}

/// A text that places point into.
#[derive(Debug)]
pub struct Source {
    /// Path of the file, as the user gave it.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// A range of a source's text.
#[derive(Clone, Debug)]
pub struct Place {
    source: Arc<Source>,
    span: Range<usize>,
}

impl Place {
    /// The bytes `span` of `source`; what is out of range is moved inside.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Place {
        let text = &source.text;
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
        Place {
            source: source.clone(),
            span: start..end,
        }
    }

    /// The text at this place.
    pub fn text(&self) -> &str {
        &self.source.text[self.span.clone()]
    }

    /// Where the text comes from.
    pub fn origin(&self) -> Origin {
        self.source.origin
    }

    /// The bytes `range` of this place, counted from its start.
    pub fn within(&self, range: Range<usize>) -> Place {
        let end = self.span.end;
        let start = self.span.start.saturating_add(range.start).min(end);
        let stop = self.span.start.saturating_add(range.end).clamp(start, end);
        Place::new(&self.source, start..stop)
    }

    /// Line and column (characters), both from 1.
    pub fn line_column(&self) -> (usize, usize) {
        let before = &self.source.text[..self.span.start];
        let line = before.matches('\n').count() + 1;
        let column = before[self.line_start()..].chars().count() + 1;
        (line, column)
    }

    fn line_start(&self) -> usize {
        self.source.text[..self.span.start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1)
    }
}

/// A value with its place in the case file or on the command line.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it is written.
    pub at: Place,
}

/// Text with its place.
pub type Text = Located<String>;

impl Text {
    /// Where the bytes `range` of the value are written: for faults inside a formula. If the text
    /// is written with escapes, the place of all of it.
    pub fn part(&self, range: Range<usize>) -> Place {
        match self.at.text().find(&self.value) {
            Some(start) => self.at.within(start + range.start..start + range.end),
            None => self.at.clone(),
        }
    }
}

/// One fault that a user can mend.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    message: String,
    place: Option<Place>,
    label: String,
    notes: Vec<String>,
}

impl Diagnostic {
    /// A fault described by `message`, in lower case and without a full stop.
    pub fn new(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            message: message.into(),
            place: None,
            label: String::new(),
            notes: Vec::new(),
        }
    }

    /// Puts the name of the thing that has the fault before the message.
    pub fn about(mut self, what: &str) -> Diagnostic {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Shows the line of `place`.
    pub fn at(mut self, place: &Place) -> Diagnostic {
        self.place = Some(place.clone());
        self
    }

    /// Words beside the caret.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// A line below: what is accepted, or how to mend it.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// A name that does not exist, with the near ones and the list of all: a tag, a space, a key.
    /// `what` says what kind of thing it names, such as "side group".
    pub fn unknown_name(what: &str, name: &Text, accepted: &[&str]) -> Diagnostic {
        let diagnostic = Diagnostic::new(format!("there is no {what} `{}`", name.value))
            .at(&name.at)
            .label(names::suggestion(&name.value, accepted.iter().copied()).unwrap_or_default());
        if accepted.is_empty() {
            diagnostic.note(format!("there is no {what} at all"))
        } else {
            diagnostic.note(format!("there is {}", names::either(accepted)))
        }
    }

    /// Whether the fault is on the command line.
    pub fn on_command_line(&self) -> bool {
        let origin = self.place.as_ref().map(Place::origin);
        origin == Some(Origin::CommandLine)
    }

    fn write_snippet(&self, place: &Place, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &place.source.text;
        let (line, column) = place.line_column();
        let start = place.line_start();
        let shown = text[start..].lines().next().unwrap_or("");
        let end = start + shown.len();
        let number = match place.source.origin {
            Origin::File => line.to_string(),
            Origin::CommandLine => " ".to_string(),
        };
        let margin = " ".repeat(number.len());
        match place.source.origin {
            Origin::File => writeln!(f, "{margin}--> {}:{line}:{column}", place.source.name)?,
            Origin::CommandLine => writeln!(f, "{margin}--> {}", place.source.name)?,
        }
        // Tabs stay tabs, so that the caret stands where the reader's editor shows the fault.
        let before = &text[start..place.span.start.min(end).max(start)];
        let padding: String = before
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let marked = &text[place.span.start.min(end)..place.span.end.min(end)];
        let carets = "^".repeat(marked.chars().count().max(1));
        let label = if self.label.is_empty() {
            String::new()
        } else {
            format!(" {}", self.label)
        };
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {shown}")?;
        write!(f, "{margin} | {padding}{carets}{label}")?;
        for note in &self.notes {
            write!(f, "\n{margin} = {note}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(place) = &self.place {
            writeln!(f)?;
            return self.write_snippet(place, f);
        }
        for note in self.notes.iter().chain(Some(&self.label)) {
            if !note.is_empty() {
                write!(f, "\n  = {note}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// All the faults found at once; at least one.
#[derive(Clone, Debug)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// `value` if there are no faults.
    pub fn unless_empty<T>(faults: Vec<Diagnostic>, value: Option<T>) -> Result<T, Diagnostics> {
        match value {
            Some(value) if faults.is_empty() => Ok(value),
            _ => Err(Diagnostics(faults)),
        }
    }

    /// The faults, in the order they were found.
    pub fn faults(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(fault: Diagnostic) -> Self {
        Diagnostics(vec![fault])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Arc<Source> {
        Arc::new(Source {
            name: "a.toml".into(),
            text: text.into(),
            origin: Origin::File,
        })
    }

    #[test]
    fn a_snippet_points_at_the_fault() {
        let source = file("x = 1\n\ty = \"α·β\" # note\n");
        let start = source.text.find('β').unwrap();
        let place = Place::new(&source, start..start + 2);
        let shown = Diagnostic::new("no such name")
            .at(&place)
            .label("here")
            .note("a note")
            .to_string();
        assert_eq!(
            shown,
            "error: no such name\n --> a.toml:2:9\n  |\n2 | \ty = \"α·β\" # note\n  | \t       ^ here\n  = a note"
        );
    }

    #[test]
    fn places_outside_the_text_are_moved_inside() {
        let source = file("αβ");
        for span in [0..1, 1..2, 3..3, 4..9, 9..99] {
            let shown = Diagnostic::new("m")
                .at(&Place::new(&source, span))
                .to_string();
            assert!(shown.contains("1 | αβ") && shown.contains('^'), "{shown}");
        }
        let whole = Place::new(&source, 0..4);
        assert_eq!(whole.within(2..40).text(), "β");
        assert_eq!(whole.within(usize::MAX..usize::MAX).text(), "");
        assert!(
            Diagnostic::new("m")
                .at(&Place::new(&file(""), 0..0))
                .to_string()
                .contains('^')
        );
    }

    #[test]
    fn a_part_of_a_text_is_found_in_the_file() {
        let source = file("a = \"grad(w)\"");
        let text = Text {
            value: "grad(w)".into(),
            at: Place::new(&source, 4..13),
        };
        assert_eq!(text.part(5..6).line_column(), (1, 11));
        let escaped = Text {
            value: "gr\tad".into(),
            at: Place::new(&source, 4..13),
        };
        assert_eq!(escaped.part(1..2).line_column(), (1, 5));
    }
}
