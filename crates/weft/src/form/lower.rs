//! Lowering: from an expression graph to scalar operations, with the linear structure in the
//! test and trial functions split off.
//!
//! Every tensor expression becomes one [`Linear`] per component: a sum of scalar coefficients
//! times pairs of *slots*, a slot being a value or physical derivative of one degree-of-freedom
//! component of an argument. Scalars are hash-consed, so common sub-expressions are computed
//! once and equal coefficients have equal numbers. What is left over is a [`Program`]: inputs
//! to gather, numbers to compute once an assembly, operations to run on blocks of points, and
//! the list of coefficients.

use super::error::FormError;
use super::expr::{Binary, CellData, Expr, Op, Role, SideOf, Unary};
use super::native::NativeFunction;
use super::param::Param;
use super::shape::Shape;
use crate::field::Field;
use crate::space::Space;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Value or derivative of one component of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub side: SideOf,
    /// Degree-of-freedom component at a node.
    pub dof: u8,
    /// 0: value; 1 + d: derivative along axis d.
    pub derivative: u8,
}

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operand {
    /// Register of the block tape.
    Register(u32),
    /// Entry of the table of numbers that are the same at all points.
    Uniform(u32),
}

/// Something the engine fills in for a block of points.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Position(usize),
    Normal(usize),
    CellSize(SideOf),
    CellData(SideOf, Arc<CellData>),
    /// Degree-of-freedom component of field number `field`.
    Field { field: usize, side: SideOf, dof: usize, derivative: usize },
}

/// Operation on numbers that are the same everywhere.
#[derive(Clone, Debug)]
pub(crate) enum UniformOp {
    Constant(f64),
    Param(Param, usize),
    Unary(Unary, u32),
    Binary(Binary, u32, u32),
    Select(u32, u32, u32),
}

/// Operation on a block of points.
#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    Unary { function: Unary, a: u32, out: u32 },
    Binary { function: Binary, a: Operand, b: Operand, out: u32 },
    Select { condition: Operand, yes: Operand, no: Operand, out: u32 },
    Native { function: Arc<dyn NativeFunction>, arguments: Vec<Operand>, out: Vec<u32> },
}

/// Coefficient of a product of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Coefficient {
    pub test: Option<Slot>,
    pub trial: Option<Slot>,
    /// Component of the expression (row-major); 0 for integrands.
    pub component: usize,
    pub value: Operand,
}

/// The lowered expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub test: Option<Space>,
    pub trial: Option<Space>,
    pub fields: Vec<Field>,
    /// Inputs and the registers they go to.
    pub inputs: Vec<(Input, u32)>,
    pub uniforms: Vec<UniformOp>,
    pub tape: Vec<Instruction>,
    pub registers: usize,
    /// Sorted by slots, then component.
    pub coefficients: Vec<Coefficient>,
}

impl Program {
    /// Whether exchanging test and trial slots leaves the coefficients as they are.
    pub fn is_symmetric(&self) -> bool {
        let same_space = match (&self.test, &self.trial) {
            (Some(a), Some(b)) => a.same(b),
            _ => false,
        };
        same_space
            && self.coefficients.iter().all(|c| {
                self.coefficients
                    .iter()
                    .any(|d| d.test == c.trial && d.trial == c.test && d.value == c.value)
            })
    }

    /// Numbers that are the same at all points, computed from the parameters as they are now.
    pub fn evaluate_uniforms(&self, out: &mut [f64]) {
        for (k, op) in self.uniforms.iter().enumerate() {
            out[k] = match op {
                UniformOp::Constant(c) => *c,
                UniformOp::Param(p, component) => p.get(*component),
                UniformOp::Unary(f, a) => f.eval(out[*a as usize]),
                UniformOp::Binary(f, a, b) => f.eval(out[*a as usize], out[*b as usize]),
                UniformOp::Select(c, y, n) => {
                    out[if out[*c as usize] != 0.0 { *y } else { *n } as usize]
                }
            };
        }
    }
}

type Id = u32;

/// Hash-consed scalar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Scalar {
    Constant(u64),
    Param(usize, usize),
    Input(usize),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    Select(Id, Id, Id),
    /// Component of native call number.
    Native(usize, usize),
}

