//! Arithmetic of sums of coefficients × slots.

use super::{Id, Linear, Lowering, one};
use crate::form::functions::{Binary, Unary};

impl Lowering {
    pub(super) fn add(&mut self, a: &Linear, b: &Linear, f: Binary) -> Linear {
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
                    (
                        key,
                        if f == Binary::Sub {
                            self.unary(Unary::Neg, id)
                        } else {
                            id
                        },
                    )
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
    pub(super) fn multiply(&mut self, a: &Linear, b: &Linear) -> Linear {
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

    pub(super) fn negate(&mut self, a: &Linear) -> Linear {
        a.iter()
            .map(|&(key, id)| (key, self.unary(Unary::Neg, id)))
            .collect()
    }

    pub(super) fn scale(&mut self, factor: f64, a: &Linear) -> Linear {
        let factor = one(self.constant(factor));
        self.multiply(&factor, a)
    }

    /// The scalar behind a component that holds no argument.
    pub(super) fn plain(&mut self, a: &Linear) -> Id {
        match a.first() {
            Some(&(_, id)) => id,
            None => self.constant(0.0),
        }
    }

    pub(super) fn sum_of_products(
        &mut self,
        pairs: impl Iterator<Item = (Linear, Linear)>,
    ) -> Linear {
        let mut sum = Linear::new();
        for (a, b) in pairs {
            let product = self.multiply(&a, &b);
            sum = self.add(&sum, &product, Binary::Add);
        }
        sum
    }
}
