//! Reads what there is of particles: `[[particles]]`, `[[motion]]`, `[[emitter]]`, `[[kill]]` and
//! `[grains]`.

use super::formula::Formulas;
use super::read::{Context, corners, index_of};
use super::*;
use crate::case::convert::{boolean, choice, count, text};
use crate::case::mesh::existing_file;
use crate::case::read::Section;
use crate::document::Value;

/// Keys of regions.
const REGION: [&str; 14] = [
    "lower",
    "upper",
    "layout",
    "position",
    "radius",
    "upper_radius",
    "height",
    "size",
    "samples",
    "bottom",
    "top",
    "file",
    "scale",
    "center",
];

pub(super) fn clouds(c: &mut Context) -> Vec<Cloud> {
    let mut clouds = Vec::new();
    for s in c.sections("particles") {
        let name = c.reader.optional(&s, "name", text);
        c.clouds.push(name.clone());
        let region = region(c, &s);
        let selection = c.optional(&s, "where", Formulas::at_points);
        let fill = fill(c, &s);
        let particle_radius = c.optional(&s, "particle_radius", |f, n| f.positive()(n));
        let velocity = c.optional(&s, "velocity", Formulas::velocity);
        let kinematic = c.optional(&s, "kinematic", |f, node| match node.value {
            Value::Text(_) => f.at_points(node).map(Kinematic::Where),
            _ => boolean(node).map(|all| match all {
                true => Kinematic::All,
                false => Kinematic::None,
            }),
        });
        let worlds = worlds(c, &s);
        if let (Some(region), Some(fill)) = (region, fill) {
            clouds.push(Cloud {
                name,
                region,
                particle_radius,
                selection,
                fill,
                velocity: velocity.unwrap_or(Velocity::Constant([0.0; 3])),
                kinematic: kinematic.unwrap_or(Kinematic::None),
                worlds,
                at: s.at.clone(),
            });
        }
    }
    clouds
}

/// First world and number of worlds.
fn worlds<'d>(c: &mut Context<'d>, s: &Section<'d>) -> (u32, u32) {
    let world = c.reader.optional(s, "world", count(0..=65_535));
    let worlds = c.reader.optional(s, "worlds", count(1..=65_536));
    if let (Some(_), Some((key, _))) = (world, s.table.entry("worlds")) {
        let fault = Diagnostic::new("either one `world`, or copies in as many `worlds`");
        c.fault(fault.at(&key.at).label("there is a `world` too"));
    }
    (world.unwrap_or(0) as u32, worlds.unwrap_or(1) as u32)
}

fn region<'d>(c: &mut Context<'d>, s: &Section<'d>) -> Option<Region> {
    #[derive(Clone, Copy)]
    enum Kind {
        Box,
        Sphere,
        Cone,
        Layer,
        Mesh,
    }
    let kind = c.reader.required(
        s,
        "shape",
        choice(&[
            ("box", Kind::Box),
            ("sphere", Kind::Sphere),
            ("cone", Kind::Cone),
            ("heightfield", Kind::Layer),
            ("mesh", Kind::Mesh),
        ]),
    )?;
    match kind {
        Kind::Box => {
            c.only(s, "a box", &REGION, &["lower", "upper", "layout"]);
            let corners_too = c.reader.optional(
                s,
                "layout",
                choice(&[("corners", true), ("middles", false)]),
            );
            let (lower, upper) = corners(c, s)?;
            Some(Region::Box {
                lower,
                upper,
                corners: corners_too.unwrap_or(true),
            })
        }
        Kind::Sphere => {
            c.only(s, "a sphere", &REGION, &["position", "radius"]);
            let center = c.required(s, "position", Formulas::vector::<3>);
            let radius = c.required(s, "radius", |f, n| f.positive()(n));
            Some(Region::Sphere {
                center: center?,
                radius: radius?,
            })
        }
        Kind::Cone => {
            let keys = ["position", "radius", "upper_radius", "height"];
            c.only(s, "a cone", &REGION, &keys);
            let base = c.required(s, "position", Formulas::vector::<3>);
            let lower = c.required(s, "radius", |f, n| f.not_negative()(n));
            let upper = c.optional(s, "upper_radius", |f, n| f.not_negative()(n));
            let height = c.required(s, "height", |f, n| f.positive()(n));
            let (lower, upper) = (lower?, upper.or(lower)?);
            if lower == 0.0 && upper == 0.0 {
                let fault = Diagnostic::new("a cone has a `radius` or `upper_radius` above 0");
                c.fault(fault.at(s.at));
            }
            Some(Region::Cone {
                base: base?,
                lower,
                upper,
                height: height?,
            })
        }
        Kind::Layer => {
            let keys = ["size", "samples", "height", "position", "bottom", "top"];
            c.only(s, "a layer on a height field", &REGION, &keys);
            let field = ground(c, s);
            let position = c.optional(s, "position", Formulas::vector::<3>);
            let bottom = c.optional(s, "bottom", Formulas::number).unwrap_or(0.0);
            let top = c.required(s, "top", |f, n| {
                f.number_where(
                    "above the layer's `bottom`, which is 0 where not given",
                    |x| x > bottom,
                )(n)
            });
            Some(Region::Layer {
                field: field?,
                position: position.unwrap_or([0.0; 3]),
                bottom,
                top: top?,
            })
        }
        Kind::Mesh => {
            c.only(s, "a mesh", &REGION, &["file", "position", "scale"]);
            let path = c.path;
            let file = c.reader.required(s, "file", |n| existing_file(n, path));
            let position = c.optional(s, "position", Formulas::vector::<3>);
            let scale = c.optional(s, "scale", |f, n| f.positive()(n));
            Some(Region::Mesh {
                file: file?,
                position: position.unwrap_or([0.0; 3]),
                scale: scale.unwrap_or(1.0),
            })
        }
    }
}

