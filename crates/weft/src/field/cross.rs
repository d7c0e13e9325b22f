//! Fields evaluated anywhere: on another mesh than their own, and outside of it.

use super::{Field, FieldError, PointValue, component_at};
use crate::element::Lagrange;
use crate::form::{Expr, NativeFunction, Shape};
use crate::geometry::{GeometryMap, LocateError, Locator, frame_from, map_element};
use crate::memory::Pool;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, PoisonError, RwLock};

/// A point counts for a cell whose size times this it is away from, at most.
const TOLERANCE: f64 = 1e-8;

/// A field as a function of position, for forms and points on any other geometry: the point is
/// located in the field's own. Cloning copies a handle.
///
/// Where the point is in no cell the value is that of a background ([`or`](CrossField::or)). On
/// borders between cells, where a gradient may jump, it is that of the cell with the smallest number.
/// Quadrature rules know nothing of the other mesh's borders: integrals across them are as good as
/// the rule (see [`Measure::degree`](crate::form::Measure::degree)).
///
/// Values are read when the expression is evaluated. Derivatives of forms by the field
/// ([`Expr::deriv`]) do not see it through this; for an unknown on another mesh use a
/// [`CouplingPlan`](crate::assemble::CouplingPlan).
///
/// ```
/// use weft::assemble::{integrate, interpolate};
/// use weft::field::CrossField;
/// use weft::form::Expr;
/// use weft::geometry::{Grid2, shapes};
/// use weft::space::Space;
///
/// let grid = Grid2::unit([4, 4])?;
/// let x = Expr::position(&grid);
/// let field = interpolate(&(x.at(0) + 2.0 * x.at(1)), &Space::lagrange(&grid, 1)?)?;
/// let there = shapes::rectangle_triangles([3, 3], [0.2, 0.2], [0.7, 0.7])?;
/// let f = CrossField::new(&field)?;
/// assert!((integrate(&f.expr().dx(&there))? - 0.25 * 3.0 * 0.45).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CrossField(Arc<Inner>);

struct Inner {
    field: Field,
    /// Points in no cell but this close to one count for it.
    max_distance: f64,
    place: RwLock<Place>,
}

/// Where the cells are.
struct Place {
    locator: Locator,
    map: Arc<GeometryMap>,
    basis: Lagrange,
}

impl Place {
    fn locate(&self, x: [f64; 3], max_distance: f64) -> Option<(usize, [f64; 3])> {
        if let Some(found) = self.locator.find(x, TOLERANCE) {
            return Some((found.cell, found.xi));
        }
        if max_distance > 0.0 {
            let nearest = self.locator.closest(x, max_distance)?;
            return Some((nearest.cell, nearest.xi));
        }
        None
    }
}

impl Debug for CrossField {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CrossField").field(&self.0.field).finish()
    }
}

impl CrossField {
    /// The field where its geometry is.
    ///
    /// # Errors
    /// If the mesh was rebuilt after the field's space was made on it.
    pub fn new(field: &Field) -> Result<CrossField, FieldError> {
        CrossField::within(field, 0.0)
    }

    /// As [`new`](Self::new); a point in no cell that is at most `max_distance` from one has the
    /// value of the closest point.
    ///
    /// # Errors
    /// As there.
    pub fn within(field: &Field, max_distance: f64) -> Result<CrossField, FieldError> {
        let space = field.space();
        space.check_current()?;
        let geometry = &**space.geometry();
        let map = geometry.map();
        Ok(CrossField(Arc::new(Inner {
            field: field.clone(),
            max_distance,
            place: RwLock::new(Place {
                locator: Locator::new(geometry),
                basis: map_element(geometry.cell_kind(), map.degree),
                map,
            }),
        })))
    }

    /// The field.
    pub fn field(&self) -> &Field {
        &self.0.field
    }

    /// Follow cells of the field's geometry that moved; before, values are those of where they were.
    ///
    /// # Errors
    /// If the cells are not those of before.
    pub fn refit(&self) -> Result<(), LocateError> {
        let place = self.0.place.write();
        let mut place = place.unwrap_or_else(PoisonError::into_inner);
        let geometry = &**self.0.field.space().geometry();
        place.locator.refit(geometry)?;
        place.map = geometry.map();
        Ok(())
    }

    /// The value at a point; 0 outside. It can be differentiated in space.
    pub fn expr(&self) -> Expr {
        self.value(&self.position())
    }

    /// 1 at points where the field is, 0 outside.
    pub fn found(&self) -> Expr {
        self.all(&self.position()).at(self.components())
    }

    /// The value at a point, and outside that of `background`: numbers, another cross-mesh field, or
    /// any expression of the same shape.
    pub fn or(&self, background: impl Into<Expr>) -> Expr {
        self.at(&self.position(), background)
    }

    /// The value not at the point itself but at `position`, a vector expression: upstream, mirrored, or
    /// a period further. The field may live on the same mesh. Where `position` is outside, the value of
    /// `background` at the point.
    pub fn at(&self, position: &Expr, background: impl Into<Expr>) -> Expr {
        let found = self.all(position).at(self.components());
        Expr::select(&found, &self.value(position), &background.into())
    }

    fn value(&self, position: &Expr) -> Expr {
        let all = self.all(position);
        let shape = self.0.field.space().shape();
        match shape {
            Shape::Scalar => all.at(0),
            _ => Expr::tensor(shape, (0..shape.len()).map(|c| all.at(c)).collect()),
        }
    }

