//! Reads what is wanted of a simulation: `[[probe]]`, `[[check]]` and `[output]`.

use super::formula::Formulas;
use super::read::{Context, corners, index_of};
use super::*;
use crate::case::convert::{Mismatch, choice, count, list, text};
use crate::case::read::Section;
use crate::case::results::{picture_section, view_and_size};
use crate::document::{Table, Value};
use crate::names;

/// Names of quantities in case files, each with the keys that it needs besides.
pub const QUANTITIES: &[(&str, &str)] = &[
    ("count", ""),
    ("mass", ""),
    ("momentum", ""),
    ("angular_momentum", ""),
    ("kinetic_energy", ""),
    ("potential_energy", ""),
    ("energy", ""),
    ("center", ""),
    ("min", "along"),
    ("max", "along"),
    ("quantile", "along"),
    ("mean", "along"),
    ("max_speed", ""),
    ("pressure", ""),
    ("impulse", "collider"),
    ("force", "collider"),
    ("position", "collider"),
    ("velocity", "collider"),
    ("dropped", ""),
    ("not_finite", ""),
    ("removed", ""),
    ("momentum_balance", ""),
];

pub(super) fn measured(c: &mut Context) -> (Vec<Probe>, Vec<Check>) {
    let mut probes = Vec::new();
    for s in c.sections("probe") {
        let name = c.reader.required(&s, "name", text);
        let quantity = quantity(c, &s);
        if let (Some(name), Some(quantity)) = (name, quantity) {
            probes.push(Probe { name, quantity });
        }
    }
    let mut checks: Vec<Check> = Vec::new();
    for (i, s) in c.sections("check").into_iter().enumerate() {
        let name = c.reader.optional(&s, "name", text);
        let quantity = quantity(c, &s);
        let at_least = c.optional(&s, "at_least", Formulas::number);
        let at_most = c.optional(&s, "at_most", |f, n| {
            f.number_where("not below `at_least`", |x| at_least.is_none_or(|l| x >= l))(n)
        });
        let has = |key: &str| s.table.get(key).is_some();
        if !has("at_least") && !has("at_most") {
            let fault = Diagnostic::new("a check needs `at_least`, `at_most` or both");
            c.fault(fault.at(s.at));
        }
        if let Some(q) = &quantity
            && q.kind.is_vector()
            && q.component.is_none()
        {
            let fault = Diagnostic::new("a check of a vector needs a `component`").at(s.at);
            c.fault(fault.note("write component = \"x\", \"y\" or \"z\""));
        }
        let word = match s.table.get("quantity").map(|node| &node.value) {
            Some(Value::Text(word)) => word.as_str(),
            _ => "check",
        };
        let plain = format!("{word} {i}");
        let name_at = name.as_ref().map(|n| n.at.clone());
        let name = name.map_or(plain, |n| n.value);
        if checks.iter().any(|other| other.name == name) {
            let fault = Diagnostic::new(format!("two checks are called `{name}`"));
            c.fault(fault.at(name_at.as_ref().unwrap_or(s.at)));
        }
        if let Some(quantity) = quantity {
            checks.push(Check {
                name,
                quantity,
                at_least,
                at_most,
            });
        }
    }
    (probes, checks)
}

