//! Lowering: from an expression graph to scalar operations, with the linear structure in the
//! test and trial functions split off.
//!
//! Every tensor expression becomes one [`Linear`] per component: a sum of scalar coefficients
//! times pairs of *slots*, a slot being a value or physical derivative of one degree-of-freedom
//! component of an argument. Scalars are hash-consed, so common sub-expressions are computed
//! once and equal coefficients have equal numbers. What is left over is a [`Program`]: inputs
//! to gather, numbers to compute once an assembly, operations to run on blocks of points, and
//! the list of coefficients.

mod linear;
mod scalars;
mod schedule;
mod tensors;

use crate::field::Field;
use crate::form::error::FormError;
use crate::form::expr::{CellData, Expr, SideOf};
use crate::form::functions::{Binary, Unary};
use crate::form::native::NativeFunction;
use crate::form::param::Param;
use crate::form::particle_data::ParticleData;
use crate::form::place::{Cells, Quantity};
use crate::space::Space;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Value or derivative of one component of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub side: SideOf,
    /// Degree-of-freedom component at a node.
    pub dof: u8,
    /// As in [`scalar_slot`], of vector-valued functions as in [`vector_slot`].
    pub derivative: u8,
}

/// Slots of functions that are numbers: 0 is the value, 1 + d the derivative along axis d, and second
/// derivatives follow.
pub(crate) mod scalar_slot {
    /// First of the second derivatives.
    pub const SECOND: usize = 4;
    /// Number of slots.
    pub const COUNT: usize = SECOND + PAIRS.len();
    /// The axes of the second derivatives, in their order.
    pub const PAIRS: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];

    /// The slot of the second derivative along two axes, in ascending order.
    pub fn second(axes: [usize; 2]) -> usize {
        // All ordered pairs are in the list.
        SECOND + PAIRS.iter().position(|&p| p == axes).unwrap_or(0)
    }
}

/// Slots of functions that are vectors: all components of one function.
pub(crate) mod vector_slot {
    /// First of the components of the value.
    pub const VALUE: usize = 0;
    pub const DIVERGENCE: usize = 3;
    /// First of the components of the curl; in the plane the only one.
    pub const CURL: usize = 4;
    /// First of the derivatives of component c along axis d, number 3 c + d.
    pub const GRADIENT: usize = 7;
    /// Number of slots.
    pub const COUNT: usize = 16;
}

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operand {
    /// Register of the block tape.
    Register(u32),
    /// Entry of the table of numbers that are the same at all points.
    Uniform(u32),
}

/// Something the engine fills in for a block of points.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Position(usize),
    Normal(usize),
    CellSize(SideOf),
    CellData(SideOf, Arc<CellData>),
    SideData(Arc<CellData>),
    /// Component of a quantity.
    Quantity(Quantity, Cells, SideOf, usize),
    /// Component of particle data number `data`.
    ParticleData {
        data: usize,
        component: usize,
    },
    /// Degree-of-freedom component of field number `field`.
    Field {
        field: usize,
        side: SideOf,
        dof: usize,
        derivative: usize,
    },
}

/// Operation on numbers that are the same everywhere.
#[derive(Clone, Debug)]
pub(crate) enum UniformOp {
    Constant(f64),
    Param(Param, usize),
    Unary(Unary, u32),
    Binary(Binary, u32, u32),
    Select(u32, u32, u32),
}

/// Operation on a block of points.
#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    Unary {
        function: Unary,
        a: u32,
        out: u32,
    },
    Binary {
        function: Binary,
        a: Operand,
        b: Operand,
        out: u32,
    },
    Select {
        condition: Operand,
        yes: Operand,
        no: Operand,
        out: u32,
    },
    Native {
        function: Arc<dyn NativeFunction>,
        arguments: Vec<Operand>,
        out: Vec<u32>,
    },
}

/// Coefficient of a product of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Coefficient {
    pub test: Option<Slot>,
    pub trial: Option<Slot>,
    /// Component of the expression (row-major); 0 for integrands.
    pub component: usize,
    pub value: Operand,
}

