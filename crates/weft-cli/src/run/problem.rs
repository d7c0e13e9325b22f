//! What a case solves: spaces, forms, conditions and solver of the library, from those of the file.

use super::{Watch, formula};
use crate::case::{self, Case, Constraint, Nodes, ValueShape};
use crate::diagnose::{Diagnostic, Diagnostics, Text};
use std::sync::Arc;
use weft::assemble::{AssembleError, MatrixPlan, VectorPlan};
use weft::element::NodeFamily;
use weft::field::Field;
use weft::form::{Expr, Form, Scope};
use weft::geometry::Geometry;
use weft::problem::{
    Dirichlet, LinearProblem, NewtonOptions, NonlinearProblem, PreconditionerKind, ProblemError,
    Solver,
};
use weft::solve::{KrylovOptions, Method, SolveError};
use weft::space::{Space, ValueKind};

/// All spaces of a case, by name.
pub(super) fn spaces(
    case: &Case,
    geometry: &Arc<dyn Geometry>,
) -> Result<Vec<(String, Space)>, Diagnostic> {
    let dim = geometry.space_dim();
    let make = |s: &case::Space| {
        let family = match s.nodes {
            Nodes::Lobatto => NodeFamily::Lobatto,
            Nodes::Equispaced => NodeFamily::Equispaced,
        };
        let value = match s.value {
            ValueShape::Scalar => ValueKind::Scalar,
            ValueShape::Vector(n) => ValueKind::Vector(n.unwrap_or(dim)),
            ValueShape::Matrix(n) => ValueKind::Matrix(n.unwrap_or(dim), n.unwrap_or(dim)),
            ValueShape::Symmetric(n) => ValueKind::Symmetric(n.unwrap_or(dim)),
        };
        let space = Space::on(geometry.clone(), s.degree, family, s.continuous)?;
        if value == ValueKind::Scalar {
            return Ok(space);
        }
        space.with_value(value)
    };
    let named = case.spaces.iter().map(|s| {
        let space = make(s).map_err(|e: weft::space::SpaceError| {
            Diagnostic::new(e.to_string())
                .about(&format!("space `{}`", s.name.value))
                .at(&s.name.at)
        })?;
        Ok((s.name.value.clone(), space))
    });
    named.collect()
}

/// A space in a line.
pub(super) fn describe(name: &str, space: &Space) -> String {
    let letter = match (space.is_continuous(), space.element().kind().is_tensor()) {
        (true, true) => "Q",
        (true, false) => "P",
        (false, true) => "discontinuous Q",
        (false, false) => "discontinuous P",
    };
    format!(
        "{name}: {letter}{}, {}, {} dofs",
        space.degree(),
        space.shape(),
        space.dof_count()
    )
}

/// How solving went.
pub(super) struct Outcome {
    pub iterations: usize,
    pub residual: f64,
}

/// A planned problem.
pub(super) enum Problem {
    Linear(Box<LinearProblem>),
    Nonlinear(Box<NonlinearProblem>),
}

impl Problem {
    /// Plans the problem of a case; `scope` has its parameters.
    pub fn new(case: &Case, scope: &Scope, space: &Space) -> Result<Problem, Diagnostics> {
        let mut faults = Vec::new();
        let conditions = conditions(case, scope, space, &mut faults);
        let tags = space.geometry().tags();
        let unknown = &case.problem.unknown.value;
        let solver = solver(&case.solver);
        let mut scope = scope.clone();
        scope.set("v", Expr::test(space));
        let problem = match &case.problem.form {
            case::Form::Linear { a, load } => {
                scope.set(unknown, Expr::trial(space));
                let read = |text: &Text, key: &str, faults: &mut Vec<Diagnostic>| {
                    formula::form(&scope, text, &tags)
                        .map_err(|fault| faults.push(fault.about(&format!("`problem.{key}`"))))
                        .ok()
                };
                let a_form = read(a, "a", &mut faults);
                let load_form = match load {
                    Some(text) => read(text, "L", &mut faults),
                    None => Some(Form::zero()),
                };
                let (Some(a_form), Some(load_form), true) = (a_form, load_form, faults.is_empty())
                else {
                    return Err(given(faults));
                };
                LinearProblem::new(&a_form, &load_form, &conditions, solver)
                    .map(|problem| Problem::Linear(Box::new(problem)))
                    .map_err(|error| {
                        linear_fault(&error, (a, &a_form), load.as_ref(), &load_form, unknown)
                    })
            }
            case::Form::Residual(text) => {
                let field = Field::zeros(space);
                scope.set_field(unknown, &field);
                let form = formula::form(&scope, text, &tags)
                    .map_err(|fault| faults.push(fault.about("`problem.residual`")));
                let (Ok(form), true) = (form, faults.is_empty()) else {
                    return Err(given(faults));
                };
                let options = NewtonOptions {
                    tolerance: case.solver.newton.tolerance,
                    max_iterations: case.solver.newton.max_iterations,
                    ..NewtonOptions::default()
                };
                NonlinearProblem::new(&form, &field, &conditions, solver, options)
                    .map(|problem| Problem::Nonlinear(Box::new(problem)))
                    .map_err(|error| {
                        problem_fault(&error, text)
                            .about("`problem.residual`")
                            .note(format!("`{unknown}` is the unknown, `v` the test function"))
                    })
            }
        };
        problem.map_err(Diagnostics::from)
    }

