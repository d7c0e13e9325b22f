//! The text syntax of expressions and forms.
//!
//! ```text
//! 2*mu*inner(sym(grad(u)), sym(grad(v)))*dx + lambda*div(u)*div(v)*dx('steel')
//! ```
//!
//! [`Scope`] says what names mean. Every error shows the text with a caret under its place.

mod calls;
mod parser;
mod tokens;

use self::parser::{Parser, Value};
use self::tokens::error_at;
use crate::field::Field;
use crate::form::error::FormError;
use crate::form::expr::Expr;
use crate::form::integral::{DomainKind, Form};
use crate::geometry::Geometry;
use crate::particle::ParticleQuadrature;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nesting deeper than this is refused: it would exhaust the stack.
const MAX_DEPTH: usize = 128;

/// The elements of a measure, by its name.
fn measure(name: &str) -> Option<DomainKind> {
    match name {
        "dx" => Some(DomainKind::Cells),
        "ds" => Some(DomainKind::BoundarySides),
        "dS" => Some(DomainKind::InteriorSides),
        _ => None,
    }
}

/// What the names in a text mean: expressions by name, and the geometry for `x`, `n`, `dx`.
#[derive(Clone, Debug)]
pub struct Scope {
    geometry: Option<Arc<dyn Geometry>>,
    names: BTreeMap<String, Expr>,
    degree: Option<usize>,
    particles: BTreeMap<String, ParticleQuadrature>,
    /// The first name that no text can use; every text is refused with it.
    fault: Option<FormError>,
}

impl Scope {
    /// Names of a geometry: `x` position, `n` normal, `h` cell size, `I` identity, `pi`, and `measure`,
    /// `jacobian` and the other quantities of the place in `docs/forms.md`.
    pub fn new(geometry: Arc<dyn Geometry>) -> Scope {
        let dim = geometry.space_dim();
        let mut scope = Scope::numbers();
        scope.names.insert("x".into(), Expr::position_in(dim));
        scope.names.insert("n".into(), Expr::normal_in(dim));
        scope.names.insert("h".into(), Expr::cell_size());
        scope.names.insert("I".into(), Expr::identity(dim));
        for (name, e) in crate::form::place::names(&*geometry) {
            scope.names.insert(name.into(), e);
        }
        scope.geometry = Some(geometry);
        scope
    }

    /// Only `pi`: for texts that are numbers.
    pub fn numbers() -> Scope {
        let names = BTreeMap::from([("pi".to_owned(), Expr::constant(std::f64::consts::PI))]);
        Scope {
            geometry: None,
            names,
            degree: None,
            particles: BTreeMap::new(),
            fault: None,
        }
    }

    /// Give a name a meaning; it replaces an earlier one. A name is letters, digits and `_`, begins with no
    /// digit, and is not that of a measure; with another one the scope refuses every text.
    pub fn set(&mut self, name: &str, value: impl Into<Expr>) {
        self.check(name);
        if self.geometry.is_some() && measure(name).is_some() {
            let fault = format!("`{name}` is a measure; nothing else can be called so");
            self.fault.get_or_insert(FormError::Arguments(fault));
        }
        self.names.insert(name.to_owned(), value.into());
    }

    /// Name a field: its value, and something `deriv` can differentiate by.
    pub fn set_field(&mut self, name: &str, field: &Field) {
        self.set(name, field);
    }

    /// Name particles, for `dx(particles = name)`. Names are as in [`set`](Self::set), and may be those of
    /// measures.
    pub fn set_particles(&mut self, name: &str, particles: &ParticleQuadrature) {
        self.check(name);
        self.particles.insert(name.to_owned(), particles.clone());
    }

    /// Notes a name that no text can use.
    fn check(&mut self, name: &str) {
        if !tokens::is_name(name) {
            let fault = format!(
                "`{name}` is no name; a name is letters, digits and _, and begins with no digit"
            );
            self.fault.get_or_insert(FormError::Arguments(fault));
        }
    }

    /// Quadrature degree for measures that do not give one.
    pub fn set_degree(&mut self, degree: Option<usize>) {
        self.degree = degree;
    }

    /// Read a form: a sum of integrals.
    pub fn form(&self, text: &str) -> Result<Form, FormError> {
        let mut parser = Parser::new(self, text)?;
        match parser.whole()? {
            Value::Form(form) => {
                form.check()?;
                Ok(form)
            }
            Value::Expr(e) if e.is_zero() => Ok(Form::zero()),
            other => Err(parser.error(
                0,
                format!(
                    "this is {}, not a sum of integrals; multiply by dx, ds or dS",
                    other.describe()
                ),
            )),
        }
    }

    /// Read an expression.
    pub fn expression(&self, text: &str) -> Result<Expr, FormError> {
        let mut parser = Parser::new(self, text)?;
        match parser.whole()? {
            Value::Expr(e) => Ok(e),
            other => Err(parser.error(
                0,
                format!("this is {}, not an expression", other.describe()),
            )),
        }
    }

    /// Read an expression that is a number.
    pub fn number(&self, text: &str) -> Result<f64, FormError> {
        let e = self.expression(text)?;
        e.constant_value()
            .ok_or_else(|| error_at(text, 0, format!("`{e}` is not a number")))
    }
}
