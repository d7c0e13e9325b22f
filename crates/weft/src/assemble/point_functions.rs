//! Where functions of points and particles that have values there only may be taken.

use super::error::{AssembleError, check_current};
use super::samples::domain;
use crate::element::Quadrature;
use crate::form::Measure;
use crate::form::lower::Program;
use crate::particle::ParticleSamples;
use crate::space::Space;
use std::sync::Arc;

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

/// The particles of the spaces of a program that are of particles, as they were when these were made;
/// they are those of the measure, if it has any.
pub(super) fn own_particles(
    program: &Program,
    measure: &Measure,
    text: &str,
) -> Result<Option<Arc<ParticleSamples>>, AssembleError> {
    let mut own = None;
    for space in spaces_of(program) {
        match (space.particle_quadrature(), &measure.particles) {
            (Some(particles), Some(of_measure)) if particles.same(of_measure) => {
                check_current(space)?;
                own = space.particle_samples().cloned();
            }
            (Some(_), Some(_)) => {
                return Err(domain(format!(
                    "the integral of `{text}` is on other particles than those of a function in it"
                )));
            }
            (None, Some(_)) => check_anywhere(space, text)?,
            (Some(_), None) => return Err(only_at_particles(text)),
            (None, None) => {}
        }
    }
    Ok(own)
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
        Some(_) if element.is_of_particles() => Err(only_at_particles(text)),
        Some(x) => Err(domain(format!(
            "functions of an {} have values at these points only, but `{text}` is taken at {x:?}: \
             give the measure no degree, or that of the rule of the points",
            element.name()
        ))),
    }
}

/// An error if an integral with Dirac functions of `space` has some of their points only: the others
/// would count for nothing.
pub(super) fn check_whole(space: &Space, points: usize, text: &str) -> Result<(), AssembleError> {
    let element = space.element();
    let all = element.node_count();
    match element.point_rule().is_some() && element.is_dirac() && points != all {
        false => Ok(()),
        true => Err(domain(format!(
            "functions of an {} have values at these points only, and the rule for `{text}` has {points} of \
             them: integrate over cells by the rule of the points, which is the one without a degree",
            element.name()
        ))),
    }
}

/// An error if Dirac functions of `space` are taken elsewhere than in cells at chosen points:
/// on sides, at particles or at points of another mesh.
pub(super) fn check_anywhere(space: &Space, text: &str) -> Result<(), AssembleError> {
    let element = space.element();
    match element.is_dirac() {
        false => Ok(()),
        true if element.is_of_particles() => Err(only_at_particles(text)),
        true => Err(domain(format!(
            "functions of an {} have values at these points only, but `{text}` is taken on sides, \
             at particles or at points of another mesh; project them into another space, or take a radial kernel",
            element.name()
        ))),
    }
}

fn only_at_particles(text: &str) -> AssembleError {
    domain(format!(
        "functions of particles have values there only; take `{text}` on the particles"
    ))
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
            "functions of an {} have no derivatives; in `{text}`, integrate by parts or take other functions",
            space.element().name()
        ))),
    }
}
