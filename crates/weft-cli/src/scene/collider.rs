//! Reads `[[collider]]`.

use super::formula::Formulas;
use super::particles::ground;
use super::read::Context;
use super::*;
use crate::case::convert::{Mismatch, choice, count, list, text};
use crate::case::mesh::existing_file;
use crate::case::read::Section;

/// Keys of shapes.
const SHAPE: [&str; 11] = [
    "normal",
    "half",
    "radius",
    "half_length",
    "size",
    "samples",
    "height",
    "file",
    "scale",
    "profile",
    "segments",
];

pub(super) fn colliders(c: &mut Context) -> Vec<Collider> {
    let mut colliders = Vec::new();
    for s in c.sections("collider") {
        let name = c.reader.optional(&s, "name", text);
        c.colliders.push(name.clone());
        let shape = shape(c, &s);
        let position = c.optional(&s, "position", Formulas::vector::<3>);
        let rotation = rotation(c, &s);
        let friction = c.optional(&s, "friction", |f, n| f.not_negative()(n));
        let adhesion = c.optional(&s, "adhesion", |f, n| f.not_negative()(n));
        let thickness = c.optional(&s, "thickness", |f, n| f.not_negative()(n));
        let threshold = c.optional(&s, "projection_threshold", |f, n| f.not_negative()(n));
        let body = body(c, &s);
        let velocity = c.optional(&s, "velocity", Formulas::vector::<3>);
        let angular = c.optional(&s, "angular_velocity", Formulas::vector::<3>);
        let world = c.reader.optional(&s, "world", count(0..=65_535));
        if let (Some((key, _)), false) = (s.table.entry("world"), c.separate_worlds) {
            let fault = Diagnostic::new("a collider has a `world` only where worlds are separate");
            let fault = fault.at(&key.at).label("on one grid all material meets it");
            c.fault(fault.note("write separate_worlds = true in [mpm], or leave it out"));
        }
        if body == Some(BodyKind::Static) {
            for key in ["velocity", "angular_velocity"] {
                if let Some((key, _)) = s.table.entry(key) {
                    let fault = Diagnostic::new("a static collider has no velocity").at(&key.at);
                    c.fault(fault.note("write body = \"kinematic\" or body = \"dynamic\""));
                }
            }
        }
        if let (Some(shape), Some(body)) = (shape, body) {
            colliders.push(Collider {
                name,
                shape,
                position: position.unwrap_or([0.0; 3]),
                rotation,
                friction: friction.unwrap_or(0.5),
                adhesion: adhesion.unwrap_or(0.0),
                thickness,
                projection_threshold: threshold,
                body,
                velocity: velocity.unwrap_or([0.0; 3]),
                angular_velocity: angular.unwrap_or([0.0; 3]),
                world: world.map(|w| w as u32),
                at: s.at.clone(),
            });
        }
    }
    colliders
}

/// Axis and angle in radians.
fn rotation<'d>(c: &mut Context<'d>, s: &Section<'d>) -> ([f64; 3], f64) {
    let none = ([0.0, 0.0, 1.0], 0.0);
    let Some((key, node)) = s.table.entry("rotation") else {
        return none;
    };
    let path = format!("{}.rotation", s.path);
    let read = crate::case::convert::table(node);
    let Some(table) = c.reader.note(&path, read) else {
        return none;
    };
    let s = Section {
        path,
        table,
        at: &key.at,
    };
    let axis = c.required(&s, "axis", Formulas::direction);
    let degrees = c.required(&s, "degrees", Formulas::number);
    match (axis, degrees) {
        (Some(axis), Some(degrees)) => (axis, degrees.to_radians()),
        _ => none,
    }
}

fn body<'d>(c: &mut Context<'d>, s: &Section<'d>) -> Option<BodyKind> {
    #[derive(Clone, Copy, PartialEq)]
    enum Word {
        Static,
        Kinematic,
        Dynamic,
    }
    let words = choice(&[
        ("static", Word::Static),
        ("kinematic", Word::Kinematic),
        ("dynamic", Word::Dynamic),
    ]);
    let word = match s.table.get("body") {
        Some(_) => c.reader.optional(s, "body", words)?,
        None => Word::Static,
    };
    if word != Word::Dynamic
        && let Some((key, _)) = s.table.entry("mass")
    {
        let fault = Diagnostic::new("only a dynamic body has a `mass`").at(&key.at);
        c.fault(fault.note("write body = \"dynamic\""));
    }
    match word {
        Word::Static => Some(BodyKind::Static),
        Word::Kinematic => Some(BodyKind::Kinematic),
        Word::Dynamic => {
            let mass = c.required(s, "mass", |f, n| f.positive()(n));
            Some(BodyKind::Dynamic { mass: mass? })
        }
    }
}

