//! Checkpoints: all that a run needs to go on with the same bits.

use super::{State, settle};
use crate::scene::Scene;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use weft_io::checkpoint::{self, Sections};
use weft_io::{Item, Values};
use weft_mpm::collider::Pose;
use weft_mpm::{Grains, Particles, Solver};

/// Version of the content.
const VERSION: u32 = 1;

fn path(scene: &Scene, folder: &Path) -> PathBuf {
    folder.join(format!("{}.checkpoint", scene.name))
}

/// Writes the state after a step, whole or not at all.
pub(super) fn write(
    scene: &Scene,
    folder: &Path,
    state: &State,
    solver: &Solver,
) -> anyhow::Result<()> {
    let p = &state.particles;
    let mut saved = Vec::new();
    solver.save(&mut saved);
    let mut bodies = Bodies::default();
    for body in 0..state.colliders.body_count() {
        let pose = state.colliders.pose(body).unwrap_or_default();
        let (linear, angular) = state.colliders.velocity(body).unwrap_or_default();
        bodies.position.push(pose.position);
        bodies.rotation.push(pose.rotation);
        bodies.linear.push(linear);
        bodies.angular.push(angular);
        bodies.position_before.push(state.before[body].position);
        bodies.rotation_before.push(state.before[body].rotation);
    }
    let counts = [
        state.step as u64,
        state.dropped,
        state.most_dropped,
        state.removed,
    ];
    let balance = [state.balance];
    let driven: Vec<(String, String)> = (0..state.driven.len())
        .map(|i| (format!("driven {i} index"), format!("driven {i} rest")))
        .collect();
    let mut sections: Vec<(&str, Values<'_>)> = vec![
        ("scene", scene.fingerprint.as_bytes().into()),
        ("counts", (&counts).into()),
        ("balance", (&balance).into()),
        ("solver", (&saved).into()),
        ("position", (&p.position).into()),
        ("velocity", (&p.velocity).into()),
        ("gradient", (&p.gradient).into()),
        ("elastic", (&p.elastic).into()),
        ("plastic_volume", (&p.plastic_volume).into()),
        ("stress", (&p.stress).into()),
        ("frame", (&p.frame).into()),
        ("mass", (&p.mass).into()),
        ("radius", (&p.radius).into()),
        ("material", (&p.material).into()),
        ("flags", (&p.flags).into()),
        ("world", (&p.world).into()),
        ("cloud", (&state.cloud).into()),
        ("impulses", (&state.impulses).into()),
        ("body position", (&bodies.position).into()),
        ("body rotation", (&bodies.rotation).into()),
        ("body linear", (&bodies.linear).into()),
        ("body angular", (&bodies.angular).into()),
        ("body position before", (&bodies.position_before).into()),
        ("body rotation before", (&bodies.rotation_before).into()),
    ];
    for ((index, rest), driven) in driven.iter().zip(&state.driven) {
        sections.push((index, (&driven.index).into()));
        sections.push((rest, (&driven.rest).into()));
    }
    if let Some(grains) = &state.grains {
        sections.push(("grains", (&grains.position).into()));
    }
    checkpoint::write(path(scene, folder), VERSION, &sections)?;
    Ok(())
}

#[derive(Default)]
struct Bodies {
    position: Vec<[f64; 3]>,
    rotation: Vec<[f64; 4]>,
    linear: Vec<[f64; 3]>,
    angular: Vec<[f64; 3]>,
    position_before: Vec<[f64; 3]>,
    rotation_before: Vec<[f64; 4]>,
}

/// Puts the state of the folder's checkpoint in the place of that at the start.
pub(super) fn resume(
    scene: &Scene,
    folder: &Path,
    state: &mut State,
    solver: &mut Solver,
) -> anyhow::Result<()> {
    let path = path(scene, folder);
    if !path.exists() {
        bail!(
            "there is no checkpoint {} to go on from; one is written every [output] checkpoint \
             steps, and when a run is stopped with Ctrl-C",
            path.display()
        );
    }
    let saved = checkpoint::read(&path, VERSION)?;
    let about = || format!("cannot go on from {}", path.display());
    same_scene(scene, &saved).with_context(about)?;
    fill(state, solver, &saved).with_context(about)?;
    // Emitters count what they have given.
    if let Some(last) = state.step.checked_sub(1) {
        for emitter in &mut state.emitters {
            emitter.skip_to(last as f64 * scene.dt)?;
        }
    }
    Ok(())
}

