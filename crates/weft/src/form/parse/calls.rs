//! The functions that a text can call.

use crate::form::error::FormError;
use crate::form::expr::Expr;
use crate::form::functions::Unary;

pub(super) enum Call {
    Unknown,
    Count(usize),
}

/// Functions of expressions and how many arguments each takes.
pub(super) const FUNCTIONS: [(&str, usize); 30] = [
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
    ("atan2", 2),
    ("less", 2),
    ("less_equal", 2),
    ("equal", 2),
    ("select", 3),
    ("deriv", 3),
    ("identity", 1),
    ("degree", 1),
];

pub(super) fn function(name: &str, a: &[Expr], axes: Option<usize>) -> Result<Expr, Call> {
    if let Some((_, u)) = Unary::NAMED.iter().find(|(n, _)| *n == name) {
        return if a.len() == 1 {
            Ok(a[0].unary(*u))
        } else {
            Err(Call::Count(1))
        };
    }
    let Some(&(_, count)) = FUNCTIONS.iter().find(|(n, _)| *n == name) else {
        return Err(Call::Unknown);
    };
    if a.len() != count {
        return Err(Call::Count(count));
    }
    Ok(match name {
        "grad" => a[0].grad_in(axes),
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
        "atan2" => a[0].atan2(&a[1]),
        "less" => a[0].less(&a[1]),
        "less_equal" => a[0].less_equal(&a[1]),
        "equal" => a[0].equal(&a[1]),
        "select" => Expr::select(&a[0], &a[1], &a[2]),
        "degree" => match a[0].function_space() {
            Some(space) => Expr::constant(space.degree() as f64),
            None => Expr::invalid(FormError::Arguments(format!(
                "degree takes a field, test or trial function, not `{}`",
                a[0]
            ))),
        },
        "identity" => match a[0].constant_value() {
            Some(n) if n.fract() == 0.0 && (1.0..=4.0).contains(&n) => Expr::identity(n as usize),
            _ => Expr::invalid(FormError::Arguments(
                "identity(n) takes a whole number from 1 to 4".to_owned(),
            )),
        },
        _ => return Err(Call::Unknown),
    })
}
