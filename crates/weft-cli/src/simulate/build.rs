//! From a scene to particles, colliders and everything that changes them.

use super::State;
use crate::diagnose::{Diagnostic, Diagnostics, Place};
use crate::scene::{
    self, BodyKind, Cloud, Ground, Kinematic, PointFormula, Region, Scene, Shape, Velocity,
};
use std::path::Path;
use weft::element::CellKind;
use weft::geometry::{Geometry, Mesh};
use weft_mpm::collider::{
    Body, Collider, ColliderMaterial, Colliders, GROUND, HeightField, Motion, Pose,
};
use weft_mpm::emit::{Emitter, Fill, KillZone, MAX_PARTICLES, Rate};
use weft_mpm::{MpmError, Particles};

/// A scene's particles that move as rigid bodies.
pub(super) struct Driven {
    /// Indices of the particles.
    pub index: Vec<u32>,
    /// Where they were at the start.
    pub rest: Vec<[f64; 3]>,
    /// How they move.
    pub motion: scene::Motion,
}

impl Driven {
    /// Puts the particles where they are at `time` (s), with the velocity there.
    pub fn place(&self, particles: &mut Particles, time: f64) {
        let m = &self.motion;
        let w = m.angular_velocity;
        let speed = w.iter().map(|c| c * c).sum::<f64>().sqrt();
        let center: [f64; 3] = std::array::from_fn(|d| m.center[d] + time * m.velocity[d]);
        let axis = if speed > 0.0 { w } else { [0.0, 0.0, 1.0] };
        let turn = Pose::turned(center, axis, speed * time);
        let gradient = [[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]]
            .map(|row| row.map(|c| c as f32));
        for (&i, rest) in self.index.iter().zip(&self.rest) {
            let i = i as usize;
            let arm = std::array::from_fn(|d| rest[d] - m.center[d]);
            let x = turn.apply(arm);
            let r: [f64; 3] = std::array::from_fn(|d| x[d] - center[d]);
            let swing = [
                w[1] * r[2] - w[2] * r[1],
                w[2] * r[0] - w[0] * r[2],
                w[0] * r[1] - w[1] * r[0],
            ];
            particles.position[i] = x;
            particles.velocity[i] = std::array::from_fn(|d| (m.velocity[d] + swing[d]) as f32);
            particles.gradient[i] = gradient;
        }
    }

    /// Follows the particles when some are removed.
    pub fn removed(&mut self, gone: &[bool]) {
        let mut before = vec![0u32; gone.len()];
        let mut count = 0;
        for (b, &g) in before.iter_mut().zip(gone) {
            *b = count;
            count += u32::from(g);
        }
        let mut kept = self.index.iter().map(|&i| !gone[i as usize]);
        self.rest.retain(|_| kept.next().unwrap_or(false));
        self.index.retain(|&i| !gone[i as usize]);
        for i in &mut self.index {
            *i -= before[*i as usize];
        }
    }
}

fn at(place: &Place) -> impl Fn(MpmError) -> Diagnostic {
    |error| Diagnostic::new(error.to_string()).at(place)
}

/// The state at the start.
pub(super) fn state(scene: &Scene) -> Result<State, Diagnostics> {
    let mut faults = Vec::new();
    let mut keep = |fault: Diagnostic| faults.push(fault);
    let clouds: Vec<Option<Particles>> = scene
        .particles
        .iter()
        .map(|cloud| sample(cloud).map_err(&mut keep).ok())
        .collect();
    let (particles, cloud) = gather(scene, &clouds)
        .map_err(&mut keep)
        .unwrap_or_default();
    let driven = driven(scene, &particles, &cloud, &mut keep);
    let colliders = colliders(scene, &mut keep);
    let emitters = scene.emitters.iter().filter_map(|e| {
        let made = emitter(e).map_err(at(&e.at));
        made.map_err(&mut keep).ok()
    });
    let emitters = emitters.collect();
    let kills = scene.kills.iter().filter_map(|k| {
        KillZone::new(k.zone)
            .map_err(at(&k.at))
            .map_err(&mut keep)
            .ok()
    });
    let kills = kills.collect();
    let state = colliders.map(|(colliders, bodies)| {
        let mut state = State::new(particles, cloud, colliders, bodies);
        state.driven = driven;
        state.emitters = emitters;
        state.kills = kills;
        for driven in &state.driven {
            for &i in &driven.index {
                state.particles.mass[i as usize] = 0.0;
            }
            driven.place(&mut state.particles, 0.0);
        }
        state
    });
    Diagnostics::unless_empty(faults, state)
}

