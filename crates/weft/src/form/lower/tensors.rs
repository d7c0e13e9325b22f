//! From tensor expressions to their scalar components.

use super::{
    Id, Input, InputKey, Level, Linear, Lowering, Scalar, Slot, one, scalar_slot, size, vector_slot,
};
use crate::form::error::FormError;
use crate::form::expr::{Expr, Op, Role, SideOf};
use crate::form::functions::{Binary, Unary};
use crate::form::shape::Shape;
use std::rc::Rc;
use std::sync::Arc;

impl Lowering {
    pub(super) fn expression(
        &mut self,
        e: &Expr,
        side: SideOf,
    ) -> Result<Rc<Vec<Linear>>, FormError> {
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
    pub(super) fn basis(
        &mut self,
        leaf: &Expr,
        side: SideOf,
        c: usize,
        derivative: usize,
    ) -> Linear {
        let Some(space) = leaf.function_space() else {
            return Linear::new();
        };
        if space.vector_element().is_some() {
            let slot = match derivative {
                0 => vector_slot::VALUE + c,
                d => vector_slot::GRADIENT + 3 * c + d - 1,
            };
            return self.function(leaf, side, 0, slot, 1.0);
        }
        let mut sum = Linear::new();
        for (dof, factor) in space.value().dofs_of(c) {
            let term = self.function(leaf, side, dof, derivative, factor);
            sum = self.add(&sum, &term, Binary::Add);
        }
        sum
    }

    /// `factor` times a slot of an argument or field.
    fn function(
        &mut self,
        leaf: &Expr,
        side: SideOf,
        dof: usize,
        derivative: usize,
        factor: f64,
    ) -> Linear {
        match leaf.op() {
            Op::Argument(role, _) => {
                let slot = Slot {
                    side,
                    dof: dof as u8,
                    derivative: derivative as u8,
                };
                let id = self.constant(factor);
                match role {
                    Role::Test => vec![((Some(slot), None), id)],
                    Role::Trial => vec![((None, Some(slot)), id)],
                }
            }
            Op::Field(field) => {
                let index = match self.fields.iter().position(|f| f.same(field)) {
                    Some(index) => index,
                    None => {
                        self.fields.push(field.clone());
                        self.fields.len() - 1
                    }
                };
                let input = self.input(
                    InputKey::Field(index, side, dof, derivative),
                    Input::Field {
                        field: index,
                        side,
                        dof,
                        derivative,
                    },
                );
                let factor = self.constant(factor);
                one(self.binary(Binary::Mul, factor, input))
            }
            _ => Linear::new(),
        }
    }

    pub(super) fn components(&mut self, e: &Expr, side: SideOf) -> Result<Vec<Linear>, FormError> {
        let n = e.shape().len();
        Ok(match e.op() {
            Op::Zero => vec![Linear::new(); n],
            Op::Constant(c) => vec![if *c == 0.0 {
                Linear::new()
            } else {
                one(self.constant(*c))
            }],
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
            Op::SideData(data) => {
                let key = InputKey::SideData(Arc::as_ptr(data) as usize);
                vec![one(self.input(key, Input::SideData(data.clone())))]
            }
            Op::Quantity(q, cells) => {
                let side = if q.is_sided() { side } else { SideOf::Inside };
                (0..n)
                    .map(|k| {
                        let key = InputKey::Quantity(*q, *cells, side, k);
                        one(self.input(key, Input::Quantity(*q, *cells, side, k)))
                    })
                    .collect()
            }
            Op::ParticleData(given) => {
                let known = self.particle_data.iter().position(|d| d.same(given));
                let data = known.unwrap_or_else(|| {
                    self.particle_data.push(given.clone());
                    self.particle_data.len() - 1
                });
                (0..n)
                    .map(|component| {
                        let key = InputKey::ParticleData(given.address(), component);
                        one(self.input(key, Input::ParticleData { data, component }))
                    })
                    .collect()
            }
            Op::Position => (0..n)
                .map(|d| one(self.input(InputKey::Position(d), Input::Position(d))))
                .collect(),
            Op::Normal => (0..n)
                .map(|d| one(self.input(InputKey::Normal(d), Input::Normal(d))))
                .collect(),
            Op::CellSize => vec![one(
                self.input(InputKey::CellSize(side), Input::CellSize(side))
            )],
            Op::Argument(..) | Op::Field(_) => (0..n).map(|c| self.basis(e, side, c, 0)).collect(),
            Op::Gradient(leaf) => {
                let dim = n / leaf.shape().len();
                (0..n)
                    .map(|k| self.basis(leaf, side, k / dim, 1 + k % dim))
                    .collect()
            }
            Op::Partial(leaf, c, d) => vec![self.basis(leaf, side, *c, 1 + d)],
            Op::Second(leaf, c, axes) => {
                vec![self.basis(leaf, side, *c, scalar_slot::second(*axes))]
            }
            Op::Divergence(leaf) => {
                vec![self.function(leaf, side, 0, vector_slot::DIVERGENCE, 1.0)]
            }
            Op::Curl(leaf) => (0..n)
                .map(|c| self.function(leaf, side, 0, vector_slot::CURL + c, 1.0))
                .collect(),
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
                l.iter()
                    .zip(r.iter())
                    .map(|(x, y)| self.add(x, y, *f))
                    .collect()
            }
            Op::Binary(Binary::Mul, l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                vec![self.multiply(&l[0], &r[0])]
            }
            Op::Binary(Binary::Div, l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                let divisor = self.plain(&r[0]);
                let parts = l[0]
                    .iter()
                    .map(|&(k, id)| (k, self.binary(Binary::Div, id, divisor)));
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
                y.iter()
                    .zip(no.iter())
                    .map(|(a, b)| self.select(c, a, b))
                    .collect()
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
                        self.sum_of_products(
                            (0..inner)
                                .map(|m| (l[i * inner + m].clone(), r[m * columns + j].clone())),
                        )
                    })
                    .collect()
            }
            Op::Outer(l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                (0..n)
                    .map(|k| self.multiply(&l[k / r.len()], &r[k % r.len()]))
                    .collect()
            }
            Op::Cross(l, r) => {
                let (l, r) = (self.expression(l, side)?, self.expression(r, side)?);
                let mut minor = |i: usize, j: usize| {
                    let a = self.multiply(&l[i], &r[j]);
                    let b = self.multiply(&l[j], &r[i]);
                    self.add(&a, &b, Binary::Sub)
                };
                if l.len() == 2 {
                    vec![minor(0, 1)]
                } else {
                    vec![minor(1, 2), minor(2, 0), minor(0, 1)]
                }
            }
            Op::Transpose(a) => {
                let Shape::Matrix(rows, columns) = e.shape() else {
                    return Ok(Vec::new());
                };
                let a = self.expression(a, side)?;
                (0..n)
                    .map(|k| a[(k % columns) * rows + k / columns].clone())
                    .collect()
            }
            Op::Trace(a) => {
                let a = self.expression(a, side)?;
                vec![self.trace(&a)]
            }
            Op::Symmetric(a) | Op::Skew(a) => {
                let f = if matches!(e.op(), Op::Symmetric(_)) {
                    Binary::Add
                } else {
                    Binary::Sub
                };
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
                let from = if self.two_sided {
                    *from
                } else {
                    SideOf::Inside
                };
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
                (0..n)
                    .map(|k| one(self.intern(Scalar::Native(call, k), Level::Varying)))
                    .collect()
            }
            Op::Invalid(error) => return Err(error.clone()),
        })
    }

    pub(super) fn trace(&mut self, a: &[Linear]) -> Linear {
        let m = size(a.len());
        (0..m).fold(Linear::new(), |sum, i| {
            self.add(&sum, &a[i * (m + 1)], Binary::Add)
        })
    }

    pub(super) fn select(&mut self, c: Id, yes: &Linear, no: &Linear) -> Linear {
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
    pub(super) fn cofactor(&mut self, a: &[Id], i: usize, j: usize) -> Id {
        match size(a.len()) {
            1 => self.constant(1.0),
            2 => {
                let minor = a[(1 - i) * 2 + (1 - j)];
                if (i + j) % 2 == 1 {
                    self.unary(Unary::Neg, minor)
                } else {
                    minor
                }
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

    pub(super) fn determinant(&mut self, a: &[Id]) -> Id {
        let m = size(a.len());
        let mut sum = self.constant(0.0);
        for j in 0..m {
            let cofactor = self.cofactor(a, 0, j);
            let product = self.binary(Binary::Mul, a[j], cofactor);
            sum = self.binary(Binary::Add, sum, product);
        }
        sum
    }
}
