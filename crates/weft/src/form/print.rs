//! Printing of expressions in the text syntax, cut off when they get long.

use super::expr::{Expr, Op, Role, SideOf};
use super::functions::{Binary, Unary};
use std::fmt::{self, Write};

/// Longest text printed; shared sub-expressions would otherwise grow it exponentially.
const LIMIT: usize = 240;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_expr(&mut text, self, 0);
        if let Some((cut, _)) = text.char_indices().nth(LIMIT) {
            text.truncate(cut);
            text.push('…');
        }
        f.write_str(&text)
    }
}

/// Binding strength: sums 1, products 2, everything else 3.
fn write_expr(out: &mut String, e: &Expr, outer: u8) {
    if out.len() > 4 * LIMIT {
        return;
    }
    match e.op() {
        Op::Zero => out.push('0'),
        Op::Constant(c) => {
            let _ = write!(out, "{c}");
        }
        Op::Param(p) => out.push_str(p.name()),
        Op::CellData(d) | Op::SideData(d) => out.push_str(&d.name),
        Op::ParticleData(d) => out.push_str(d.name()),
        Op::Position => out.push('x'),
        Op::Normal => out.push('n'),
        Op::CellSize => out.push('h'),
        Op::Quantity(q, _) => out.push_str(q.name()),
        Op::Argument(Role::Test, _) => out.push('v'),
        Op::Argument(Role::Trial, _) => out.push('u'),
        Op::Field(f) => {
            let _ = write!(out, "field{}", f.id());
        }
        Op::Gradient(a) => call(out, "grad", &[a]),
        Op::Divergence(a) => call(out, "div", &[a]),
        Op::Curl(a) => call(out, "curl", &[a]),
        Op::Partial(a, c, d) => {
            call(out, "grad", &[a]);
            if a.shape().is_scalar() {
                let _ = write!(out, "[{d}]");
            } else {
                let _ = write!(out, "[{c}, {d}]");
            }
        }
        Op::Tensor(parts) => {
            let parts: Vec<&Expr> = parts.iter().collect();
            match e.shape() {
                super::Shape::Matrix(_, columns) => {
                    let rows: Vec<&[&Expr]> = parts.chunks(columns).collect();
                    join(out, "[", &rows, "]", |out, row| bracket(out, "[", row, "]"));
                }
                _ => bracket(out, "[", &parts, "]"),
            }
        }
        Op::Component(a, k) => {
            write_expr(out, a, 3);
            let _ = match a.shape() {
                super::Shape::Matrix(_, c) => write!(out, "[{}, {}]", k / c, k % c),
                _ => write!(out, "[{k}]"),
            };
        }
        Op::Unary(Unary::Neg, a) => {
            wrap(out, outer > 1, |out| {
                out.push('-');
                write_expr(out, a, 2);
            });
        }
        Op::Unary(u, a) => call(out, u.name(), &[a]),
        Op::Binary(b, l, r) => match b {
            Binary::Add => infix(out, l, " + ", r, 1, outer),
            Binary::Sub => infix(out, l, " - ", r, 1, outer),
            Binary::Mul => infix(out, l, "*", r, 2, outer),
            Binary::Div => infix(out, l, "/", r, 2, outer),
            Binary::Pow => call(out, "pow", &[l, r]),
            Binary::Min => call(out, "min", &[l, r]),
            Binary::Max => call(out, "max", &[l, r]),
            Binary::Atan2 => call(out, "atan2", &[l, r]),
            Binary::Less => infix(out, l, " < ", r, 0, 1),
            Binary::LessEqual => infix(out, l, " <= ", r, 0, 1),
            Binary::Equal => infix(out, l, " == ", r, 0, 1),
        },
        Op::Scale(l, r) => infix(out, l, "*", r, 2, outer),
        Op::Select(c, y, n) => call(out, "select", &[c, y, n]),
        Op::Inner(l, r) => call(out, "inner", &[l, r]),
        Op::Dot(l, r) => call(out, "dot", &[l, r]),
        Op::Outer(l, r) => call(out, "outer", &[l, r]),
        Op::Cross(l, r) => call(out, "cross", &[l, r]),
        Op::Transpose(a) => call(out, "transpose", &[a]),
        Op::Trace(a) => call(out, "tr", &[a]),
        Op::Determinant(a) => call(out, "det", &[a]),
        Op::Inverse(a) => call(out, "inv", &[a]),
        Op::Symmetric(a) => call(out, "sym", &[a]),
        Op::Skew(a) => call(out, "skew", &[a]),
        Op::Deviator(a) => call(out, "dev", &[a]),
        Op::Restrict(SideOf::Inside, a) => call(out, "inside", &[a]),
        Op::Restrict(SideOf::Outside, a) => call(out, "outside", &[a]),
        Op::Native(f, parts) => {
            let parts: Vec<&Expr> = parts.iter().collect();
            call(out, f.name(), &parts);
        }
        Op::Invalid(_) => out.push_str("<invalid>"),
    }
}

fn wrap(out: &mut String, parentheses: bool, inner: impl FnOnce(&mut String)) {
    if parentheses {
        out.push('(');
    }
    inner(out);
    if parentheses {
        out.push(')');
    }
}

fn infix(out: &mut String, l: &Expr, sign: &str, r: &Expr, level: u8, outer: u8) {
    wrap(out, outer > level, |out| {
        write_expr(out, l, level);
        out.push_str(sign);
        // The right operand of - and / needs parentheses at the same level.
        write_expr(out, r, level + 1);
    });
}

fn call(out: &mut String, name: &str, parts: &[&Expr]) {
    out.push_str(name);
    bracket(out, "(", parts, ")");
}

fn bracket(out: &mut String, open: &str, parts: &[&Expr], close: &str) {
    join(out, open, parts, close, |out, part| {
        write_expr(out, part, 0)
    });
}

fn join<T: Copy>(
    out: &mut String,
    open: &str,
    parts: &[T],
    close: &str,
    write: impl Fn(&mut String, T),
) {
    out.push_str(open);
    for (k, &part) in parts.iter().enumerate() {
        if k > 0 {
            out.push_str(", ");
        }
        write(out, part);
    }
    out.push_str(close);
}
