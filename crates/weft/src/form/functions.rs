//! Scalar functions that expressions are built from, and their values.

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Unary {
    Neg,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Ln,
    Sqrt,
    Abs,
    Sign,
    /// The largest whole number that is not larger.
    Floor,
}

impl Unary {
    pub(crate) const NAMED: [(&'static str, Unary); 15] = [
        ("sin", Unary::Sin),
        ("cos", Unary::Cos),
        ("tan", Unary::Tan),
        ("asin", Unary::Asin),
        ("acos", Unary::Acos),
        ("atan", Unary::Atan),
        ("sinh", Unary::Sinh),
        ("cosh", Unary::Cosh),
        ("tanh", Unary::Tanh),
        ("exp", Unary::Exp),
        ("ln", Unary::Ln),
        ("sqrt", Unary::Sqrt),
        ("abs", Unary::Abs),
        ("sign", Unary::Sign),
        ("floor", Unary::Floor),
    ];

    pub(crate) fn name(self) -> &'static str {
        Unary::NAMED
            .iter()
            .find(|(_, u)| *u == self)
            .map_or("-", |(n, _)| n)
    }

    /// The function of one number.
    pub fn eval(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Asin => x.asin(),
            Unary::Acos => x.acos(),
            Unary::Atan => x.atan(),
            Unary::Sinh => x.sinh(),
            Unary::Cosh => x.cosh(),
            Unary::Tanh => x.tanh(),
            Unary::Exp => x.exp(),
            Unary::Ln => x.ln(),
            Unary::Sqrt => x.sqrt(),
            Unary::Abs => x.abs(),
            Unary::Floor => x.floor(),
            Unary::Sign => {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            }
        }
    }
}

/// Functions of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    Less,
    LessEqual,
    Equal,
    /// The angle of the point (second, first) from the first axis, from -π to π.
    Atan2,
}

impl Binary {
    /// The function of two numbers; comparisons give 1 or 0.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| if t { 1.0 } else { 0.0 };
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => {
                // Small whole powers by multiplication: exact for negative bases and fast.
                if b.fract() == 0.0 && b.abs() <= 64.0 {
                    a.powi(b as i32)
                } else {
                    a.powf(b)
                }
            }
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::Less => truth(a < b),
            Binary::LessEqual => truth(a <= b),
            Binary::Equal => truth(a == b),
            Binary::Atan2 => a.atan2(b),
        }
    }
}