/// Refuses a checkpoint of another scene, and names the first difference.
fn same_scene(scene: &Scene, saved: &Sections) -> anyhow::Result<()> {
    let then = String::from_utf8_lossy(&saved.get::<u8>("scene")?).into_owned();
    if then == scene.fingerprint {
        return Ok(());
    }
    let (then, now): (Vec<&str>, Vec<&str>) =
        (then.lines().collect(), scene.fingerprint.lines().collect());
    let gone = then.iter().find(|line| !now.contains(line));
    let new = now.iter().find(|line| !then.contains(line));
    match (gone, new) {
        (Some(gone), Some(new)) => bail!("the case had `{gone}` and now has `{new}`"),
        (Some(gone), None) => bail!("the case had `{gone}` and no longer has it"),
        (None, Some(new)) => bail!("the case has `{new}`, which it had not"),
        (None, None) => bail!("the sections of the case had another order"),
    }
}

fn fill(state: &mut State, solver: &mut Solver, saved: &Sections) -> anyhow::Result<()> {
    let positions: Vec<[f64; 3]> = saved.get("position")?;
    let n = positions.len();
    fn of<T: Item>(saved: &Sections, name: &str, n: usize) -> anyhow::Result<Vec<T>> {
        let all: Vec<T> = saved.get(name)?;
        if all.len() != n {
            bail!("section `{name}` has {} entries, expected {n}", all.len());
        }
        Ok(all)
    }
    state.particles = Particles {
        position: positions,
        velocity: of(saved, "velocity", n)?,
        gradient: of(saved, "gradient", n)?,
        elastic: of(saved, "elastic", n)?,
        plastic_volume: of(saved, "plastic_volume", n)?,
        stress: of(saved, "stress", n)?,
        frame: of(saved, "frame", n)?,
        mass: of(saved, "mass", n)?,
        radius: of(saved, "radius", n)?,
        material: of(saved, "material", n)?,
        flags: of(saved, "flags", n)?,
        world: of(saved, "world", n)?,
    };
    state.cloud = of(saved, "cloud", n)?;
    state.impulses = of(saved, "impulses", state.impulses.len())?;
    let bodies = state.colliders.body_count();
    let all = Bodies {
        position: of(saved, "body position", bodies)?,
        rotation: of(saved, "body rotation", bodies)?,
        linear: of(saved, "body linear", bodies)?,
        angular: of(saved, "body angular", bodies)?,
        position_before: of(saved, "body position before", bodies)?,
        rotation_before: of(saved, "body rotation before", bodies)?,
    };
    // Body 0 is the ground. First where the others were, then where they are.
    for body in 1..bodies {
        let pose = Pose {
            position: all.position_before[body],
            rotation: all.rotation_before[body],
        };
        state.colliders.set_pose(body, pose)?;
        state.before[body] = pose;
    }
    settle(&mut state.colliders)?;
    state.colliders.end_step();
    for body in 1..bodies {
        let pose = Pose {
            position: all.position[body],
            rotation: all.rotation[body],
        };
        state.colliders.set_pose(body, pose)?;
        let (linear, angular) = (all.linear[body], all.angular[body]);
        state.colliders.set_velocity(body, linear, angular)?;
    }
    if let Some(grains) = &mut state.grains {
        let number = grains.per_particle();
        *grains = Grains::new(&state.particles, number, 0)?;
        grains.position = of(saved, "grains", n * number)?;
    }
    for (i, driven) in state.driven.iter_mut().enumerate() {
        driven.index = saved.get(&format!("driven {i} index"))?;
        driven.rest = of(saved, &format!("driven {i} rest"), driven.index.len())?;
        if driven.index.iter().any(|&i| i as usize >= n) {
            bail!("a motion moves a particle that does not exist");
        }
    }
    let counts: Vec<u64> = of(saved, "counts", 4)?;
    state.step = usize::try_from(counts[0])?;
    (state.dropped, state.most_dropped, state.removed) = (counts[1], counts[2], counts[3]);
    state.balance = of::<f64>(saved, "balance", 1)?[0];
    solver.restore(&saved.get::<u8>("solver")?)?;
    Ok(())
}
