//! Reads `[mpm]` and `[materials.NAME]`.

use super::formula::Formulas;
use super::read::Context;
use super::*;
use crate::case::convert::{Mismatch, Read, boolean, choice, count, list};
use crate::case::read::Section;
use crate::document::{Node, Value};
use crate::names;
use weft_mpm::{
    ColliderBasis, ColliderVelocity, GridKind, Integration, LinearKind, RheologyKind, Stage,
    StrainBasis, Transfer, VelocityBasis, WarmStart,
};

/// Most that a `picN` basis may ask for.
const MOST_PARTICLES: usize = 4096;

const SOLVERS: &[(&str, Stage)] = &[
    ("auto", Stage::Rheology(RheologyKind::Auto)),
    ("gs", Stage::Rheology(RheologyKind::GaussSeidel)),
    ("gauss-seidel", Stage::Rheology(RheologyKind::GaussSeidel)),
    ("gs-soa", Stage::Rheology(RheologyKind::GaussSeidel)),
    ("gs-batched", Stage::Rheology(RheologyKind::Batched)),
    (
        "gauss-seidel-batched",
        Stage::Rheology(RheologyKind::Batched),
    ),
    ("jacobi", Stage::Rheology(RheologyKind::Jacobi)),
    ("cg", Stage::Linear(LinearKind::Cg)),
    ("conjugate-gradient", Stage::Linear(LinearKind::Cg)),
    ("cr", Stage::Linear(LinearKind::Cr)),
    ("conjugate-residual", Stage::Linear(LinearKind::Cr)),
    ("gmres", Stage::Linear(LinearKind::Gmres)),
];

/// The options, and where the solver is chosen.
pub(super) fn config(c: &mut Context, document: &Document) -> Option<(Config, Option<Place>)> {
    let Some(s) = c.reader.section(c.root, "mpm") else {
        return match c.root.get("mpm") {
            None => c.reader.missing(document, "mpm", "[mpm] voxel_size = 0.1"),
            Some(_) => None,
        };
    };
    let mut config = Config::default();
    if let Some(h) = c.optional(&s, "voxel_size", |f, node| f.positive()(node)) {
        config.voxel_size = h;
    }
    c.h = config.voxel_size;
    c.formulas.set("h", config.voxel_size);
    set(
        c,
        &s,
        "max_iterations",
        &mut config.max_iterations,
        |_, n| count(0..=1_000_000_000)(n),
    );
    single(c, &s, "tolerance", &mut config.tolerance, AT_LEAST_0);
    set(c, &s, "solver", &mut config.solver, |_, n| stages(n));
    single(c, &s, "relaxation", &mut config.relaxation, PART);
    let half = &mut config.legacy_half_adjoint;
    set(c, &s, "legacy_half_adjoint", half, |_, n| boolean(n));
    set(c, &s, "check_every", &mut config.check_every, |_, n| {
        count(1..=1_000_000_000)(n)
    });
    set(c, &s, "warmstart_mode", &mut config.warm_start, |_, n| {
        choice(&[
            ("none", WarmStart::None),
            ("auto", WarmStart::Auto),
            ("particles", WarmStart::Particles),
            ("grid", WarmStart::Grid),
            ("smoothed", WarmStart::Smoothed),
        ])(n)
    });
    let mode = &mut config.collider_velocity;
    set(c, &s, "collider_velocity_mode", mode, |_, n| {
        choice(&[
            ("forward", ColliderVelocity::Forward),
            ("backward", ColliderVelocity::Backward),
        ])(n)
    });
    set(c, &s, "grid_type", &mut config.grid, |_, n| {
        choice(&[
            ("sparse", GridKind::Sparse),
            ("dense", GridKind::Dense),
            ("fixed", GridKind::Fixed),
        ])(n)
    });
    set(c, &s, "grid_padding", &mut config.grid_padding, |_, n| {
        count(0..=Config::MAX_PADDING)(n)
    });
    let capacity = &mut config.max_active_cell_count;
    set(c, &s, "max_active_cell_count", capacity, |_, n| {
        // The reference system writes -1 for no limit.
        match n.value {
            Value::Integer(-1) => Ok(0),
            _ => count(0..=1 << 40)(n),
        }
    });
    set(c, &s, "transfer_scheme", &mut config.transfer, |_, n| {
        choice(&[("apic", Transfer::Apic), ("pic", Transfer::Pic)])(n)
    });
    let integration = &mut config.integration;
    set(c, &s, "integration_scheme", integration, |_, n| {
        choice(&[("pic", Integration::Pic), ("gimp", Integration::Gimp)])(n)
    });
    let fraction = &mut config.critical_fraction;
    single(c, &s, "critical_fraction", fraction, FRACTION);
    single(c, &s, "air_drag", &mut config.air_drag, AT_LEAST_0);
    single(c, &s, "max_velocity", &mut config.max_velocity, ABOVE_0);
    let smooth = &mut config.normals_from_distance;
    set(
        c,
        &s,
        "collider_normal_from_sdf_gradient",
        smooth,
        |_, n| boolean(n),
    );
    set(
        c,
        &s,
        "collider_basis",
        &mut config.collider_basis,
        |_, n| {
            let fixed = [
                ("Q1", ColliderBasis::Q1),
                ("S2", ColliderBasis::S2),
                ("S3", ColliderBasis::S3),
            ];
            basis(n, &fixed, Some(ColliderBasis::Particle))
        },
    );
    set(c, &s, "strain_basis", &mut config.strain_basis, |_, n| {
        let fixed = [
            ("P0", StrainBasis::P0),
            ("P1d", StrainBasis::P1d),
            ("Q1", StrainBasis::Q1),
            ("Q1d", StrainBasis::Q1d),
        ];
        basis(n, &fixed, Some(StrainBasis::Particle))
    });
    set(
        c,
        &s,
        "velocity_basis",
        &mut config.velocity_basis,
        |_, n| {
            let fixed = [
                ("Q1", VelocityBasis::Q1),
                ("B2", VelocityBasis::B2),
                ("B3", VelocityBasis::B3),
            ];
            basis(n, &fixed, None)
        },
    );
    let apart = &mut config.separate_worlds;
    set(c, &s, "separate_worlds", apart, |_, n| boolean(n));
    c.separate_worlds = config.separate_worlds;
    set(c, &s, "gravity", &mut config.gravity, gravity);
    let solver = s.table.get("solver").map(|node| node.at.clone());
    Some((config, solver))
}

