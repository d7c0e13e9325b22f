//! The plan of one integral: tables, blocks and the shape of its local results.

use super::domain::{self, Block};
use super::engine::Snapshot;
use super::error::AssembleError;
use super::kernel::MOST_AXES;
use super::lanes::LANES;
use super::point_functions::{self, dirac_rule, own_particles, spaces_of};
use super::scatter::{self, Colours};
use super::tables::Basis;
use crate::element::{
    Element, Lagrange, Piola, Quadrature, Tabulation, VectorElement, VectorTabulation,
};
use crate::form::lower::{
    Coefficient, Input, Operand, Program, Slot, lower, scalar_slot, vector_slot,
};
pub(super) use crate::form::measure_degree;
use crate::form::{DomainKind, FormError, Integral, Measure, Quantity, SideOf};
use crate::geometry::{Geometry, MapClass, Topology, map_element};
use crate::particle::{ParticleQuadrature, ParticleSamples};
use crate::space::{Space, VectorBasis};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of block arrays to stay below, about a third of a second-level cache.
const TILE_BYTES: usize = 320 << 10;

/// Tables of one side of a group (cells have one side).
pub(crate) struct SideTables {
    /// The points in the reference cell; none with particles.
    pub points: Vec<[f64; 3]>,
    /// The map's functions, with second derivatives if they are needed.
    pub map: Arc<Tabulation>,
    pub test: Option<Functions>,
    pub trial: Option<Functions>,
    pub fields: Vec<Functions>,
}

/// The functions of a space at the points.
#[derive(Clone)]
pub(crate) enum Functions {
    Scalars(Arc<Tabulation>),
    Vectors(Arc<VectorTabulation>),
}

pub(crate) struct Group {
    /// Reference normal of the inner cell's side.
    pub normal: Option<[f64; 3]>,
    /// Axes of the side in the inner cell; zero in cells.
    pub axes: [[f64; 3]; 2],
    pub sides: Vec<SideTables>,
}

/// Registers that one degree-of-freedom component of a field fills.
pub(crate) struct FieldUse {
    pub field: usize,
    pub side: usize,
    pub dof: usize,
    /// By slot, as in [`scalar_slot`] or [`vector_slot`].
    pub registers: [Option<u32>; vector_slot::COUNT],
}

/// Coefficients of a bilinear form between one side's test and one side's trial functions.
pub(crate) struct MatrixPart {
    pub test_side: usize,
    pub trial_side: usize,
    pub test_axes: Vec<u8>,
    pub trial_axes: Vec<u8>,
    /// Components at a node of the test and the trial space.
    pub blocks: [usize; 2],
    /// Distinct coefficients.
    pub operands: Vec<Operand>,
    /// Range of `entries` for each (test component, trial component, test axis), or if `folded` for
    /// each (test axis, test component, trial component).
    pub targets: Vec<(u32, u32)>,
    /// Coefficient and trial axis.
    pub entries: Vec<(u32, u32)>,
    pub symmetric: bool,
    /// Whether test slots are summed like further points: many of them, or those of vectors.
    pub folded: bool,
    /// Block positions in the matrix: `[block][i * trial nodes + j][lane]`.
    pub positions: Vec<u32>,
}

impl MatrixPart {
    pub fn components(&self) -> usize {
        self.blocks[0] * self.blocks[1]
    }
}

/// Coefficients of a linear form for one side's test functions.
pub(crate) struct VectorPart {
    pub side: usize,
    pub axes: Vec<u8>,
    pub components: usize,
    /// By (component, axis), or if `folded` by (axis, component).
    pub coefficients: Vec<Option<Operand>>,
    /// As in [`MatrixPart`].
    pub folded: bool,
}

pub(crate) enum Parts {
    Matrix(Vec<MatrixPart>),
    Vector(Vec<VectorPart>),
    Scalar(Option<Operand>),
    /// Values at the points: of the components of an expression, or of coefficients.
    Values {
        values: Vec<Option<Operand>>,
        /// Whether weight times measure follows them.
        weights: bool,
    },
}

