//! Reads what is solved and how: `[spaces]`, `[parameters]`, `[problem]`, `[[dirichlet]]`, `[solver]`.

use super::convert::{
    Read, boolean, choice, count, formula, number_where, one_or_more, table, text,
};
use super::read::{Reader, Section};
use super::*;
use crate::document::{Node, Table, Value};
use crate::schema;

pub(super) fn spaces(r: &mut Reader, document: &Document) -> Option<Vec<Space>> {
    let example = "[spaces.u] degree = 2, value = \"vector\"";
    let entries = match r.section(&document.root, "spaces") {
        Some(s) if !s.table.entries().is_empty() => s.table.entries(),
        None if document.root.get("spaces").is_some() => return None,
        _ => return r.missing(document, "spaces.NAME", example),
    };
    let spaces = entries.iter().map(|entry| space(r, entry));
    // All are read, then all must be right.
    spaces.collect::<Vec<_>>().into_iter().collect()
}

fn space(r: &mut Reader, (name, node): &(Text, Node)) -> Option<Space> {
    let path = schema::join("spaces", &name.value);
    let s = Section {
        table: r.note(&path, table(node))?,
        path,
        at: &name.at,
    };
    let continuous = r.optional(&s, "continuous", boolean).unwrap_or(true);
    let least = usize::from(continuous);
    let degree = r.required(&s, "degree", count(least..=6));
    let size = r.optional(&s, "size", count(1..=9));
    type Make = fn(Option<usize>) -> ValueShape;
    const VALUES: &[(&str, Make)] = &[
        ("scalar", |_| ValueShape::Scalar),
        ("vector", ValueShape::Vector),
        ("matrix", ValueShape::Matrix),
        ("symmetric", ValueShape::Symmetric),
    ];
    let value = match s.table.get("value") {
        None => Some(ValueShape::Scalar),
        Some(_) => r
            .optional(&s, "value", choice(VALUES))
            .map(|make| make(size)),
    };
    let value = match s.table.entry("size") {
        Some((key, _)) if value == Some(ValueShape::Scalar) => {
            r.faults.push(
                Diagnostic::new("a scalar has no `size`")
                    .at(&key.at)
                    .label("set `value = \"vector\"` too"),
            );
            None
        }
        _ => value,
    };
    const NODES: &[(&str, Nodes)] = &[
        ("lobatto", Nodes::Lobatto),
        ("equispaced", Nodes::Equispaced),
    ];
    let nodes = r.optional(&s, "nodes", choice(NODES));
    Some(Space {
        name: name.clone(),
        degree: degree?,
        value: value?,
        continuous,
        nodes: nodes.unwrap_or(Nodes::Lobatto),
    })
}

pub(super) fn parameters(r: &mut Reader, root: &Table) -> Vec<Parameter> {
    let Some(s) = r.section(root, "parameters") else {
        return Vec::new();
    };
    let mut parameters = Vec::new();
    for (name, node) in s.table.entries() {
        let path = schema::join("parameters", &name.value);
        let value = match &node.value {
            Value::Table(groups) => by_tag(r, &path, groups),
            _ => r.note(&path, formula(node)).map(ParameterValue::Constant),
        };
        parameters.extend(value.map(|value| Parameter {
            name: name.clone(),
            value,
        }));
    }
    parameters
}

fn by_tag(r: &mut Reader, path: &str, groups: &Table) -> Option<ParameterValue> {
    let mut default = None;
    let mut tags = Vec::new();
    for (tag, node) in groups.entries() {
        let value = r.note(&schema::join(path, &tag.value), formula(node))?;
        if tag.value == "default" {
            default = Some(value);
        } else {
            tags.push((tag.clone(), value));
        }
    }
    Some(ParameterValue::ByTag { default, tags })
}

pub(super) fn problem(
    r: &mut Reader,
    document: &Document,
    spaces: Option<&[Space]>,
) -> Option<Problem> {
    let example = "[problem] a = \"dot(grad(u), grad(v))*dx\", L = \"f*v*dx\"";
    let Some(s) = r.section(&document.root, "problem") else {
        return match document.root.get("problem") {
            None => r.missing(document, "problem", example),
            Some(_) => None,
        };
    };
    let unknown = match (s.table.get("unknown"), spaces) {
        (None, Some([only])) => Some(only.name.clone()),
        (None, None) => None,
        _ => r.required(&s, "unknown", text),
    };
    let form = match (s.table.entry("residual"), s.table.entry("a")) {
        (Some((key, _)), Some(_)) => {
            r.faults.push(
                Diagnostic::new("a problem has either `a` and `L`, or a `residual`")
                    .at(&key.at)
                    .label("there is an `a` too"),
            );
            None
        }
        (Some(_), None) => {
            if let Some((key, _)) = s.table.entry("L") {
                let fault = Diagnostic::new("a problem with a `residual` has no `L`");
                r.faults
                    .push(fault.at(&key.at).label("subtract it in the residual"));
            }
            r.required(&s, "residual", text).map(Form::Residual)
        }
        (None, Some(_)) => {
            let a = r.required(&s, "a", text);
            let load = load(r, &s);
            a.zip(load).map(|(a, load)| Form::Linear { a, load })
        }
        (None, None) => {
            r.faults.push(
                Diagnostic::new("`problem` needs `a` and `L`, or a `residual`")
                    .at(s.at)
                    .note(format!("for example: {example}")),
            );
            None
        }
    };
    Some(Problem {
        unknown: unknown?,
        form: form?,
        quadrature_degree: r.optional(&s, "quadrature_degree", count(0..=100)),
    })
}

