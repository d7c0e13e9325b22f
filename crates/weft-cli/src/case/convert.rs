//! From values of any type to the one wanted; a mismatch says what was expected and what stands
//! there.

use super::Formula;
use crate::diagnose::{Diagnostic, Located, Place, Text};
use crate::document::{Node, Table, Value};
use crate::names;
use std::ops::RangeInclusive;

/// A value that is not what its key wants.
pub(crate) struct Mismatch {
    expected: String,
    label: String,
    at: Place,
}

/// The wanted value or why not.
pub(crate) type Read<T> = Result<T, Mismatch>;

impl Mismatch {
    pub fn new(at: &Place, expected: impl Into<String>, label: impl Into<String>) -> Mismatch {
        Mismatch {
            expected: expected.into(),
            label: label.into(),
            at: at.clone(),
        }
    }

    fn kind(node: &Node, expected: impl Into<String>) -> Mismatch {
        Mismatch::new(&node.at, expected, format!("this is {}", node.value.kind()))
    }

    /// The fault, for the value of `path`.
    pub fn diagnostic(self, path: &str) -> Diagnostic {
        Diagnostic::new(format!("`{path}` must be {}", self.expected))
            .at(&self.at)
            .label(self.label)
    }
}

pub(crate) fn text(node: &Node) -> Read<Text> {
    match &node.value {
        Value::Text(value) if value.trim().is_empty() => {
            Err(Mismatch::new(&node.at, "text", "this is empty"))
        }
        Value::Text(value) => Ok(Text {
            value: value.clone(),
            at: node.at.clone(),
        }),
        _ => Err(Mismatch::kind(node, "text")),
    }
}

pub(crate) fn boolean(node: &Node) -> Read<bool> {
    match node.value {
        Value::Boolean(value) => Ok(value),
        _ => Err(Mismatch::kind(node, "true or false")),
    }
}

pub(crate) fn number(node: &Node) -> Read<f64> {
    match node.value {
        Value::Integer(value) => Ok(value as f64),
        Value::Float(value) => Ok(value),
        _ => Err(Mismatch::kind(node, "a number")),
    }
}

/// A number in a range, described by `expected`.
pub(crate) fn number_where(
    expected: &'static str,
    accept: impl Fn(f64) -> bool,
) -> impl Fn(&Node) -> Read<f64> {
    move |node| match number(node) {
        Ok(value) if accept(value) => Ok(value),
        Ok(value) => Err(Mismatch::new(
            &node.at,
            expected,
            format!("this is {value}"),
        )),
        Err(_) => Err(Mismatch::kind(node, expected)),
    }
}

/// A whole number in a range.
pub(crate) fn count(range: RangeInclusive<usize>) -> impl Fn(&Node) -> Read<usize> {
    move |node| {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        match node.value {
            Value::Integer(value) => usize::try_from(value)
                .ok()
                .filter(|value| range.contains(value))
                .ok_or_else(|| Mismatch::new(&node.at, expected, format!("this is {value}"))),
            _ => Err(Mismatch::kind(node, expected)),
        }
    }
}

/// One of a few words.
pub(crate) fn choice<T: Copy>(options: &'static [(&'static str, T)]) -> impl Fn(&Node) -> Read<T> {
    move |node| {
        let words: Vec<&str> = options.iter().map(|(word, _)| *word).collect();
        let expected = names::either(&words);
        let Value::Text(word) = &node.value else {
            return Err(Mismatch::kind(node, expected));
        };
        let found = options.iter().find(|(option, _)| option == word);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let label = names::suggestion(word, words).unwrap_or("this is not".to_string());
            Mismatch::new(&node.at, expected, label)
        })
    }
}

/// A list of values, at least one.
pub(crate) fn list<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Vec<T>> {
    move |node| match &node.value {
        Value::List(items) if items.is_empty() => Err(Mismatch::new(
            &node.at,
            "a list of at least one",
            "this is empty",
        )),
        Value::List(items) => items.iter().map(&read).collect(),
        _ => Err(Mismatch::kind(node, "a list")),
    }
}

/// Three numbers that are not all 0.
pub(crate) fn direction(number: impl Fn(&Node) -> Read<f64>) -> impl Fn(&Node) -> Read<[f64; 3]> {
    let vector = array(number);
    move |node| match vector(node)? {
        [0.0, 0.0, 0.0] => Err(Mismatch::new(&node.at, "a direction", "this has no length")),
        v => Ok(v),
    }
}

/// One value, or a list of them.
pub(crate) fn one_or_more<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Vec<T>> {
    move |node| match &node.value {
        Value::List(_) => list(&read)(node),
        _ => Ok(vec![read(node)?]),
    }
}

/// A list of `N` values.
pub(crate) fn array<T, const N: usize>(
    read: impl Fn(&Node) -> Read<T>,
) -> impl Fn(&Node) -> Read<[T; N]> {
    move |node| {
        let items = list(&read)(node)?;
        let found = items.len();
        items.try_into().map_err(|_| {
            Mismatch::new(
                &node.at,
                format!("a list of {N}"),
                format!("these are {found}"),
            )
        })
    }
}

/// The same, keeping its place.
pub(crate) fn located<T>(read: impl Fn(&Node) -> Read<T>) -> impl Fn(&Node) -> Read<Located<T>> {
    move |node| {
        Ok(Located {
            value: read(node)?,
            at: node.at.clone(),
        })
    }
}

/// A number, a formula, or a list of either.
pub(crate) fn formula(node: &Node) -> Read<Formula> {
    match &node.value {
        Value::Integer(_) | Value::Float(_) => Ok(Formula::Number(located(number)(node)?)),
        Value::Text(_) => Ok(Formula::Text(text(node)?)),
        Value::List(_) => Ok(Formula::List(located(list(formula))(node)?)),
        _ => Err(Mismatch::kind(
            node,
            "a number, a formula, or a list of them",
        )),
    }
}

/// A table.
pub(crate) fn table(node: &Node) -> Read<&Table> {
    match &node.value {
        Value::Table(table) => Ok(table),
        _ => Err(Mismatch::kind(node, "a table")),
    }
}