fn fill(fill: &scene::Fill, world: u32) -> Fill {
    Fill {
        density: fill.density,
        // Proven: a scene has far fewer materials.
        material: u16::try_from(fill.material).unwrap_or(u16::MAX),
        world,
        velocity: [0.0; 3],
        plastic_volume: fill.plastic_volume,
        jitter: fill.jitter,
        seed: fill.seed,
    }
}

/// The particles of one copy of a cloud.
fn sample(cloud: &Cloud) -> Result<Particles, Diagnostic> {
    let made = fill(&cloud.fill, cloud.worlds.0);
    let spacing = cloud.fill.spacing;
    let mut particles = match &cloud.region {
        Region::Box {
            lower,
            upper,
            corners: true,
        } => made.block(*lower, *upper, spacing),
        Region::Box { lower, upper, .. } => made.region(*lower, *upper, spacing, |_| true),
        Region::Sphere { center, radius } => made.sphere(*center, *radius, spacing),
        Region::Cone {
            base,
            lower,
            upper,
            height,
        } => made.cone(*base, *lower, *upper, *height, spacing),
        Region::Layer {
            field,
            position,
            bottom,
            top,
        } => {
            let field = height_field(field, *position)?;
            made.layer(&field, Pose::at(*position), *bottom, *top, spacing)
        }
        Region::Mesh {
            file,
            position,
            scale,
        } => {
            let mesh = mesh(&file.value, *position, *scale)
                .map_err(|reason| Diagnostic::new(reason).at(&file.at))?;
            made.mesh(&mesh, spacing)
        }
    }
    .map_err(at(&cloud.at))?;
    if let Some(formula) = &cloud.selection {
        let keep = selected(formula, &particles.position)?;
        particles.retain(|_, i| keep[i]);
    }
    if let Some(radius) = cloud.particle_radius {
        particles.radius.fill(radius as f32);
        let mass = cloud.fill.density * 8.0 * radius.powi(3);
        particles.mass.fill(mass as f32);
    }
    match &cloud.kinematic {
        Kinematic::None => {}
        Kinematic::All => particles.mass.fill(0.0),
        Kinematic::Where(formula) => {
            let fixed = selected(formula, &particles.position)?;
            let all = particles.mass.iter_mut().zip(fixed);
            all.filter(|(_, fixed)| *fixed).for_each(|(m, _)| *m = 0.0);
        }
    }
    match &cloud.velocity {
        Velocity::Constant(v) => particles.velocity.fill(v.map(|c| c as f32)),
        Velocity::Varying(parts) => {
            for (d, part) in parts.iter().enumerate() {
                let values = values(part, &particles.position)?;
                let all = particles.velocity.iter_mut().zip(values);
                all.for_each(|(v, value)| v[d] = value as f32);
                for axis in 0..3 {
                    let slopes = slopes(part, &particles.position, axis, spacing)?;
                    let all = particles.gradient.iter_mut().zip(slopes);
                    all.for_each(|(g, slope)| g[d][axis] = slope as f32);
                }
            }
        }
    }
    Ok(particles)
}

/// Derivatives along an axis, by central differences over a small part of the spacing.
fn slopes(
    formula: &PointFormula,
    points: &[[f64; 3]],
    axis: usize,
    spacing: f64,
) -> Result<Vec<f64>, Diagnostic> {
    let step = 1e-3 * spacing;
    let moved = |by: f64| -> Vec<[f64; 3]> {
        let shift = |x: &[f64; 3]| std::array::from_fn(|d| x[d] + if d == axis { by } else { 0.0 });
        points.iter().map(shift).collect()
    };
    let (after, before) = (moved(step), moved(-step));
    let (high, low) = (values(formula, &after)?, values(formula, &before)?);
    let all = high.iter().zip(&low).zip(after.iter().zip(&before));
    Ok(all
        .map(|((high, low), (after, before))| (high - low) / (after[axis] - before[axis]))
        .collect())
}

fn values(formula: &PointFormula, points: &[[f64; 3]]) -> Result<Vec<f64>, Diagnostic> {
    let fault = |reason| {
        Diagnostic::new("this formula has no value")
            .at(&formula.at)
            .label(reason)
    };
    formula.evaluate(points).map_err(fault)
}

/// Where a formula is above 0.
fn selected(formula: &PointFormula, points: &[[f64; 3]]) -> Result<Vec<bool>, Diagnostic> {
    Ok(values(formula, points)?.iter().map(|v| *v > 0.0).collect())
}

