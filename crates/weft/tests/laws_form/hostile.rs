//! Texts that are wrong in every way: an error, never a panic, a hang or an exhausted stack.

use crate::common::unit_mesh;
use crate::scope;
use proptest::prelude::*;
use weft::assemble::{integrate, vector};
use weft::element::CellKind;
use weft::field::Field;
use weft::form::{Expr, FormError, Measure, Param, Scope, Unary};
use weft::space::Space;

fn full_scope() -> Scope {
    let mesh = unit_mesh(CellKind::Triangle, [1; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let vector = space.vector(2).unwrap();
    let mut scope = scope(&mesh);
    scope.set("u", Expr::trial(&vector));
    scope.set("v", Expr::test(&vector));
    scope.set("a", &Param::scalar("a", 2.0));
    scope.set_field("f", &Field::zeros(&space));
    scope.set_field("w", &Field::zeros(&vector));
    scope
}

/// Whatever the text is, the answer is a value or an error with a caret inside the line.
fn harmless(scope: &Scope, text: &str) {
    for error in [
        scope.expression(text).map(drop).err(),
        scope.form(text).map(drop).err(),
    ] {
        if let Some(FormError::Parse {
            text: line,
            caret,
            position,
            ..
        }) = error
        {
            assert!(
                position <= text.len() && text.is_char_boundary(position),
                "{text:?}"
            );
            assert!(
                caret.chars().count() <= line.chars().count() + 1,
                "{text:?}\n{line}\n{caret}"
            );
        }
    }
    let _ = scope.number(text);
}

const TOKENS: [&str; 44] = [
    "u", "v", "x", "n", "h", "I", "a", "f", "w", "pi", "dx", "ds", "dS", "0", "1", "2.5", "1e3",
    "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "<", "==", "'tag'", "grad(", "dot(",
    "inner(", "deriv(", "select(", "sin(", "inv(", "det(", "outer(", "jump(", "degree", "=", ";",
    "[0]",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_strings(text in "\\PC{0,60}") {
        harmless(&full_scope(), &text);
    }

    #[test]
    fn strings_of_the_alphabet(text in "[-a-z0-9 +*/^()\\[\\],.'\"<>=\\n\\tä]{0,60}") {
        harmless(&full_scope(), &text);
    }

    #[test]
    fn soups_of_tokens(parts in prop::collection::vec(0..TOKENS.len(), 0..30)) {
        let text: Vec<&str> = parts.into_iter().map(|k| TOKENS[k]).collect();
        harmless(&full_scope(), &text.join(" "));
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let scope = full_scope();
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("-", "1", ""),
        ("sin(", "a", ")"),
        ("2^", "2", ""),
        ("select(1, ", "1", ", 1)"),
        ("(((", "1", ""),
    ] {
        for n in [100, 1000, 100_000] {
            let text = open.repeat(n) + inner + &close.repeat(n);
            harmless(&scope, &text);
            if n > 200 {
                let error = scope.expression(&text).unwrap_err();
                assert!(
                    matches!(&error, FormError::Parse { message, .. } if message.contains("nested deeper"))
                );
            }
        }
    }
}

#[test]
fn long_sums_and_products_are_values_or_errors() {
    let scope = full_scope();
    for part in ["a + ", "x[0]*", "a/", "x[0] - ", "2 + x[1]*"] {
        for n in [300, 5000, 200_000] {
            let text = part.repeat(n) + "1";
            harmless(&scope, &text);
            let result = scope.expression(&text);
            if n == 300 {
                let _ = result.unwrap().grad();
            } else if let Err(error) = result {
                assert!(error.to_string().contains("1000 operations"), "{part}");
            }
        }
    }
    // Postfix, comparisons and literals do not nest by repetition either.
    harmless(&scope, &("x".to_owned() + &"[0]".repeat(100_000)));
    harmless(&scope, &("1".to_owned() + &" < 1".repeat(100_000)));
    harmless(&scope, &format!("[{}1]", "1, ".repeat(100_000)));
}

/// Parts that occur twice in every step are worked on once.
#[test]
fn issue_006_shared_parts_are_taken_apart_once() {
    let mesh = unit_mesh(CellKind::Triangle, [1; 3]);
    for space in [Space::raviart_thomas(&mesh, 1), Space::nedelec(&mesh, 1)] {
        let mut e = Expr::trial(&space.unwrap());
        for _ in 0..200 {
            e = &e + &(0.5 * &e);
        }
        assert!(e.div().check().is_ok() || e.curl().check().is_ok());
    }
}

/// The deepest graph allowed passes through everything that walks it, on the small stack of a
/// test's thread.
#[test]
fn the_deepest_expressions_are_usable() {
    let mesh = unit_mesh(CellKind::Triangle, [1; 3]);
    let space = Space::lagrange(&mesh, 1).unwrap();
    let field = Field::zeros(&space);
    let start = Expr::from(&field) + Expr::position(&mesh).at(0);
    let steps: [fn(&Expr) -> Expr; 4] = [
        |e| e.unary(Unary::Tanh),
        |e| 1.0 + e,
        |e| e * 0.5,
        |e| Expr::select(e, e, e),
    ];
    for step in steps {
        let e = (0..900).fold(start.clone(), |e, _| step(&e));
        assert!(!e.to_string().is_empty());
        let measure = Measure::cells(&mesh).degree(1);
        integrate(&e.over(&measure)).unwrap();
        let slope = e.deriv(&field, &Expr::test(&space)).over(&measure);
        if slope.check().is_ok() {
            vector(&slope).unwrap();
        }
        assert!(e.grad().check().is_ok() || e.grad().to_string() == "<invalid>");
        let deeper = (0..200).fold(e, |e, _| step(&e));
        assert!(
            deeper
                .check()
                .unwrap_err()
                .to_string()
                .contains("1000 operations")
        );
    }
}

#[test]
fn repeated_derivatives_end_in_an_error() {
    let scope = full_scope();
    for n in [3, 20, 60] {
        let text = "curl(".repeat(n) + "sin(x[0]*x[1])*exp(x[0]/(2 + x[1]))" + &")".repeat(n);
        let result = scope.expression(&text);
        if n == 3 {
            result.unwrap();
        } else {
            assert!(
                result.unwrap_err().to_string().contains("differentiated"),
                "{n}"
            );
        }
    }
}

#[test]
fn huge_numbers_of_digits_and_names_are_read() {
    let scope = full_scope();
    harmless(&scope, &"9".repeat(100_000));
    harmless(&scope, &("0.".to_owned() + &"3".repeat(100_000)));
    harmless(&scope, &"n".repeat(100_000));
    harmless(&scope, &format!("x[{}]", "1".repeat(50)));
    harmless(&scope, "v[0]*dx(degree = 9999)");
    harmless(&scope, "v[0]*dx(degree = 1e300)");
    assert_eq!(
        scope
            .number(&("0.".to_owned() + &"3".repeat(1000)))
            .unwrap(),
        1.0 / 3.0
    );
}
