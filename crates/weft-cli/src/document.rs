//! A case file as a tree of values that know where they are written.
//!
//! Main types: [`Document`], [`Node`], [`Table`]. Invariant: a value set on the command line
//! replaces the one in the file, and its place is the command line.

use crate::args::Setting;
use crate::diagnose::{Diagnostic, Located, Origin, Place, Source, Text};
use crate::names;
use crate::schema::{self, Schema};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A value with its place.
pub type Node = Located<Value>;

/// A TOML value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// Text.
    Text(String),
    /// A date or time; a case file has no use for one.
    Date,
    /// `[ ... ]`, or several `[[...]]`.
    List(Vec<Node>),
    /// `{ ... }`, or `[...]` with the lines below.
    Table(Table),
}

impl Value {
    /// What it is, with an article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "true or false",
            Value::Text(_) => "text",
            Value::Date => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Keys and values in the order they are written.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<(Text, Node)>,
}

impl Table {
    /// The entries in order.
    pub fn entries(&self) -> &[(Text, Node)] {
        &self.entries
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// The key with its place, and the value.
    pub fn entry(&self, key: &str) -> Option<&(Text, Node)> {
        self.entries.iter().find(|(name, _)| name.value == key)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.value.as_str())
    }

    fn insert(&mut self, key: Text, node: Node) {
        match self.position(&key.value) {
            Some(at) => self.entries[at] = (key, node),
            None => self.entries.push((key, node)),
        }
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.entries.iter().position(|(name, _)| name.value == key)
    }
}

/// A case file, parsed but not yet typed.
#[derive(Clone, Debug)]
pub struct Document {
    /// The top level.
    pub root: Table,
    /// The whole file, for faults that concern no line: an empty place at its start.
    pub start: Place,
}

impl Document {
    /// Parses TOML; `name` is the file's path for messages.
    ///
    /// # Errors
    /// The first fault of syntax, with its place.
    pub fn parse(name: &str, text: &str) -> Result<Document, Diagnostic> {
        let source = Arc::new(Source {
            name: name.to_string(),
            text: text.to_string(),
            origin: Origin::File,
        });
        let table = DeTable::parse(text).map_err(|error| {
            let place = Place::new(&source, error.span().unwrap_or(0..0));
            Diagnostic::new(format!("not valid TOML: {}", error.message())).at(&place)
        })?;
        Ok(Document {
            root: convert_entries(table.get_ref(), 0, &source)?,
            start: Place::new(&source, 0..0),
        })
    }

    /// Puts a value of the command line in its place.
    ///
    /// Settings that exclude each other in a case file displace each other here: a mesh file
    /// displaces a built-in shape, and so on ([`schema::EXCLUSIVE`]).
    ///
    /// # Errors
    /// A path that no case file can have, or that names a space, parameter or entry of a list
    /// that this one doesn't have, with the nearest names.
    pub fn set(&mut self, setting: &Setting) -> Result<(), Diagnostic> {
        let source = Arc::new(Source {
            name: "command line".to_string(),
            text: format!("--set {}={}", setting.key, setting.value),
            origin: Origin::CommandLine,
        });
        let key_start = "--set ".len();
        let value_start = key_start + setting.key.len() + 1;
        let node = parse_value(&setting.value, value_start, &source)?;

        let mut start = key_start;
        let steps: Vec<Text> = setting
            .key
            .split('.')
            .map(|step| {
                let at = Place::new(&source, start..start + step.len());
                start += step.len() + 1;
                Text {
                    value: step.to_string(),
                    at,
                }
            })
            .collect();
        self.put(&steps, node)
    }

    /// Applies the settings of `[small]`, which make a quick version of a scene.
    ///
    /// # Errors
    /// All settings that the file has no place for; nothing in `[small]` at all.
    pub fn make_small(&mut self) -> Result<(), Vec<Diagnostic>> {
        let small = match self.root.get("small").map(|node| &node.value) {
            Some(Value::Table(small)) => small.clone(),
            _ => {
                let fault = Diagnostic::new("the case has no [small]").at(&self.start);
                return Err(vec![fault.note("it holds the settings of a small version")]);
            }
        };
        let mut faults = Vec::new();
        self.put_all(&small, &mut Vec::new(), &mut faults);
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Puts every value of a tree of tables in its place.
    fn put_all(&mut self, table: &Table, above: &mut Vec<Text>, faults: &mut Vec<Diagnostic>) {
        for (key, node) in &table.entries {
            above.push(key.clone());
            match &node.value {
                Value::Table(inner) => self.put_all(inner, above, faults),
                _ => faults.extend(self.put(above, node.clone()).err()),
            }
            above.pop();
        }
    }

    fn put(&mut self, steps: &[Text], node: Node) -> Result<(), Diagnostic> {
        let schema = schema::of(&self.root);
        put(&mut self.root, schema, steps, "", "", node)
    }
}

/// Follows `steps` from a table, by the schema, and puts `node` at the end. `above` is the path
/// so far, `section` the same without the numbers of list entries.
fn put(
    table: &mut Table,
    schema: &Schema,
    steps: &[Text],
    above: &str,
    section: &str,
    node: Node,
) -> Result<(), Diagnostic> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(());
    };
    let path = schema::join(above, &step.value);
    let inner = match schema {
        Schema::Table(keys) => match schema::find(keys, &step.value) {
            Some(inner) => inner,
            None => return Err(no_such_path(&path, step, schema::keys(keys))),
        },
        // Names are the user's: only those of the file exist.
        Schema::Named(inner) if table.get(&step.value).is_some() => inner,
        Schema::Free if table.get(&step.value).is_some() => schema,
        Schema::Named(_) | Schema::Free => {
            return Err(no_such_path(&path, step, table.keys().collect()));
        }
        Schema::Leaf | Schema::List(_) => return Err(no_such_path(&path, step, Vec::new())),
    };
    if rest.is_empty() {
        table.insert(step.clone(), node);
        for (of, winner, losers) in schema::EXCLUSIVE {
            if *of == section && *winner == step.value {
                table
                    .entries
                    .retain(|(name, _)| !losers.contains(&name.value.as_str()));
            }
        }
        return Ok(());
    }
    if table.get(&step.value).is_none() && matches!(inner, Schema::Table(_)) {
        let empty = Node {
            value: Value::Table(Table::default()),
            at: step.at.clone(),
        };
        table.insert(step.clone(), empty);
    }
    let next = table
        .position(&step.value)
        .map(|at| &mut table.entries[at].1.value);
    let below = schema::join(section, &step.value);
    match (next, inner) {
        (Some(Value::Table(next)), _) => put(next, inner, rest, &path, &below, node),
        (Some(Value::List(list)), Schema::List(item)) => {
            put_in_list(list, item, rest, &path, &below, node)
        }
        (None, Schema::List(_)) => {
            Err(no_such_path(&path, step, Vec::new())
                .note(format!("this case file has no [[{path}]]")))
        }
        _ => Err(Diagnostic::new(format!("`{path}` has nothing inside"))
            .at(&rest[0].at)
            .label(format!("set `{path}` itself"))),
    }
}