fn shape<'d>(c: &mut Context<'d>, s: &Section<'d>) -> Option<Shape> {
    #[derive(Clone, Copy)]
    enum Kind {
        Plane,
        Box,
        Sphere,
        Capsule,
        HeightField,
        Revolved,
        Mesh,
    }
    let kinds = choice(&[
        ("plane", Kind::Plane),
        ("box", Kind::Box),
        ("sphere", Kind::Sphere),
        ("capsule", Kind::Capsule),
        ("heightfield", Kind::HeightField),
        ("revolved", Kind::Revolved),
        ("mesh", Kind::Mesh),
    ]);
    let kind = c.reader.required(s, "shape", kinds)?;
    match kind {
        Kind::Plane => {
            c.only(s, "a plane", &SHAPE, &["normal"]);
            let normal = c.optional(s, "normal", Formulas::direction);
            Some(Shape::Plane {
                normal: normal.unwrap_or([0.0, 0.0, 1.0]),
            })
        }
        Kind::Box => {
            c.only(s, "a box", &SHAPE, &["half"]);
            let half = c.required(s, "half", |f, node| {
                let all = crate::case::convert::array(f.positive());
                all(node)
            });
            Some(Shape::Box { half: half? })
        }
        Kind::Sphere => {
            c.only(s, "a sphere", &SHAPE, &["radius"]);
            let radius = c.required(s, "radius", |f, n| f.positive()(n));
            Some(Shape::Sphere { radius: radius? })
        }
        Kind::Capsule => {
            c.only(s, "a capsule", &SHAPE, &["radius", "half_length"]);
            let radius = c.required(s, "radius", |f, n| f.positive()(n));
            let half_length = c.required(s, "half_length", |f, n| f.not_negative()(n));
            Some(Shape::Capsule {
                radius: radius?,
                half_length: half_length?,
            })
        }
        Kind::HeightField => {
            c.only(s, "a height field", &SHAPE, &["size", "samples", "height"]);
            ground(c, s).map(Shape::HeightField)
        }
        Kind::Revolved => {
            c.only(s, "a revolved shape", &SHAPE, &["profile", "segments"]);
            let profile = c.required(s, "profile", |f, node| {
                let profile = list(|node: &_| f.vector::<2>(node))(node)?;
                const EXPECTED: &str =
                    "at least 3 points [r, z] with r ≥ 0, counter-clockwise around an area";
                let area = |p: &[[f64; 2]]| {
                    let next = p.iter().cycle().skip(1);
                    p.iter()
                        .zip(next)
                        .map(|(a, b)| a[0] * b[1] - b[0] * a[1])
                        .sum::<f64>()
                };
                let label = if profile.len() < 3 {
                    format!("these are {}", profile.len())
                } else if let Some(bad) = profile.iter().find(|p| p[0] < 0.0) {
                    format!("r = {} is negative", bad[0])
                } else if area(&profile) <= 0.0 {
                    "these go clockwise, or around nothing".to_string()
                } else {
                    return Ok(profile);
                };
                Err(Mismatch::new(&node.at, EXPECTED, label))
            });
            let segments = c.reader.optional(s, "segments", count(3..=100_000));
            Some(Shape::Revolved {
                profile: profile?,
                segments: segments.unwrap_or(64),
            })
        }
        Kind::Mesh => {
            c.only(s, "a mesh", &SHAPE, &["file", "scale"]);
            let path = c.path;
            let file = c.reader.required(s, "file", |n| existing_file(n, path));
            let scale = c.optional(s, "scale", |f, n| f.positive()(n));
            Some(Shape::Mesh {
                file: file?,
                scale: scale.unwrap_or(1.0),
            })
        }
    }
}