/// All copies of all clouds, world after world, and the cloud of each particle.
fn gather(
    scene: &Scene,
    clouds: &[Option<Particles>],
) -> Result<(Particles, Vec<u16>), Diagnostic> {
    let both = || scene.particles.iter().zip(clouds);
    let total: usize = both()
        .map(|(cloud, particles)| {
            let len = particles.as_ref().map_or(0, Particles::len);
            len.saturating_mul(cloud.worlds.1 as usize)
        })
        .fold(0, usize::saturating_add);
    if let (true, Some(first)) = (total > MAX_PARTICLES, scene.particles.first()) {
        let fault = Diagnostic::new(format!(
            "{total} particles in all worlds; at most {MAX_PARTICLES} are accepted"
        ));
        return Err(fault.at(&first.at));
    }
    let last = both().map(|(c, _)| c.worlds.0 + c.worlds.1).max();
    let mut all = Particles::new();
    let mut cloud_of = Vec::with_capacity(total);
    for world in 0..last.unwrap_or(0) {
        for (number, (cloud, particles)) in both().enumerate() {
            let (first, count) = cloud.worlds;
            let Some(particles) = particles else { continue };
            if !(first..first + count).contains(&world) {
                continue;
            }
            let mut copy = particles.clone();
            copy.world.fill(world);
            cloud_of.resize(cloud_of.len() + copy.len(), number as u16);
            all.append(copy);
        }
    }
    Ok((all, cloud_of))
}

fn driven(
    scene: &Scene,
    particles: &Particles,
    cloud: &[u16],
    keep: &mut impl FnMut(Diagnostic),
) -> Vec<Driven> {
    let mut all = Vec::new();
    for motion in &scene.motions {
        let of_cloud = |i: &u32| {
            motion
                .cloud
                .is_none_or(|c| usize::from(cloud[*i as usize]) == c)
        };
        let mut index: Vec<u32> = (0..particles.len() as u32).filter(of_cloud).collect();
        let place = |i: &u32| particles.position[*i as usize];
        if let Some(formula) = &motion.selection {
            let points: Vec<[f64; 3]> = index.iter().map(place).collect();
            match selected(formula, &points) {
                Ok(chosen) => {
                    let mut chosen = chosen.into_iter();
                    index.retain(|_| chosen.next().unwrap_or(false));
                }
                Err(fault) => keep(fault),
            }
        }
        if index.is_empty() && !particles.is_empty() {
            keep(Diagnostic::new("this motion moves no particle").at(&motion.at));
        }
        all.push(Driven {
            rest: index.iter().map(place).collect(),
            index,
            motion: motion.clone(),
        });
    }
    all
}

fn height_field(ground: &Ground, position: [f64; 3]) -> Result<HeightField, Diagnostic> {
    let spacing: [f64; 2] =
        std::array::from_fn(|d| ground.size[d] / (ground.samples[d] - 1) as f64);
    let [nx, ny] = ground.samples;
    let points: Vec<[f64; 3]> = (0..ny)
        .flat_map(|j| (0..nx).map(move |i| (i, j)))
        .map(|(i, j)| {
            let x = position[0] + i as f64 * spacing[0];
            [x, position[1] + j as f64 * spacing[1], 0.0]
        })
        .collect();
    Ok(HeightField {
        counts: ground.samples,
        spacing,
        heights: values(&ground.height, &points)?,
    })
}

/// A surface of triangles from a file, by its ending.
fn mesh(path: &Path, position: [f64; 3], scale: f64) -> Result<Mesh, String> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let read = match ending.to_ascii_lowercase().as_str() {
        "obj" => weft_io::obj::read(path).map_err(|e| e.to_string())?,
        "ply" => weft_io::ply::read(path).map_err(|e| e.to_string())?,
        "stl" => weft_io::stl::read(path, weft_io::stl::Weld::Equal).map_err(|e| e.to_string())?,
        _ => {
            return Err(format!(
                "the file is called {}; surfaces are read from .obj, .ply and .stl",
                path.display()
            ));
        }
    };
    if (position, scale) != ([0.0; 3], 1.0) {
        let map = read.map();
        let moved = map
            .nodes
            .iter()
            .map(|x| std::array::from_fn(|d| position[d] + scale * x[d]));
        read.move_vertices(moved.collect())
            .map_err(|e| e.to_string())?;
    }
    Ok(read)
}