    /// The unknown's field.
    pub fn solution(&self) -> &Field {
        match self {
            Problem::Linear(problem) => problem.solution(),
            Problem::Nonlinear(problem) => problem.solution(),
        }
    }

    /// The residual with the solution put in; where nothing is prescribed, 0.
    pub fn reactions(&mut self) -> Result<Vec<f64>, ProblemError> {
        match self {
            Problem::Linear(problem) => problem.reactions(),
            Problem::Nonlinear(problem) => problem.reactions(),
        }
    }

    /// Solves it, in the phases "assembly" and "solve".
    pub fn solve(&mut self, case: &Case, watch: &mut Watch) -> anyhow::Result<Outcome> {
        let space = self.solution().space().clone();
        let fail = |error: ProblemError| explain(error, case, &space);
        match self {
            Problem::Linear(problem) => {
                watch.phase("assembly");
                problem.assemble().map_err(fail)?;
                watch.phase("solve");
                let done = problem.solve_assembled().map_err(fail)?;
                Ok(Outcome {
                    iterations: done.iterations,
                    residual: done.relative_residual,
                })
            }
            Problem::Nonlinear(problem) => {
                watch.phase("solve");
                let done = problem.solve().map_err(fail)?;
                let history: Vec<String> =
                    done.history.iter().map(|r| format!("{r:.1e}")).collect();
                watch.line(&format!(
                    "residuals of Newton's method: {}",
                    history.join(", ")
                ));
                let first = done.history.first().copied().unwrap_or(0.0);
                let last = done.history.last().copied().unwrap_or(0.0);
                Ok(Outcome {
                    iterations: done.iterations,
                    residual: if first > 0.0 { last / first } else { 0.0 },
                })
            }
        }
    }
}

/// Faults that are known to exist.
fn given(faults: Vec<Diagnostic>) -> Diagnostics {
    match Diagnostics::unless_empty(faults, Some(())) {
        Err(all) => all,
        Ok(()) => Diagnostic::new("the forms cannot be read").into(),
    }
}

/// Which of the two forms a plan failed for.
fn linear_fault(
    error: &ProblemError,
    (a, a_form): (&Text, &Form),
    load: Option<&Text>,
    load_form: &Form,
    unknown: &str,
) -> Diagnostic {
    let roles = format!("`{unknown}` is the unknown, `v` the test function");
    if let Err(error) = MatrixPlan::new(a_form) {
        return assemble_fault(&error, a).about("`problem.a`").note(roles);
    }
    if let (Some(text), false) = (load, load_form.is_zero())
        && let Err(error) = VectorPlan::new(load_form)
    {
        let fault = assemble_fault(&error, text).about("`problem.L`");
        return fault.note(roles);
    }
    problem_fault(error, a)
}

fn assemble_fault(error: &AssembleError, text: &Text) -> Diagnostic {
    match error {
        AssembleError::Form(error) => formula::fault(error, text),
        other => Diagnostic::new(other.to_string()).at(&text.at),
    }
}

fn problem_fault(error: &ProblemError, text: &Text) -> Diagnostic {
    match error {
        ProblemError::Form(error) => formula::fault(error, text),
        ProblemError::Assemble(error) => assemble_fault(error, text),
        other => Diagnostic::new(other.to_string()).at(&text.at),
    }
}

