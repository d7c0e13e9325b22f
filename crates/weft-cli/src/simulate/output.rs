//! Files of a run: particle frames, pictures, grid fields, and the table of the probes.

use super::{State, measure};
use crate::scene::{BodyKind, Color, Field, Scene, Shape};
use crate::summary::ReportValue;
use anyhow::Context;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use weft_io::picture::{self, Body, Picture, View};
use weft_io::vtp::Cloud;
use weft_io::vtu::{Encoding, Series, Voxels, VtuArray};
use weft_mpm::collider::{GROUND as GROUND_BODY, Pose};
use weft_mpm::{ACTIVE, Config, GridKind, Particles};

/// Writes what `[output]` asks for.
pub(super) struct Outputs {
    folder: PathBuf,
    name: String,
    frames: Series,
    grids: Series,
    grains: Series,
    table: Option<File>,
    frame_count: usize,
    grid_count: usize,
    picture_count: usize,
    row: String,
    /// What pictures show, by its least and greatest corner.
    window: Option<[[f64; 3]; 2]>,
}

impl Outputs {
    /// Begins the files, or goes on with them after step `step` of a run that is resumed.
    pub fn new(scene: &Scene, folder: &Path, step: usize, resume: bool) -> anyhow::Result<Outputs> {
        let name = scene.name.clone();
        let time = step as f64 * scene.dt;
        let series = |path: PathBuf| match resume {
            true => Series::resume(path, time),
            false => Ok(Series::new(path)),
        };
        let table = match scene.output.probes > 0 && !scene.probes.is_empty() {
            true => Some(begin_table(scene, folder, step, resume)?),
            false => None,
        };
        Ok(Outputs {
            frames: series(folder.join(format!("{name}.pvd")))?,
            grids: series(folder.join(format!("{name}_grid.pvd")))?,
            grains: series(folder.join(format!("{name}_grains.pvd")))?,
            folder: folder.to_path_buf(),
            name,
            table,
            frame_count: 0,
            grid_count: 0,
            picture_count: 0,
            row: String::new(),
            window: None,
        })
    }

    /// Writes what is due after the present step.
    pub fn write(&mut self, scene: &Scene, state: &State) -> anyhow::Result<()> {
        let step = state.step;
        let due = |every: usize| every > 0 && step.is_multiple_of(every);
        let out = &scene.output;
        if due(out.probes) {
            self.write_row(scene, state)?;
        }
        if due(out.frames) {
            self.write_frame(scene, state)?;
        }
        if due(out.grid) {
            self.write_grid(scene, state)?;
        }
        if out.picture.as_ref().is_some_and(|p| due(p.every)) {
            self.write_picture(scene, state)?;
        }
        Ok(())
    }

    /// Writes the last picture if it is not there yet.
    pub fn finish(&mut self, scene: &Scene, state: &State) -> anyhow::Result<()> {
        let picture = scene.output.picture.as_ref();
        match picture {
            Some(p) if p.every == 0 || !state.step.is_multiple_of(p.every) => {
                self.write_picture(scene, state)
            }
            _ => Ok(()),
        }
    }

    /// Lines that say what there is.
    pub fn written(&self) -> Vec<String> {
        let place = |what: &str| self.folder.join(what).display().to_string();
        let name = &self.name;
        let mut lines = Vec::new();
        if self.frame_count > 0 {
            lines.push(format!(
                "{} frames: {}",
                self.frame_count,
                place(&format!("{name}.pvd"))
            ));
        }
        if self.grid_count > 0 {
            let path = place(&format!("{name}_grid.pvd"));
            lines.push(format!("{} grids: {path}", self.grid_count));
        }
        if self.picture_count > 0 {
            let path = place(&format!("{name}_*.png"));
            lines.push(format!("{} pictures: {path}", self.picture_count));
        }
        if self.table.is_some() {
            lines.push(place("probes.csv"));
        }
        lines
    }

    fn file(&self, step: usize, what: &str, ending: &str) -> PathBuf {
        self.folder
            .join(format!("{}{what}_{step:06}.{ending}", self.name))
    }

