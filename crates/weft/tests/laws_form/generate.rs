//! Random expressions, as text, from a small grammar. Values stay bounded and functions inside
//! their domains whatever the parts are.

use crate::common::Random;

/// What the leaves are called.
pub struct Grammar {
    pub scalars: &'static [&'static str],
    pub vectors: &'static [&'static str],
    pub matrices: &'static [&'static str],
    pub dim: usize,
}

impl Grammar {
    pub fn scalar(&self, random: &mut Random, depth: usize) -> String {
        if depth == 0 {
            return match random.below(3) {
                0 => format!("{:.2}", random.between(-2.0, 2.0)),
                1 => format!("{}[{}]", random.pick(self.vectors), random.below(self.dim)),
                _ => random.pick(self.scalars).to_string(),
            };
        }
        let s = |random: &mut Random| self.scalar(random, depth - 1);
        let v = |random: &mut Random| self.vector(random, depth - 1);
        let m = |random: &mut Random| self.matrix(random, depth - 1);
        match random.below(20) {
            0 => format!("({} + {})", s(random), s(random)),
            1 => format!("({} - {})", s(random), s(random)),
            2 | 3 => format!("{}*{}", s(random), s(random)),
            4 => format!("{}/(2 + ({})^2)", s(random), s(random)),
            5 => format!("sin({})", s(random)),
            6 => format!("exp(cos({}))", s(random)),
            7 => format!("ln(2 + ({})^2)", s(random)),
            8 => format!("sqrt(1 + ({})^2)", s(random)),
            9 => format!("tanh({})", s(random)),
            10 => format!("atan({})", s(random)),
            11 => format!("pow(1.5 + sin({}), {})", s(random), s(random)),
            12 => format!("max({}, {})", s(random), s(random)),
            13 => format!("min({}, {})", s(random), s(random)),
            14 => format!(
                "select({} < {}, {}, {})",
                s(random),
                s(random),
                s(random),
                s(random)
            ),
            15 => format!("dot({}, {})", v(random), v(random)),
            16 => format!("inner({}, {})", m(random), m(random)),
            17 => format!("det({})", m(random)),
            18 => format!("tr({})", m(random)),
            _ => format!("-({})^{}", s(random), 2 + random.below(2)),
        }
    }

    pub fn vector(&self, random: &mut Random, depth: usize) -> String {
        if depth == 0 {
            return random.pick(self.vectors).to_string();
        }
        let v = |random: &mut Random| self.vector(random, depth - 1);
        match random.below(6) {
            0 => format!("({} + {})", v(random), v(random)),
            1 => format!("sin({})*{}", self.scalar(random, depth - 1), v(random)),
            2 => format!("dot({}, {})", self.matrix(random, depth - 1), v(random)),
            3 => {
                let below = v(random);
                format!("{}/(1 + dot({below}, {below}))", v(random))
            }
            4 => {
                let parts: Vec<String> = (0..self.dim)
                    .map(|_| self.scalar(random, depth - 1))
                    .collect();
                format!("[{}]", parts.join(", "))
            }
            _ => format!("-{}", v(random)),
        }
    }

    pub fn matrix(&self, random: &mut Random, depth: usize) -> String {
        if depth == 0 {
            return random.pick(self.matrices).to_string();
        }
        let m = |random: &mut Random| self.matrix(random, depth - 1);
        match random.below(9) {
            0 => format!("({} - {})", m(random), m(random)),
            1 => format!(
                "outer({}, {})",
                self.vector(random, depth - 1),
                self.vector(random, depth - 1)
            ),
            2 => format!("transpose({})", m(random)),
            3 => format!("sym({})", m(random)),
            4 => format!("dev({})", m(random)),
            5 => format!("dot({}, {})", m(random), m(random)),
            // Twice the identity plus a skew part always has an inverse.
            6 => format!("inv(2*I + skew({}))", m(random)),
            7 => format!("({})*{}", self.scalar(random, depth - 1), m(random)),
            _ => format!("skew({})", m(random)),
        }
    }
}