pub(crate) struct IntegralPlan {
    pub geometry: Arc<dyn Geometry>,
    pub topology: Arc<Topology>,
    pub program: Program,
    pub space_dim: usize,
    pub map_nodes: usize,
    pub sides: usize,
    /// Whether elements are sides.
    pub on_sides: bool,
    pub points: usize,
    /// Points worked on at a time.
    pub tile: usize,
    /// Reference coordinates of the points in their element; none over particles.
    pub reference: Vec<[f64; 3]>,
    /// Quadrature weights × reference measure.
    pub weights: Vec<f64>,
    /// Measure of the reference element.
    pub reference_measure: f64,
    pub groups: Vec<Group>,
    pub blocks: Vec<Block>,
    /// Elements by the places of their values, if these do not go by number.
    pub listed: Vec<u32>,
    pub colours: Colours,
    pub fields: Vec<FieldUse>,
    pub parts: Parts,
    /// Whether test and trial functions are the same.
    pub same_functions: bool,
    /// Whether a function is a vector, so that local results or fields are turned.
    pub turns: bool,
    /// Whether second derivatives of the map are needed: for those of functions, and for full
    /// gradients of vector-valued functions.
    pub needs_second: bool,
    /// If the integral is over particles.
    pub particles: Option<ParticlePlan>,
    /// If functions are of particles, these as the spaces know them.
    pub own_particles: Option<Arc<ParticleSamples>>,
    pub layout: Layout,
    /// The integrand, for messages.
    pub text: String,
}

/// Points that particles are worked on at a time, at most.
const PARTICLE_TILE: usize = 16;

/// Functions to evaluate at particles.
pub(crate) struct ParticlePlan {
    pub quadrature: ParticleQuadrature,
    /// Whether values at particles are multiplied by their weights.
    pub weighted: bool,
    pub dim: usize,
    /// Whether second derivatives are needed.
    pub second: bool,
    /// Different elements, and their functions at the centre of a cell.
    pub elements: Vec<Element>,
    pub centres: Vec<Tabulation>,
    /// Numbers of elements.
    pub map: usize,
    pub test: Option<usize>,
    pub trial: Option<usize>,
    pub fields: Vec<usize>,
}

impl ParticlePlan {
    fn new(
        quadrature: &ParticleQuadrature,
        program: &Program,
        map_basis: Lagrange,
        weighted: bool,
        second: bool,
    ) -> ParticlePlan {
        let kind = map_basis.kind();
        let mut elements = vec![Element::from(map_basis)];
        let mut number = |space: &Space| {
            let new = space.element();
            let same = |old: &Element| old.same_functions(new);
            elements.iter().position(same).unwrap_or_else(|| {
                elements.push(new.clone());
                elements.len() - 1
            })
        };
        let test = program.test.as_ref().map(&mut number);
        let trial = program.trial.as_ref().map(&mut number);
        let fields = program.fields.iter().map(|f| number(f.space())).collect();
        let centre = |e: &Element| match second {
            true => e.tabulate_second(&[kind.center()]),
            false => e.tabulate(&[kind.center()]),
        };
        ParticlePlan {
            quadrature: quadrature.clone(),
            weighted,
            second,
            dim: kind.dim(),
            centres: elements.iter().map(centre).collect(),
            elements,
            map: 0,
            test,
            trial,
            fields,
        }
    }

    /// Lanes of the values, gradients and second derivatives of an element, in tables for `points`
    /// points.
    #[inline(always)]
    pub fn ranges(&self, element: usize, points: usize) -> [Range<usize>; 3] {
        let pairs = if self.second {
            scalar_slot::PAIRS.len()
        } else {
            0
        };
        let each = 1 + self.dim + pairs;
        let nodes = |e: &Element| e.node_count() * points;
        let start = each * self.elements[..element].iter().map(nodes).sum::<usize>();
        let values = nodes(&self.elements[element]);
        let (gradients, seconds) = (start + values, start + (1 + self.dim) * values);
        [
            start..gradients,
            gradients..seconds,
            seconds..start + each * values,
        ]
    }

    fn lanes(&self, points: usize) -> usize {
        self.ranges(self.elements.len() - 1, points)[2].end
    }
}

/// Lanes of each block array.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout {
    pub coords: usize,
    pub inverse: usize,
    pub measure: usize,
    pub normal: usize,
    pub registers: usize,
    pub dofs: usize,
    pub native: usize,
    pub test: usize,
    pub trial: usize,
    pub weighted: usize,
    pub slots: usize,
    pub local: usize,
    pub tables: usize,
    pub work: usize,
    /// Matrices of orientations.
    pub turns: usize,
    /// Second derivatives of the map.
    pub second: usize,
}

