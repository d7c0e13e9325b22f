//! Formulas of a case file as forms and expressions. Invariant: whatever is wrong with one is
//! shown at its place in the file.

use crate::case::Formula;
use crate::diagnose::{Diagnostic, Text};
use std::ops::Range;
use weft::form::{Expr, Form, FormError, Scope, Shape};
use weft::geometry::Tags;

/// The fault of a text, at its place.
pub(super) fn fault(error: &FormError, text: &Text) -> Diagnostic {
    match error {
        FormError::Parse {
            message, position, ..
        } => Diagnostic::new(message.clone()).at(&text.part(token(&text.value, *position))),
        other => Diagnostic::new(other.to_string()).at(&text.at),
    }
}

/// The same for a formula, whose text may be spread over a list.
pub(super) fn formula_fault(error: &FormError, formula: &Formula) -> Diagnostic {
    match formula {
        Formula::Text(text) => fault(error, text),
        _ => Diagnostic::new(error.to_string()).at(formula.at()),
    }
}

/// The name, number or sign that begins at `position`.
fn token(text: &str, position: usize) -> Range<usize> {
    let rest = text.get(position..).unwrap_or("");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(1, char::len_utf8);
    position..position + word.max(first)
}

/// A formula as an expression.
pub(super) fn expression(scope: &Scope, formula: &Formula) -> Result<Expr, Diagnostic> {
    let made = match formula {
        Formula::Number(number) => return Ok(Expr::constant(number.value)),
        Formula::Text(text) => {
            let read = scope.expression(&text.value);
            return read.map_err(|error| fault(&error, text));
        }
        Formula::List(list) => {
            let parts = list.value.iter().map(|part| expression(scope, part));
            stack(parts.collect::<Result<_, _>>()?)
        }
    };
    made.check()
        .map_err(|error| formula_fault(&error, formula))?;
    Ok(made)
}

/// Scalars to a vector, vectors of one length to a matrix.
fn stack(parts: Vec<Expr>) -> Expr {
    let rows = parts.len();
    match parts.first().map(Expr::shape) {
        Some(row @ Shape::Vector(columns)) if parts.iter().all(|p| p.shape() == row) => {
            let entries = parts.iter().flat_map(|p| (0..columns).map(|c| p.at(c)));
            Expr::tensor(Shape::Matrix(rows, columns), entries.collect())
        }
        _ => Expr::tensor(Shape::Vector(rows), parts),
    }
}

/// A formula that must be a scalar.
pub(super) fn scalar(scope: &Scope, formula: &Formula) -> Result<Expr, Diagnostic> {
    let e = expression(scope, formula)?;
    if e.shape().is_scalar() {
        return Ok(e);
    }
    Err(Diagnostic::new("a scalar is needed here")
        .at(formula.at())
        .label(format!("this is a {}", e.shape()))
        .note("its length is norm(...), its first component ...[0]"))
}

/// A text as a sum of integrals whose groups exist.
pub(super) fn form(scope: &Scope, text: &Text, tags: &Tags) -> Result<Form, Diagnostic> {
    let form = scope
        .form(&text.value)
        .map_err(|error| fault(&error, text))?;
    for (measure, range) in measured_tags(&text.value) {
        let name = Text {
            value: text.value[range.clone()].to_string(),
            at: text.part(range),
        };
        let (what, names): (&str, Vec<&str>) = match measure {
            "dx" => ("cell group", tags.cell_names().collect()),
            _ => ("side group", tags.side_names().collect()),
        };
        if !names.contains(&name.value.as_str()) {
            return Err(Diagnostic::unknown_name(what, &name, &names));
        }
    }
    Ok(form)
}

/// The names in `dx('a', 'b')`, `ds(...)` and `dS(...)` of a valid form, with their measure.
fn measured_tags(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut measure = None;
    let mut inside = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut step = c.len_utf8();
        if c == '\'' || c == '"' {
            let length = rest[1..].find(c).unwrap_or(rest.len() - 1);
            if let (Some(measure), true) = (measure, inside) {
                found.push((measure, at + 1..at + 1 + length));
            }
            step = (length + 2).min(rest.len());
        } else if is_word(c) {
            step = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..step];
            if !inside {
                measure = ["dx", "ds", "dS"].contains(&word).then_some(word);
            }
        } else if c == '(' {
            inside = measure.is_some();
        } else if !(c.is_whitespace() || inside && c != ')') {
            (measure, inside) = (None, false);
        }
        at += step;
    }
    found
}

/// The names that a formula uses, known or not.
pub(super) fn words(formula: &Formula) -> Vec<String> {
    match formula {
        Formula::Number(_) => Vec::new(),
        Formula::Text(text) => text
            .value
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
            .map(str::to_string)
            .collect(),
        Formula::List(list) => list.value.iter().flat_map(words).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_measures_are_found() {
        let text = "f('x')*v*dx + g*ds( 'a', \"b c\" , degree = 3)*2 - h*dS ('d')*(dx) + 'e'";
        let found: Vec<(&str, &str)> = measured_tags(text)
            .into_iter()
            .map(|(measure, range)| (measure, &text[range]))
            .collect();
        assert_eq!(found, [("ds", "a"), ("ds", "b c"), ("dS", "d")]);
        assert!(measured_tags("").is_empty());
        assert!(measured_tags("dx('").len() <= 1);
    }

    #[test]
    fn tokens_end_where_words_end() {
        assert_eq!(token("2*lambda + 1", 2), 2..8);
        assert_eq!(token("2*lambda", 1), 1..2);
        assert_eq!(token("2*", 2), 2..3);
        assert_eq!(token("α", 0), 0..2);
    }
}