/// Sum of coefficient × test slot × trial slot, sorted by slots.
type Linear = Vec<((Option<Slot>, Option<Slot>), Id)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Uniform,
    Varying,
}

#[derive(PartialEq, Eq, Hash)]
enum InputKey {
    Position(usize),
    Normal(usize),
    CellSize(SideOf),
    CellData(SideOf, usize),
    Field(usize, SideOf, usize, usize),
}

struct Lowering {
    scalars: Vec<Scalar>,
    levels: Vec<Level>,
    ids: HashMap<Scalar, Id>,
    params: Vec<Param>,
    inputs: Vec<Input>,
    input_ids: HashMap<InputKey, usize>,
    fields: Vec<Field>,
    natives: Vec<(Arc<dyn NativeFunction>, Vec<Id>)>,
    done: HashMap<(usize, SideOf), Rc<Vec<Linear>>>,
    two_sided: bool,
}

/// Lower a valid expression of any shape. Unless `two_sided`, the inside and the outside are
/// the same cell.
pub(crate) fn lower(e: &Expr, two_sided: bool) -> Result<Program, FormError> {
    e.check()?;
    let mut lowering = Lowering {
        scalars: Vec::new(),
        levels: Vec::new(),
        ids: HashMap::new(),
        params: Vec::new(),
        inputs: Vec::new(),
        input_ids: HashMap::new(),
        fields: Vec::new(),
        natives: Vec::new(),
        done: HashMap::new(),
        two_sided,
    };
    let components = lowering.expression(e, SideOf::Inside)?;
    let held = e.held().clone();
    Ok(lowering.program(held.test, held.trial, &components))
}

fn one(id: Id) -> Linear {
    vec![((None, None), id)]
}

impl Lowering {
    // ---- scalars ----

    fn intern(&mut self, scalar: Scalar, level: Level) -> Id {
        if let Some(&id) = self.ids.get(&scalar) {
            return id;
        }
        let id = self.scalars.len() as Id;
        self.scalars.push(scalar.clone());
        self.levels.push(level);
        self.ids.insert(scalar, id);
        id
    }

    fn constant(&mut self, value: f64) -> Id {
        // Negative zero would otherwise be a second zero.
        self.intern(Scalar::Constant((value + 0.0).to_bits()), Level::Uniform)
    }

    fn value_of(&self, id: Id) -> Option<f64> {
        match self.scalars[id as usize] {
            Scalar::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn unary(&mut self, f: Unary, a: Id) -> Id {
        if let Some(x) = self.value_of(a) {
            return self.constant(f.eval(x));
        }
        if let (Unary::Neg, Scalar::Unary(Unary::Neg, inner)) = (f, &self.scalars[a as usize]) {
            return *inner;
        }
        self.intern(Scalar::Unary(f, a), self.levels[a as usize])
    }

    fn binary(&mut self, f: Binary, a: Id, b: Id) -> Id {
        let (x, y) = (self.value_of(a), self.value_of(b));
        if let (Some(x), Some(y)) = (x, y) {
            return self.constant(f.eval(x, y));
        }
        match f {
            Binary::Add if x == Some(0.0) => return b,
            Binary::Add | Binary::Sub if y == Some(0.0) => return a,
            Binary::Sub if x == Some(0.0) => return self.unary(Unary::Neg, b),
            Binary::Mul if x == Some(0.0) || y == Some(0.0) => return self.constant(0.0),
            Binary::Mul if x == Some(1.0) => return b,
            Binary::Mul | Binary::Div if y == Some(1.0) => return a,
            Binary::Mul if x == Some(-1.0) => return self.unary(Unary::Neg, b),
            Binary::Mul if y == Some(-1.0) => return self.unary(Unary::Neg, a),
            _ => {}
        }
        // One order for commutative operations, so that equal values have equal numbers.
        let (a, b) = match f {
            Binary::Add | Binary::Mul | Binary::Min | Binary::Max if b < a => (b, a),
            _ => (a, b),
        };
        let level = self.levels[a as usize].max(self.levels[b as usize]);
        self.intern(Scalar::Binary(f, a, b), level)
    }

    fn input(&mut self, key: InputKey, input: Input) -> Id {
        let index = match self.input_ids.get(&key) {
            Some(&index) => index,
            None => {
                self.inputs.push(input);
                self.input_ids.insert(key, self.inputs.len() - 1);
                self.inputs.len() - 1
            }
        };
        self.intern(Scalar::Input(index), Level::Varying)
    }

    // ---- sums of slots ----

    fn add(&mut self, a: &Linear, b: &Linear, f: Binary) -> Linear {
        let mut out = Vec::with_capacity(a.len() + b.len());
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let order = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => x.0.cmp(&y.0),
                (Some(_), None) => std::cmp::Ordering::Less,
                _ => std::cmp::Ordering::Greater,
            };
            let (key, id) = match order {
                std::cmp::Ordering::Less => {
                    i += 1;
                    a[i - 1]
                }
                std::cmp::Ordering::Greater => {
                    j += 1;
                    let (key, id) = b[j - 1];
                    (key, if f == Binary::Sub { self.unary(Unary::Neg, id) } else { id })
                }
                std::cmp::Ordering::Equal => {
                    i += 1;
                    j += 1;
                    (a[i - 1].0, self.binary(f, a[i - 1].1, b[j - 1].1))
                }
            };
            if self.value_of(id) != Some(0.0) {
                out.push((key, id));
            }
        }
        out
    }