    fn write_row(&mut self, scene: &Scene, state: &State) -> anyhow::Result<()> {
        let Some(table) = &mut self.table else {
            return Ok(());
        };
        self.row.clear();
        // Writing to a text cannot fail.
        let _ = write!(
            self.row,
            "{},{:?}",
            state.step,
            state.step as f64 * scene.dt
        );
        for probe in &scene.probes {
            match measure::measure(&probe.quantity, state, &scene.config, scene.dt) {
                ReportValue::Number(value) => {
                    let _ = write!(self.row, ",{value:?}");
                }
                ReportValue::Vector(values) => {
                    for value in values {
                        let _ = write!(self.row, ",{value:?}");
                    }
                }
            }
        }
        self.row.push('\n');
        table
            .write_all(self.row.as_bytes())
            .context("cannot write probes.csv")
    }

    fn write_frame(&mut self, scene: &Scene, state: &State) -> anyhow::Result<()> {
        let p = &state.particles;
        let path = self.file(state.step, "", "vtp");
        let has = |field| scene.output.fields.contains(&field);
        let when =
            |field, make: &dyn Fn() -> Vec<f32>| if has(field) { make() } else { Vec::new() };
        let pressures = when(Field::Pressure, &|| {
            (0..p.len()).map(|i| p.pressure(i) as f32).collect()
        });
        let stresses: Vec<[[f32; 3]; 3]> = match has(Field::Stress) {
            true => (0..p.len()).map(|i| p.stress_matrix(i)).collect(),
            false => Vec::new(),
        };
        let mut cloud = Cloud::new(&p.position);
        for &(name, field) in Field::NAMES.iter().filter(|(_, f)| has(*f)) {
            cloud = match field {
                Field::Velocity => cloud.array(name, &p.velocity),
                Field::Mass => cloud.array(name, &p.mass),
                Field::Radius => cloud.array(name, &p.radius),
                Field::Material => cloud.array(name, &p.material),
                Field::World => cloud.array(name, &p.world),
                Field::Pressure => cloud.array(name, &pressures),
                Field::Stress => cloud.array(name, &stresses),
                Field::PlasticVolume => cloud.array(name, &p.plastic_volume),
                Field::Elastic => cloud.array(name, &p.elastic),
                Field::Frame => cloud.array(name, &p.frame),
            };
        }
        cloud.write(&path, Encoding::Compressed)?;
        self.frames.push(state.step as f64 * scene.dt, &path)?;
        self.frame_count += 1;
        if let Some(grains) = &state.grains {
            let path = self.file(state.step, "_grains", "vtp");
            Cloud::new(&grains.position).write(&path, Encoding::Compressed)?;
            self.grains.push(state.step as f64 * scene.dt, &path)?;
        }
        Ok(())
    }

    /// Means over the particles of each of the solver's cells: filled part, velocity by mass,
    /// pressure by volume. Separate worlds have cells of their own.
    fn write_grid(&mut self, scene: &Scene, state: &State) -> anyhow::Result<()> {
        let (h, p) = (scene.config.voxel_size, &state.particles);
        let origin = origin(&scene.config);
        let places = places(&scene.config, p);
        let groups: Vec<_> = places.chunk_by(|a, b| a.0 == b.0).collect();
        let cells: Vec<[i32; 3]> = groups.iter().map(|g| g[0].0.1).collect();
        let worlds: Vec<f64> = groups.iter().map(|g| f64::from(g[0].0.0)).collect();
        let mut fill = Vec::with_capacity(cells.len());
        let mut pressures = Vec::with_capacity(cells.len());
        let mut velocity = Vec::with_capacity(3 * cells.len());
        for group in groups {
            let (mut volume, mut mass, mut load, mut momentum) = (0.0, 0.0, 0.0, [0.0; 3]);
            for &(_, i) in group {
                let (v, m) = (f64::from(p.volume(i)), f64::from(p.mass[i]));
                volume += v;
                mass += m;
                load += v * p.pressure(i);
                (0..3).for_each(|d| momentum[d] += m * f64::from(p.velocity[i][d]));
            }
            fill.push(volume / (h * h * h));
            pressures.push(load / volume);
            velocity.extend(momentum.map(|c| if mass > 0.0 { c / mass } else { 0.0 }));
        }
        let voxels = Voxels::new(&cells, h, [origin; 3])?;
        let mut grid = voxels.grid();
        grid.cell_data.push(VtuArray::new("fill", 1, fill));
        grid.cell_data.push(VtuArray::new("velocity", 3, velocity));
        grid.cell_data.push(VtuArray::new("pressure", 1, pressures));
        if scene.config.separate_worlds {
            grid.cell_data.push(VtuArray::new("world", 1, worlds));
        }
        let path = self.file(state.step, "_grid", "vtu");
        grid.write(&path, Encoding::Compressed)?;
        self.grids.push(state.step as f64 * scene.dt, &path)?;
        self.grid_count += 1;
        Ok(())
    }