/// A polygon in the half plane (r, z), counter-clockwise, turned about the z axis: triangles
/// with outward normals.
fn revolved(profile: &[[f64; 2]], segments: usize) -> Result<Mesh, String> {
    let mut points = Vec::new();
    // First point of each vertex's ring; on the axis it is one point.
    let mut rings = Vec::new();
    for &[r, z] in profile {
        rings.push((points.len() as u32, r > 0.0));
        for k in 0..if r > 0.0 { segments } else { 1 } {
            let angle = std::f64::consts::TAU * k as f64 / segments as f64;
            points.push([r * angle.cos(), r * angle.sin(), z]);
        }
    }
    let node = |(first, ring): (u32, bool), k: usize| match ring {
        true => first + (k % segments) as u32,
        false => first,
    };
    let mut triangles = Vec::new();
    for (i, &a) in rings.iter().enumerate() {
        let b = rings[(i + 1) % rings.len()];
        for k in 0..segments {
            let corners = [node(a, k), node(a, k + 1), node(b, k + 1), node(b, k)];
            // An edge on the axis sweeps nothing, one that touches it a triangle.
            if a.1 {
                triangles.extend([corners[0], corners[1], corners[2]]);
            }
            if b.1 {
                triangles.extend([corners[0], corners[2], corners[3]]);
            }
        }
    }
    Mesh::new(CellKind::Triangle, 3, points, triangles).map_err(|e| e.to_string())
}

/// The colliders, and the body of each.
fn colliders(scene: &Scene, keep: &mut impl FnMut(Diagnostic)) -> Option<(Colliders, Vec<usize>)> {
    let made = Colliders::new(scene.config.voxel_size).map_err(at(&scene.mpm));
    let mut all = made.map_err(&mut *keep).ok()?;
    let mut bodies = Vec::new();
    for wanted in &scene.colliders {
        match collider(wanted, &mut all) {
            Ok(body) => bodies.push(body),
            Err(fault) => keep(fault),
        }
    }
    if let Err(error) = all.check(scene.config.separate_worlds) {
        let place = match error {
            MpmError::Collider { collider, .. } => scene.colliders.get(collider).map(|c| &c.at),
            _ => None,
        };
        keep(Diagnostic::new(error.to_string()).at(place.unwrap_or(&scene.mpm)));
    }
    Some((all, bodies))
}

/// Adds a collider with its body: the number of the body.
fn collider(wanted: &scene::Collider, all: &mut Colliders) -> Result<usize, Diagnostic> {
    use weft_mpm::collider::Shape as Solid;
    let (axis, angle) = wanted.rotation;
    let pose = Pose::turned(wanted.position, axis, angle);
    let mut local = Pose::IDENTITY;
    let in_words = |reason: String| Diagnostic::new(reason).at(&wanted.at);
    let shape = match &wanted.shape {
        Shape::Plane { normal } => {
            local = Pose::facing([0.0; 3], *normal);
            Solid::Plane
        }
        Shape::Box { half } => Solid::Box { half: *half },
        Shape::Sphere { radius } => Solid::Sphere { radius: *radius },
        Shape::Capsule {
            radius,
            half_length,
        } => Solid::Capsule {
            radius: *radius,
            half_length: *half_length,
        },
        Shape::HeightField(ground) => Solid::HeightField(height_field(ground, wanted.position)?),
        Shape::Revolved { profile, segments } => {
            Solid::Mesh(revolved(profile, *segments).map_err(in_words)?)
        }
        Shape::Mesh { file, scale } => {
            let read = mesh(&file.value, [0.0; 3], *scale);
            Solid::Mesh(read.map_err(|reason| Diagnostic::new(reason).at(&file.at))?)
        }
    };
    let mut body = match wanted.body {
        BodyKind::Static => Body::fixed(pose),
        BodyKind::Kinematic => Body::kinematic(pose, [0.0; 3], [0.0; 3]),
        BodyKind::Dynamic { mass } => match &wanted.shape {
            Shape::Box { half } => Body::solid_box(pose, *half, mass),
            Shape::Sphere { radius } => Body::solid_ball(pose, *radius, mass),
            // A solid capsule: its cylinder and the two halves of a ball.
            Shape::Capsule {
                radius,
                half_length,
            } => Body::dynamic(pose, mass, capsule_inertia(*radius, *half_length, mass)),
            _ => {
                let fault = Diagnostic::new("a dynamic body is a box, a sphere or a capsule");
                return Err(fault
                    .at(&wanted.at)
                    .note("of other shapes the inertia is not known"));
            }
        },
    };
    body.linear = wanted.velocity;
    body.angular = wanted.angular_velocity;
    let fault = at(&wanted.at);
    let (body, outer) = match body.motion {
        Motion::Static => (GROUND, pose),
        _ => (all.add_body(body).map_err(&fault)?, Pose::IDENTITY),
    };
    // A plane's own turn comes first.
    let local = outer.after(&local);
    all.add(Collider {
        shape,
        pose: local,
        material: ColliderMaterial {
            thickness: wanted.thickness,
            friction: wanted.friction,
            adhesion: wanted.adhesion,
            projection_threshold: wanted.projection_threshold,
        },
        body,
        world: wanted.world,
    })
    .map_err(&fault)?;
    Ok(body)
}

