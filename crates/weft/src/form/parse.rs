//! The text syntax of expressions and forms.
//!
//! ```text
//! 2*mu*inner(sym(grad(u)), sym(grad(v)))*dx + lambda*div(u)*div(v)*dx('steel')
//! ```
//!
//! [`Scope`] says what names mean. Every error shows the text with a caret under its place.

use super::error::FormError;
use super::expr::{Expr, Op, Unary};
use super::integral::{DomainKind, Form, Measure, Subset};
use super::shape::Shape;
use crate::field::Field;
use crate::geometry::Geometry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Nesting deeper than this is refused: it would exhaust the stack.
const MAX_DEPTH: usize = 128;

/// What the names in a text mean: expressions by name, and the geometry for `x`, `n`, `dx`.
#[derive(Clone, Debug)]
pub struct Scope {
    geometry: Option<Arc<dyn Geometry>>,
    names: BTreeMap<String, Expr>,
    degree: Option<usize>,
}

impl Scope {
    /// Names of a geometry: `x` position, `n` normal, `h` cell size, `I` identity, `pi`.
    pub fn new(geometry: Arc<dyn Geometry>) -> Scope {
        let dim = geometry.space_dim();
        let mut scope = Scope::numbers();
        scope.names.insert("x".into(), Expr::position_in(dim));
        scope.names.insert("n".into(), Expr::normal_in(dim));
        scope.names.insert("h".into(), Expr::cell_size());
        scope.names.insert("I".into(), Expr::identity(dim));
        scope.geometry = Some(geometry);
        scope
    }

    /// Only `pi`: for texts that are numbers.
    pub fn numbers() -> Scope {
        let names = BTreeMap::from([("pi".to_owned(), Expr::constant(std::f64::consts::PI))]);
        Scope { geometry: None, names, degree: None }
    }

    /// Give a name a meaning; it replaces an earlier one.
    pub fn set(&mut self, name: &str, value: impl Into<Expr>) {
        self.names.insert(name.to_owned(), value.into());
    }

