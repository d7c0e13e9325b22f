//! Reads a scene section by section; every fault is kept until all of them are read.

use super::formula::Formulas;
use super::*;
use crate::case::convert::{Mismatch, Read, boolean, count, text};
use crate::case::read::{Reader, Section};
use crate::document::{Node, Value};
use crate::{names, schema};

/// Names with a meaning of their own in formulas.
const OWN: [&str; 6] = ["x", "h", "dt", "steps", "pi", "I"];

/// What all sections of a scene need while they are read.
pub(super) struct Context<'d> {
    pub reader: Reader,
    pub formulas: Formulas,
    pub root: &'d Table,
    pub path: &'d Path,
    /// Edge of a cell, m.
    pub h: f64,
    /// Whether worlds have grids of their own.
    pub separate_worlds: bool,
    /// Names of materials.
    pub materials: Vec<Text>,
    /// Names of particle clouds and of colliders, where they have one.
    pub clouds: Vec<Option<Text>>,
    pub colliders: Vec<Option<Text>>,
}

impl<'d> Context<'d> {
    /// The tables of a `[[list]]` at the top.
    pub fn sections(&mut self, key: &str) -> Vec<Section<'d>> {
        self.reader.sections(self.root, key, key)
    }

    pub fn optional<'s, T>(
        &mut self,
        s: &Section<'s>,
        key: &str,
        read: impl FnOnce(&Formulas, &'s Node) -> Read<T>,
    ) -> Option<T> {
        let formulas = &self.formulas;
        self.reader.optional(s, key, |node| read(formulas, node))
    }

    pub fn required<'s, T>(
        &mut self,
        s: &Section<'s>,
        key: &str,
        read: impl FnOnce(&Formulas, &'s Node) -> Read<T>,
    ) -> Option<T> {
        let formulas = &self.formulas;
        self.reader.required(s, key, |node| read(formulas, node))
    }

    /// Faults of keys that this kind of entry hasn't: all but `kept`.
    pub fn only(&mut self, s: &Section<'d>, what: &str, keys: &[&str], kept: &[&str]) {
        for (key, _) in s.table.entries() {
            let word = key.value.as_str();
            if keys.contains(&word) && !kept.contains(&word) {
                let fault =
                    Diagnostic::new(format!("`{}.{word}` does not belong to {what}", s.path))
                        .at(&key.at)
                        .note(format!("accepted for {what}: {}", names::either(kept)));
                self.reader.faults.push(fault);
            }
        }
    }

    pub fn fault(&mut self, fault: Diagnostic) {
        self.reader.faults.push(fault);
    }
}

/// The index of a name, or a fault with the near ones.
pub(super) fn index_of(
    r: &mut Reader,
    what: &str,
    name: Option<Text>,
    all: &[Option<Text>],
) -> Option<usize> {
    let name = name?;
    let is = |other: &Option<Text>| other.as_ref().is_some_and(|o| o.value == name.value);
    let found = all.iter().position(is);
    if found.is_none() {
        let known: Vec<&str> = all.iter().flatten().map(|n| n.value.as_str()).collect();
        r.faults.push(Diagnostic::unknown_name(what, &name, &known));
    }
    found
}

/// A box by two corners, the second above the first.
pub(super) fn corners(c: &mut Context, s: &Section) -> Option<([f64; 3], [f64; 3])> {
    let lower = c.required(s, "lower", Formulas::vector::<3>);
    let upper = c.required(s, "upper", |f, node| {
        let upper = f.vector::<3>(node)?;
        match lower {
            Some(lower) if !(0..3).all(|d| upper[d] > lower[d]) => Err(Mismatch::new(
                &node.at,
                "above the lower corner in each direction",
                format!("the lower corner is {lower:?}"),
            )),
            _ => Ok(upper),
        }
    });
    lower.zip(upper)
}

/// Checks that names of a list differ, where there are any.
fn distinct<'a>(faults: &mut Vec<Diagnostic>, what: &str, all: impl Iterator<Item = &'a Text>) {
    let mut seen: Vec<&str> = Vec::new();
    for name in all {
        if seen.contains(&name.value.as_str()) {
            let message = format!("two {what} are called `{}`", name.value);
            faults.push(Diagnostic::new(message).at(&name.at));
        }
        seen.push(&name.value);
    }
}