    /// Product; at most one factor holds each argument (checked when the graph was built).
    fn multiply(&mut self, a: &Linear, b: &Linear) -> Linear {
        let mut out: Linear = Vec::with_capacity(a.len() * b.len());
        for &((ta, ra), x) in a {
            for &((tb, rb), y) in b {
                let id = self.binary(Binary::Mul, x, y);
                if self.value_of(id) != Some(0.0) {
                    out.push(((ta.or(tb), ra.or(rb)), id));
                }
            }
        }
        out.sort_by_key(|(key, _)| *key);
        let mut merged: Linear = Vec::with_capacity(out.len());
        for (key, id) in out {
            match merged.last_mut() {
                Some((last, sum)) if *last == key => *sum = self.binary(Binary::Add, *sum, id),
                _ => merged.push((key, id)),
            }
        }
        merged.retain(|(_, id)| self.value_of(*id) != Some(0.0));
        merged
    }

    fn negate(&mut self, a: &Linear) -> Linear {
        a.iter().map(|&(key, id)| (key, self.unary(Unary::Neg, id))).collect()
    }

    fn scale(&mut self, factor: f64, a: &Linear) -> Linear {
        let factor = one(self.constant(factor));
        self.multiply(&factor, a)
    }

    /// The scalar behind a component that holds no argument.
    fn plain(&mut self, a: &Linear) -> Id {
        match a.first() {
            Some(&(_, id)) => id,
            None => self.constant(0.0),
        }
    }

    fn sum_of_products(&mut self, pairs: impl Iterator<Item = (Linear, Linear)>) -> Linear {
        let mut sum = Linear::new();
        for (a, b) in pairs {
            let product = self.multiply(&a, &b);
            sum = self.add(&sum, &product, Binary::Add);
        }
        sum
    }

    // ---- expressions ----

    fn expression(&mut self, e: &Expr, side: SideOf) -> Result<Rc<Vec<Linear>>, FormError> {
        let key = (Arc::as_ptr(&e.0) as usize, side);
        if let Some(done) = self.done.get(&key) {
            return Ok(done.clone());
        }
        let components = Rc::new(self.components(e, side)?);
        debug_assert_eq!(components.len(), e.shape().len());
        self.done.insert(key, components.clone());
        Ok(components)
    }

