//! Where Dirac functions of points, which have values there only, may be taken.

use super::error::AssembleError;
use super::samples::domain;
use crate::element::Quadrature;
use crate::form::lower::Program;
use crate::space::Space;

/// Spaces of the arguments and fields of a program.
pub(super) fn spaces_of(program: &Program) -> impl Iterator<Item = &Space> {
    let arguments = program.test.iter().chain(&program.trial);
    arguments.chain(program.fields.iter().map(|f| f.space()))
}

/// The rule of the points of the first space with Dirac functions, if there is one.
pub(super) fn dirac_rule(program: &Program) -> Option<&Quadrature> {
    let mut dirac = spaces_of(program).filter(|s| s.element().is_dirac());
    dirac.find_map(|s| s.element().point_rule())
}

/// An error if functions of `space` have no values at one of `points`, reference coordinates of a
/// cell. `text` is the integrand.
pub(super) fn check_points(
    space: &Space,
    points: &[[f64; 3]],
    text: &str,
) -> Result<(), AssembleError> {
    let element = space.element();
    match points.iter().find(|&&x| !element.has_values_at(x)) {
        None => Ok(()),
        Some(x) => Err(domain(format!(
            "functions of an {} have values at these points only, but `{text}` is taken at {x:?}: \
             give the measure no degree, or that of the rule of the points",
            element.name()
        ))),
    }
}

/// An error if Dirac functions of `space` are taken elsewhere than in cells at chosen points:
/// on sides, at particles or at points of another mesh.
pub(super) fn check_anywhere(space: &Space, text: &str) -> Result<(), AssembleError> {
    match space.element().is_dirac() {
        false => Ok(()),
        true => Err(domain(format!(
            "functions of an {} have values at these points only, but `{text}` is taken on sides, \
             at particles or at points of another mesh; project them into another space, or take a radial kernel",
            space.element().name()
        ))),
    }
}

/// An error if a Dirac function of `space` is differentiated.
pub(super) fn check_slot(
    space: &Space,
    derivative: usize,
    text: &str,
) -> Result<(), AssembleError> {
    match derivative > 0 && space.element().is_dirac() {
        false => Ok(()),
        true => Err(domain(format!(
            "functions of an {} have no derivatives; in `{text}`, take a radial kernel or integrate \
             by parts",
            space.element().name()
        ))),
    }
}