impl Layout {
    pub fn total(&self) -> usize {
        self.coords
            + self.inverse
            + self.measure
            + self.normal
            + self.registers
            + self.dofs
            + self.native
            + self.test
            + self.trial
            + self.weighted
            + self.slots
            + self.local
            + self.tables
            + self.work
            + self.turns
            + self.second
    }
}

fn side_number(side: SideOf) -> usize {
    match side {
        SideOf::Inside => 0,
        SideOf::Outside => 1,
    }
}

/// What to do with the integrand, and where.
pub(crate) enum Points<'a> {
    /// Integrate it, by a rule for the integrand or over the measure's particles.
    Quadrature,
    /// Evaluate it at given reference coordinates of every cell.
    Listed(&'a [[f64; 3]]),
    /// Evaluate it at the measure's particles, multiplied by their weights or not.
    Particles { weighted: bool },
    /// Evaluate its coefficients at every point of a rule, each with the point's weight times the
    /// measure density after them.
    Coefficients(Rule<'a>),
}

/// Where coefficients are evaluated.
#[derive(Clone, Copy)]
pub(crate) enum Rule<'a> {
    /// At the points of the rule that integrates the integrand.
    Integrand,
    /// At given reference coordinates of every element, with weights of the reference element.
    Given(&'a [[f64; 3]], &'a [f64]),
}