/// The lowered expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub test: Option<Space>,
    pub trial: Option<Space>,
    pub fields: Vec<Field>,
    pub particle_data: Vec<ParticleData>,
    /// Inputs and the registers they go to.
    pub inputs: Vec<(Input, u32)>,
    pub uniforms: Vec<UniformOp>,
    pub tape: Vec<Instruction>,
    pub registers: usize,
    /// Sorted by slots, then component.
    pub coefficients: Vec<Coefficient>,
}

impl Program {
    /// Whether exchanging test and trial slots leaves the coefficients as they are.
    pub fn is_symmetric(&self) -> bool {
        let same_space = match (&self.test, &self.trial) {
            (Some(a), Some(b)) => a.same(b),
            _ => false,
        };
        same_space
            && self.coefficients.iter().all(|c| {
                self.coefficients
                    .iter()
                    .any(|d| d.test == c.trial && d.trial == c.test && d.value == c.value)
            })
    }

    /// Numbers that are the same at all points, computed from the parameters as they are now.
    pub fn evaluate_uniforms(&self, out: &mut [f64]) {
        for (k, op) in self.uniforms.iter().enumerate() {
            out[k] = match op {
                UniformOp::Constant(c) => *c,
                UniformOp::Param(p, component) => p.get(*component),
                UniformOp::Unary(f, a) => f.eval(out[*a as usize]),
                UniformOp::Binary(f, a, b) => f.eval(out[*a as usize], out[*b as usize]),
                UniformOp::Select(c, y, n) => {
                    out[if out[*c as usize] != 0.0 { *y } else { *n } as usize]
                }
            };
        }
    }
}

type Id = u32;

/// Hash-consed scalar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Scalar {
    Constant(u64),
    Param(usize, usize),
    Input(usize),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    Select(Id, Id, Id),
    /// Component of native call number.
    Native(usize, usize),
}

/// Sum of coefficient × test slot × trial slot, sorted by slots.
type Linear = Vec<((Option<Slot>, Option<Slot>), Id)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Uniform,
    Varying,
}

#[derive(PartialEq, Eq, Hash)]
enum InputKey {
    Position(usize),
    Normal(usize),
    CellSize(SideOf),
    CellData(SideOf, usize),
    SideData(usize),
    Quantity(Quantity, Cells, SideOf, usize),
    ParticleData(usize, usize),
    Field(usize, SideOf, usize, usize),
}

struct Lowering {
    scalars: Vec<Scalar>,
    levels: Vec<Level>,
    ids: HashMap<Scalar, Id>,
    params: Vec<Param>,
    inputs: Vec<Input>,
    input_ids: HashMap<InputKey, usize>,
    fields: Vec<Field>,
    particle_data: Vec<ParticleData>,
    natives: Vec<(Arc<dyn NativeFunction>, Vec<Id>)>,
    done: HashMap<(usize, SideOf), Rc<Vec<Linear>>>,
    two_sided: bool,
}

/// Lower a valid expression of any shape. Unless `two_sided`, the inside and the outside are
/// the same cell.
pub(crate) fn lower(e: &Expr, two_sided: bool) -> Result<Program, FormError> {
    e.check()?;
    let mut lowering = Lowering {
        scalars: Vec::new(),
        levels: Vec::new(),
        ids: HashMap::new(),
        params: Vec::new(),
        inputs: Vec::new(),
        input_ids: HashMap::new(),
        fields: Vec::new(),
        particle_data: Vec::new(),
        natives: Vec::new(),
        done: HashMap::new(),
        two_sided,
    };
    let components = lowering.expression(e, SideOf::Inside)?;
    let held = e.held().clone();
    Ok(lowering.program(held.test, held.trial, &components))
}

fn one(id: Id) -> Linear {
    vec![((None, None), id)]
}

/// Rows of a square matrix with `n` entries.
fn size(n: usize) -> usize {
    match n {
        1 => 1,
        4 => 2,
        9 => 3,
        _ => (n as f64).sqrt().round() as usize,
    }
}
