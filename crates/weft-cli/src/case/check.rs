//! How the sections of a case file refer to one another, and which names they may define.

use super::{Case, Constraint, Dirichlet, Formula, MeshSource, ReportKind, ShapeKind, ValueShape};
use crate::diagnose::{Diagnostic, Located};
use std::collections::BTreeMap;

/// Names that mean something in every formula and cannot be given to a space or parameter.
pub const RESERVED: &[&str] = &[
    "v",
    "x",
    "n",
    "h",
    "pi",
    "dx",
    "ds",
    "dS",
    "sin",
    "cos",
    "tan",
    "exp",
    "ln",
    "sqrt",
    "abs",
    "pow",
    "min",
    "max",
    "select",
    "grad",
    "div",
    "curl",
    "sym",
    "skew",
    "dev",
    "tr",
    "det",
    "inv",
    "transpose",
    "inner",
    "dot",
    "outer",
    "cross",
    "norm",
    "inside",
    "outside",
    "jump",
    "avg",
    "deriv",
];

/// Adds a fault for each name that is taken, wrong, or refers to nothing.
pub(super) fn names(case: &Case, faults: &mut Vec<Diagnostic>) {
    defined_names(case, faults);
    let spaces: Vec<&str> = case.spaces.iter().map(|s| s.name.value.as_str()).collect();
    let unknown = &case.problem.unknown;
    if !spaces.contains(&unknown.value.as_str()) {
        faults.push(Diagnostic::unknown_name("space", unknown, &spaces));
    }
    for condition in &case.dirichlet {
        dirichlet(case, condition, &spaces, faults);
    }
    report_names(case, faults);
    points(case, faults);
    if let MeshSource::Shape(shape) = &case.mesh.source
        && matches!(shape.kind, ShapeKind::Grid2 | ShapeKind::Grid3)
        && case.mesh.distort != 0.0
    {
        faults.push(
            Diagnostic::new("a grid is uniform, `mesh.distort` cannot change it")
                .at(&shape.at)
                .note("meshes of quads and hexes: `rectangle_quads`, `box_hexes`"),
        );
    }
}

/// Spaces and parameters share one set of names.
fn defined_names(case: &Case, faults: &mut Vec<Diagnostic>) {
    let mut taken: BTreeMap<&str, &str> = BTreeMap::new();
    let spaces = case.spaces.iter().map(|space| ("space", &space.name));
    let parameters = case.parameters.iter().map(|p| ("parameter", &p.name));
    for (what, name) in spaces.chain(parameters) {
        let word = name.value.as_str();
        let is_start = |c: char| c.is_alphabetic() || c == '_';
        let fault = if !(word.starts_with(is_start)
            && word.chars().all(|c| c.is_alphanumeric() || c == '_'))
        {
            Some("a name is letters, digits and _, and begins with no digit".to_string())
        } else if RESERVED.contains(&word) {
            Some(format!("`{word}` has a meaning of its own in formulas"))
        } else {
            taken
                .insert(word, what)
                .map(|other| format!("a {other} has this name already"))
        };
        if let Some(label) = fault {
            faults.push(
                Diagnostic::new(format!("a {what} cannot be called `{word}`"))
                    .at(&name.at)
                    .label(label),
            );
        }
    }
}

fn dirichlet(case: &Case, condition: &Dirichlet, spaces: &[&str], faults: &mut Vec<Diagnostic>) {
    let Some(space) = case
        .spaces
        .iter()
        .find(|s| s.name.value == condition.field.value)
    else {
        // An unknown that doesn't exist has been reported already.
        if condition.field.value != case.problem.unknown.value {
            faults.push(Diagnostic::unknown_name("space", &condition.field, spaces));
        }
        return;
    };
    let scalar = space.value == ValueShape::Scalar;
    let size = match space.value {
        ValueShape::Scalar => Some(1),
        ValueShape::Vector(size) => size.or(space_dim(case)),
        ValueShape::Matrix(_) | ValueShape::Symmetric(_) => None,
    };
    let name = &space.name.value;
    match condition.constraint {
        Constraint::Whole => {
            if let (Formula::List(list), Some(size)) = (&condition.value, size)
                && (scalar || list.value.len() != size)
            {
                let needs = if scalar {
                    "one value".to_string()
                } else {
                    format!("{size} components")
                };
                faults.push(
                    Diagnostic::new(format!("a condition on `{name}` has {needs}"))
                        .at(&list.at)
                        .label(format!("this is a list of {}", list.value.len())),
                );
            }
        }
        Constraint::Component(component)
            if size.is_some_and(|size| scalar || component >= size) =>
        {
            let label = if scalar {
                format!("`{name}` is a scalar")
            } else {
                format!("there is no component {component}, they count from 0")
            };
            faults.push(
                Diagnostic::new(format!("a condition on a component that `{name}` has not"))
                    .at(&condition.at)
                    .label(label),
            );
        }
        Constraint::Normal if scalar => faults.push(
            Diagnostic::new("a condition on the normal component of a scalar")
                .at(&condition.at)
                .label(format!("`{name}` is a scalar")),
        ),
        Constraint::Component(_) | Constraint::Normal => {
            if let Formula::List(list) = &condition.value {
                faults.push(
                    Diagnostic::new("one component has one value")
                        .at(&list.at)
                        .label("this is a list"),
                );
            }
        }
    }
}

fn report_names(case: &Case, faults: &mut Vec<Diagnostic>) {
    let mut seen: Vec<&str> = Vec::new();
    for report in &case.reports {
        let name = report.name.value.as_str();
        if seen.contains(&name) {
            faults.push(
                Diagnostic::new(format!("two reports are called `{name}`")).at(&report.name.at),
            );
        }
        seen.push(name);
    }
}

/// Points have as many coordinates as space has dimensions, where that is known already.
fn points(case: &Case, faults: &mut Vec<Diagnostic>) {
    for report in &case.reports {
        if let ReportKind::Point { point, .. } = &report.kind {
            let Located { value, at } = point;
            let expected = space_dim(case).unwrap_or(value.len().clamp(1, 3));
            if value.len() != expected {
                faults.push(
                    Diagnostic::new(format!("a point of this case has {expected} coordinates"))
                        .at(at)
                        .label(format!("these are {}", value.len())),
                );
            }
        }
    }
}

/// Dimension of space, if the mesh is a built-in shape.
fn space_dim(case: &Case) -> Option<usize> {
    match &case.mesh.source {
        MeshSource::Shape(shape) => Some(shape.kind.space_dim()),
        MeshSource::File(_) => None,
    }
}
