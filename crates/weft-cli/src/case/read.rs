//! Reads a case file section by section. All of them are read before the first fault is reported,
//! so that a user sees every mistake at once.

use super::convert::{Mismatch, Read, table, text};
use super::{Case, check, mesh, problem, results};
use crate::diagnose::{Diagnostic, Diagnostics, Place};
use crate::document::{Document, Node, Table, Value};
use crate::{names, schema};
use std::path::Path;

/// Collects faults while sections are read.
pub(crate) struct Reader {
    pub faults: Vec<Diagnostic>,
}

/// A table that is being read.
pub(crate) struct Section<'d> {
    /// Its path, such as `spaces.u`.
    pub path: String,
    /// What it holds.
    pub table: &'d Table,
    /// Where it begins.
    pub at: &'d Place,
}

impl Reader {
    pub fn note<T>(&mut self, path: &str, read: Read<T>) -> Option<T> {
        read.map_err(|mismatch| self.faults.push(mismatch.diagnostic(path)))
            .ok()
    }

    /// The value of a key, or nothing if it isn't there or has the wrong type.
    pub fn optional<'d, T>(
        &mut self,
        section: &Section<'d>,
        key: &str,
        read: impl FnOnce(&'d Node) -> Read<T>,
    ) -> Option<T> {
        let node = section.table.get(key)?;
        self.note(&schema::join(&section.path, key), read(node))
    }

    /// The same; its absence is a fault.
    pub fn required<'d, T>(
        &mut self,
        section: &Section<'d>,
        key: &str,
        read: impl FnOnce(&'d Node) -> Read<T>,
    ) -> Option<T> {
        if section.table.get(key).is_none() && !self.misspelt(section, key) {
            let place = match section.path.as_str() {
                "" => "the case".to_string(),
                path => format!("`{path}`"),
            };
            let fault = Diagnostic::new(format!("{place} needs a value for `{key}`"));
            self.faults.push(fault.at(section.at));
        }
        self.optional(section, key, read)
    }

    /// Whether the section has an unknown key that was meant to be `key`: that one has been
    /// reported.
    fn misspelt(&self, section: &Section, key: &str) -> bool {
        section.table.keys().any(|other| {
            let reported = format!("error: unknown key `{other}`");
            !names::nearest(other, [key]).is_empty()
                && self
                    .faults
                    .iter()
                    .any(|fault| fault.to_string().starts_with(&reported))
        })
    }

    /// A table at the top of the file; nothing if it is absent.
    pub fn section<'d>(&mut self, root: &'d Table, path: &str) -> Option<Section<'d>> {
        let (key, node) = root.entry(path)?;
        let table = self.note(path, table(node))?;
        Some(Section {
            path: path.to_string(),
            table,
            at: &key.at,
        })
    }

    /// The tables of a `[[list]]`.
    pub fn sections<'d>(&mut self, parent: &'d Table, key: &str, path: &str) -> Vec<Section<'d>> {
        let Some((name, node)) = parent.entry(key) else {
            return Vec::new();
        };
        let Value::List(items) = &node.value else {
            let expected = format!("a list of tables: write [[{path}]]");
            let mismatch = Mismatch::new(&name.at, expected, "");
            self.faults.push(mismatch.diagnostic(path));
            return Vec::new();
        };
        let read = |item: &'d Node| {
            let table = self.note(path, table(item))?;
            Some(Section {
                path: path.to_string(),
                table,
                at: &item.at,
            })
        };
        items.iter().filter_map(read).collect()
    }

    pub fn missing<T>(&mut self, document: &Document, section: &str, example: &str) -> Option<T> {
        self.faults.push(
            Diagnostic::new(format!("the case has no [{section}]"))
                .at(&document.start)
                .note(format!("for example: {example}")),
        );
        None
    }
}

/// Reads all sections, then checks how they refer to one another.
pub(super) fn case(path: &Path, document: &Document) -> Result<Case, Diagnostics> {
    let root = &document.root;
    let mut r = Reader {
        faults: schema::unknown_keys(root),
    };
    let top = Section {
        path: String::new(),
        table: root,
        at: &document.start,
    };
    let title = r.optional(&top, "title", text).map(|title| title.value);
    let mesh = mesh::mesh(&mut r, document, path);
    let spaces = problem::spaces(&mut r, document);
    let parameters = problem::parameters(&mut r, root);
    let problem = problem::problem(&mut r, document, spaces.as_deref());
    let unknown = problem.as_ref().map(|problem| &problem.unknown);
    let dirichlet = problem::dirichlet(&mut r, root, unknown);
    let solver = problem::solver(&mut r, root);
    let reports = results::reports(&mut r, root);
    let output = results::output(&mut r, root);

    let assemble = || {
        Some(Case {
            path: path.to_path_buf(),
            name: path
                .file_stem()
                .map_or("case".into(), |stem| stem.to_string_lossy().into_owned()),
            title,
            mesh: mesh?,
            spaces: spaces?,
            parameters,
            problem: problem?,
            dirichlet,
            solver,
            reports,
            output,
        })
    };
    let case = assemble();
    if let Some(case) = &case {
        check::names(case, &mut r.faults);
    }
    Diagnostics::unless_empty(r.faults, case)
}