    /// Name a field: its value, and something `deriv` can differentiate by.
    pub fn set_field(&mut self, name: &str, field: &Field) {
        self.set(name, field);
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
            other => Err(parser.error(0, format!("this is {}, not an expression", other.describe()))),
        }
    }

    /// Read an expression that is a number.
    pub fn number(&self, text: &str) -> Result<f64, FormError> {
        let e = self.expression(text)?;
        e.constant_value().ok_or_else(|| {
            let parser = Parser { scope: self, text, tokens: vec![], next: 0, depth: 0 };
            parser.error(0, format!("`{e}` is not a number"))
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Text(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn describe(&self) -> String {
        match self {
            Token::Number(x) => format!("`{x}`"),
            Token::Name(n) => format!("`{n}`"),
            Token::Text(t) => format!("'{t}'"),
            Token::Symbol(s) => format!("`{s}`"),
            Token::End => "the end of the text".to_owned(),
        }
    }
}

const SYMBOLS: [&str; 18] = [
    "**", "<=", ">=", "==", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "<", ">", "=", ";",
];

enum Value {
    Expr(Expr),
    Form(Form),
    Measure(Measure),
}

impl Value {
    fn describe(&self) -> String {
        match self {
            Value::Expr(e) => format!("a {}", e.shape()),
            Value::Form(_) => "an integral".to_owned(),
            Value::Measure(_) => "a measure without an integrand".to_owned(),
        }
    }
}

struct Parser<'a> {
    scope: &'a Scope,
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(scope: &'a Scope, text: &'a str) -> Result<Parser<'a>, FormError> {
        let mut parser = Parser { scope, text, tokens: Vec::new(), next: 0, depth: 0 };
        parser.tokenize()?;
        Ok(parser)
    }

    fn error(&self, position: usize, message: String) -> FormError {
        let start = self.text[..position].rfind('\n').map_or(0, |k| k + 1);
        let line = self.text[start..].lines().next().unwrap_or("");
        let column = self.text[start..position].chars().count();
        FormError::Parse {
            message,
            text: line.to_owned(),
            caret: format!("{}^", " ".repeat(column)),
            position,
        }
    }

    fn tokenize(&mut self) -> Result<(), FormError> {
        let text = self.text;
        let mut at = 0;
        'outer: while let Some(c) = text[at..].chars().next() {
            if c.is_whitespace() {
                at += c.len_utf8();
                continue;
            }
            if c.is_ascii_digit() || c == '.' {
                let end = number_end(text.as_bytes(), at);
                let value = text[at..end].parse().ok().filter(|v: &f64| v.is_finite());
                let value = value.ok_or_else(|| {
                    self.error(at, format!("`{}` is not a finite number", &text[at..end]))
                })?;
                self.tokens.push((Token::Number(value), at));
                at = end;
                continue;
            }
            if c.is_alphabetic() || c == '_' {
                let rest = &text[at..];
                let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                let end = at + len.unwrap_or(rest.len());
                self.tokens.push((Token::Name(text[at..end].to_owned()), at));
                at = end;
                continue;
            }
            if c == '\'' || c == '"' {
                let Some(len) = text[at + 1..].find(c) else {
                    return Err(self.error(at, format!("no closing {c} for this text")));
                };
                let inner = text[at + 1..at + 1 + len].to_owned();
                self.tokens.push((Token::Text(inner), at));
                at += len + 2;
                continue;
            }
            for symbol in SYMBOLS {
                if text[at..].starts_with(symbol) {
                    self.tokens.push((Token::Symbol(symbol), at));
                    at += symbol.len();
                    continue 'outer;
                }
            }
            return Err(self.error(at, format!("`{c}` has no meaning here")));
        }
        self.tokens.push((Token::End, text.len()));
        Ok(())
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

    fn whole(&mut self) -> Result<Value, FormError> {
        let value = self.comparison()?;
        if *self.peek() != Token::End {
            let message = format!("{} does not continue the expression", self.peek().describe());
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
        let Token::Symbol(sign) = *self.peek() else { return Ok(left) };
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
                    let message =
                        format!("cannot add {} and {}", a.describe(), b.describe());
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
                Value::Measure(_) => {
                    Err(self.error(position, "a measure has no sign".to_owned()))
                }
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
                let entries =
                    parts.iter().flat_map(|p| (0..columns).map(move |c| p.component(c)));
                Expr::tensor(Shape::Matrix(rows, columns), entries.collect())
            }
            _ => Expr::tensor(Shape::Vector(parts.len()), parts),
        };
        self.checked(e, position)
    }

    fn name(&mut self, name: &str, position: usize) -> Result<Value, FormError> {
        let measure = match name {
            "dx" => Some(DomainKind::Cells),
            "ds" => Some(DomainKind::BoundarySides),
            "dS" => Some(DomainKind::InteriorSides),
            _ => None,
        };
        if let (Some(kind), Some(geometry)) = (measure, &self.scope.geometry) {
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
                other => {
                    let message = format!(
                        "a measure takes 'tag' names and degree = number, found {}",
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
        let e = match function(name, &arguments) {
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

fn number_end(bytes: &[u8], mut at: usize) -> usize {
    let digits = |mut k: usize| {
        while k < bytes.len() && bytes[k].is_ascii_digit() {
            k += 1;
        }
        k
    };
    at = digits(at);
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = matches!(bytes.get(at + 1), Some(b'+' | b'-')) as usize;
        let end = digits(at + 1 + sign);
        if end > at + 1 + sign {
            at = end;
        }
    }
    at
}

enum Call {
    Unknown,
    Count(usize),
}

/// Functions of expressions and how many arguments each takes.
const FUNCTIONS: [(&str, usize); 28] = [
    ("grad", 1),
    ("div", 1),
    ("curl", 1),
    ("sym", 1),
    ("skew", 1),
    ("dev", 1),
    ("tr", 1),
    ("det", 1),
    ("inv", 1),
    ("transpose", 1),
    ("norm", 1),
    ("inside", 1),
    ("outside", 1),
    ("jump", 1),
    ("avg", 1),
    ("inner", 2),
    ("dot", 2),
    ("outer", 2),
    ("cross", 2),
    ("min", 2),
    ("max", 2),
    ("pow", 2),
    ("less", 2),
    ("less_equal", 2),
    ("equal", 2),
    ("select", 3),
    ("deriv", 3),
    ("identity", 1),
];

fn function(name: &str, a: &[Expr]) -> Result<Expr, Call> {
    if let Some((_, u)) = Unary::NAMED.iter().find(|(n, _)| *n == name) {
        return if a.len() == 1 { Ok(a[0].unary(*u)) } else { Err(Call::Count(1)) };
    }
    let Some(&(_, count)) = FUNCTIONS.iter().find(|(n, _)| *n == name) else {
        return Err(Call::Unknown);
    };
    if a.len() != count {
        return Err(Call::Count(count));
    }
    Ok(match name {
        "grad" => a[0].grad(),
        "div" => a[0].div(),
        "curl" => a[0].curl(),
        "sym" => a[0].sym(),
        "skew" => a[0].skew(),
        "dev" => a[0].dev(),
        "tr" => a[0].trace(),
        "det" => a[0].det(),
        "inv" => a[0].inverse(),
        "transpose" => a[0].transpose(),
        "norm" => a[0].norm(),
        "inside" => a[0].inside(),
        "outside" => a[0].outside(),
        "jump" => a[0].jump(),
        "avg" => a[0].avg(),
        "inner" => a[0].inner(&a[1]),
        "dot" => a[0].dot(&a[1]),
        "outer" => a[0].outer(&a[1]),
        "cross" => a[0].cross(&a[1]),
        "min" => a[0].min(&a[1]),
        "max" => a[0].max(&a[1]),
        "pow" => a[0].pow(&a[1]),
        "less" => a[0].less(&a[1]),
        "less_equal" => a[0].less_equal(&a[1]),
        "equal" => a[0].equal(&a[1]),
        "select" => Expr::select(&a[0], &a[1], &a[2]),
        "identity" => match a[0].constant_value() {
            Some(n) if n.fract() == 0.0 && (1.0..=4.0).contains(&n) => Expr::identity(n as usize),
            _ => Expr::invalid(FormError::Arguments(
                "identity(n) takes a whole number from 1 to 4".to_owned(),
            )),
        },
        _ => return Err(Call::Unknown),
    })
}
