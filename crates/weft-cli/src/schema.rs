//! Which keys a case file has: the one list behind unknown-key errors, `--set` and the docs.
//!
//! Main type: [`Schema`]; the whole is [`CASE`] or, for material points, [`SCENE`]. Invariant:
//! [`crate::case`] and [`crate::scene`] read no key that is not listed here.

use crate::diagnose::{Diagnostic, Text};
use crate::document::{self, Value};
use crate::names;

/// What may stand at a place of a case file.
#[derive(Debug)]
pub enum Schema {
    /// A value that is set as a whole.
    Leaf,
    /// A table with these keys.
    Table(&'static [(&'static str, Schema)]),
    /// A table whose keys are the user's names, each with the same content.
    Named(&'static Schema),
    /// A value, or a table whose keys are the user's.
    Free,
    /// A list of tables, `[[...]]`.
    List(&'static Schema),
}

use Schema::*;

/// The keys of a case file.
pub static CASE: Schema = Table(&[
    ("title", Leaf),
    (
        "mesh",
        Table(&[
            ("file", Leaf),
            ("shape", Leaf),
            ("cells", Leaf),
            ("lower", Leaf),
            ("upper", Leaf),
            ("distort", Leaf),
        ]),
    ),
    (
        "spaces",
        Named(&Table(&[
            ("degree", Leaf),
            ("value", Leaf),
            ("size", Leaf),
            ("continuous", Leaf),
            ("nodes", Leaf),
        ])),
    ),
    ("parameters", Named(&Free)),
    (
        "problem",
        Table(&[
            ("unknown", Leaf),
            ("a", Leaf),
            ("L", Leaf),
            ("residual", Leaf),
            ("quadrature_degree", Leaf),
        ]),
    ),
    (
        "dirichlet",
        List(&Table(&[
            ("on", Leaf),
            ("field", Leaf),
            ("value", Leaf),
            ("component", Leaf),
            ("normal", Leaf),
        ])),
    ),
    (
        "solver",
        Table(&[
            ("method", Leaf),
            ("preconditioner", Leaf),
            ("tolerance", Leaf),
            ("max_iterations", Leaf),
            ("restart", Leaf),
            (
                "newton",
                Table(&[("tolerance", Leaf), ("max_iterations", Leaf)]),
            ),
        ]),
    ),
    (
        "report",
        List(&Table(&[
            ("name", Leaf),
            ("integral", Leaf),
            ("max", Leaf),
            ("min", Leaf),
            ("point", Leaf),
            ("value", Leaf),
            ("reaction", Leaf),
        ])),
    ),
    (
        "output",
        Table(&[
            ("vtu", Leaf),
            (
                "picture",
                Table(&[
                    ("color", Leaf),
                    ("deform", Leaf),
                    ("view", Leaf),
                    ("size", Leaf),
                ]),
            ),
            ("fields", List(&Table(&[("name", Leaf), ("value", Leaf)]))),
        ]),
    ),
]);

/// The keys of a case file of material points.
pub static SCENE: Schema = Table(&[
    ("title", Leaf),
    ("steps", Leaf),
    ("dt", Leaf),
    ("rigid_substeps", Leaf),
    ("project_outside", Leaf),
    ("parameters", Named(&Leaf)),
    (
        "mpm",
        Table(&[
            ("voxel_size", Leaf),
            ("max_iterations", Leaf),
            ("tolerance", Leaf),
            ("solver", Leaf),
            ("relaxation", Leaf),
            ("legacy_half_adjoint", Leaf),
            ("check_every", Leaf),
            ("warmstart_mode", Leaf),
            ("collider_velocity_mode", Leaf),
            ("grid_type", Leaf),
            ("grid_padding", Leaf),
            ("max_active_cell_count", Leaf),
            ("transfer_scheme", Leaf),
            ("integration_scheme", Leaf),
            ("critical_fraction", Leaf),
            ("air_drag", Leaf),
            ("max_velocity", Leaf),
            ("collider_normal_from_sdf_gradient", Leaf),
            ("collider_basis", Leaf),
            ("strain_basis", Leaf),
            ("velocity_basis", Leaf),
            ("separate_worlds", Leaf),
            ("gravity", Leaf),
        ]),
    ),
    (
        "materials",
        Named(&Table(&[
            ("young_modulus", Leaf),
            ("poisson_ratio", Leaf),
            ("damping", Leaf),
            ("friction", Leaf),
            ("yield_pressure", Leaf),
            ("tensile_yield_ratio", Leaf),
            ("yield_stress", Leaf),
            ("viscosity", Leaf),
            ("hardening", Leaf),
            ("hardening_rate", Leaf),
            ("softening_rate", Leaf),
            ("dilatancy", Leaf),
        ])),
    ),
    (
        "particles",
        List(&Table(&[
            ("name", Leaf),
            ("shape", Leaf),
            ("lower", Leaf),
            ("upper", Leaf),
            ("layout", Leaf),
            ("position", Leaf),
            ("radius", Leaf),
            ("upper_radius", Leaf),
            ("height", Leaf),
            ("size", Leaf),
            ("samples", Leaf),
            ("bottom", Leaf),
            ("top", Leaf),
            ("file", Leaf),
            ("scale", Leaf),
            ("where", Leaf),
            ("per_cell", Leaf),
            ("spacing", Leaf),
            ("jitter", Leaf),
            ("seed", Leaf),
            ("density", Leaf),
            ("particle_radius", Leaf),
            ("material", Leaf),
            ("velocity", Leaf),
            ("initial_plastic_volume", Leaf),
            ("kinematic", Leaf),
            ("world", Leaf),
            ("worlds", Leaf),
        ])),
    ),
    (
        "motion",
        List(&Table(&[
            ("particles", Leaf),
            ("where", Leaf),
            ("velocity", Leaf),
            ("angular_velocity", Leaf),
            ("center", Leaf),
        ])),
    ),
    (
        "collider",
        List(&Table(&[
            ("name", Leaf),
            ("shape", Leaf),
            ("normal", Leaf),
            ("half", Leaf),
            ("radius", Leaf),
            ("half_length", Leaf),
            ("size", Leaf),
            ("samples", Leaf),
            ("height", Leaf),
            ("file", Leaf),
            ("scale", Leaf),
            ("profile", Leaf),
            ("segments", Leaf),
            ("position", Leaf),
            ("rotation", Table(&[("axis", Leaf), ("degrees", Leaf)])),
            ("friction", Leaf),
            ("adhesion", Leaf),
            ("thickness", Leaf),
            ("projection_threshold", Leaf),
            ("body", Leaf),
            ("mass", Leaf),
            ("velocity", Leaf),
            ("angular_velocity", Leaf),
            ("world", Leaf),
        ])),
    ),
    (
        "emitter",
        List(&Table(&[
            ("name", Leaf),
            ("position", Leaf),
            ("direction", Leaf),
            ("size", Leaf),
            ("speed", Leaf),
            ("particles_per_second", Leaf),
            ("mass_per_second", Leaf),
            ("per_cell", Leaf),
            ("spacing", Leaf),
            ("jitter", Leaf),
            ("seed", Leaf),
            ("density", Leaf),
            ("material", Leaf),
            ("initial_plastic_volume", Leaf),
            ("from", Leaf),
            ("until", Leaf),
            ("world", Leaf),
        ])),
    ),
    (
        "kill",
        List(&Table(&[
            ("lower", Leaf),
            ("upper", Leaf),
            ("point", Leaf),
            ("normal", Leaf),
        ])),
    ),
    ("grains", Table(&[("per_particle", Leaf), ("seed", Leaf)])),
    (
        "probe",
        List(&Table(&[
            ("name", Leaf),
            ("quantity", Leaf),
            ("along", Leaf),
            ("quantile", Leaf),
            ("collider", Leaf),
            ("particles", Leaf),
            ("lower", Leaf),
            ("upper", Leaf),
            ("component", Leaf),
        ])),
    ),
    (
        "check",
        List(&Table(&[
            ("name", Leaf),
            ("quantity", Leaf),
            ("along", Leaf),
            ("quantile", Leaf),
            ("collider", Leaf),
            ("particles", Leaf),
            ("lower", Leaf),
            ("upper", Leaf),
            ("component", Leaf),
            ("at_least", Leaf),
            ("at_most", Leaf),
        ])),
    ),
    (
        "output",
        Table(&[
            ("frames", Leaf),
            ("fields", Leaf),
            ("grid", Leaf),
            ("probes", Leaf),
            ("checkpoint", Leaf),
            (
                "picture",
                Table(&[
                    ("every", Leaf),
                    ("color", Leaf),
                    ("view", Leaf),
                    ("size", Leaf),
                    ("lower", Leaf),
                    ("upper", Leaf),
                ]),
            ),
        ]),
    ),
    ("small", Free),
]);

/// The keys of the file that has this top level: what `[mpm]` is part of is a scene of material
/// points.
pub fn of(root: &document::Table) -> &'static Schema {
    if root.get("mpm").is_some() {
        &SCENE
    } else {
        &CASE
    }
}