    /// Particles in colours, and colliders that are boxes, balls or level ground. All pictures of
    /// a run show the same part of space.
    fn write_picture(&mut self, scene: &Scene, state: &State) -> anyhow::Result<()> {
        let Some(wanted) = &scene.output.picture else {
            return Ok(());
        };
        let p = &state.particles;
        let shown = wanted.window.map(|(low, high)| [low, high]);
        let chosen = || shown.unwrap_or_else(|| window(scene, state));
        let window = *self.window.get_or_insert_with(chosen);
        let mut values = colors(wanted.color, state);
        let radius = p.radius.iter().copied().fold(f32::INFINITY, f32::min);
        let mut radius = if radius.is_finite() {
            f64::from(radius)
        } else {
            0.0
        };
        let mut positions = &p.position;
        if let Some(grains) = &state.grains {
            let number = grains.per_particle();
            positions = &grains.position;
            values = values
                .iter()
                .flat_map(|&v| std::iter::repeat_n(v, number))
                .collect();
            radius /= (number as f64).cbrt();
        }
        let bodies = bodies(scene, state, window)?;
        let time = state.step as f64 * scene.dt;
        let title = scene.title.as_deref().unwrap_or(&self.name);
        let up = match wanted.view {
            [0.0, 0.0, _] => [0.0, 1.0, 0.0],
            _ => upward(scene),
        };
        let mut picture = Picture::new(wanted.size[0], wanted.size[1])
            .title(format!("{title}, {time:.3} s"))
            .label(wanted.color.label())
            .view(View::From {
                toward: wanted.view,
                up,
            })
            .window(window[0], window[1])
            .particles(picture::Particles {
                positions,
                radius,
                color: picture::Color::Values(&values),
            });
        for body in &bodies {
            picture = picture.body(body);
        }
        let balls = balls(scene, state);
        for (center, radius) in &balls {
            picture = picture.particles(picture::Particles {
                positions: std::slice::from_ref(center),
                radius: *radius,
                color: picture::Color::Plain(COLLIDER),
            });
        }
        picture.write_png(self.file(state.step, "", "png"))?;
        self.picture_count += 1;
        Ok(())
    }
}

/// Where the cell of lattice coordinates 0 begins, along each axis.
fn origin(config: &Config) -> f64 {
    match config.grid {
        GridKind::Dense => 0.0,
        GridKind::Sparse | GridKind::Fixed => -0.5 * config.voxel_size,
    }
}

/// World (0 if they share a grid) and cell of each particle that takes part, sorted by these.
fn places(config: &Config, p: &Particles) -> Vec<((u32, [i32; 3]), usize)> {
    let origin = origin(config);
    let place = |i: usize| {
        let cell = p.position[i].map(|x| ((x - origin) / config.voxel_size).floor());
        let world = if config.separate_worlds {
            p.world[i]
        } else {
            0
        };
        let fits = p.flags[i] & ACTIVE != 0 && cell.iter().all(|c| c.abs() < 1e9);
        fits.then(|| ((world, cell.map(|c| c as i32)), i))
    };
    let mut all: Vec<_> = (0..p.len()).filter_map(place).collect();
    all.sort_unstable();
    all
}