    /// Component `c` of an argument or field, `derivative` as in [`Slot`].
    fn basis(&mut self, leaf: &Expr, side: SideOf, c: usize, derivative: usize) -> Linear {
        match leaf.op() {
            Op::Argument(role, space) => {
                let (dof, factor) = space.value().dof_of(c);
                let slot = Slot { side, dof: dof as u8, derivative: derivative as u8 };
                let id = self.constant(factor);
                match role {
                    Role::Test => vec![((Some(slot), None), id)],
                    Role::Trial => vec![((None, Some(slot)), id)],
                }
            }
            Op::Field(field) => {
                let (dof, factor) = field.space().value().dof_of(c);
                let index = match self.fields.iter().position(|f| f.same(field)) {
                    Some(index) => index,
                    None => {
                        self.fields.push(field.clone());
                        self.fields.len() - 1
                    }
                };
                let input = self.input(
                    InputKey::Field(index, side, dof, derivative),
                    Input::Field { field: index, side, dof, derivative },
                );
                let factor = self.constant(factor);
                one(self.binary(Binary::Mul, factor, input))
            }
            _ => Linear::new(),
        }
    }

    fn components(&mut self, e: &Expr, side: SideOf) -> Result<Vec<Linear>, FormError> {
        let n = e.shape().len();
        Ok(match e.op() {
            Op::Zero => vec![Linear::new(); n],
            Op::Constant(c) => vec![if *c == 0.0 { Linear::new() } else { one(self.constant(*c)) }],
            Op::Param(p) => {
                let known = self.params.iter().any(|q| q.same(p));
                if !known {
                    self.params.push(p.clone());
                }
                (0..n)
                    .map(|k| one(self.intern(Scalar::Param(p.address(), k), Level::Uniform)))
                    .collect()
            }
            Op::CellData(data) => {
                let key = InputKey::CellData(side, Arc::as_ptr(data) as usize);
                vec![one(self.input(key, Input::CellData(side, data.clone())))]
            }
            Op::Position => (0..n)
                .map(|d| one(self.input(InputKey::Position(d), Input::Position(d))))
                .collect(),
            Op::Normal => {
                (0..n).map(|d| one(self.input(InputKey::Normal(d), Input::Normal(d)))).collect()
            }
            Op::CellSize => vec![one(self.input(InputKey::CellSize(side), Input::CellSize(side)))],
            Op::Argument(..) | Op::Field(_) => {
                (0..n).map(|c| self.basis(e, side, c, 0)).collect()
            }
            Op::Gradient(leaf) => {
                let dim = n / leaf.shape().len();
                (0..n).map(|k| self.basis(leaf, side, k / dim, 1 + k % dim)).collect()
            }
            Op::Partial(leaf, c, d) => vec![self.basis(leaf, side, *c, 1 + d)],
            Op::Tensor(parts) => {
                let mut out = Vec::with_capacity(n);
                for part in parts {
                    out.push(self.expression(part, side)?[0].clone());
                }
                out
            }
            Op::Component(a, k) => vec![self.expression(a, side)?[*k].clone()],
            Op::Unary(Unary::Neg, a) => {
                let a = self.expression(a, side)?;
                a.iter().map(|x| self.negate(x)).collect()
            }
            Op::Unary(f, a) => {
                let a = self.expression(a, side)?;
                let a = self.plain(&a[0]);
                vec![one(self.unary(*f, a))]
            }
            Op::Binary(f @ (Binary::Add | Binary::Sub), l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                l.iter().zip(r.iter()).map(|(x, y)| self.add(x, y, *f)).collect()
            }
            Op::Binary(Binary::Mul, l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                vec![self.multiply(&l[0], &r[0])]
            }
            Op::Binary(Binary::Div, l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                let divisor = self.plain(&r[0]);
                let parts = l[0].iter().map(|&(k, id)| (k, self.binary(Binary::Div, id, divisor)));
                vec![parts.collect()]
            }
            Op::Binary(f, l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                let (a, b) = (self.plain(&l[0]), self.plain(&r[0]));
                vec![one(self.binary(*f, a, b))]
            }
            Op::Scale(l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                r.iter().map(|x| self.multiply(&l[0], x)).collect()
            }
            Op::Select(c, y, no) => {
                let c = self.expression(c, side)?;
                let c = self.plain(&c[0]);
                let (y, no) = (self.expression(y, side)?, self.expression(no, side)?);
                y.iter().zip(no.iter()).map(|(a, b)| self.select(c, a, b)).collect()
            }
            Op::Inner(l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                vec![self.sum_of_products(l.iter().cloned().zip(r.iter().cloned()))]
            }
            Op::Dot(l, r) => {
                let (rows, inner) = match l.shape() {
                    Shape::Matrix(r, c) => (r, c),
                    other => (1, other.len()),
                };
                let columns = r.shape().len() / inner;
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                (0..rows * columns)
                    .map(|k| {
                        let (i, j) = (k / columns, k % columns);
                        self.sum_of_products((0..inner).map(|m| {
                            (l[i * inner + m].clone(), r[m * columns + j].clone())
                        }))
                    })
                    .collect()
            }
            Op::Outer(l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                (0..n).map(|k| self.multiply(&l[k / r.len()], &r[k % r.len()])).collect()
            }
            Op::Cross(l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                let mut minor = |i: usize, j: usize| {
                    let a = self.multiply(&l[i], &r[j]);
                    let b = self.multiply(&l[j], &r[i]);
                    self.add(&a, &b, Binary::Sub)
                };
                if l.len() == 2 { vec![minor(0, 1)] } else { vec![minor(1, 2), minor(2, 0), minor(0, 1)] }
            }
            Op::Transpose(a) => {
                let Shape::Matrix(rows, columns) = e.shape() else { return Ok(Vec::new()) };
                let a = self.expression(a, side)?;
                (0..n).map(|k| a[(k % columns) * rows + k / columns].clone()).collect()
            }
            Op::Trace(a) => {
                let a = self.expression(a, side)?;
                vec![self.trace(&a)]
            }
            Op::Symmetric(a) | Op::Skew(a) => {
                let f =
                    if matches!(e.op(), Op::Symmetric(_)) { Binary::Add } else { Binary::Sub };
                let a = self.expression(a, side)?;
                let m = size(n);
                (0..n)
                    .map(|k| {
                        let sum = self.add(&a[k], &a[(k % m) * m + k / m], f);
                        self.scale(0.5, &sum)
                    })
                    .collect()
            }
            Op::Deviator(a) => {
                let a = self.expression(a, side)?;
                let m = size(n);
                let trace = self.trace(&a);
                let mean = self.scale(1.0 / m as f64, &trace);
                (0..n)
                    .map(|k| {
                        if k % (m + 1) == 0 {
                            self.add(&a[k], &mean, Binary::Sub)
                        } else {
                            a[k].clone()
                        }
                    })
                    .collect()
            }
            Op::Determinant(a) => {
                let a = self.expression(a, side)?;
                let entries: Vec<Id> = a.iter().map(|x| self.plain(x)).collect();
                vec![one(self.determinant(&entries))]
            }
            Op::Inverse(a) => {
                let a = self.expression(a, side)?;
                let entries: Vec<Id> = a.iter().map(|x| self.plain(x)).collect();
                let det = self.determinant(&entries);
                let m = size(n);
                (0..n)
                    .map(|k| {
                        // Transposed cofactors over the determinant.
                        let cofactor = self.cofactor(&entries, k % m, k / m);
                        one(self.binary(Binary::Div, cofactor, det))
                    })
                    .collect()
            }
            Op::Restrict(from, a) => {
                let from = if self.two_sided { *from } else { SideOf::Inside };
                self.expression(a, from)?.to_vec()
            }
            Op::Native(f, arguments) => {
                let mut ids = Vec::new();
                for a in arguments {
                    let a = self.expression(a, side)?;
                    for x in a.iter() {
                        ids.push(self.plain(x));
                    }
                }
                self.natives.push((f.clone(), ids));
                let call = self.natives.len() - 1;
                (0..n).map(|k| one(self.intern(Scalar::Native(call, k), Level::Varying))).collect()
            }
            Op::Invalid(error) => return Err(error.clone()),
        })
    }