/// A height field: `size`, `samples`, `height`.
pub(super) fn ground<'d>(c: &mut Context<'d>, s: &Section<'d>) -> Option<Ground> {
    let size = c.required(s, "size", |f, node| {
        let both = crate::case::convert::array(f.positive());
        both(node)
    });
    let both = crate::case::convert::array(count(2..=100_000));
    let samples = c.reader.required(s, "samples", both);
    let height = c.required(s, "height", Formulas::at_points);
    Some(Ground {
        size: size?,
        samples: samples?,
        height: height?,
    })
}

/// What particles are: of clouds and emitters.
fn fill<'d>(c: &mut Context<'d>, s: &Section<'d>) -> Option<Fill> {
    let h = c.h;
    let by_cell = c.optional(s, "per_cell", |f, n| Ok(h / f.positive()(n)?));
    let by_length = c.optional(s, "spacing", |f, n| f.positive()(n));
    match (s.table.entry("per_cell"), s.table.entry("spacing")) {
        (Some(_), Some((key, _))) => {
            let fault = Diagnostic::new("either `per_cell` or a `spacing`");
            c.fault(fault.at(&key.at).label("there is `per_cell` too"));
        }
        (None, None) => {
            let fault = Diagnostic::new(format!("`{}` needs `per_cell` or `spacing`", s.path));
            c.fault(
                fault
                    .at(s.at)
                    .note("for example: per_cell = 3, particles along each edge of a cell"),
            );
        }
        _ => {}
    }
    let density = c.required(s, "density", |f, n| f.positive()(n));
    let name = c.reader.optional(s, "material", text);
    let all: Vec<Option<Text>> = c.materials.iter().cloned().map(Some).collect();
    let material = match (&name, s.table.get("material"), all.len()) {
        (Some(_), ..) => index_of(&mut c.reader, "material", name, &all),
        (None, None, 0 | 1) => Some(0),
        (None, None, _) => {
            let known: Vec<&str> = c.materials.iter().map(|m| m.value.as_str()).collect();
            let note = format!("there is {}", crate::names::either(&known));
            let fault = Diagnostic::new(format!("`{}` needs a value for `material`", s.path));
            c.fault(fault.at(s.at).note(note));
            None
        }
        _ => None,
    };
    let plastic_volume = c.optional(s, "initial_plastic_volume", |f, n| f.positive()(n));
    let jitter = c.optional(s, "jitter", |f, n| {
        f.number_where("a part of the spacing, from 0 to 1", |x| {
            (0.0..=1.0).contains(&x)
        })(n)
    });
    let seed = c.reader.optional(s, "seed", count(0..=usize::MAX >> 1));
    Some(Fill {
        spacing: by_cell.or(by_length)?,
        density: density?,
        material: material?,
        plastic_volume: plastic_volume.unwrap_or(1.0) as f32,
        jitter: jitter.unwrap_or(0.0),
        seed: seed.unwrap_or(0) as u64,
    })
}