/// Inertia of a solid capsule about the z axis, kg m².
fn capsule_inertia(radius: f64, half_length: f64, mass: f64) -> [[f64; 3]; 3] {
    let (r2, l) = (radius * radius, 2.0 * half_length);
    let cylinder = l * r2;
    let ball = 4.0 / 3.0 * r2 * radius;
    let (cylinder, ball) = (
        mass * cylinder / (cylinder + ball),
        mass * ball / (cylinder + ball),
    );
    let axial = cylinder * r2 / 2.0 + ball * 0.4 * r2;
    // Each half ball: about its flat face 2/5 r², whose centre is l/2 away from the middle; the
    // centre of mass is 3/8 r beyond the face.
    let across =
        cylinder * (r2 / 4.0 + l * l / 12.0) + ball * (0.4 * r2 + l * l / 4.0 + 0.375 * l * radius);
    [[across, 0.0, 0.0], [0.0, across, 0.0], [0.0, 0.0, axial]]
}

fn emitter(wanted: &scene::Emitter) -> Result<Emitter, MpmError> {
    Emitter::new(
        fill(&wanted.fill, wanted.world),
        Pose::facing(wanted.position, wanted.direction),
        wanted.size,
        wanted.fill.spacing,
        wanted.speed,
        match wanted.rate {
            scene::Rate::Full => Rate::Full,
            scene::Rate::Particles(n) => Rate::Particles(n),
            scene::Rate::Mass(m) => Rate::Mass(m),
        },
        [wanted.from, wanted.until],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft::geometry::Surface;

    #[test]
    fn revolved_shapes_are_closed_and_have_their_volume() {
        // A cylinder with its axis, and a ring.
        for (profile, volume) in [
            (vec![[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 2.0]], 2.0),
            (vec![[1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0]], 3.0),
            (vec![[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]], 1.0),
        ] {
            let n = 64;
            let mesh = revolved(&profile, n).unwrap();
            let surface = Surface::new(&mesh).unwrap();
            // The area of a regular polygon in the unit circle.
            let area = 0.5 * n as f64 * (std::f64::consts::TAU / n as f64).sin();
            assert!(
                (surface.volume() - volume * area).abs() < 1e-12,
                "{profile:?}"
            );
            assert_eq!(mesh.topology().cell_count() % n, 0);
        }
    }

    #[test]
    fn a_capsule_without_a_cylinder_is_a_ball_and_a_long_one_a_rod() {
        let ball = capsule_inertia(0.5, 0.0, 2.0);
        (0..3).for_each(|d| assert!((ball[d][d] - 0.4 * 2.0 * 0.25).abs() < 1e-15));
        let rod = capsule_inertia(1e-6, 1.5, 2.0);
        assert!((rod[0][0] - 2.0 * 9.0 / 12.0).abs() < 1e-5);
    }

    #[test]
    fn driven_particles_turn_about_their_axis() {
        let mut particles = Particles::new();
        particles.push([2.0, 0.0, 1.0], 0.0, 0.1);
        particles.push([0.0, 0.0, 0.0], 1.0, 0.1);
        let mut driven = Driven {
            index: vec![0],
            rest: vec![[2.0, 0.0, 1.0]],
            motion: scene::Motion {
                cloud: None,
                selection: None,
                velocity: [0.0, 0.0, 3.0],
                angular_velocity: [0.0, 0.0, 0.5],
                center: [1.0, 0.0, 0.0],
                at: Place::new(
                    &std::sync::Arc::new(crate::diagnose::Source {
                        name: String::new(),
                        text: String::new(),
                        origin: crate::diagnose::Origin::File,
                    }),
                    0..0,
                ),
            },
        };
        // A quarter turn.
        driven.place(&mut particles, std::f64::consts::PI);
        let wanted = [1.0, 1.0, 1.0 + 3.0 * std::f64::consts::PI];
        for d in 0..3 {
            assert!((particles.position[0][d] - wanted[d]).abs() < 1e-12);
        }
        let v = particles.velocity[0];
        assert!((v[0] + 0.5).abs() < 1e-6 && v[1].abs() < 1e-6 && v[2] == 3.0);
        assert_eq!(particles.gradient[0][0][1], -0.5);
        assert_eq!(particles.position[1], [0.0; 3]);
        driven.removed(&[false, true]);
        assert_eq!(driven.index, [0]);
        driven.removed(&[true]);
        assert!(driven.index.is_empty() && driven.rest.is_empty());
    }
}