impl IntegralPlan {
    pub fn new(integral: &Integral, points: Points) -> Result<IntegralPlan, AssembleError> {
        let measure = &integral.measure;
        let geometry = measure.geometry.clone();
        let topology = geometry.topology();
        let map = geometry.map();
        let kind = geometry.cell_kind();
        let space_dim = geometry.space_dim();
        let text = integral.integrand.to_string();
        let two_sided = measure.kind == DomainKind::InteriorSides;
        let mut program = lower(&integral.integrand, two_sided)?;
        let pieces = pieces(&program);
        let dirac = dirac_rule(&program).cloned();
        if let Points::Coefficients(_) = points {
            // Functions are up to the caller, and may live elsewhere.
            (program.test, program.trial) = (None, None);
        }
        let program = program;
        check_spaces(&program, &geometry, &topology, &text)?;
        check_particles(measure, &program, &text)?;
        let own = own_particles(&program, measure, &text)?;
        let elements = match &own {
            None => domain::elements(measure)?,
            // No function lives in the other cells.
            Some(own) => domain::elements_where(measure, |cell| !own.in_cell(cell).is_empty())?,
        };
        let on_sides = measure.kind != DomainKind::Cells;
        let sides = if two_sided { 2 } else { 1 };
        check_inputs(&program, &text, on_sides, space_dim, topology.cell_count())?;
        check_quantities(&program, &text, on_sides, &*geometry, &points)?;
        let turns = spaces_of(&program).any(|s| s.vector_basis().is_some());
        let second = takes_second_derivatives(&program);
        let needs_second = second || takes_gradients_of_vectors(&program);

        let element_kind = if on_sides { kind.side_kind() } else { kind };
        let context = |source| AssembleError::Element {
            context: format!("in `{text}`"),
            source,
        };
        let affine = geometry.map_class() != MapClass::General;
        let degree = measure.degree.unwrap_or_else(|| {
            let estimate = crate::form::estimate_degree(&integral.integrand, map.degree, affine);
            let measure = match integral.integrand.held().trial {
                Some(_) => curvature_degree(map.degree),
                None => measure_degree(element_kind, map.degree),
            };
            estimate.saturating_add(measure)
        });
        let (rule_points, weights) = match points {
            _ if measure.particles.is_some() => (Vec::new(), vec![1.0; PARTICLE_TILE]),
            Points::Coefficients(Rule::Given(points, weights)) => {
                (points.to_vec(), weights.to_vec())
            }
            Points::Quadrature | Points::Particles { .. } | Points::Coefficients(_) => {
                let chosen = measure.degree.is_some() || measure.family.is_some();
                let rule = match (measure.family, dirac) {
                    (_, Some(rule)) if !chosen && !on_sides => rule,
                    (None, _) => Quadrature::new(element_kind, degree)
                        .map_err(context)?
                        .composite(pieces),
                    (Some(family), _) => Quadrature::with_family(element_kind, degree, family)
                        .map_err(context)?
                        .composite(pieces),
                };
                let scale = element_kind.reference_measure();
                let weights: Vec<f64> = rule.weights().iter().map(|w| w * scale).collect();
                (rule.points().to_vec(), weights)
            }
            Points::Listed(list) => (list.to_vec(), vec![1.0; list.len()]),
        };

        for (space, slot) in slots_with_spaces(&program) {
            point_functions::check_slot(space, slot, &text)?;
        }

        let map_basis = map_element(kind, map.degree);
        let mut groups = Vec::with_capacity(elements.groups.len());
        for key in &elements.groups {
            let mut tables = Vec::with_capacity(sides);
            for side in 0..sides {
                let at: Vec<[f64; 3]> = match key.maps.get(side) {
                    None => rule_points.clone(),
                    Some(map) => rule_points.iter().map(|&p| map.apply(p)).collect(),
                };
                for space in spaces_of(&program) {
                    point_functions::check_points(space, &at, &text)?;
                    if let Points::Quadrature = points {
                        point_functions::check_whole(space, at.len(), &text)?;
                    }
                }
                tables.push(side_tables(&program, &map_basis, &at, second, needs_second));
            }
            let normal = key.maps.first().map(|map| map.normal(kind));
            groups.push(Group {
                normal,
                axes: key.maps.first().map_or([[0.0; 3]; 2], |map| map.axes),
                sides: tables,
            });
        }

        let fields = field_uses(&program);
        let parts = match (&program.test, &program.trial) {
            _ if matches!(points, Points::Coefficients(_)) => Parts::Values {
                values: program.coefficients.iter().map(|c| Some(c.value)).collect(),
                weights: true,
            },
            _ if !matches!(points, Points::Quadrature) => {
                let components = integral.integrand.shape().len();
                let mut values = vec![None; components];
                for c in &program.coefficients {
                    values[c.component] = Some(c.value);
                }
                Parts::Values {
                    values,
                    weights: false,
                }
            }
            (Some(test), Some(trial)) => {
                Parts::Matrix(matrix_parts(&program, test, trial, sides, space_dim))
            }
            (Some(test), None) => Parts::Vector(vector_parts(&program, test, sides)),
            (None, None) => Parts::Scalar(program.coefficients.first().map(|c| c.value)),
            (None, Some(_)) => {
                return Err(FormError::Arguments(format!(
                    "a form with a trial function needs a test function too; in `{text}`"
                ))
                .into());
            }
        };
        let colours = match (&parts, &program.test) {
            (Parts::Matrix(_) | Parts::Vector(_), Some(test)) => {
                scatter::colour(&elements.blocks, test, sides)
            }
            _ => scatter::uncoloured(elements.blocks.len()),
        };
        let same_functions = match (&program.test, &program.trial) {
            (Some(a), Some(b)) => a.same(b),
            _ => false,
        };
        let map_nodes = map_basis.node_count();
        let weighted = matches!(points, Points::Particles { weighted: true });
        let particles = measure
            .particles
            .as_ref()
            .map(|p| ParticlePlan::new(p, &program, map_basis, weighted, second));
        let mut plan = IntegralPlan {
            topology,
            space_dim,
            map_nodes,
            sides,
            on_sides,
            points: weights.len(),
            tile: 1,
            reference: rule_points,
            weights,
            reference_measure: element_kind.reference_measure(),
            groups,
            blocks: elements.blocks,
            listed: Vec::new(),
            colours,
            fields,
            parts,
            same_functions,
            turns,
            needs_second,
            particles,
            own_particles: own,
            layout: Layout::default(),
            text,
            geometry,
            program,
        };
        let fixed = plan.layout_for(0).total();
        let each = (plan.layout_for(1).total() - fixed).max(1);
        let lanes = TILE_BYTES / (8 * LANES);
        plan.tile =
            (lanes.saturating_sub(fixed.min(lanes / 2)) / each).clamp(1, plan.points.max(1));
        // Even tiles: the last one is not much smaller than the others.
        plan.tile = plan
            .points
            .max(1)
            .div_ceil(plan.points.max(1).div_ceil(plan.tile));
        plan.layout = plan.layout_for(plan.tile);
        Ok(plan)
    }

