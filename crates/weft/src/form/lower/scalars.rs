//! Hash-consed scalars: equal computations have equal numbers, constants are folded.

use super::{Id, Input, InputKey, Level, Lowering, Scalar};
use crate::form::functions::{Binary, Unary};

impl Lowering {
    pub(super) fn intern(&mut self, scalar: Scalar, level: Level) -> Id {
        if let Some(&id) = self.ids.get(&scalar) {
            return id;
        }
        let id = self.scalars.len() as Id;
        self.scalars.push(scalar.clone());
        self.levels.push(level);
        self.ids.insert(scalar, id);
        id
    }

    pub(super) fn constant(&mut self, value: f64) -> Id {
        // Negative zero would otherwise be a second zero.
        self.intern(Scalar::Constant((value + 0.0).to_bits()), Level::Uniform)
    }

    pub(super) fn value_of(&self, id: Id) -> Option<f64> {
        match self.scalars[id as usize] {
            Scalar::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    pub(super) fn unary(&mut self, f: Unary, a: Id) -> Id {
        if let Some(x) = self.value_of(a) {
            return self.constant(f.eval(x));
        }
        if let (Unary::Neg, Scalar::Unary(Unary::Neg, inner)) = (f, &self.scalars[a as usize]) {
            return *inner;
        }
        self.intern(Scalar::Unary(f, a), self.levels[a as usize])
    }

    pub(super) fn binary(&mut self, f: Binary, a: Id, b: Id) -> Id {
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

    pub(super) fn input(&mut self, key: InputKey, input: Input) -> Id {
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
}