    /// Value, and whether there is one.
    fn all(&self, position: &Expr) -> Expr {
        let function = Evaluate {
            of: self.clone(),
            gradient: false,
        };
        Expr::native(Arc::new(function), vec![position.clone()])
    }

    fn components(&self) -> usize {
        self.0.field.space().shape().len()
    }

    fn position(&self) -> Expr {
        Expr::position_in(self.0.field.space().geometry().space_dim())
    }

    /// Value and gradient at a position, or `None` outside.
    ///
    /// # Errors
    /// If the mesh was rebuilt after the field's space was made on it.
    pub fn evaluate(&self, x: [f64; 3]) -> Result<Option<PointValue>, FieldError> {
        let space = self.0.field.space();
        space.check_current()?;
        let (len, dim) = (space.shape().len(), space.geometry().space_dim());
        let mut value = vec![0.0; len + 1];
        let mut slopes = vec![0.0; (len + 1) * dim];
        let at: Vec<&[f64]> = x[..dim].iter().map(std::slice::from_ref).collect();
        let columns = |all: &mut [f64], gradient| {
            let mut all: Vec<&mut [f64]> = all.chunks_mut(1).collect();
            self.fill(&at, &mut all, gradient);
        };
        columns(&mut value, false);
        if value[len] == 0.0 {
            return Ok(None);
        }
        columns(&mut slopes, true);
        value.truncate(len);
        let gradient = slopes.chunks_exact(dim).take(len).map(|row| {
            let mut g = [0.0; 3];
            g[..dim].copy_from_slice(row);
            g
        });
        Ok(Some(PointValue {
            value,
            gradient: gradient.collect(),
        }))
    }

    /// Values and whether there are any, or gradients, for columns of positions.
    fn fill(&self, inputs: &[&[f64]], outputs: &mut [&mut [f64]], gradient: bool) {
        let field = &self.0.field;
        let space = field.space();
        let (len, dim) = (space.shape().len(), inputs.len());
        let place = self.0.place.read();
        let place = place.unwrap_or_else(PoisonError::into_inner);
        if space.check_current().is_err() {
            // Its cells are no more: not a number, which nothing hides.
            outputs.iter_mut().for_each(|column| column.fill(f64::NAN));
            return;
        }
        let values = field.values();
        let element = space.element();
        let (n, m) = (element.node_count(), place.basis.node_count());
        let mut scratch = Pool::default_pool().borrow_dirty::<f64>(4 * (n + m));
        let (of_map, of_field) = scratch.split_at_mut(4 * m);
        let (map_values, map_gradients) = of_map.split_at_mut(m);
        let map_gradients = map_gradients.as_chunks_mut::<3>().0;
        let (shape, slopes) = of_field.split_at_mut(n);
        let slopes = slopes.as_chunks_mut::<3>().0;
        for p in 0..inputs.first().map_or(0, |column| column.len()) {
            let mut x = [0.0; 3];
            for (x, column) in x.iter_mut().zip(inputs) {
                *x = column[p];
            }
            outputs.iter_mut().for_each(|column| column[p] = 0.0);
            let Some((cell, xi)) = place.locate(x, self.0.max_distance) else {
                continue;
            };
            if !gradient {
                outputs[len][p] = 1.0;
            }
            place.basis.evaluate(xi, map_values, map_gradients);
            let frame = frame_from(&place.map, &place.basis, cell, map_values, map_gradients);
            if let Some(basis) = space.vector_basis() {
                let found = field.evaluate_vector(basis, cell, xi, &frame, &values);
                for c in 0..len {
                    match gradient {
                        false => outputs[c][p] = found.value[c],
                        true => {
                            (0..dim).for_each(|d| outputs[c * dim + d][p] = found.gradient[c][d])
                        }
                    }
                }
                continue;
            }
            element.evaluate(xi, shape, slopes);
            for (i, &node) in space.cell_nodes(cell).iter().enumerate() {
                let slope = frame.push_gradient(slopes[i]);
                for c in 0..len {
                    let u = component_at(space, &values, node, c);
                    match gradient {
                        false => outputs[c][p] += u * shape[i],
                        true => (0..dim).for_each(|d| outputs[c * dim + d][p] += u * slope[d]),
                    }
                }
            }
        }
    }
}

/// Value and whether there is one, or the gradient of these, at a position.
#[derive(Debug)]
struct Evaluate {
    of: CrossField,
    gradient: bool,
}

impl NativeFunction for Evaluate {
    fn name(&self) -> &str {
        "field of another mesh"
    }

    fn arguments(&self) -> Vec<Shape> {
        vec![Shape::Vector(
            self.of.0.field.space().geometry().space_dim(),
        )]
    }

    fn result(&self) -> Shape {
        let space = self.of.0.field.space();
        let rows = space.shape().len() + 1;
        match self.gradient {
            false => Shape::Vector(rows),
            true => Shape::Matrix(rows, space.geometry().space_dim()),
        }
    }

    fn evaluate(&self, inputs: &[&[f64]], outputs: &mut [&mut [f64]]) {
        self.of.fill(inputs, outputs, self.gradient);
    }

    fn jacobian(&self) -> Option<Arc<dyn NativeFunction>> {
        // Second derivatives are not available.
        (!self.gradient).then(|| {
            Arc::new(Evaluate {
                of: self.of.clone(),
                gradient: true,
            }) as Arc<dyn NativeFunction>
        })
    }

    fn degree(&self) -> Option<usize> {
        Some(self.of.0.field.space().degree())
    }
}