    fn trace(&mut self, a: &[Linear]) -> Linear {
        let m = size(a.len());
        (0..m).fold(Linear::new(), |sum, i| self.add(&sum, &a[i * (m + 1)], Binary::Add))
    }

    fn select(&mut self, c: Id, yes: &Linear, no: &Linear) -> Linear {
        let mut keys: Vec<_> = yes.iter().chain(no).map(|(k, _)| *k).collect();
        keys.sort();
        keys.dedup();
        let zero = self.constant(0.0);
        let find = |list: &Linear, key| list.iter().find(|(k, _)| *k == key).map(|(_, id)| *id);
        let mut out = Linear::new();
        for key in keys {
            let y = find(yes, key).unwrap_or(zero);
            let n = find(no, key).unwrap_or(zero);
            let id = if y == n {
                y
            } else {
                let level = [c, y, n].iter().map(|&i| self.levels[i as usize]).max();
                self.intern(Scalar::Select(c, y, n), level.unwrap_or(Level::Varying))
            };
            out.push((key, id));
        }
        out
    }

    /// Signed minor of entry (i, j) of a square matrix of 1 to 3 rows.
    fn cofactor(&mut self, a: &[Id], i: usize, j: usize) -> Id {
        match size(a.len()) {
            1 => self.constant(1.0),
            2 => {
                let minor = a[(1 - i) * 2 + (1 - j)];
                if (i + j) % 2 == 1 { self.unary(Unary::Neg, minor) } else { minor }
            }
            _ => {
                // Cyclic indices carry the sign.
                let (i1, i2, j1, j2) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
                let p = self.binary(Binary::Mul, a[i1 * 3 + j1], a[i2 * 3 + j2]);
                let q = self.binary(Binary::Mul, a[i1 * 3 + j2], a[i2 * 3 + j1]);
                self.binary(Binary::Sub, p, q)
            }
        }
    }