/// The load; zero may be written as a number, since it needs no measure.
fn load(r: &mut Reader, s: &Section) -> Option<Option<Text>> {
    if s.table.get("L").is_none() {
        r.faults.push(
            Diagnostic::new("`problem` needs a value for `L`")
                .at(s.at)
                .note("if there is no load: L = 0"),
        );
        return None;
    }
    r.required(s, "L", |node| match &node.value {
        Value::Integer(0) => Ok(None),
        Value::Float(0.0) => Ok(None),
        Value::Text(zero) if zero.trim() == "0" => Ok(None),
        _ => text(node).map(Some),
    })
}

pub(super) fn dirichlet(r: &mut Reader, root: &Table, unknown: Option<&Text>) -> Vec<Dirichlet> {
    let mut conditions = Vec::new();
    for s in r.sections(root, "dirichlet", "dirichlet") {
        let on = r.required(&s, "on", one_or_more(text));
        let field = r.optional(&s, "field", text);
        let value = r.required(&s, "value", formula);
        let component = r.optional(&s, "component", component);
        let normal = r.optional(&s, "normal", boolean).unwrap_or(false);
        if let (Some(_), true, Some((key, _))) = (component, normal, s.table.entry("normal")) {
            let fault = Diagnostic::new("a condition has a `component` or the `normal`, not both");
            r.faults.push(fault.at(&key.at));
        }
        let constraint = match component {
            Some(component) => Constraint::Component(component),
            None if normal => Constraint::Normal,
            None => Constraint::Whole,
        };
        if let (Some(on), Some(value), Some(field)) = (on, value, field.or(unknown.cloned())) {
            conditions.push(Dirichlet {
                on,
                field,
                constraint,
                value,
                at: s.at.clone(),
            });
        }
    }
    conditions
}

/// A component's number from 0, or `"x"`, `"y"`, `"z"`.
fn component(node: &Node) -> Read<usize> {
    const AXES: &[(&str, usize)] = &[("x", 0), ("y", 1), ("z", 2)];
    match node.value {
        Value::Integer(_) => count(0..=8)(node),
        _ => choice(AXES)(node),
    }
}

pub(super) fn solver(r: &mut Reader, root: &Table) -> Solver {
    let mut solver = Solver {
        method: Method::Direct,
        preconditioner: Preconditioner::BlockJacobi,
        tolerance: 1e-10,
        max_iterations: 10_000,
        restart: 50,
        newton: Newton {
            tolerance: 1e-10,
            max_iterations: 50,
        },
    };
    const METHODS: &[(&str, Method)] = &[
        ("direct", Method::Direct),
        ("cg", Method::Cg),
        ("minres", Method::Minres),
        ("bicgstab", Method::Bicgstab),
        ("gmres", Method::Gmres),
    ];
    const PRECONDITIONERS: &[(&str, Preconditioner)] = &[
        ("none", Preconditioner::None),
        ("jacobi", Preconditioner::Jacobi),
        ("block_jacobi", Preconditioner::BlockJacobi),
    ];
    let tolerance = number_where("a number above 0 and below 1", |x| x > 0.0 && x < 1.0);
    let iterations = count(1..=100_000_000);
    let Some(s) = r.section(root, "solver") else {
        return solver;
    };
    let set = &mut solver;
    r.optional(&s, "method", choice(METHODS))
        .inspect(|v| set.method = *v);
    r.optional(&s, "preconditioner", choice(PRECONDITIONERS))
        .inspect(|v| set.preconditioner = *v);
    r.optional(&s, "tolerance", &tolerance)
        .inspect(|v| set.tolerance = *v);
    r.optional(&s, "max_iterations", &iterations)
        .inspect(|v| set.max_iterations = *v);
    r.optional(&s, "restart", count(1..=10_000))
        .inspect(|v| set.restart = *v);
    if let Some(newton) = r.optional(&s, "newton", table) {
        let s = Section {
            path: "solver.newton".to_string(),
            table: newton,
            at: s.at,
        };
        r.optional(&s, "tolerance", &tolerance)
            .inspect(|v| set.newton.tolerance = *v);
        r.optional(&s, "max_iterations", &iterations)
            .inspect(|v| set.newton.max_iterations = *v);
    }
    solver
}