/// Changes an option if its key is there and fine.
fn set<'d, T>(
    c: &mut Context<'d>,
    s: &Section<'d>,
    key: &str,
    option: &mut T,
    read: impl FnOnce(&Formulas, &'d Node) -> Read<T>,
) {
    if let Some(value) = c.optional(s, key, read) {
        *option = value;
    }
}

type Range = (&'static str, fn(f64) -> bool);
const ABOVE_0: Range = ("a number above 0", |x| x > 0.0 && x <= 1e38);
const AT_LEAST_0: Range = ("a number of at least 0", |x| (0.0..=1e38).contains(&x));
const FRACTION: Range = ("a number from 0 to 1", |x| (0.0..=1.0).contains(&x));
const PART: Range = ("a number above 0, at most 1", |x| x > 0.0 && x <= 1.0);

/// The same for a number of single precision.
fn single<'d>(
    c: &mut Context<'d>,
    s: &Section<'d>,
    key: &str,
    option: &mut f32,
    (expected, accept): Range,
) {
    set(c, s, key, option, |f, n| {
        Ok(f.number_where(expected, accept)(n)? as f32)
    });
}

/// One solver, or a list of them from first guess to last.
fn stages(node: &Node) -> Read<Vec<Stage>> {
    match &node.value {
        Value::List(_) => list(choice(SOLVERS))(node),
        _ => Ok(vec![choice(SOLVERS)(node)?]),
    }
}

/// A basis by its name, or `picN`.
fn basis<T: Copy>(node: &Node, fixed: &[(&str, T)], particle: Option<fn(usize) -> T>) -> Read<T> {
    let mut accepted: Vec<&str> = fixed.iter().map(|(name, _)| *name).collect();
    if particle.is_some() {
        accepted.push("picN");
    }
    let expected = match particle {
        Some(_) => format!("{} (N particles a cell)", names::either(&accepted)),
        None => names::either(&accepted),
    };
    let Value::Text(word) = &node.value else {
        let label = format!("this is {}", node.value.kind());
        return Err(Mismatch::new(&node.at, expected, label));
    };
    if let Some((_, value)) = fixed.iter().find(|(name, _)| name == word) {
        return Ok(*value);
    }
    let number = word.strip_prefix("pic").and_then(|n| n.parse().ok());
    if let (Some(make), Some(n @ 1..=MOST_PARTICLES)) = (particle, number) {
        return Ok(make(n));
    }
    let label = match word.as_str() {
        "P1" => "write P1d: linear functions of a cell are discontinuous".to_string(),
        _ => names::suggestion(word, accepted).unwrap_or("this is not".to_string()),
    };
    Err(Mismatch::new(&node.at, expected, label))
}

/// One vector, or one for each world.
fn gravity(f: &Formulas, node: &Node) -> Read<Vec<[f32; 3]>> {
    let one = |node: &Node| Ok(f.vector::<3>(node)?.map(|g| g as f32));
    match &node.value {
        Value::List(items) if items.iter().any(|i| matches!(i.value, Value::List(_))) => {
            list(one)(node)
        }
        _ => Ok(vec![one(node)?]),
    }
}

/// `[materials.NAME]`.
pub(super) fn materials(c: &mut Context, document: &Document) -> Option<Vec<NamedMaterial>> {
    let example = "[materials.sand] friction = 0.68";
    let Some(all) = c.reader.section(c.root, "materials") else {
        return match c.root.get("materials") {
            None => c.reader.missing(document, "materials", example),
            Some(_) => None,
        };
    };
    let mut found = Vec::new();
    for (name, node) in all.table.entries() {
        let path = format!("materials.{}", name.value);
        c.materials.push(name.clone());
        let read = crate::case::convert::table(node);
        let Some(table) = c.reader.note(&path, read) else {
            continue;
        };
        let s = Section {
            path,
            table,
            at: &name.at,
        };
        let mut material = Material::default();
        for key in Material::NAMES {
            let range = match key {
                "young_modulus" => ABOVE_0,
                "poisson_ratio" => ("a number above -1 and below 0.5", NU),
                "tensile_yield_ratio" | "dilatancy" => FRACTION,
                _ => AT_LEAST_0,
            };
            let value = c.optional(&s, key, |f, n| f.number_where(range.0, range.1)(n));
            if let (Some(value), Some(place)) = (value, material.value_mut(key)) {
                *place = value as f32;
            }
        }
        if let Err(error) = material.check(found.len()) {
            // Out of range only after rounding to single precision.
            c.fault(Diagnostic::new(error.to_string()).at(s.at));
        }
        found.push(NamedMaterial {
            name: name.clone(),
            material,
        });
    }
    if all.table.entries().is_empty() {
        let fault = Diagnostic::new("`materials` has no material").at(all.at);
        c.fault(fault.note(format!("for example: {example}")));
    }
    Some(found)
}

const NU: fn(f64) -> bool = |x| x > -1.0 && x < 0.5;
