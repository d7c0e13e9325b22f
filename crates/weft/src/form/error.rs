//! Errors of expressions and forms.

use thiserror::Error;

/// What can be wrong with an expression or a form. Messages print the part that is wrong.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FormError {
    /// Operand shapes do not fit the operation.
    #[error("{operation} does not take {shapes}; in `{expression}`{hint}")]
    Shape {
        /// The operation.
        operation: String,
        /// Shapes of the operands.
        shapes: String,
        /// The expression, printed.
        expression: String,
        /// What would be accepted, with leading punctuation, or empty.
        hint: String,
    },
    /// A test or trial function appears in a nonlinear place.
    #[error("a form must be linear in its {role} function; it is not in `{expression}`")]
    Nonlinear {
        /// Test or trial.
        role: &'static str,
        /// The offending part.
        expression: String,
    },
    /// The terms of a sum differ in the test or trial functions they hold.
    #[error(
        "the terms of a sum must hold the same test and trial functions; `{left}` {left_has}, `{right}` {right_has}"
    )]
    MixedSum {
        /// Left term.
        left: String,
        /// What the left term holds.
        left_has: String,
        /// Right term.
        right: String,
        /// What the right term holds.
        right_has: String,
    },
    /// The integrand is not a scalar.
    #[error("an integrand must be a scalar, `{expression}` is a {shape}")]
    NotScalar {
        /// The integrand.
        expression: String,
        /// Its shape.
        shape: String,
    },
    /// A derivative that is not available.
    #[error("{what} is not available; in `{expression}`")]
    Unavailable {
        /// What was asked for.
        what: String,
        /// Where.
        expression: String,
    },
    /// An expression grew past what can be worked with; says what the limit is.
    #[error("{0}; store parts of it in fields, or use a native function")]
    TooLarge(String),
    /// The form has the wrong arguments for the request.
    #[error("{0}")]
    Arguments(String),
    /// A component that does not exist.
    #[error("component [{index}] is outside `{expression}`, a {shape}")]
    Index {
        /// Index text.
        index: String,
        /// The expression indexed.
        expression: String,
        /// Its shape.
        shape: String,
    },
    /// Text that cannot be read as a form.
    #[error("{message}\n  {text}\n  {caret}")]
    Parse {
        /// What is wrong and what would be accepted.
        message: String,
        /// The line of text.
        text: String,
        /// Spaces and a caret under the place.
        caret: String,
        /// Byte position in the text.
        position: usize,
    },
    /// A domain, tag or geometry problem.
    #[error("{0}")]
    Domain(String),
}
