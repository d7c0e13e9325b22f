//! Parameters as expressions, each after those it uses.

use super::formula;
use crate::case::{Case, Formula, Parameter, ParameterValue};
use crate::diagnose::{Diagnostic, Diagnostics, Text};
use weft::form::{Expr, Scope, Shape};
use weft::geometry::Geometry;

/// Gives the names of all parameters their meaning.
pub(super) fn define(
    scope: &mut Scope,
    case: &Case,
    geometry: &dyn Geometry,
) -> Result<(), Diagnostics> {
    let mut faults = Vec::new();
    for parameter in in_order(&case.parameters)? {
        let name = &parameter.name.value;
        let made = match &parameter.value {
            ParameterValue::Constant(value) => formula::expression(scope, value),
            ParameterValue::ByTag { default, tags } => {
                by_tag(scope, &parameter.name, default.as_ref(), tags, geometry)
            }
        };
        match made {
            Ok(e) => scope.set(name, e),
            Err(fault) => faults.push(fault.about(&format!("parameter `{name}`"))),
        }
    }
    Diagnostics::unless_empty(faults, Some(()))
}

fn uses(parameter: &Parameter) -> Vec<String> {
    match &parameter.value {
        ParameterValue::Constant(value) => formula::words(value),
        ParameterValue::ByTag { default, tags } => {
            let all = tags.iter().map(|(_, value)| value).chain(default);
            all.flat_map(formula::words).collect()
        }
    }
}

/// The parameters so that each follows those it uses.
fn in_order(all: &[Parameter]) -> Result<Vec<&Parameter>, Diagnostic> {
    let uses: Vec<Vec<usize>> = all
        .iter()
        .map(|p| {
            let words = uses(p);
            let index = |w: &String| all.iter().position(|q| q.name.value == *w);
            words.iter().filter_map(index).collect()
        })
        .collect();
    let mut order = Vec::new();
    let mut placed = vec![false; all.len()];
    while order.len() < all.len() {
        let ready = (0..all.len()).find(|&i| !placed[i] && uses[i].iter().all(|&j| placed[j]));
        let Some(i) = ready else {
            let stuck = (0..all.len()).filter(|&i| !placed[i]);
            // Walking along uses from any stuck parameter ends in a circle.
            let mut at = stuck.clone().next().unwrap_or(0);
            for _ in 0..all.len() {
                at = uses[at].iter().copied().find(|&j| !placed[j]).unwrap_or(at);
            }
            let mut circle = vec![format!("`{}`", all[at].name.value)];
            let start = at;
            loop {
                at = uses[at].iter().copied().find(|&j| !placed[j]).unwrap_or(at);
                circle.push(format!("`{}`", all[at].name.value));
                if at == start {
                    break;
                }
            }
            return Err(Diagnostic::new("parameters are defined by one another")
                .at(&all[start].name.at)
                .label(circle.join(" uses ")));
        };
        placed[i] = true;
        order.push(&all[i]);
    }
    Ok(order)
}

/// A number for each cell; the last group of the file that has the cell wins.
fn by_tag(
    scope: &Scope,
    name: &Text,
    default: Option<&Formula>,
    groups: &[(Text, Formula)],
    geometry: &dyn Geometry,
) -> Result<Expr, Diagnostic> {
    let tags = geometry.tags();
    let cells = geometry.topology().cell_count();
    let default = default.map(|value| numbers(scope, value)).transpose()?;
    let mut len = default.as_ref().map(Vec::len);
    // For each cell which value it has; 0 is the default.
    let mut choice = vec![0usize; cells];
    let mut values = vec![default.clone().unwrap_or_default()];
    for (tag, value) in groups {
        let Some(members) = tags.cells(&tag.value) else {
            let names: Vec<&str> = tags.cell_names().collect();
            return Err(Diagnostic::unknown_name("cell group", tag, &names));
        };
        let group = numbers(scope, value)?;
        if *len.get_or_insert(group.len()) != group.len() {
            return Err(
                Diagnostic::new("all groups must have the same number of components")
                    .at(value.at())
                    .label(format!("these are {}", group.len())),
            );
        }
        members
            .iter()
            .for_each(|&c| choice[c as usize] = values.len());
        values.push(group);
    }
    if default.is_none() && choice.contains(&0) {
        let without = choice.iter().filter(|c| **c == 0).count();
        return Err(Diagnostic::new(format!(
            "{without} of {cells} cells are in none of the groups"
        ))
        .at(&name.at)
        .note("give them a value: default = ..."));
    }
    let of = |component: usize| {
        let values = choice.iter().map(|&k| values[k][component]);
        Expr::cell_data(&name.value, values.collect())
    };
    match len {
        Some(1) => Ok(of(0)),
        len => {
            let len = len.unwrap_or(0);
            let vector = Expr::tensor(Shape::Vector(len), (0..len).map(of).collect());
            vector
                .check()
                .map_err(|error| Diagnostic::new(error.to_string()).at(&name.at))?;
            Ok(vector)
        }
    }
}

/// A formula of numbers: one, or the components of a vector.
fn numbers(scope: &Scope, formula: &Formula) -> Result<Vec<f64>, Diagnostic> {
    match formula {
        Formula::Number(number) => Ok(vec![number.value]),
        Formula::Text(text) => scope
            .number(&text.value)
            .map(|number| vec![number])
            .map_err(|error| formula::fault(&error, text)),
        Formula::List(list) => {
            let mut all = Vec::new();
            for part in &list.value {
                all.extend(numbers(scope, part)?);
            }
            Ok(all)
        }
    }
}
