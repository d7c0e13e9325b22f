//! From the graph of scalars to a program: what to compute once, what at each point, and in
//! which registers.

use super::{
    Coefficient, Id, Instruction, Level, Linear, Lowering, Operand, Program, Scalar, UniformOp,
};
use crate::space::Space;
use std::collections::HashMap;

impl Lowering {
    pub(super) fn program(
        self,
        test: Option<Space>,
        trial: Option<Space>,
        components: &[Linear],
    ) -> Program {
        let count = self.scalars.len();
        let mut needed = vec![false; count];
        for (_, id) in components.iter().flatten() {
            needed[*id as usize] = true;
        }
        // Children have smaller numbers than parents, so one sweep down marks everything.
        for id in (0..count).rev() {
            if needed[id] {
                for child in self.scalar_children(id) {
                    needed[child as usize] = true;
                }
            }
        }

        let mut last_use = vec![0usize; count];
        for id in (0..count).filter(|&id| needed[id]) {
            for child in self.scalar_children(id) {
                last_use[child as usize] = id;
            }
        }
        for (_, id) in components.iter().flatten() {
            last_use[*id as usize] = usize::MAX;
        }

        let mut operand: Vec<Option<Operand>> = vec![None; count];
        let mut uniforms = Vec::new();
        let mut inputs = Vec::new();
        let mut tape = Vec::new();
        let mut free: Vec<u32> = Vec::new();
        let mut registers = 0u32;
        let mut native_out: HashMap<usize, Vec<u32>> = HashMap::new();

        // Inputs first: they are filled before the tape runs and keep their registers.
        for id in (0..count).filter(|&id| needed[id]) {
            if let Scalar::Input(index) = self.scalars[id] {
                inputs.push((self.inputs[index].clone(), registers));
                operand[id] = Some(Operand::Register(registers));
                registers += 1;
            }
        }
        let uniform_of = |operand: &[Option<Operand>], id: Id| match operand[id as usize] {
            Some(Operand::Uniform(k)) => k,
            _ => unreachable!("children of uniform scalars are uniform and come first"),
        };
        let get = |operand: &[Option<Operand>], id: Id| match operand[id as usize] {
            Some(o) => o,
            None => unreachable!("children come before parents"),
        };
        for id in (0..count).filter(|&id| needed[id]) {
            if operand[id].is_some() {
                continue;
            }
            if self.levels[id] == Level::Uniform {
                let op = match &self.scalars[id] {
                    Scalar::Constant(bits) => UniformOp::Constant(f64::from_bits(*bits)),
                    Scalar::Param(address, k) => {
                        let param = self.params.iter().find(|p| p.address() == *address);
                        match param {
                            Some(p) => UniformOp::Param(p.clone(), *k),
                            None => unreachable!("every parameter met is kept"),
                        }
                    }
                    Scalar::Unary(f, a) => UniformOp::Unary(*f, uniform_of(&operand, *a)),
                    Scalar::Binary(f, a, b) => {
                        UniformOp::Binary(*f, uniform_of(&operand, *a), uniform_of(&operand, *b))
                    }
                    Scalar::Select(c, y, n) => UniformOp::Select(
                        uniform_of(&operand, *c),
                        uniform_of(&operand, *y),
                        uniform_of(&operand, *n),
                    ),
                    Scalar::Input(_) | Scalar::Native(..) => unreachable!("these vary"),
                };
                uniforms.push(op);
                operand[id] = Some(Operand::Uniform(uniforms.len() as u32 - 1));
                continue;
            }
            if let Scalar::Native(call, k) = &self.scalars[id] {
                // The first component met runs the call for all of them; its registers stay.
                let outs = native_out.entry(*call).or_insert_with(|| {
                    let (function, arguments) = &self.natives[*call];
                    let out: Vec<u32> = (0..function.result().len() as u32)
                        .map(|i| registers + i)
                        .collect();
                    registers += out.len() as u32;
                    tape.push(Instruction::Native {
                        function: function.clone(),
                        arguments: arguments.iter().map(|&a| get(&operand, a)).collect(),
                        out: out.clone(),
                    });
                    out
                });
                operand[id] = Some(Operand::Register(outs[*k]));
                continue;
            }
            // Registers of operands that are not used again may take the result.
            let mut children = self.scalar_children(id);
            children.sort_unstable();
            children.dedup();
            for child in children {
                let pinned = matches!(
                    self.scalars[child as usize],
                    Scalar::Input(_) | Scalar::Native(..)
                );
                if let (Operand::Register(r), false) = (get(&operand, child), pinned)
                    && last_use[child as usize] == id
                {
                    free.push(r);
                }
            }
            let out = free.pop().unwrap_or_else(|| {
                registers += 1;
                registers - 1
            });
            tape.push(match &self.scalars[id] {
                Scalar::Unary(f, a) => match get(&operand, *a) {
                    Operand::Register(a) => Instruction::Unary {
                        function: *f,
                        a,
                        out,
                    },
                    Operand::Uniform(_) => unreachable!("a uniform operand makes a uniform result"),
                },
                Scalar::Binary(f, a, b) => Instruction::Binary {
                    function: *f,
                    a: get(&operand, *a),
                    b: get(&operand, *b),
                    out,
                },
                Scalar::Select(c, y, n) => Instruction::Select {
                    condition: get(&operand, *c),
                    yes: get(&operand, *y),
                    no: get(&operand, *n),
                    out,
                },
                _ => unreachable!("handled above"),
            });
            operand[id] = Some(Operand::Register(out));
        }

        let mut coefficients = Vec::new();
        for (component, linear) in components.iter().enumerate() {
            for &((test, trial), id) in linear {
                let value = get(&operand, id);
                coefficients.push(Coefficient {
                    test,
                    trial,
                    component,
                    value,
                });
            }
        }
        coefficients.sort();
        Program {
            test,
            trial,
            fields: self.fields,
            particle_data: self.particle_data,
            inputs,
            uniforms,
            tape,
            registers: registers as usize,
            coefficients,
        }
    }

    pub(super) fn scalar_children(&self, id: usize) -> Vec<Id> {
        match &self.scalars[id] {
            Scalar::Constant(_) | Scalar::Param(..) | Scalar::Input(_) => vec![],
            Scalar::Unary(_, a) => vec![*a],
            Scalar::Binary(_, a, b) => vec![*a, *b],
            Scalar::Select(c, y, n) => vec![*c, *y, *n],
            Scalar::Native(call, _) => self.natives[*call].1.clone(),
        }
    }
}