    /// Elements of the geometry of the kind that the integral runs over.
    pub fn element_count(&self) -> usize {
        match self.on_sides {
            false => self.topology.cell_count(),
            true => self.topology.side_count(),
        }
    }

    /// Write values by the places of elements in the ascending list of those of the measure, which is
    /// returned, not by their numbers.
    pub fn number_elements(&mut self) -> Vec<u32> {
        let used = |b: &Block| b.element[..b.count as usize].to_vec();
        self.listed = self.blocks.iter().flat_map(used).collect();
        self.listed.sort_unstable();
        self.listed.clone()
    }

    /// Where the values of an element go.
    #[inline(always)]
    pub fn value_place(&self, element: u32) -> u32 {
        // Every element of a block is in the list.
        let listed = |_| self.listed.binary_search(&element).unwrap_or(0) as u32;
        self.listed.first().map_or(element, listed)
    }

    /// Where the second derivatives of the map of a side are, in cells that are bent and if needed.
    pub fn seconds(&self, snapshot: &Snapshot, points: usize, side: usize) -> Range<usize> {
        if !self.needs_second || snapshot.stride == 0 {
            return 0..0;
        }
        let each = points * self.space_dim.pow(3);
        side * each..(side + 1) * each
    }

    /// The map of the test or trial functions, if they are vectors.
    pub fn piola(&self, basis: Basis) -> Option<Piola> {
        let space = match basis {
            Basis::Test => self.program.test.as_ref(),
            Basis::Trial => self.program.trial.as_ref(),
            Basis::Map | Basis::Field(_) => None,
        };
        space?.vector_element().map(VectorElement::piola)
    }

    fn layout_for(&self, tile: usize) -> Layout {
        let gd = self.space_dim;
        let td = self.topology.cell_kind().dim();
        let test_nodes = self.program.test.as_ref().map_or(0, Space::nodes_per_cell);
        let trial_nodes = self.program.trial.as_ref().map_or(0, Space::nodes_per_cell);
        let most = |counts: &mut dyn Iterator<Item = usize>| counts.max().unwrap_or(0);
        let natives = self.program.tape.iter().map(|i| match i {
            crate::form::lower::Instruction::Native { arguments, .. } => arguments.len(),
            _ => 0,
        });
        let entries = |s: &Space| s.vector_basis().map_or(0, VectorBasis::entry_count);
        let second = if self.needs_second { gd * gd * gd } else { 0 };
        let mut layout = Layout {
            second: self.sides * tile * second,
            turns: most(&mut spaces_of(&self.program).map(entries)),
            coords: self.map_nodes * gd,
            inverse: self.sides * tile * td * gd,
            measure: tile,
            normal: tile * gd,
            registers: self.program.registers * tile,
            dofs: most(
                &mut self
                    .program
                    .fields
                    .iter()
                    .map(|f| f.space().nodes_per_cell()),
            ),
            native: natives.max().unwrap_or(0) * tile,
            ..Layout::default()
        };
        if let Some(particles) = &self.particles {
            layout.tables = particles.lanes(tile);
            let nodes = most(&mut particles.elements.iter().map(Element::node_count));
            let each = if particles.second { 13 } else { 4 };
            layout.work = (each * nodes).div_ceil(LANES);
        }
        match &self.parts {
            Parts::Matrix(parts) => {
                layout.test =
                    test_nodes * tile * most(&mut parts.iter().map(|p| p.test_axes.len()));
                layout.trial =
                    trial_nodes * tile * most(&mut parts.iter().map(|p| p.trial_axes.len()));
                layout.weighted = tile * most(&mut parts.iter().map(|p| p.operands.len()));
                layout.slots = tile * most(&mut parts.iter().map(|p| p.targets.len()));
                layout.local = test_nodes
                    * trial_nodes
                    * parts.iter().map(MatrixPart::components).sum::<usize>();
            }
            Parts::Vector(parts) => {
                layout.test = test_nodes * tile * most(&mut parts.iter().map(|p| p.axes.len()));
                layout.slots = tile * most(&mut parts.iter().map(|p| p.coefficients.len()));
                layout.local = test_nodes * parts.iter().map(|p| p.components).sum::<usize>();
            }
            Parts::Scalar(_) | Parts::Values { .. } => {}
        }
        layout
    }
}

