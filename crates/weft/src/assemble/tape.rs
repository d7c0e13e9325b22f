//! Running the tape of scalar operations on the points of a block.

use super::lanes::{LANES, Lane, load, splat};
use crate::form::MAX_COMPONENTS;
use crate::form::lower::{Instruction, Operand};
use crate::form::{Binary, Unary};
use fearless_simd::{Simd, f64x8, prelude::*};

/// An operand at one point.
#[inline(always)]
pub(crate) fn fetch<S: Simd>(
    simd: S,
    registers: &[Lane],
    uniforms: &[f64],
    points: usize,
    operand: Operand,
    q: usize,
) -> f64x8<S> {
    match operand {
        Operand::Register(r) => load(simd, &registers[r as usize * points + q]),
        Operand::Uniform(u) => splat(simd, uniforms[u as usize]),
    }
}

/// Run `tape`; register `r` is `registers[r * points ..][.. points]`. `scratch` holds
/// `points` lanes for each uniform argument of a native function.
#[inline(always)]
pub(crate) fn run<S: Simd>(
    simd: S,
    tape: &[Instruction],
    registers: &mut [Lane],
    uniforms: &[f64],
    points: usize,
    scratch: &mut [Lane],
) {
    for instruction in tape {
        match instruction {
            Instruction::Unary { function, a, out } => {
                for q in 0..points {
                    let x = load(simd, &registers[*a as usize * points + q]);
                    let y = match function {
                        Unary::Neg => -x,
                        Unary::Sqrt => x.sqrt(),
                        Unary::Abs => x.abs(),
                        other => {
                            let x: Lane = x.into();
                            f64x8::simd_from(simd, x.map(|v| other.eval(v)))
                        }
                    };
                    registers[*out as usize * points + q] = y.into();
                }
            }
            Instruction::Binary {
                function,
                a,
                b,
                out,
            } => {
                let out = *out as usize * points;
                macro_rules! each {
                    ($f:expr) => {
                        for q in 0..points {
                            let x = fetch(simd, registers, uniforms, points, *a, q);
                            let y = fetch(simd, registers, uniforms, points, *b, q);
                            let f = $f;
                            let z: f64x8<S> = f(x, y);
                            registers[out + q] = z.into();
                        }
                    };
                }
                match function {
                    Binary::Add => each!(|x: f64x8<S>, y: f64x8<S>| x + y),
                    Binary::Sub => each!(|x: f64x8<S>, y: f64x8<S>| x - y),
                    Binary::Mul => each!(|x: f64x8<S>, y: f64x8<S>| x * y),
                    Binary::Div => each!(|x: f64x8<S>, y: f64x8<S>| x / y),
                    other => each!(|x: f64x8<S>, y: f64x8<S>| {
                        let (x, y): (Lane, Lane) = (x.into(), y.into());
                        let z: Lane = std::array::from_fn(|lane| other.eval(x[lane], y[lane]));
                        f64x8::simd_from(simd, z)
                    }),
                }
            }
            Instruction::Select {
                condition,
                yes,
                no,
                out,
            } => {
                for q in 0..points {
                    let c: Lane = fetch(simd, registers, uniforms, points, *condition, q).into();
                    let y: Lane = fetch(simd, registers, uniforms, points, *yes, q).into();
                    let n: Lane = fetch(simd, registers, uniforms, points, *no, q).into();
                    registers[*out as usize * points + q] =
                        std::array::from_fn(|lane| if c[lane] != 0.0 { y[lane] } else { n[lane] });
                }
            }
            Instruction::Native {
                function,
                arguments,
                out,
            } => {
                for (k, argument) in arguments.iter().enumerate() {
                    if let Operand::Uniform(u) = argument {
                        scratch[k * points..(k + 1) * points].fill([uniforms[*u as usize]; LANES]);
                    }
                }
                let Some(&first) = out.first() else { continue };
                // Results of a call have registers of their own, above all that came before.
                let (before, results) = registers.split_at_mut(first as usize * points);
                let mut inputs: [&[f64]; MAX_COMPONENTS] = [&[]; MAX_COMPONENTS];
                for (k, argument) in arguments.iter().enumerate() {
                    inputs[k] = match argument {
                        Operand::Register(r) => {
                            before[*r as usize * points..(*r as usize + 1) * points].as_flattened()
                        }
                        Operand::Uniform(_) => scratch[k * points..(k + 1) * points].as_flattened(),
                    };
                }
                let mut outputs: [&mut [f64]; MAX_COMPONENTS] =
                    std::array::from_fn(|_| &mut [] as _);
                let results = results[..out.len() * points].as_flattened_mut();
                for (slot, part) in outputs
                    .iter_mut()
                    .zip(results.chunks_exact_mut(points * LANES))
                {
                    *slot = part;
                }
                function.evaluate(&inputs[..arguments.len()], &mut outputs[..out.len()]);
            }
        }
    }
}