pub(super) fn motions(c: &mut Context) -> Vec<Motion> {
    let mut motions = Vec::new();
    for s in c.sections("motion") {
        let name = c.reader.optional(&s, "particles", text);
        let cloud = index_of(&mut c.reader, "cloud of particles", name, &c.clouds);
        let selection = c.optional(&s, "where", Formulas::at_points);
        let velocity = c.optional(&s, "velocity", Formulas::vector::<3>);
        let angular = c.optional(&s, "angular_velocity", Formulas::vector::<3>);
        let center = c.optional(&s, "center", Formulas::vector::<3>);
        if s.table.get("velocity").is_none() && s.table.get("angular_velocity").is_none() {
            let fault = Diagnostic::new("a motion needs a `velocity` or an `angular_velocity`");
            c.fault(fault.at(s.at));
        }
        motions.push(Motion {
            cloud,
            selection,
            velocity: velocity.unwrap_or([0.0; 3]),
            angular_velocity: angular.unwrap_or([0.0; 3]),
            center: center.unwrap_or([0.0; 3]),
            at: s.at.clone(),
        });
    }
    motions
}

pub(super) fn emitters(c: &mut Context) -> Vec<Emitter> {
    let mut emitters = Vec::new();
    for s in c.sections("emitter") {
        let name = c.reader.optional(&s, "name", text);
        let position = c.required(&s, "position", Formulas::vector::<3>);
        let direction = c.optional(&s, "direction", Formulas::direction);
        let size = c.required(&s, "size", |f, node| {
            let both = crate::case::convert::array(f.positive());
            both(node)
        });
        let speed = c.required(&s, "speed", |f, n| f.positive()(n));
        let number = c.optional(&s, "particles_per_second", |f, n| f.positive()(n));
        let mass = c.optional(&s, "mass_per_second", |f, n| f.positive()(n));
        if let (Some(_), Some((key, _))) = (number, s.table.entry("mass_per_second")) {
            let fault = Diagnostic::new("either `particles_per_second` or `mass_per_second`");
            c.fault(fault.at(&key.at).label("there are both"));
        }
        let fill = fill(c, &s);
        let from = c.optional(&s, "from", Formulas::number).unwrap_or(0.0);
        let until = c.optional(&s, "until", |f, n| {
            f.number_where("a time not before `from`", |x| x >= from)(n)
        });
        let world = c.reader.optional(&s, "world", count(0..=65_535));
        let build = || {
            Some(Emitter {
                name,
                position: position?,
                direction: direction.unwrap_or([0.0, 0.0, -1.0]),
                size: size?,
                speed: speed?,
                rate: match (number, mass) {
                    (Some(n), _) => Rate::Particles(n),
                    (None, Some(m)) => Rate::Mass(m),
                    (None, None) => Rate::Full,
                },
                fill: fill?,
                from,
                until: until.unwrap_or(f64::INFINITY),
                world: world.unwrap_or(0) as u32,
                at: s.at.clone(),
            })
        };
        emitters.extend(build());
    }
    emitters
}

pub(super) fn kills(c: &mut Context) -> Vec<Kill> {
    let mut kills = Vec::new();
    for s in c.sections("kill") {
        let is = |key: &str| s.table.get(key).is_some();
        let zone = match (is("lower") || is("upper"), is("point") || is("normal")) {
            (true, false) => corners(c, &s).map(|(lower, upper)| Zone::Box { lower, upper }),
            (false, true) => {
                let point = c.required(&s, "point", Formulas::vector::<3>);
                let normal = c.required(&s, "normal", Formulas::direction);
                point
                    .zip(normal)
                    .map(|(point, normal)| Zone::Below { point, normal })
            }
            _ => {
                let fault = Diagnostic::new(
                    "a kill zone is either a box, `lower` and `upper`, or what lies behind a plane, `point` and `normal`",
                );
                c.fault(fault.at(s.at));
                None
            }
        };
        kills.extend(zone.map(|zone| Kill {
            zone,
            at: s.at.clone(),
        }));
    }
    kills
}

pub(super) fn grains(c: &mut Context) -> Option<Grains> {
    let s = c.reader.section(c.root, "grains")?;
    let per_particle = c.reader.required(&s, "per_particle", count(1..=10_000));
    let seed = c.reader.optional(&s, "seed", count(0..=usize::MAX >> 1));
    for key in ["emitter", "kill"] {
        if let Some((key, _)) = c.root.entry(key) {
            let fault = Diagnostic::new("grains belong to particles that neither come nor go");
            c.fault(fault.at(&key.at).label("these come or go"));
        }
    }
    Some(Grains {
        per_particle: per_particle?,
        seed: seed.unwrap_or(0) as u64,
    })
}
