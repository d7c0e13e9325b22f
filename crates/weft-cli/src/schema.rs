//! Which keys a case file has: the one list behind unknown-key errors, `--set` and the docs.
//!
//! Main type: [`Schema`]; the whole is [`CASE`]. Invariant: [`crate::case`] reads no key that is
//! not listed here.

use crate::diagnose::{Diagnostic, Text};
use crate::document::{self, Node, Value};
use crate::names;

/// What may stand at a place of a case file.
#[derive(Debug)]
pub enum Schema {
    /// A value that is set as a whole.
    Leaf,
    /// A table with these keys.
    Table(&'static [(&'static str, Schema)]),
    /// A table whose keys are the user's names, each with the same content.
    Named(&'static Schema),
    /// A value, or a table whose keys are the user's.
    Free,
    /// A list of tables, `[[...]]`.
    List(&'static Schema),
}

use Schema::*;

/// The keys of a case file.
pub static CASE: Schema = Table(&[
    ("title", Leaf),
    (
        "mesh",
        Table(&[
            ("file", Leaf),
            ("shape", Leaf),
            ("cells", Leaf),
            ("lower", Leaf),
            ("upper", Leaf),
            ("distort", Leaf),
        ]),
    ),
    (
        "spaces",
        Named(&Table(&[
            ("degree", Leaf),
            ("value", Leaf),
            ("size", Leaf),
            ("continuous", Leaf),
            ("nodes", Leaf),
        ])),
    ),
    ("parameters", Named(&Free)),
    (
        "problem",
        Table(&[
            ("unknown", Leaf),
            ("a", Leaf),
            ("L", Leaf),
            ("residual", Leaf),
            ("quadrature_degree", Leaf),
        ]),
    ),
    (
        "dirichlet",
        List(&Table(&[
            ("on", Leaf),
            ("field", Leaf),
            ("value", Leaf),
            ("component", Leaf),
            ("normal", Leaf),
        ])),
    ),
    (
        "solver",
        Table(&[
            ("method", Leaf),
            ("preconditioner", Leaf),
            ("tolerance", Leaf),
            ("max_iterations", Leaf),
            ("restart", Leaf),
            (
                "newton",
                Table(&[("tolerance", Leaf), ("max_iterations", Leaf)]),
            ),
        ]),
    ),
    (
        "report",
        List(&Table(&[
            ("name", Leaf),
            ("integral", Leaf),
            ("max", Leaf),
            ("min", Leaf),
            ("point", Leaf),
            ("value", Leaf),
            ("reaction", Leaf),
        ])),
    ),
    (
        "output",
        Table(&[
            ("vtu", Leaf),
            (
                "picture",
                Table(&[
                    ("color", Leaf),
                    ("deform", Leaf),
                    ("view", Leaf),
                    ("size", Leaf),
                ]),
            ),
            ("fields", List(&Table(&[("name", Leaf), ("value", Leaf)]))),
        ]),
    ),
]);

/// A value that, set on the command line, displaces others of the file.
pub static EXCLUSIVE: &[(&str, &[&str])] = &[
    (
        "mesh.file",
        &["mesh.shape", "mesh.cells", "mesh.lower", "mesh.upper"],
    ),
    ("mesh.shape", &["mesh.file"]),
    ("problem.a", &["problem.residual"]),
    ("problem.residual", &["problem.a", "problem.L"]),
];

/// The schema of one of `keys`.
pub fn find<'a>(keys: &'a [(&str, Schema)], key: &str) -> Option<&'a Schema> {
    keys.iter().find(|(name, _)| *name == key).map(|(_, s)| s)
}

/// The names in a list of keys.
pub fn keys(keys: &[(&'static str, Schema)]) -> Vec<&'static str> {
    keys.iter().map(|(name, _)| *name).collect()
}

/// `above.key`.
pub fn join(above: &str, key: &str) -> String {
    if above.is_empty() {
        key.to_string()
    } else {
        format!("{above}.{key}")
    }
}

/// Lists the unknown keys of a case file.
pub fn unknown_keys(root: &document::Table) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    walk(root, &CASE, "", &mut faults);
    faults
}

fn walk(table: &document::Table, schema: &Schema, path: &str, faults: &mut Vec<Diagnostic>) {
    for (key, node) in table.entries() {
        let inner = match schema {
            Table(keys) => match find(keys, &key.value) {
                Some(inner) => inner,
                None => {
                    faults.push(unknown_key(key, path, &self::keys(keys)));
                    continue;
                }
            },
            Named(inner) => inner,
            Leaf | Free | List(_) => continue,
        };
        let below = join(path, &key.value);
        match (&node.value, inner) {
            (Value::Table(table), Table(_) | Named(_)) => walk(table, inner, &below, faults),
            (Value::List(items), List(item)) => walk_list(items, item, &below, faults),
            // A value of the wrong type; the reader of that value says so.
            _ => {}
        }
    }
}

fn walk_list(items: &[Node], schema: &Schema, path: &str, faults: &mut Vec<Diagnostic>) {
    for item in items {
        if let Value::Table(table) = &item.value {
            walk(table, schema, path, faults);
        }
    }
}

fn unknown_key(key: &Text, path: &str, accepted: &[&str]) -> Diagnostic {
    let place = if path.is_empty() {
        "at the top of a case file".to_string()
    } else {
        format!("in `{path}`")
    };
    // A key of another section is the most likely mistake when none of this one is near.
    let near = names::suggestion(&key.value, accepted.iter().copied());
    let label = near.or_else(|| {
        let homes = homes(&CASE, "", &key.value);
        let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
        (!homes.is_empty()).then(|| format!("this key belongs in {}", names::either(&homes)))
    });
    Diagnostic::new(format!("unknown key `{}` {place}", key.value))
        .at(&key.at)
        .label(label.unwrap_or_default())
        .note(format!("accepted here: {}", names::either(accepted)))
}

/// The paths of the tables that have `key`.
fn homes(schema: &Schema, path: &str, key: &str) -> Vec<String> {
    match schema {
        Leaf | Free => Vec::new(),
        Named(inner) => homes(inner, &join(path, "NAME"), key),
        List(inner) => homes(inner, path, key),
        Table(keys) => {
            let mut found = Vec::new();
            if !path.is_empty() && find(keys, key).is_some() {
                found.push(path.to_string());
            }
            for (name, inner) in *keys {
                found.extend(homes(inner, &join(path, name), key));
            }
            found
        }
    }
}
