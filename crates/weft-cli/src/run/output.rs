//! `[output]`: the `.vtu` file and the picture.

use super::formula;
use crate::case::{Case, Deform};
use crate::diagnose::Diagnostic;
use anyhow::Context;
use std::path::{Path, PathBuf};
use weft::field::Field;
use weft::form::{Expr, Scope, Shape};
use weft_io::picture::{Picture, Skin, View};
use weft_io::vtu::{Encoding, NodalGrid};

/// Part of the body's size to which an automatic factor brings the largest displacement.
const VISIBLE: f64 = 0.1;
/// Displacements from this part of the body's size up to that one are shown as they are.
const NATURAL: std::ops::RangeInclusive<f64> = 0.03..=1.0;

/// What is written, as expressions of the solution.
pub(super) struct Plan {
    fields: Vec<(String, Expr)>,
    picture: Option<PicturePlan>,
}

struct PicturePlan {
    color: Expr,
    label: String,
    /// Displacement and its factor, if that is given.
    moved: Option<(Expr, Option<f64>)>,
}

impl Plan {
    /// Reads the formulas of the outputs; nothing if there are faults.
    pub fn new(
        case: &Case,
        scope: &Scope,
        solution: &Field,
        faults: &mut Vec<Diagnostic>,
    ) -> Option<Plan> {
        let unknown = &case.problem.unknown.value;
        let mut fields = vec![(unknown.clone(), solution.expr())];
        let before = faults.len();
        for field in &case.output.fields {
            let name = &field.name.value;
            if fields.iter().any(|(other, _)| other == name) {
                let fault =
                    Diagnostic::new(format!("two fields of the output are called `{name}`"));
                faults.push(fault.at(&field.name.at));
            }
            match formula::expression(scope, &field.value) {
                Ok(e) => fields.push((name.clone(), e)),
                Err(fault) => faults.push(fault.about(&format!("output field `{name}`"))),
            }
        }
        let picture = case.output.picture.as_ref().and_then(|wanted| {
            let color = match &wanted.color {
                Some(formula) => formula::scalar(scope, formula)
                    .map(|e| (e, formula.to_text()))
                    .map_err(|fault| faults.push(fault.about("`output.picture.color`")))
                    .ok()?,
                None if solution.space().shape().is_scalar() => (solution.expr(), unknown.clone()),
                None => (solution.expr().norm(), format!("norm({unknown})")),
            };
            if solution.space().geometry().cell_kind().dim() < 2 {
                let fault = Diagnostic::new("a mesh of segments has no faces for a picture")
                    .note("write `picture = false`");
                faults.push(fault);
                return None;
            }
            let moved = match (wanted.deform, displacement(solution)) {
                (Deform::Scale(0.0), _) => None,
                (Deform::Auto, u) => u.map(|u| (u, None)),
                (Deform::Scale(factor), Some(u)) => Some((u, Some(factor))),
                (Deform::Scale(_), None) => {
                    let shape = solution.space().shape();
                    let fault = Diagnostic::new(format!(
                        "the picture cannot be deformed by `{unknown}`, a {shape} in space of \
                         dimension {}",
                        solution.space().geometry().space_dim()
                    ));
                    faults.push(fault.note("write `deform = 0`"));
                    None
                }
            };
            Some(PicturePlan {
                color: color.0,
                label: color.1,
                moved,
            })
        });
        (faults.len() == before).then_some(Plan { fields, picture })
    }

    /// Writes the files; gives their paths.
    pub fn write(
        &self,
        case: &Case,
        solution: &Field,
        folder: &Path,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let geometry = solution.space().geometry();
        let degree = solution.space().degree().max(geometry.map().degree).max(1);
        let mut written = Vec::new();
        if case.output.vtu {
            let fields: Vec<(&str, Expr)> = self
                .fields
                .iter()
                .map(|(name, e)| (name.as_str(), e.clone()))
                .collect();
            let path = folder.join(format!("{}.vtu", case.name));
            NodalGrid::new(geometry, degree, &fields)?.write(&path, Encoding::Compressed)?;
            written.push(path);
        }
        if let (Some(plan), Some(wanted)) = (&self.picture, &case.output.picture) {
            let moved = plan.moved.as_ref().and_then(|(u, factor)| {
                let factor = factor.or_else(|| automatic(solution))?;
                Some((u, factor))
            });
            let skin = Skin::new(geometry, degree, moved, &plan.color).context("the picture")?;
            let mut title = case.title.clone().unwrap_or_else(|| case.name.clone());
            if let Some((_, factor)) = moved
                && factor != 1.0
            {
                title += &format!(", deformed × {factor}");
            }
            let view = wanted.view.map_or(View::Auto, |toward| View::From {
                toward,
                up: match toward {
                    [0.0, 0.0, _] => [0.0, 1.0, 0.0],
                    _ => [0.0, 0.0, 1.0],
                },
            });
            let path = folder.join(format!("{}.png", case.name));
            Picture::new(wanted.size[0], wanted.size[1])
                .title(title)
                .label(plan.label.clone())
                .view(view)
                .surface(skin.surface())
                .write_png(&path)?;
            written.push(path);
        }
        Ok(written)
    }
}

/// How a field moves points: a vector as a displacement, a scalar on a plane as a height.
fn displacement(field: &Field) -> Option<Expr> {
    let dim = field.space().geometry().space_dim();
    match field.space().shape() {
        Shape::Vector(n) if n == dim => Some(field.expr()),
        Shape::Scalar if dim == 2 => {
            let parts = vec![0.0.into(), 0.0.into(), field.expr()];
            Some(Expr::tensor(Shape::Vector(3), parts))
        }
        _ => None,
    }
}

/// A factor that makes the field visible, 1, 2 or 5 times a power of ten; nothing for a field
/// that is zero.
fn automatic(field: &Field) -> Option<f64> {
    let map = field.space().geometry().map();
    let extent = (0..3)
        .map(|d| {
            let all = map.nodes.iter().map(|x| x[d]);
            let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
                (l.min(x), h.max(x))
            });
            high - low
        })
        .fold(0.0, f64::max);
    let nodes = field.values();
    let largest = nodes
        .chunks_exact(field.space().components())
        .map(|u| u.iter().map(|c| c * c).sum::<f64>().sqrt())
        .fold(0.0, f64::max);
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    if NATURAL.contains(&(largest / extent)) {
        return Some(1.0);
    }
    let wanted = VISIBLE * extent / largest;
    let power = 10f64.powf(wanted.log10().floor());
    // The nearest in proportion.
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
    let off = |s: f64| (s / wanted).ln().abs();
    steps.into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b)))
}