/// Parts of a cell along each axis on which all functions of a program are polynomials.
fn pieces(program: &Program) -> usize {
    let spaces = spaces_of(program);
    spaces.map(|s| s.element().pieces()).max().unwrap_or(1)
}

/// Curved maps make integrands rational; this many degrees more keep their error small.
fn curvature_degree(map_degree: usize) -> usize {
    2 * (map_degree - 1)
}

fn side_tables(
    program: &Program,
    map_basis: &Lagrange,
    at: &[[f64; 3]],
    second: bool,
    map_second: bool,
) -> SideTables {
    let map = Arc::new(match map_second {
        true => map_basis.tabulate_second(at),
        false => map_basis.tabulate(at),
    });
    let table = |space: &Space| match space.vector_element() {
        Some(element) => Functions::Vectors(Arc::new(element.tabulate(at))),
        None if second => Functions::Scalars(Arc::new(space.element().tabulate_second(at))),
        None => Functions::Scalars(Arc::new(space.element().tabulate(at))),
    };
    let test = program.test.as_ref().map(table);
    let trial = match (&program.test, &program.trial) {
        (Some(a), Some(b)) if a.same(b) => test.clone(),
        (_, b) => b.as_ref().map(table),
    };
    let fields = program.fields.iter().map(|f| table(f.space())).collect();
    SideTables {
        points: at.to_vec(),
        map,
        test,
        trial,
        fields,
    }
}

/// Every slot of an argument or field, with its space.
fn slots_with_spaces(program: &Program) -> impl Iterator<Item = (&Space, usize)> {
    let coefficients = program.coefficients.iter();
    let arguments = coefficients.flat_map(|c| {
        let test = program.test.as_ref().zip(c.test);
        let trial = program.trial.as_ref().zip(c.trial);
        [test, trial]
    });
    let arguments = arguments
        .flatten()
        .map(|(space, slot)| (space, slot.derivative as usize));
    let fields = program.inputs.iter().filter_map(|(input, _)| match input {
        &Input::Field {
            field, derivative, ..
        } => Some((program.fields[field].space(), derivative)),
        _ => None,
    });
    arguments.chain(fields)
}

fn takes_second_derivatives(program: &Program) -> bool {
    slots_with_spaces(program)
        .any(|(space, slot)| space.vector_element().is_none() && slot >= scalar_slot::SECOND)
}

fn takes_gradients_of_vectors(program: &Program) -> bool {
    slots_with_spaces(program)
        .any(|(space, slot)| space.vector_element().is_some() && slot >= vector_slot::GRADIENT)
}

fn check_spaces(
    program: &Program,
    geometry: &Arc<dyn Geometry>,
    topology: &Arc<Topology>,
    text: &str,
) -> Result<(), AssembleError> {
    for space in spaces_of(program) {
        if space.geometry().id() != geometry.id() {
            return Err(FormError::Domain(format!(
                "a function in `{text}` lives on another geometry than the measure"
            ))
            .into());
        }
        if !Arc::ptr_eq(space.topology(), topology) {
            return Err(AssembleError::MeshRebuilt);
        }
    }
    Ok(())
}

/// Particle data has values at particles, and particles are in cells of their geometry.
fn check_particles(measure: &Measure, program: &Program, text: &str) -> Result<(), AssembleError> {
    let fail = |message: String| Err(FormError::Domain(message).into());
    let vectors = spaces_of(program).find_map(Space::vector_element);
    let mut data = program.particle_data.iter();
    let of_points = data.clone().find(|d| d.is_at_points());
    if let (Some(_), Some(data)) = (&measure.particles, of_points) {
        return fail(format!(
            "`{}` has values at the points of a rule, not at particles; in `{text}`",
            data.name()
        ));
    }
    match (&measure.particles, data.find(|d| !d.is_at_points())) {
        (None, Some(data)) => fail(format!(
            "the particle data `{}` has values at particles only; take the integral of `{text}` on particles",
            data.name()
        )),
        (Some(_), _) if let Some(element) = vectors => fail(format!(
            "functions of a {} space are not evaluated at particles; interpolate them into a Lagrange space for `{text}`",
            element.family()
        )),
        (Some(_), _) if measure.kind != DomainKind::Cells => fail(format!(
            "particles lie in cells; take the integral of `{text}` over cells (dx)"
        )),
        (Some(particles), _) if particles.geometry_id() != measure.geometry.id() => fail(format!(
            "the particles in the integral of `{text}` are on another geometry than the measure"
        )),
        _ => Ok(()),
    }
}