    fn determinant(&mut self, a: &[Id]) -> Id {
        let m = size(a.len());
        let mut sum = self.constant(0.0);
        for j in 0..m {
            let cofactor = self.cofactor(a, 0, j);
            let product = self.binary(Binary::Mul, a[j], cofactor);
            sum = self.binary(Binary::Add, sum, product);
        }
        sum
    }

    // ---- the program ----

    fn program(
        self,
        test: Option<Space>,
        trial: Option<Space>,
        components: &[Linear],
    ) -> Program {
        let count = self.scalars.len();
        let mut needed = vec![false; count];
        for (_, id) in components.iter().flatten() {
            needed[*id as usize] = true;
        }
        // Children have smaller numbers than parents, so one sweep down marks everything.
        for id in (0..count).rev() {
            if needed[id] {
                for child in self.scalar_children(id) {
                    needed[child as usize] = true;
                }
            }
        }

        let mut last_use = vec![0usize; count];
        for id in (0..count).filter(|&id| needed[id]) {
            for child in self.scalar_children(id) {
                last_use[child as usize] = id;
            }
        }
        for (_, id) in components.iter().flatten() {
            last_use[*id as usize] = usize::MAX;
        }

        let mut operand: Vec<Option<Operand>> = vec![None; count];
        let mut uniforms = Vec::new();
        let mut inputs = Vec::new();
        let mut tape = Vec::new();
        let mut free: Vec<u32> = Vec::new();
        let mut registers = 0u32;
        let mut native_out: HashMap<usize, Vec<u32>> = HashMap::new();

        // Inputs first: they are filled before the tape runs and keep their registers.
        for id in (0..count).filter(|&id| needed[id]) {
            if let Scalar::Input(index) = self.scalars[id] {
                inputs.push((self.inputs[index].clone(), registers));
                operand[id] = Some(Operand::Register(registers));
                registers += 1;
            }
        }
        let uniform_of = |operand: &[Option<Operand>], id: Id| match operand[id as usize] {
            Some(Operand::Uniform(k)) => k,
            _ => unreachable!("children of uniform scalars are uniform and come first"),
        };
        let get = |operand: &[Option<Operand>], id: Id| match operand[id as usize] {
            Some(o) => o,
            None => unreachable!("children come before parents"),
        };
        for id in (0..count).filter(|&id| needed[id]) {
            if operand[id].is_some() {
                continue;
            }
            if self.levels[id] == Level::Uniform {
                let op = match &self.scalars[id] {
                    Scalar::Constant(bits) => UniformOp::Constant(f64::from_bits(*bits)),
                    Scalar::Param(address, k) => {
                        let param = self.params.iter().find(|p| p.address() == *address);
                        match param {
                            Some(p) => UniformOp::Param(p.clone(), *k),
                            None => unreachable!("every parameter met is kept"),
                        }
                    }
                    Scalar::Unary(f, a) => UniformOp::Unary(*f, uniform_of(&operand, *a)),
                    Scalar::Binary(f, a, b) => {
                        UniformOp::Binary(*f, uniform_of(&operand, *a), uniform_of(&operand, *b))
                    }
                    Scalar::Select(c, y, n) => UniformOp::Select(
                        uniform_of(&operand, *c),
                        uniform_of(&operand, *y),
                        uniform_of(&operand, *n),
                    ),
                    Scalar::Input(_) | Scalar::Native(..) => unreachable!("these vary"),
                };
                uniforms.push(op);
                operand[id] = Some(Operand::Uniform(uniforms.len() as u32 - 1));
                continue;
            }
            if let Scalar::Native(call, k) = &self.scalars[id] {
                // The first component met runs the call for all of them; its registers stay.
                let outs = native_out.entry(*call).or_insert_with(|| {
                    let (function, arguments) = &self.natives[*call];
                    let out: Vec<u32> =
                        (0..function.result().len() as u32).map(|i| registers + i).collect();
                    registers += out.len() as u32;
                    tape.push(Instruction::Native {
                        function: function.clone(),
                        arguments: arguments.iter().map(|&a| get(&operand, a)).collect(),
                        out: out.clone(),
                    });
                    out
                });
                operand[id] = Some(Operand::Register(outs[*k]));
                continue;
            }
            // Registers of operands that are not used again may take the result.
            let mut children = self.scalar_children(id);
            children.sort_unstable();
            children.dedup();
            for child in children {
                let pinned = matches!(
                    self.scalars[child as usize],
                    Scalar::Input(_) | Scalar::Native(..)
                );
                if let (Operand::Register(r), false) = (get(&operand, child), pinned)
                    && last_use[child as usize] == id
                {
                    free.push(r);
                }
            }
            let out = free.pop().unwrap_or_else(|| {
                registers += 1;
                registers - 1
            });
            tape.push(match &self.scalars[id] {
                Scalar::Unary(f, a) => match get(&operand, *a) {
                    Operand::Register(a) => Instruction::Unary { function: *f, a, out },
                    Operand::Uniform(_) => unreachable!("a uniform operand makes a uniform result"),
                },
                Scalar::Binary(f, a, b) => Instruction::Binary {
                    function: *f,
                    a: get(&operand, *a),
                    b: get(&operand, *b),
                    out,
                },
                Scalar::Select(c, y, n) => Instruction::Select {
                    condition: get(&operand, *c),
                    yes: get(&operand, *y),
                    no: get(&operand, *n),
                    out,
                },
                _ => unreachable!("handled above"),
            });
            operand[id] = Some(Operand::Register(out));
        }

        let mut coefficients = Vec::new();
        for (component, linear) in components.iter().enumerate() {
            for &((test, trial), id) in linear {
                let value = get(&operand, id);
                coefficients.push(Coefficient { test, trial, component, value });
            }
        }
        coefficients.sort();
        Program {
            test,
            trial,
            fields: self.fields,
            inputs,
            uniforms,
            tape,
            registers: registers as usize,
            coefficients,
        }
    }

    fn scalar_children(&self, id: usize) -> Vec<Id> {
        match &self.scalars[id] {
            Scalar::Constant(_) | Scalar::Param(..) | Scalar::Input(_) => vec![],
            Scalar::Unary(_, a) => vec![*a],
            Scalar::Binary(_, a, b) => vec![*a, *b],
            Scalar::Select(c, y, n) => vec![*c, *y, *n],
            Scalar::Native(call, _) => self.natives[*call].1.clone(),
        }
    }
}

/// Rows of a square matrix with `n` entries.
fn size(n: usize) -> usize {
    match n {
        1 => 1,
        4 => 2,
        9 => 3,
        _ => (n as f64).sqrt().round() as usize,
    }
}