/// The entry of a list by its number from 0, or by its name.
fn put_in_list(
    list: &mut [Node],
    item: &Schema,
    steps: &[Text],
    above: &str,
    section: &str,
    node: Node,
) -> Result<(), Diagnostic> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(());
    };
    let name = |node: &Node| match &node.value {
        Value::Table(table) => match table.get("name").map(|name| &name.value) {
            Some(Value::Text(name)) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    };
    let known: Vec<String> = list
        .iter()
        .enumerate()
        .map(|(i, node)| name(node).unwrap_or_else(|| i.to_string()))
        .collect();
    let by_number = step.value.parse().ok().filter(|i: &usize| *i < list.len());
    let index = by_number.or_else(|| known.iter().position(|name| *name == step.value));
    let path = schema::join(above, &step.value);
    match index.map(|i| &mut list[i].value) {
        Some(Value::Table(table)) if !rest.is_empty() => {
            put(table, item, rest, &path, section, node)
        }
        Some(_) => Err(Diagnostic::new(format!("`{path}` is a table"))
            .at(&step.at)
            .label("set one of its values")),
        None => Err(no_such_path(
            &path,
            step,
            known.iter().map(String::as_str).collect(),
        )),
    }
}

fn no_such_path(path: &str, step: &Text, accepted: Vec<&str>) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(format!("a case file has no value `{path}` to set"))
        .at(&step.at)
        .label(names::suggestion(&step.value, accepted.iter().copied()).unwrap_or_default());
    if !accepted.is_empty() {
        diagnostic = diagnostic.note(format!("accepted here: {}", names::either(&accepted)));
    }
    diagnostic
}

/// A value of the command line: TOML, or else plain text.
fn parse_value(text: &str, start: usize, source: &Arc<Source>) -> Result<Node, Diagnostic> {
    if let Ok(value) = DeValue::parse(text) {
        let node = convert(value.get_ref(), value.span(), start, source)?;
        if !matches!(node.value, Value::Date) {
            return Ok(node);
        }
    }
    Ok(Node {
        value: Value::Text(text.to_string()),
        at: Place::new(source, start..start + text.len()),
    })
}

fn convert_entries(
    table: &DeTable<'_>,
    shift: usize,
    source: &Arc<Source>,
) -> Result<Table, Diagnostic> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let span = key.span();
        let key = Text {
            value: key.get_ref().to_string(),
            at: Place::new(source, span.start + shift..span.end + shift),
        };
        let node = convert(value.get_ref(), value.span(), shift, source)?;
        entries.push((span.start, (key, node)));
    }
    // The parser sorts by name; users expect the order they wrote.
    entries.sort_by_key(|(start, _)| *start);
    Ok(Table {
        entries: entries.into_iter().map(|(_, entry)| entry).collect(),
    })
}

fn convert(
    value: &DeValue<'_>,
    span: std::ops::Range<usize>,
    shift: usize,
    source: &Arc<Source>,
) -> Result<Node, Diagnostic> {
    let at = Place::new(source, span.start + shift..span.end + shift);
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            Value::Integer(parsed.map_err(|_| {
                Diagnostic::new(format!("the whole number {number} is too large")).at(&at)
            })?)
        }
        DeValue::Float(number) => {
            let parsed = number
                .as_str()
                .parse::<f64>()
                .ok()
                .filter(|x| x.is_finite());
            Value::Float(parsed.ok_or_else(|| {
                Diagnostic::new("a number must be finite")
                    .at(&at)
                    .label("this is not")
            })?)
        }
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| convert(item.get_ref(), item.span(), shift, source))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => Value::Table(convert_entries(table, shift, source)?),
    };
    Ok(Node { value, at })
}