fn check_inputs(
    program: &Program,
    text: &str,
    on_sides: bool,
    space_dim: usize,
    cells: usize,
) -> Result<(), AssembleError> {
    let axes = || {
        let message = format!(
            "`{text}` has derivatives along more than the {space_dim} axes of the geometry"
        );
        Err(FormError::Domain(message).into())
    };
    for (input, _) in &program.inputs {
        match input {
            Input::Normal(_) if !on_sides => {
                let message = format!("the normal exists on sides only (ds, dS), not in `{text}`");
                return Err(FormError::Domain(message).into());
            }
            Input::Position(d) | Input::Normal(d) if *d >= space_dim => {
                let message = format!(
                    "`{text}` uses axis {d} of the position or normal; the geometry has {space_dim} axes"
                );
                return Err(FormError::Domain(message).into());
            }
            Input::CellData(_, data) if data.values.len() != cells => {
                let message = format!(
                    "the cell data `{}` has {} values; the geometry has {cells} cells",
                    data.name,
                    data.values.len()
                );
                return Err(FormError::Domain(message).into());
            }
            _ => {}
        }
    }
    let beyond = |(space, slot): (&Space, usize)| match space.vector_element() {
        Some(_) => slot >= vector_slot::GRADIENT && (slot - vector_slot::GRADIENT) % 3 >= space_dim,
        None if slot < scalar_slot::SECOND => slot > space_dim,
        None => scalar_slot::PAIRS[slot - scalar_slot::SECOND][1] >= space_dim,
    };
    if slots_with_spaces(program).any(beyond) {
        return axes();
    }
    Ok(())
}

