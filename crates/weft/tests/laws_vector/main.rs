//! Laws of vector-valued elements and spaces: duality, spans, the de Rham sequence, continuity of
//! tangential and normal components under every numbering, convergence. Each law is swept over all
//! families, cells and degrees.

mod elements;

use weft::element::{CellKind, MAX_VECTOR_DEGREE, VectorElement, VectorFamily};

const DEGREES: std::ops::RangeInclusive<usize> = 1..=MAX_VECTOR_DEGREE;

/// Every element there is.
fn all_elements() -> impl Iterator<Item = VectorElement> {
    VectorFamily::ALL.into_iter().flat_map(|family| {
        family.cells().iter().flat_map(move |&kind| {
            DEGREES.map(move |degree| VectorElement::new(family, kind, degree).unwrap())
        })
    })
}

/// A small generator of reproducible numbers (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A point inside the cell.
    fn point(&mut self, kind: CellKind) -> [f64; 3] {
        loop {
            let mut x = [0.0; 3];
            for c in x.iter_mut().take(kind.dim()) {
                *c = self.unit();
            }
            if kind.is_tensor() || x.iter().sum::<f64>() < 1.0 {
                return x;
            }
        }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