fn quantity<'d>(c: &mut Context<'d>, s: &Section<'d>) -> Option<Quantity> {
    let word = c.reader.required(s, "quantity", |node| {
        let words: Vec<&str> = QUANTITIES.iter().map(|(word, _)| *word).collect();
        let expected = names::either(&words);
        let Value::Text(word) = &node.value else {
            let label = format!("this is {}", node.value.kind());
            return Err(Mismatch::new(&node.at, expected, label));
        };
        let found = words.iter().find(|w| *w == word).copied();
        found.ok_or_else(|| {
            let label = names::suggestion(word, words).unwrap_or("this is not".to_string());
            Mismatch::new(&node.at, expected, label)
        })
    })?;
    let needs = QUANTITIES.iter().find(|(w, _)| *w == word);
    let needs = needs.map_or("", |(_, needs)| needs);
    let mut kept = vec!["component"];
    if !needs.is_empty() {
        kept.push(needs);
    }
    if word == "quantile" {
        kept.push("quantile");
    }
    let of_particles = !["dropped", "removed", "not_finite", "momentum_balance"].contains(&word)
        && needs != "collider";
    if of_particles {
        kept.extend(["particles", "lower", "upper"]);
    }
    const KEYS: [&str; 7] = [
        "along",
        "quantile",
        "collider",
        "particles",
        "lower",
        "upper",
        "component",
    ];
    c.only(s, &format!("`{word}`"), &KEYS, &kept);
    let along = match needs {
        "along" => {
            let v = c.required(s, "along", Formulas::direction)?;
            let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.map(|x| x / length)
        }
        _ => [0.0; 3],
    };
    let collider = match needs {
        "collider" => {
            let name = c.reader.required(s, "collider", text);
            index_of(&mut c.reader, "collider", name, &c.colliders)?
        }
        _ => 0,
    };
    let kind = match word {
        "count" => QuantityKind::Count,
        "mass" => QuantityKind::Mass,
        "momentum" => QuantityKind::Momentum,
        "angular_momentum" => QuantityKind::AngularMomentum,
        "kinetic_energy" => QuantityKind::KineticEnergy,
        "potential_energy" => QuantityKind::PotentialEnergy,
        "energy" => QuantityKind::Energy,
        "center" => QuantityKind::Center,
        "min" => QuantityKind::Quantile { along, part: 0.0 },
        "max" => QuantityKind::Quantile { along, part: 1.0 },
        "quantile" => {
            let part = c.required(s, "quantile", |f, n| {
                f.number_where("a number from 0 to 1", |x| (0.0..=1.0).contains(&x))(n)
            });
            QuantityKind::Quantile { along, part: part? }
        }
        "mean" => QuantityKind::Mean { along },
        "max_speed" => QuantityKind::MaxSpeed,
        "pressure" => QuantityKind::Pressure,
        "impulse" => QuantityKind::Impulse(collider),
        "force" => QuantityKind::Force(collider),
        "position" => QuantityKind::Position(collider),
        "velocity" => QuantityKind::Velocity(collider),
        "dropped" => QuantityKind::Dropped,
        "not_finite" => QuantityKind::NotFinite,
        "removed" => QuantityKind::Removed,
        _ => QuantityKind::MomentumBalance,
    };
    let component = c.reader.optional(s, "component", |node| match node.value {
        Value::Integer(n @ 0..=2) => Ok(n as usize),
        _ => choice(&[("x", 0), ("y", 1), ("z", 2)])(node),
    });
    if let (Some((key, _)), false) = (s.table.entry("component"), kind.is_vector()) {
        let fault = Diagnostic::new(format!("`{word}` has no components")).at(&key.at);
        c.fault(fault.label("it is a number"));
    }
    let name = c.reader.optional(s, "particles", text);
    let cloud = index_of(&mut c.reader, "cloud of particles", name, &c.clouds);
    let boxed = s.table.get("lower").is_some() || s.table.get("upper").is_some();
    let within = match of_particles && boxed {
        true => Some(corners(c, s)?),
        false => None,
    };
    Some(Quantity {
        kind,
        cloud,
        within,
        component,
    })
}

const STEPS: std::ops::RangeInclusive<usize> = 0..=1_000_000_000;

pub(super) fn output(c: &mut Context) -> Output {
    let mut output = Output {
        frames: 0,
        fields: vec![Field::Velocity],
        grid: 0,
        probes: 1,
        checkpoint: 0,
        picture: None,
    };
    let Some(s) = c.reader.section(c.root, "output") else {
        return output;
    };
    for (key, place) in [
        ("frames", &mut output.frames),
        ("grid", &mut output.grid),
        ("probes", &mut output.probes),
        ("checkpoint", &mut output.checkpoint),
    ] {
        if let Some(every) = c.reader.optional(&s, key, count(STEPS)) {
            *place = every;
        }
    }
    if let Some(fields) = c.reader.optional(&s, "fields", list(choice(Field::NAMES))) {
        output.fields = fields;
    }
    output.picture = picture(c, &s);
    output
}

fn picture(c: &mut Context, output: &Section) -> Option<Picture> {
    let r = &mut c.reader;
    let empty = Table::default();
    let s = picture_section(r, output, &empty)?;
    let every = r.optional(&s, "every", count(STEPS));
    let color = r.optional(&s, "color", choice(Color::NAMES));
    let (view, size) = view_and_size(r, &s);
    let boxed = s.table.get("lower").is_some() || s.table.get("upper").is_some();
    let window = if boxed { corners(c, &s) } else { None };
    Some(Picture {
        every: every.unwrap_or(0),
        color: color.unwrap_or(Color::Speed),
        view: view.unwrap_or([1.0, -2.0, 1.0]),
        size,
        window,
    })
}
