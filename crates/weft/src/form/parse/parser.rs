//! Recursive descent over the tokens of a text.

use super::calls::{Call, FUNCTIONS, function};
use super::tokens::{Token, error_at, tokenize};
use super::{MAX_DEPTH, Scope, measure};
use crate::form::error::FormError;
use crate::form::expr::{Expr, Op};
use crate::form::functions::Unary;
use crate::form::integral::{Form, Measure, Subset};
use crate::form::shape::Shape;

pub(super) enum Value {
    Expr(Expr),
    Form(Form),
    Measure(Measure),
}

impl Value {
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Expr(e) => format!("a {}", e.shape()),
            Value::Form(_) => "an integral".to_owned(),
            Value::Measure(_) => "a measure without an integrand".to_owned(),
        }
    }
}

pub(super) struct Parser<'a> {
    scope: &'a Scope,
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(scope: &'a Scope, text: &'a str) -> Result<Parser<'a>, FormError> {
        if let Some(fault) = &scope.fault {
            return Err(fault.clone());
        }
        Ok(Parser {
            scope,
            text,
            tokens: tokenize(text)?,
            next: 0,
            depth: 0,
        })
    }

    pub(super) fn error(&self, position: usize, message: String) -> FormError {
        error_at(self.text, position, message)
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn position(&self) -> usize {
        self.tokens[self.next].1
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.next].0.clone();
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
        token
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let yes = matches!(self.peek(), Token::Symbol(s) if *s == symbol);
        if yes {
            self.advance();
        }
        yes
    }

    fn expect(&mut self, symbol: &str) -> Result<(), FormError> {
        if self.accept(symbol) {
            return Ok(());
        }
        let message = format!("expected `{symbol}` but found {}", self.peek().describe());
        Err(self.error(self.position(), message))
    }

    pub(super) fn whole(&mut self) -> Result<Value, FormError> {
        let value = self.comparison()?;
        if *self.peek() != Token::End {
            let message = format!(
                "{} does not continue the expression",
                self.peek().describe()
            );
            return Err(self.error(self.position(), message));
        }
        Ok(value)
    }

    /// An expression node just made at `position`, or its error shown there.
    fn checked(&self, e: Expr, position: usize) -> Result<Value, FormError> {
        match e.error() {
            Some(error) => Err(self.error(position, error.to_string())),
            None => Ok(Value::Expr(e)),
        }
    }

    fn checked_form(&self, f: Form, position: usize) -> Result<Value, FormError> {
        match f.check() {
            Err(error) => Err(self.error(position, error.to_string())),
            Ok(()) => Ok(Value::Form(f)),
        }
    }

    fn comparison(&mut self) -> Result<Value, FormError> {
        let left = self.sum()?;
        let position = self.position();
        let Token::Symbol(sign) = *self.peek() else {
            return Ok(left);
        };
        if !["<", "<=", ">", ">=", "=="].contains(&sign) {
            return Ok(left);
        }
        self.advance();
        let right = self.sum()?;
        let (Value::Expr(a), Value::Expr(b)) = (left, right) else {
            return Err(self.error(position, "only expressions can be compared".to_owned()));
        };
        let e = match sign {
            "<" => a.less(&b),
            "<=" => a.less_equal(&b),
            ">" => b.less(&a),
            ">=" => b.less_equal(&a),
            _ => a.equal(&b),
        };
        self.checked(e, position)
    }

    fn sum(&mut self) -> Result<Value, FormError> {
        let mut left = self.product()?;
        loop {
            let position = self.position();
            let minus = match self.peek() {
                Token::Symbol("+") => false,
                Token::Symbol("-") => true,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.product()?;
            left = match (left, right) {
                (Value::Expr(a), Value::Expr(b)) => {
                    self.checked(if minus { a - b } else { a + b }, position)?
                }
                (Value::Form(a), Value::Form(b)) => {
                    self.checked_form(if minus { a - b } else { a + b }, position)?
                }
                (a, b) => {
                    let message = format!("cannot add {} and {}", a.describe(), b.describe());
                    return Err(self.error(position, message));
                }
            };
        }
    }

    fn product(&mut self) -> Result<Value, FormError> {
        let mut left = self.signed()?;
        loop {
            let position = self.position();
            let divide = match self.peek() {
                Token::Symbol("*") => false,
                Token::Symbol("/") => true,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.signed()?;
            left = match (left, right) {
                (Value::Expr(a), Value::Expr(b)) => {
                    self.checked(if divide { a / b } else { a * b }, position)?
                }
                (Value::Expr(a), Value::Measure(m)) | (Value::Measure(m), Value::Expr(a))
                    if !divide =>
                {
                    self.checked_form(Form::integral(&a, m), position)?
                }
                (Value::Expr(a), Value::Form(f)) | (Value::Form(f), Value::Expr(a))
                    if !divide && a.constant_value().is_some() =>
                {
                    let factor = a.constant_value().unwrap_or(1.0);
                    self.checked_form(factor * f, position)?
                }
                (Value::Form(f), Value::Expr(a)) if a.constant_value().is_some() => {
                    let factor = 1.0 / a.constant_value().unwrap_or(1.0);
                    self.checked_form(factor * f, position)?
                }
                (a, b) => {
                    let verb = if divide { "divide" } else { "multiply" };
                    let message = format!("cannot {verb} {} and {}", a.describe(), b.describe());
                    return Err(self.error(position, message));
                }
            };
        }
    }

    fn signed(&mut self) -> Result<Value, FormError> {
        let position = self.position();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(self.error(position, message));
        }
        let value = if self.accept("-") {
            match self.signed()? {
                Value::Expr(e) => self.checked(-e, position),
                Value::Form(f) => self.checked_form(-f, position),
                Value::Measure(_) => Err(self.error(position, "a measure has no sign".to_owned())),
            }
        } else if self.accept("+") {
            self.signed()
        } else {
            self.power()
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Result<Value, FormError> {
        let base = self.postfix()?;
        let position = self.position();
        if !(self.accept("^") || self.accept("**")) {
            return Ok(base);
        }
        match (base, self.signed()?) {
            (Value::Expr(a), Value::Expr(b)) => self.checked(a.pow(&b), position),
            _ => Err(self.error(position, "only scalars have powers".to_owned())),
        }
    }

    fn postfix(&mut self) -> Result<Value, FormError> {
        let mut value = self.primary()?;
        while matches!(self.peek(), Token::Symbol("[")) {
            let position = self.position();
            self.advance();
            let mut index = Vec::new();
            loop {
                let at = self.position();
                match self.advance() {
                    Token::Number(x) if x.fract() == 0.0 && (0.0..1e6).contains(&x) => {
                        index.push(x as usize);
                    }
                    other => {
                        let message = format!(
                            "an index is a whole number from 0, found {}",
                            other.describe()
                        );
                        return Err(self.error(at, message));
                    }
                }
                if !self.accept(",") {
                    break;
                }
            }
            self.expect("]")?;
            let Value::Expr(e) = value else {
                return Err(self.error(position, "only an expression has components".to_owned()));
            };
            value = self.checked(e.index(&index), position)?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Value, FormError> {
        let position = self.position();
        match self.advance() {
            Token::Number(x) => Ok(Value::Expr(x.into())),
            Token::Symbol("(") => {
                let value = self.comparison()?;
                self.expect(")")?;
                Ok(value)
            }
            Token::Symbol("[") => self.literal(position),
            Token::Name(name) => self.name(&name, position),
            other => {
                let message = format!("expected a value but found {}", other.describe());
                Err(self.error(position, message))
            }
        }
    }

    /// `[a, b]` a vector, `[[a, b], [c, d]]` a matrix.
    fn literal(&mut self, position: usize) -> Result<Value, FormError> {
        let mut parts = Vec::new();
        loop {
            match self.comparison()? {
                Value::Expr(e) => parts.push(e),
                other => {
                    let message = format!("{} cannot be a component", other.describe());
                    return Err(self.error(position, message));
                }
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect("]")?;
        let first = parts[0].shape();
        let e = match first {
            Shape::Vector(columns) if parts.iter().all(|p| p.shape() == first) => {
                let rows = parts.len();
                let entries = parts
                    .iter()
                    .flat_map(|p| (0..columns).map(move |c| p.component(c)));
                Expr::tensor(Shape::Matrix(rows, columns), entries.collect())
            }
            _ => Expr::tensor(Shape::Vector(parts.len()), parts),
        };
        self.checked(e, position)
    }

    fn name(&mut self, name: &str, position: usize) -> Result<Value, FormError> {
        if let (Some(kind), Some(geometry)) = (measure(name), &self.scope.geometry) {
            let measure = Measure::new(kind, geometry.clone());
            return Ok(Value::Measure(self.measure(measure)?));
        }
        if matches!(self.peek(), Token::Symbol("(")) && !self.scope.names.contains_key(name) {
            return self.call(name, position);
        }
        match self.scope.names.get(name) {
            Some(e) => self.checked(e.clone(), position),
            None => Err(self.unknown(name, position, "name", self.known_names())),
        }
    }

    fn known_names(&self) -> Vec<&str> {
        let mut known: Vec<&str> = self.scope.names.keys().map(String::as_str).collect();
        if self.scope.geometry.is_some() {
            known.extend(["dx", "ds", "dS"]);
        }
        known
    }

    fn unknown(&self, name: &str, position: usize, what: &str, known: Vec<&str>) -> FormError {
        let near = crate::form::nearest(name, known.iter().copied());
        let hint = match near {
            Some(near) => format!("; did you mean `{near}`?"),
            None if known.is_empty() => String::new(),
            None => format!("; known are {}", known.join(", ")),
        };
        self.error(position, format!("there is no {what} `{name}`{hint}"))
    }

    fn measure(&mut self, mut measure: Measure) -> Result<Measure, FormError> {
        measure.degree = self.scope.degree;
        if !self.accept("(") {
            return Ok(measure);
        }
        let mut tags = Vec::new();
        while !self.accept(")") {
            let position = self.position();
            match self.advance() {
                Token::Text(tag) => tags.push(tag),
                Token::Name(key) if key == "degree" => {
                    self.expect("=")?;
                    let at = self.position();
                    match self.advance() {
                        Token::Number(x) if x.fract() == 0.0 && (0.0..1e4).contains(&x) => {
                            measure.degree = Some(x as usize);
                        }
                        _ => {
                            let message = "the degree is a whole number".to_owned();
                            return Err(self.error(at, message));
                        }
                    }
                }
                Token::Name(key) if key == "particles" => {
                    self.expect("=")?;
                    let at = self.position();
                    let Token::Name(name) = self.advance() else {
                        let message = "particles are given by a name".to_owned();
                        return Err(self.error(at, message));
                    };
                    let all = &self.scope.particles;
                    match all.get(&name) {
                        Some(cloud) => measure.particles = Some(cloud.clone()),
                        None => {
                            let known = all.keys().map(String::as_str).collect();
                            return Err(self.unknown(&name, at, "cloud of particles", known));
                        }
                    }
                }
                other => {
                    let message = format!(
                        "a measure takes 'tag' names, degree = number and particles = name, found {}",
                        other.describe()
                    );
                    return Err(self.error(position, message));
                }
            }
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        if !tags.is_empty() {
            measure.subset = Subset::Tagged(tags);
        }
        Ok(measure)
    }

    fn call(&mut self, name: &str, position: usize) -> Result<Value, FormError> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        let mut form = None;
        while !self.accept(")") {
            match self.comparison()? {
                Value::Expr(e) => arguments.push(e),
                Value::Form(f) if name == "deriv" && arguments.is_empty() && form.is_none() => {
                    form = Some(f);
                }
                other => {
                    let message = format!("{} cannot be an argument", other.describe());
                    return Err(self.error(position, message));
                }
            }
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        if name == "deriv" {
            return self.derivative(form, &arguments, position);
        }
        let axes = self.scope.geometry.as_ref().map(|g| g.space_dim());
        let e = match function(name, &arguments, axes) {
            Ok(e) => e,
            Err(Call::Unknown) => {
                let known = FUNCTIONS.iter().map(|(n, _)| *n);
                let known = known.chain(Unary::NAMED.iter().map(|(n, _)| *n)).collect();
                return Err(self.unknown(name, position, "function", known));
            }
            Err(Call::Count(expected)) => {
                let message = format!(
                    "`{name}` takes {expected} argument{}, got {}",
                    if expected == 1 { "" } else { "s" },
                    arguments.len()
                );
                return Err(self.error(position, message));
            }
        };
        self.checked(e, position)
    }

    fn derivative(
        &self,
        form: Option<Form>,
        arguments: &[Expr],
        position: usize,
    ) -> Result<Value, FormError> {
        match (form, arguments) {
            (Some(form), [field, direction]) if let Op::Field(field) = field.op() => {
                self.checked_form(form.deriv(field, direction), position)
            }
            (None, [e, field, direction]) if let Op::Field(field) = field.op() => {
                self.checked(e.deriv(field, direction), position)
            }
            _ => {
                let message = "`deriv` takes an expression or a form, a field, and a direction";
                Err(self.error(position, message.to_owned()))
            }
        }
    }
}