/// The upward direction: against gravity.
fn upward(scene: &Scene) -> [f64; 3] {
    let g = scene.config.gravity_of(0);
    // Gravity that is tilted a little still looks best with z up.
    let axis = (0..3).max_by(|&a, &b| g[a].abs().total_cmp(&g[b].abs()));
    let mut up = [0.0, 0.0, 0.0];
    match axis {
        Some(d) if g[d] != 0.0 => up[d] = f64::from(-g[d].signum()),
        _ => up[2] = 1.0,
    }
    up
}

/// Where the first particles, free bodies and the ground are, with room for the material to
/// spread.
fn window(scene: &Scene, state: &State) -> [[f64; 3]; 2] {
    let mut low = [f64::INFINITY; 3];
    let mut high = [f64::NEG_INFINITY; 3];
    let mut hold = |x: [f64; 3]| {
        for d in 0..3 {
            low[d] = low[d].min(x[d]);
            high[d] = high[d].max(x[d]);
        }
    };
    let finite = |x: &&[f64; 3]| x.iter().all(|c| c.is_finite());
    let positions = &state.particles.position;
    positions.iter().filter(finite).for_each(|x| hold(*x));
    for collider in &scene.colliders {
        if matches!(collider.body, BodyKind::Dynamic { .. }) {
            hold(collider.position);
        }
    }
    if low[0] > high[0] {
        return [[-1.0; 3], [1.0; 3]];
    }
    let extent = (0..3).map(|d| high[d] - low[d]).fold(1e-6, f64::max);
    let up = upward(scene);
    let axis = (0..3).position(|d| up[d] != 0.0).unwrap_or(2);
    let ground = scene.colliders.iter().find(|c| match c.shape {
        Shape::Plane { normal } => c.rotation.1 == 0.0 && normal[axis] * up[axis] > 0.0,
        _ => false,
    });
    for d in 0..3 {
        let room = if d == axis { 0.1 } else { 0.75 } * extent;
        low[d] -= room;
        high[d] += room;
    }
    if let Some(ground) = ground {
        low[axis] = low[axis].min(ground.position[axis]);
        high[axis] = high[axis].max(ground.position[axis]);
    }
    [low, high]
}

/// Colours of colliders.
const COLLIDER: [u8; 3] = [150, 160, 175];
const GROUND_SQUARES: [[u8; 3]; 2] = [[222, 224, 228], [206, 209, 214]];

/// Centres and radii of colliders that are balls.
fn balls(scene: &Scene, state: &State) -> Vec<([f64; 3], f64)> {
    let all = scene.colliders.iter().zip(&state.bodies);
    all.filter_map(|(collider, &body)| match collider.shape {
        Shape::Sphere { radius } => {
            let pose = state.colliders.pose(body).filter(|_| body != GROUND_BODY);
            Some((pose.map_or(collider.position, |p| p.position), radius))
        }
        _ => None,
    })
    .collect()
}

/// Colliders that are boxes or level planes, as they stand now.
fn bodies(scene: &Scene, state: &State, [low, high]: [[f64; 3]; 2]) -> anyhow::Result<Vec<Body>> {
    let mut bodies = Vec::new();
    for (collider, &body) in scene.colliders.iter().zip(&state.bodies) {
        let (axis, angle) = collider.rotation;
        let pose = match body {
            GROUND_BODY => Pose::turned(collider.position, axis, angle),
            _ => state.colliders.pose(body).unwrap_or_default(),
        };
        let turn = |v: [f64; 3]| {
            let (a, b) = (pose.apply(v), pose.position);
            std::array::from_fn(|d| a[d] - b[d])
        };
        match &collider.shape {
            Shape::Box { half } => {
                let axes = [
                    turn([half[0], 0.0, 0.0]),
                    turn([0.0, half[1], 0.0]),
                    turn([0.0, 0.0, half[2]]),
                ];
                bodies.push(Body::cuboid(pose.position, axes, COLLIDER));
            }
            Shape::Plane { normal } => {
                let normal = turn(*normal);
                let length = normal.iter().map(|c| c * c).sum::<f64>().sqrt();
                let up = upward(scene);
                let axis = (0..3).position(|d| up[d] != 0.0).unwrap_or(2);
                // Panes and walls would hide what they hold.
                if normal[axis] * up[axis] < 0.999 * length {
                    continue;
                }
                let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
                let mut center = [0, 1, 2].map(|d| 0.5 * (low[d] + high[d]));
                center[axis] = pose.position[axis];
                let mut half = [[0.0; 3]; 2];
                half[0][a] = 0.5 * (high[a] - low[a]);
                half[1][b] = 0.5 * (high[b] - low[b]);
                bodies.push(Body::checked_plane(center, half, [10, 10], GROUND_SQUARES)?);
            }
            _ => {}
        }
    }
    Ok(bodies)
}