/// The conditions on the unknown.
fn conditions(
    case: &Case,
    scope: &Scope,
    space: &Space,
    faults: &mut Vec<Diagnostic>,
) -> Vec<Dirichlet> {
    let mut all = Vec::new();
    for condition in &case.dirichlet {
        if condition.field.value != case.problem.unknown.value {
            let fault = Diagnostic::new("a condition on a field that is not solved for")
                .at(&condition.field.at)
                .label(format!("the unknown is `{}`", case.problem.unknown.value));
            faults.push(fault);
            continue;
        }
        for on in &condition.on {
            match one_condition(condition, on, scope, space) {
                Ok(condition) => all.push(condition),
                Err(fault) => {
                    faults.push(fault);
                    break;
                }
            }
        }
    }
    all
}

fn one_condition(
    condition: &case::Dirichlet,
    on: &Text,
    scope: &Scope,
    space: &Space,
) -> Result<Dirichlet, Diagnostic> {
    tagged(space, on)?;
    let fault = |error: ProblemError| Diagnostic::new(error.to_string()).at(&condition.at);
    let begun = Dirichlet::on(space, &on.value).map_err(fault)?;
    let begun = match condition.constraint {
        Constraint::Whole => begun,
        Constraint::Component(component) => begun.component(component).map_err(fault)?,
        Constraint::Normal => begun.normal().map_err(fault)?,
    };
    let value = formula::expression(scope, &condition.value)?;
    begun.value(value).map_err(|error| match &error {
        ProblemError::Form(error) => formula::formula_fault(error, &condition.value),
        _ => Diagnostic::new(error.to_string()).at(condition.value.at()),
    })
}

/// The nodes of a group of sides or vertices.
pub(super) fn tagged(space: &Space, on: &Text) -> Result<Vec<u32>, Diagnostic> {
    space.tagged_nodes(&on.value).map_err(|_| {
        let tags = space.geometry().tags();
        let names: Vec<&str> = tags.side_names().chain(tags.vertex_names()).collect();
        Diagnostic::unknown_name("side group", on, &names)
    })
}

fn solver(chosen: &case::Solver) -> Solver {
    let options = KrylovOptions {
        tolerance: chosen.tolerance,
        max_iterations: Some(chosen.max_iterations),
        restart: chosen.restart,
        ..KrylovOptions::default()
    };
    let method = match chosen.method {
        // Without a direct solver in the build this is conjugate gradients.
        case::Method::Direct => return Solver::default(),
        case::Method::Cg => Method::Cg,
        case::Method::Minres => Method::Minres,
        case::Method::Bicgstab => Method::BiCgStab,
        case::Method::Gmres => Method::Gmres,
    };
    let preconditioner = match chosen.preconditioner {
        case::Preconditioner::None => PreconditionerKind::Identity,
        case::Preconditioner::Jacobi => PreconditionerKind::Jacobi,
        case::Preconditioner::BlockJacobi => PreconditionerKind::BlockJacobi,
    };
    Solver::Krylov {
        method,
        preconditioner,
        options,
    }
}

/// Where a node is.
fn place(space: &Space, node: usize) -> String {
    let places = space.node_positions();
    let dim = space.geometry().space_dim();
    places
        .get(node)
        .map_or("no place".to_string(), |x| format!("{:?}", &x[..dim]))
}

/// What failed while solving, with what a user may do about it.
fn explain(error: ProblemError, case: &Case, space: &Space) -> anyhow::Error {
    let fault = Diagnostic::new(error.to_string());
    let fault = match &error {
        ProblemError::Singular(_) => match case.dirichlet.first() {
            None => fault
                .at(&case.problem.unknown.at)
                .note("the case has no [[dirichlet]] condition"),
            Some(first) => fault
                .at(&first.at)
                .note("the conditions leave this free; fix more sides or components"),
        },
        ProblemError::Solve(SolveError::Conflict { node, .. }) => {
            let fault = match case.dirichlet.last() {
                Some(last) => fault.at(&last.at),
                None => fault,
            };
            let at = place(space, *node);
            fault.note(format!(
                "node {node} is at {at}; where conditions meet they must agree"
            ))
        }
        ProblemError::Solve(SolveError::Constraint { node, .. }) => {
            let at = place(space, *node);
            fault.at(&case.problem.unknown.at).note(format!(
                "node {node} is at {at}; perhaps no integral of the form reaches it"
            ))
        }
        _ => return error.into(),
    };
    fault.into()
}