/// Quantities are those of the geometry's cells, and exist on this measure.
fn check_quantities(
    program: &Program,
    text: &str,
    on_sides: bool,
    geometry: &dyn Geometry,
    points: &Points,
) -> Result<(), AssembleError> {
    let fail = |message: String| Err(FormError::Domain(message).into());
    let (kind, space_dim) = (geometry.cell_kind(), geometry.space_dim());
    for (input, _) in &program.inputs {
        match input {
            Input::SideData(data) => {
                let sides = geometry.topology().side_count();
                if !on_sides {
                    return fail(format!(
                        "the side data `{}` has values on sides only (ds, dS), not in `{text}`",
                        data.name
                    ));
                }
                if data.values.len() != sides {
                    return fail(format!(
                        "the side data `{}` has {} values; the geometry has {sides} sides",
                        data.name,
                        data.values.len()
                    ));
                }
            }
            Input::Quantity(q, cells, ..) => {
                let name = q.name();
                if cells.kind != kind || cells.space_dim != space_dim {
                    return fail(format!(
                        "`{name}` in `{text}` is that of a {} in {} axes; the geometry has cells of kind {} in {space_dim}",
                        cells.kind.name(),
                        cells.space_dim,
                        kind.name()
                    ));
                }
                if *q == Quantity::SideJacobian && !on_sides {
                    return fail(format!(
                        "`{name}` exists on sides only (ds, dS), not in `{text}`"
                    ));
                }
                if *q == Quantity::QuadratureWeight && matches!(points, Points::Listed(_)) {
                    return fail(format!(
                        "`{name}` exists in integrals only; the points that `{text}` is evaluated at have no weights"
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn field_uses(program: &Program) -> Vec<FieldUse> {
    let mut uses: Vec<FieldUse> = Vec::new();
    for (input, register) in &program.inputs {
        let &Input::Field {
            field,
            side,
            dof,
            derivative,
        } = input
        else {
            continue;
        };
        let side = side_number(side);
        let known = uses
            .iter()
            .position(|u| u.field == field && u.side == side && u.dof == dof);
        let at = known.unwrap_or_else(|| {
            uses.push(FieldUse {
                field,
                side,
                dof,
                registers: [None; vector_slot::COUNT],
            });
            uses.len() - 1
        });
        uses[at].registers[derivative] = Some(*register);
    }
    uses
}

fn axes_of(slots: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut axes: Vec<u8> = slots.collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// Whether the slots of test functions are summed like further points.
fn folds(test: &Space, axes: &[u8]) -> bool {
    test.vector_element().is_some() || axes.len() > MOST_AXES
}

fn matrix_parts(
    program: &Program,
    test: &Space,
    trial: &Space,
    sides: usize,
    space_dim: usize,
) -> Vec<MatrixPart> {
    let symmetric = sides == 1 && program.is_symmetric();
    let mut parts = Vec::new();
    for test_side in 0..sides {
        for trial_side in 0..sides {
            let here: Vec<(Slot, Slot, Operand)> = program
                .coefficients
                .iter()
                .filter_map(|c: &Coefficient| Some((c.test?, c.trial?, c.value)))
                .filter(|(t, r, _)| {
                    side_number(t.side) == test_side && side_number(r.side) == trial_side
                })
                .collect();
            if here.is_empty() {
                continue;
            }
            let mut test_axes = axes_of(here.iter().map(|(t, ..)| t.derivative));
            let mut trial_axes = axes_of(here.iter().map(|(_, r, _)| r.derivative));
            if symmetric || test.same(trial) {
                // One table serves both.
                test_axes = axes_of(test_axes.into_iter().chain(trial_axes));
                trial_axes = test_axes.clone();
            }
            // A form that takes most derivatives takes the fast path for all of them.
            let gradients = test_axes.iter().all(|a| (1..=3).contains(a));
            let folded = folds(test, &test_axes);
            if !folded && gradients && test_axes.len() == 2 && space_dim == 3 {
                test_axes = (1..=space_dim as u8).collect();
                trial_axes = if test.same(trial) {
                    test_axes.clone()
                } else {
                    trial_axes
                };
            }
            let blocks = [test.components(), trial.components()];
            let mut operands: Vec<Operand> = Vec::new();
            let mut targets = Vec::new();
            let mut entries = Vec::new();
            let pairs = (0..blocks[0]).flat_map(|c| (0..blocks[1]).map(move |d| (c, d)));
            let order: Vec<(u8, usize, usize)> = if folded {
                let axes = test_axes.iter();
                axes.flat_map(|&a| pairs.clone().map(move |(c, d)| (a, c, d)))
                    .collect()
            } else {
                pairs
                    .flat_map(|(c, d)| test_axes.iter().map(move |&a| (a, c, d)))
                    .collect()
            };
            for (axis, c, d) in order {
                let start = entries.len() as u32;
                for (t, r, value) in &here {
                    let fits = t.dof as usize == c && r.dof as usize == d && t.derivative == axis;
                    if !fits {
                        continue;
                    }
                    let operand = operands.iter().position(|o| o == value).unwrap_or_else(|| {
                        operands.push(*value);
                        operands.len() - 1
                    });
                    let axis = trial_axes.iter().position(|&a| a == r.derivative);
                    entries.push((operand as u32, axis.unwrap_or(0) as u32));
                }
                targets.push((start, entries.len() as u32));
            }
            parts.push(MatrixPart {
                test_side,
                trial_side,
                test_axes,
                trial_axes,
                blocks,
                operands,
                targets,
                entries,
                symmetric,
                folded,
                positions: Vec::new(),
            });
        }
    }
    parts
}

fn vector_parts(program: &Program, test: &Space, sides: usize) -> Vec<VectorPart> {
    let mut parts = Vec::new();
    for side in 0..sides {
        let here: Vec<_> = program
            .coefficients
            .iter()
            .filter_map(|c| Some((c.test?, c.value)))
            .filter(|(t, _)| side_number(t.side) == side)
            .collect();
        if here.is_empty() {
            continue;
        }
        let axes = axes_of(here.iter().map(|(t, _)| t.derivative));
        let (components, folded) = (test.components(), folds(test, &axes));
        let mut coefficients = vec![None; components * axes.len()];
        for (t, value) in here {
            if let Some(a) = axes.iter().position(|&a| a == t.derivative) {
                let at = match folded {
                    true => a * components + t.dof as usize,
                    false => t.dof as usize * axes.len() + a,
                };
                coefficients[at] = Some(value);
            }
        }
        parts.push(VectorPart {
            side,
            axes,
            components,
            coefficients,
            folded,
        });
    }
    parts
}