/// What colours show, a number a particle.
fn colors(color: Color, state: &State) -> Vec<f64> {
    let p = &state.particles;
    let all = 0..p.len();
    match color {
        Color::Speed => {
            let square = |v: &[f32; 3]| v.iter().map(|c| f64::from(*c).powi(2)).sum::<f64>();
            p.velocity.iter().map(|v| square(v).sqrt()).collect()
        }
        Color::Height => p.position.iter().map(|x| x[2]).collect(),
        Color::Pressure => all.map(|i| p.pressure(i)).collect(),
        Color::PlasticVolume => all.map(|i| f64::from(p.plastic_volume[i])).collect(),
        Color::Material => all.map(|i| f64::from(p.material[i])).collect(),
        Color::World => all.map(|i| f64::from(p.world[i])).collect(),
    }
}

/// The table of the probes with its first line, ready for rows; of a run that is resumed with
/// the rows up to there.
fn begin_table(scene: &Scene, folder: &Path, step: usize, resume: bool) -> anyhow::Result<File> {
    let mut text = String::from("step,time");
    for probe in &scene.probes {
        let name = probe.name.value.replace([',', '"', '\n'], " ");
        let vector = probe.quantity.kind.is_vector() && probe.quantity.component.is_none();
        match vector {
            // Writing to a text cannot fail.
            true => {
                let _ = write!(text, ",{name}_x,{name}_y,{name}_z");
            }
            false => {
                let _ = write!(text, ",{name}");
            }
        }
    }
    text.push('\n');
    let path = folder.join("probes.csv");
    let about = || format!("cannot write {}", path.display());
    if resume && let Ok(before) = std::fs::read_to_string(&path) {
        // Rows of other columns would not fit.
        if let Some(rows) = before.strip_prefix(text.as_str()) {
            for row in rows.lines() {
                let number = row.split(',').next().and_then(|n| n.parse::<usize>().ok());
                if number.is_some_and(|n| n <= step) {
                    text.push_str(row);
                    text.push('\n');
                }
            }
        }
    }
    let mut file = File::create(&path).with_context(about)?;
    file.write_all(text.as_bytes()).with_context(about)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_005_grid_cells() {
        let mut p = Particles::new();
        let points = [
            [0.07, 0.0, -0.01],
            [0.02, 0.0, -0.09],
            [0.02, 0.0, -0.02],
            [f64::NAN; 3],
        ];
        for (i, x) in points.into_iter().chain(points).enumerate() {
            p.push(x, 1.0, 0.01);
            p.world[i] = u32::from(i < 4);
        }
        p.flags[0] = 0;
        let found = |grid, separate_worlds| {
            let config = Config {
                voxel_size: 0.1,
                grid,
                separate_worlds,
                ..Config::default()
            };
            places(&config, &p)
        };
        let (zero, below, beside) = ([0, 0, 0], [0, 0, -1], [1, 0, 0]);
        assert_eq!(
            found(GridKind::Dense, false),
            [1, 2, 4, 5, 6].map(|i| ((0, below), i))
        );
        assert_eq!(
            found(GridKind::Sparse, false),
            [(below, 1), (below, 5), (zero, 2), (zero, 6), (beside, 4)].map(|(c, i)| ((0, c), i))
        );
        assert_eq!(
            found(GridKind::Dense, true),
            [(0, 4), (0, 5), (0, 6), (1, 1), (1, 2)].map(|(w, i)| ((w, below), i))
        );
    }
}