/// Section, key, and the other keys of the section that it displaces when set on the command
/// line.
pub static EXCLUSIVE: &[(&str, &str, &[&str])] = &[
    ("mesh", "file", &["shape", "cells", "lower", "upper"]),
    ("mesh", "shape", &["file"]),
    ("problem", "a", &["residual"]),
    ("problem", "residual", &["a", "L"]),
    ("particles", "per_cell", &["spacing"]),
    ("particles", "spacing", &["per_cell"]),
    ("emitter", "per_cell", &["spacing"]),
    ("emitter", "spacing", &["per_cell"]),
];

/// The schema of one of `keys`.
pub fn find<'a>(keys: &'a [(&str, Schema)], key: &str) -> Option<&'a Schema> {
    keys.iter().find(|(name, _)| *name == key).map(|(_, s)| s)
}

/// The names in a list of keys.
pub fn keys(keys: &[(&'static str, Schema)]) -> Vec<&'static str> {
    keys.iter().map(|(name, _)| *name).collect()
}

/// `above.key`.
pub fn join(above: &str, key: &str) -> String {
    if above.is_empty() {
        key.to_string()
    } else {
        format!("{above}.{key}")
    }
}

/// Lists the unknown keys of a case file.
pub fn unknown_keys(root: &document::Table) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let whole = of(root);
    walk(root, whole, whole, "", &mut faults);
    faults
}

fn walk(
    table: &document::Table,
    schema: &Schema,
    whole: &Schema,
    path: &str,
    faults: &mut Vec<Diagnostic>,
) {
    for (key, node) in table.entries() {
        let inner = match schema {
            Table(keys) => match find(keys, &key.value) {
                Some(inner) => inner,
                None => {
                    faults.push(unknown_key(key, path, &self::keys(keys), whole));
                    continue;
                }
            },
            Named(inner) => inner,
            Leaf | Free | List(_) => continue,
        };
        let below = join(path, &key.value);
        match (&node.value, inner) {
            (Value::Table(table), Table(_) | Named(_)) => {
                walk(table, inner, whole, &below, faults);
            }
            (Value::List(items), List(item)) => {
                for item_node in items {
                    if let Value::Table(table) = &item_node.value {
                        walk(table, item, whole, &below, faults);
                    }
                }
            }
            // A value of the wrong type; the reader of that value says so.
            _ => {}
        }
    }
}

fn unknown_key(key: &Text, path: &str, accepted: &[&str], whole: &Schema) -> Diagnostic {
    let place = if path.is_empty() {
        "at the top of a case file".to_string()
    } else {
        format!("in `{path}`")
    };
    // A key of another section is the most likely mistake when none of this one is near.
    let near = names::suggestion(&key.value, accepted.iter().copied());
    let label = near.or_else(|| {
        let homes = homes(whole, "", &key.value);
        let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
        (!homes.is_empty()).then(|| format!("this key belongs in {}", names::either(&homes)))
    });
    Diagnostic::new(format!("unknown key `{}` {place}", key.value))
        .at(&key.at)
        .label(label.unwrap_or_default())
        .note(format!("accepted here: {}", names::either(accepted)))
}

/// The paths of the tables that have `key`.
fn homes(schema: &Schema, path: &str, key: &str) -> Vec<String> {
    match schema {
        Leaf | Free => Vec::new(),
        Named(inner) => homes(inner, &join(path, "NAME"), key),
        List(inner) => homes(inner, path, key),
        Table(keys) => {
            let mut found = Vec::new();
            if !path.is_empty() && find(keys, key).is_some() {
                found.push(path.to_string());
            }
            for (name, inner) in *keys {
                found.extend(homes(inner, &join(path, name), key));
            }
            found
        }
    }
}