pub(super) fn scene(
    path: &Path,
    document: &Document,
    mut faults: Vec<Diagnostic>,
) -> Result<Scene, Diagnostics> {
    let root = &document.root;
    faults.extend(schema::unknown_keys(root));
    let mut c = Context {
        reader: Reader { faults },
        formulas: Formulas::new(),
        root,
        path,
        h: 0.1,
        separate_worlds: false,
        materials: Vec::new(),
        clouds: Vec::new(),
        colliders: Vec::new(),
    };
    let top = Section {
        path: String::new(),
        table: root,
        at: &document.start,
    };
    let title = c.reader.optional(&top, "title", text).map(|t| t.value);
    parameters(&mut c);
    let steps = c.reader.required(&top, "steps", count(0..=1_000_000_000));
    c.formulas.set("steps", steps.unwrap_or(1) as f64);
    let dt = c.required(&top, "dt", |f, node| f.positive()(node));
    c.formulas.set("dt", dt.unwrap_or(1.0));
    let rigid_substeps = c.reader.optional(&top, "rigid_substeps", count(1..=10_000));
    let project_outside = c.reader.optional(&top, "project_outside", boolean);

    let config = config::config(&mut c, document);
    let materials = config::materials(&mut c, document);
    let particles = particles::clouds(&mut c);
    let motions = particles::motions(&mut c);
    let colliders = collider::colliders(&mut c);
    let emitters = particles::emitters(&mut c);
    let kills = particles::kills(&mut c);
    let grains = particles::grains(&mut c);
    let (probes, checks) = wanted::measured(&mut c);
    let output = wanted::output(&mut c);
    if particles.is_empty() && emitters.is_empty() && c.reader.faults.is_empty() {
        let fault = Diagnostic::new("the case has neither [[particles]] nor an [[emitter]]");
        c.fault(fault.at(&document.start).note(
            "for example: [[particles]] shape = \"box\", lower = [0, 0, 0], upper = [1, 1, 1], per_cell = 2",
        ));
    }
    let faults = &mut c.reader.faults;
    distinct(faults, "clouds of particles", c.clouds.iter().flatten());
    distinct(faults, "colliders", c.colliders.iter().flatten());
    distinct(faults, "probes", probes.iter().map(|p| &p.name));
    let mpm = root.entry("mpm").map(|(key, _)| key.at.clone());
    if let (Some((config, solver)), Some(at)) = (&config, &mpm)
        && let Err(error) = config.check(!colliders.is_empty())
    {
        let place = match &error {
            weft_mpm::MpmError::Config { option, .. } if option.starts_with("solver") => {
                solver.as_ref().unwrap_or(at)
            }
            _ => at,
        };
        faults.push(Diagnostic::new(error.to_string()).at(place));
    }
    let assemble = || {
        Some(Scene {
            path: path.to_path_buf(),
            name: path
                .file_stem()
                .map_or("case".into(), |stem| stem.to_string_lossy().into_owned()),
            title,
            steps: steps?,
            dt: dt?,
            rigid_substeps: rigid_substeps.unwrap_or(1),
            project_outside: project_outside.unwrap_or(false),
            config: config?.0,
            mpm: mpm?,
            materials: materials?,
            particles,
            motions,
            colliders,
            emitters,
            kills,
            grains,
            probes,
            checks,
            output,
            fingerprint: fingerprint(root),
        })
    };
    let scene = assemble();
    Diagnostics::unless_empty(c.reader.faults, scene)
}

/// `[parameters]`: names for numbers, each of which may use those before.
fn parameters(c: &mut Context) {
    let Some(s) = c.reader.section(c.root, "parameters") else {
        return;
    };
    for (key, _) in s.table.entries() {
        let name = key.value.as_str();
        let plain = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let taken = OWN.contains(&name) || crate::case::RESERVED.contains(&name);
        if !plain || taken {
            let label = match plain {
                true => format!("`{name}` has a meaning of its own in formulas"),
                false => "a name is letters, digits and _, and begins with no digit".to_string(),
            };
            let fault = Diagnostic::new(format!("a parameter cannot be called `{name}`"));
            c.fault(fault.at(&key.at).label(label));
            continue;
        }
        let value = c.optional(&s, name, Formulas::number);
        // A wrong one has been reported; where it is used is no further mistake.
        c.formulas.set(name, value.unwrap_or(1.0));
    }
}

/// What the course of a simulation depends on: the file without what may differ after a restart.
fn fingerprint(root: &Table) -> String {
    const FREE: [&str; 6] = ["title", "steps", "probe", "check", "output", "small"];
    let mut out = String::new();
    for (key, node) in root.entries() {
        if !FREE.contains(&key.value.as_str()) {
            write_value(&key.value, &node.value, &mut out);
        }
    }
    out
}

fn write_value(path: &str, value: &Value, out: &mut String) {
    use std::fmt::Write;
    match value {
        Value::Table(table) => {
            // The order of keys says nothing.
            let mut entries: Vec<&(Text, Node)> = table.entries().iter().collect();
            entries.sort_by(|a, b| a.0.value.cmp(&b.0.value));
            for (key, node) in entries {
                write_value(&schema::join(path, &key.value), &node.value, out);
            }
        }
        Value::List(items) => {
            for (i, item) in items.iter().enumerate() {
                write_value(&schema::join(path, &i.to_string()), &item.value, out);
            }
        }
        // Writing to a text cannot fail.
        Value::Integer(v) => {
            let _ = writeln!(out, "{path} = {:?}", *v as f64);
        }
        Value::Float(v) => {
            let _ = writeln!(out, "{path} = {v:?}");
        }
        Value::Boolean(v) => {
            let _ = writeln!(out, "{path} = {v}");
        }
        Value::Text(v) => {
            let _ = writeln!(out, "{path} = {v:?}");
        }
        Value::Date => {
            let _ = writeln!(out, "{path} = a date");
        }
    }
}
