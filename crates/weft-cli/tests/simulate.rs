//! Runs of material points from outside: results, checkpoints, memory, what is printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use weft_cli::scene::Scene;

/// A scene that runs in a moment, with everything that a checkpoint has to hold: coming and going
/// particles, prescribed motion, bodies.
const SCENE: &str = r#"title = "All at once"
steps = 12
dt = 0.02
rigid_substeps = 2
project_outside = true

[mpm]
voxel_size = 0.25
max_iterations = 20
gravity = [0, 0, -10]

[materials.sand]
friction = 0.6

[[particles]]
name = "sand"
shape = "box"
lower = [-0.5, -0.5, 0]
upper = [0.5, 0.5, 0.75]
per_cell = 2
jitter = 1
density = 1000

[[particles]]
name = "vane"
shape = "box"
lower = [-1, -0.05, 0.25]
upper = [-0.75, 0.05, 0.5]
spacing = 0.1
density = 1000
kinematic = true

[[motion]]
particles = "vane"
angular_velocity = [0, 0, 3]

[[emitter]]
position = [0, 0, 1.5]
size = [0.5, 0.5]
speed = 3
per_cell = 2
density = 1000
from = 0.05

[[kill]]
point = [0, 0, -0.2]
normal = [0, 0, 1]

[[kill]]
lower = [0.3, -1, 0.5]
upper = [1, 1, 2]

[[collider]]
name = "ground"
shape = "plane"

[[collider]]
name = "ball"
shape = "sphere"
radius = 0.25
position = [0, 0, 1.3]
body = "dynamic"
mass = 20
angular_velocity = [1, 2, 3]

[[collider]]
name = "turning"
shape = "box"
half = [0.4, 0.1, 0.1]
position = [0.9, 0, 0.3]
body = "kinematic"
angular_velocity = [0.3, 0.2, 2]

[[probe]]
name = "center"
quantity = "center"

[[probe]]
name = "energy"
quantity = "energy"

[[probe]]
name = "removed"
quantity = "removed"

[[probe]]
name = "ball"
quantity = "position"
collider = "ball"

[[probe]]
name = "balance"
quantity = "momentum_balance"

[[check]]
name = "all numbers are finite"
quantity = "not_finite"
at_most = 0

[output]
frames = 4
grid = 6
checkpoint = 5
"#;

/// A heap that comes to rest.
const HEAP: &str = r#"steps = 600
dt = 0.02

[mpm]
voxel_size = 0.25
max_iterations = 50
gravity = [0, 0, -10]

[materials.sand]

[[particles]]
shape = "box"
lower = [-0.5, -0.5, 0]
upper = [0.5, 0.5, 0.75]
per_cell = 2
jitter = 1
density = 1000

[[collider]]
shape = "plane"

[[probe]]
name = "energy"
quantity = "kinetic_energy"

[[check]]
quantity = "max_speed"
at_most = 0.1
"#;

struct Run {
    folder: tempfile::TempDir,
}

impl Run {
    fn new(text: &str) -> Run {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.toml"), text).unwrap();
        Run { folder }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, out: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
        command
            .args(["run", "a.toml", "--out", out])
            .args(arguments)
            .current_dir(self.folder.path());
        command
    }

    /// Exit code, standard output, standard error.
    fn run(&self, out: &str, arguments: &[&str]) -> (i32, String, String) {
        text_of(self.command(out, arguments).output().unwrap())
    }

    #[track_caller]
    fn json(&self, out: &str, arguments: &[&str]) -> serde_json::Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let (code, text, err) = self.run(out, &all);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&text).unwrap()
    }
}

fn text_of(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn json_is_one_object_with_the_promised_keys() {
    let run = Run::new(SCENE);
    let json = run.json("out", &["--threads", "2"]);
    for key in [
        "particles",
        "steps",
        "step_seconds_median",
        "first_step_seconds",
        "sweeps_median",
        "residual_l2",
        "residual_max",
        "particles_dropped",
        "particles_dropped_most",
        "live_bytes",
        "pooled_bytes",
        "rss_mib",
        "seconds",
        "reports",
        "checks",
        "threads",
    ] {
        assert!(json.get(key).is_some(), "no {key} in {json}");
    }
    assert_eq!(
        (json["steps"].as_u64(), json["threads"].as_u64()),
        (Some(12), Some(2))
    );
    let steps: Vec<&String> = json["rss_mib"].as_object().unwrap().keys().collect();
    assert_eq!(steps, ["10", "12"]);
    assert!(json["seconds"]["solve"].is_number());
    assert_eq!(json["reports"]["center"].as_array().unwrap().len(), 3);
    assert_eq!(json["checks"]["all numbers are finite"]["passed"], true);
    let kept = String::from_utf8(bytes(&run.out("out/summary.json"))).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept, json);
}

#[test]
fn files_are_where_they_are_said_to_be() {
    let run = Run::new(SCENE);
    let (code, text, err) = run.run("out", &[]);
    assert_eq!(code, 0, "{err}");
    for word in [
        "4 frames: out/a.pvd",
        "3 grids: out/a_grid.pvd",
        "out/probes.csv",
    ] {
        assert!(err.contains(word), "{word} is not in:\n{err}");
    }
    for word in [
        "dropped",
        "median",
        "live",
        "pooled",
        "resident",
        "at step 10",
        "results in out",
    ] {
        assert!(text.contains(word), "{word} is not in:\n{text}");
    }
    for step in [0, 4, 8, 12] {
        assert!(run.out(&format!("out/a_{step:06}.vtp")).exists());
    }
    assert!(run.out("out/a_grid_000006.vtu").exists());
    let table = String::from_utf8(bytes(&run.out("out/probes.csv"))).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(
        rows[0],
        "step,time,center_x,center_y,center_z,energy,removed,ball_x,ball_y,ball_z,balance"
    );
    assert_eq!(rows.len(), 14);
    assert!(rows.iter().all(|row| row.split(',').count() == 11));
    let (code, text, err) = run.run("out", &["--quiet"]);
    assert_eq!((code, text.as_str(), err.as_str()), (0, "", ""));
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let run = Run::new(SCENE);
    let whole = run.json("whole", &[]);
    run.json(
        "part",
        &["--set", "steps=7", "--set", "output.checkpoint=7"],
    );
    let resumed = run.json("part", &["--resume"]);
    assert_eq!(whole["reports"], resumed["reports"]);
    assert_eq!(whole["particles"], resumed["particles"]);
    for file in ["probes.csv", "a_000012.vtp", "a_grid_000012.vtu"] {
        let (a, b) = (
            bytes(&run.out("whole").join(file)),
            bytes(&run.out("part").join(file)),
        );
        assert!(a == b, "{file} differs");
    }
    // The last checkpoints, written after step 10 by both, hold the same.
    let checkpoint = |folder: &str| bytes(&run.out(folder).join("a.checkpoint"));
    assert!(
        checkpoint("whole") == checkpoint("part"),
        "checkpoints differ"
    );
    // Both lists have every frame.
    assert_eq!(
        bytes(&run.out("whole/a.pvd")),
        bytes(&run.out("part/a.pvd"))
    );
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let run = Run::new(SCENE);
    let one = run.json("one", &["--threads", "1"]);
    let two = run.json("two", &["--threads", "2"]);
    assert_eq!(one["reports"], two["reports"]);
    let checkpoint = |folder: &str| bytes(&run.out(folder).join("a.checkpoint"));
    assert!(checkpoint("one") == checkpoint("two"));
}

#[test]
fn a_checkpoint_of_another_scene_is_refused() {
    let run = Run::new(SCENE);
    let (code, _, err) = run.run("out", &["--resume"]);
    assert_eq!(code, 1);
    assert!(
        err.contains("there is no checkpoint out/a.checkpoint"),
        "{err}"
    );
    run.json("out", &["--set", "steps=5"]);
    let (code, _, err) = run.run("out", &["--resume", "--set", "materials.sand.friction=0.5"]);
    assert_eq!(code, 1);
    assert!(err.contains("`materials.sand.friction = 0.6`"), "{err}");
    assert!(err.contains("`materials.sand.friction = 0.5`"), "{err}");
    // More steps and other outputs are fine.
    run.json(
        "out",
        &["--resume", "--set", "steps=8", "--set", "output.frames=1"],
    );
    // A damaged file is an error, not a run.
    let path = run.out("out/a.checkpoint");
    let mut damaged = bytes(&path);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    let (code, _, err) = run.run("out", &["--resume"]);
    assert_eq!(code, 1);
    assert!(err.contains("checksum"), "{err}");
}

#[test]
fn ctrl_c_ends_a_step_and_writes_a_checkpoint() {
    let run = Run::new(SCENE);
    let long = [
        "--set",
        "steps=1000000",
        "--set",
        "output.checkpoint=0",
        "--set",
        "output.frames=0",
    ];
    let mut child = run
        .command("out", &long)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Once there are rows in the table it is on its way.
    let table = run.out("out/probes.csv");
    for _ in 0..600 {
        let rows = std::fs::read_to_string(&table).map_or(0, |t| t.lines().count());
        if rows > 3 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    if !sent.is_ok_and(|status| status.success()) {
        child.kill().unwrap();
        panic!("the signal could not be sent");
    }
    let (code, text, err) = text_of(child.wait_with_output().unwrap());
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("stopped after step"), "{err}");
    assert!(text.contains("particles"), "{text}");
    assert!(run.out("out/a.checkpoint").exists());
    let rows = std::fs::read_to_string(&table).unwrap().lines().count();
    // Step 0 and the first line are rows too.
    let steps = (rows + 3).to_string();
    let json = run.json("out", &["--resume", "--set", &format!("steps={steps}")]);
    assert_eq!(json["steps"].as_u64(), Some(rows as u64 + 3));
}

#[test]
fn checks_that_do_not_hold_fail_the_run() {
    let text = SCENE.replace("at_most = 0\n", "at_least = 1\n");
    let run = Run::new(&text);
    let (code, out, err) = run.run("out", &["--set", "steps=2"]);
    assert_eq!(code, 1);
    assert!(
        err.contains("checks that do not hold: `all numbers are finite`"),
        "{err}"
    );
    assert!(out.contains("FAILS: 1 ≤ 0"), "{out}");
    // The results are there all the same.
    assert!(run.out("out/summary.json").exists());
}

#[test]
fn memory_lines_come_every_hundred_steps_and_memory_is_flat() {
    let run = Run::new(HEAP);
    let (code, _, err) = run.run("out", &["--memory"]);
    assert_eq!(code, 0, "{err}");
    let lines: Vec<&str> = err.lines().filter(|l| l.starts_with("memory: ")).collect();
    assert_eq!(lines.len(), 6, "{err}");
    let number = |line: &str, before: &str, after: &str| -> f64 {
        let (_, rest) = line.split_once(before).unwrap();
        rest.split_once(after).unwrap().0.parse().unwrap()
    };
    let resident: Vec<f64> = lines
        .iter()
        .map(|l| number(l, "resident ", " MiB"))
        .collect();
    for mib in &resident[1..] {
        assert!((mib - resident[1]).abs() <= 1.0, "{resident:?}");
    }
    assert!(lines[0].starts_with("memory: step 100, live "));
    assert!(number(lines[0], "live ", " bytes") > 0.0);
}

#[test]
fn a_scene_with_moved_particles_and_bodies_stays_together() {
    // What comes and goes would change the number of particles.
    let start = SCENE.find("[[emitter]]").unwrap();
    let end = SCENE.find("[[collider]]").unwrap();
    let text = format!("{}{}", &SCENE[..start], &SCENE[end..]);
    let run = Run::new(&text);
    let settings = ["steps=600", "output.frames=0", "output.grid=0"];
    let settings = settings.map(|s| ["--set", s]).concat();
    let (code, _, err) = run.run("out", &settings);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn flags_of_scenes_are_refused_elsewhere() {
    for flag in ["--resume", "--small"] {
        let output = Command::new(env!("CARGO_BIN_EXE_weft"))
            .args(["run", "cases/bracket.toml", flag])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        let (code, _, err) = text_of(output);
        assert_eq!(code, 1);
        assert!(
            err.contains(&format!("{flag} is for scenes of material points")),
            "{err}"
        );
    }
}

#[test]
fn zero_steps_are_a_result() {
    let run = Run::new(SCENE);
    let json = run.json("out", &["--set", "steps=0"]);
    assert_eq!(json["steps"], 0);
    assert!(json["step_seconds_median"].is_null());
    assert!(run.out("out/a_000000.vtp").exists());
}

/// Water at rest between walls without friction, with options as they are.
const WATER: &str = r#"steps = 5
dt = 0.01

[mpm]
voxel_size = 0.1
tolerance = 1e-6
max_iterations = 1000
gravity = [0, 0, -10]

[materials.water]
friction = 0

[[particles]]
shape = "box"
layout = "middles"
lower = [0, 0, 0]
upper = [0.4, 0.4, 0.4]
per_cell = 2
density = 1000

[[collider]]
shape = "plane"
friction = 0

[[collider]]
shape = "plane"
normal = [1, 0, 0]
friction = 0

[[collider]]
shape = "plane"
position = [0.4, 0, 0]
normal = [-1, 0, 0]
friction = 0

[[collider]]
shape = "plane"
normal = [0, 1, 0]
friction = 0

[[collider]]
shape = "plane"
position = [0, 0.4, 0]
normal = [0, -1, 0]
friction = 0

[[probe]]
name = "mean"
quantity = "PROBED"
"#;

#[test]
fn issue_005_pressure_of_default_options() {
    let text = WATER.replace("PROBED", "pressure");
    let json = Run::new(&text).json("out", &[]);
    // ρ g times half the depth.
    let pressure = json["reports"]["mean"].as_f64().unwrap();
    assert!((pressure / 2000.0 - 1.0).abs() < 0.1, "{pressure}");
}

#[test]
fn issue_005_who_asks_for_stress() {
    let shows = |end: &str| {
        let text = WATER.replace("PROBED", "energy") + end;
        let scene = Scene::parse(Path::new("a.toml"), &text, &[], false);
        scene.unwrap_or_else(|e| panic!("{e}")).shows_stress()
    };
    for no in [
        "",
        "[output]\nframes = 1",
        "[output]\nfields = [\"stress\"]",
        "[output]\npicture = true",
    ] {
        assert!(!shows(no), "{no}");
    }
    for yes in [
        "[[check]]\nquantity = \"pressure\"\nat_least = 0",
        "[output]\nframes = 1\nfields = [\"velocity\", \"stress\"]",
        "[output]\nframes = 1\nfields = [\"pressure\"]",
        "[output]\nframes = 1\nfields = [\"plastic_volume\"]",
        "[output]\ngrid = 1",
        "[output]\npicture = { color = \"pressure\" }",
        "[output]\npicture = { color = \"plastic_volume\" }",
    ] {
        assert!(shows(yes), "{yes}");
    }
}

/// A wall that sweeps dust along has it on its surface at the end of each step.
#[test]
fn issue_005_moving_wall() {
    for (mode, dt) in [("forward", 0.01), ("backward", 0.01), ("forward", 0.03)] {
        let steps = (0.6 / dt) as usize;
        let text = format!(
            r#"steps = {steps}
dt = {dt}
project_outside = true

[mpm]
voxel_size = 0.1
air_drag = 0
gravity = [0, 0, 0]
collider_velocity_mode = "{mode}"

[materials.dust]
friction = 0
yield_pressure = 0

[[particles]]
shape = "box"
layout = "middles"
lower = [0, 0, 0]
upper = [0.2, 0.4, 0.4]
per_cell = 2
density = 1000

[[collider]]
name = "wall"
shape = "plane"
normal = [1, 0, 0]
position = [-0.3, 0, 0]
body = "kinematic"
velocity = [5, 0, 0]
friction = 0

[[probe]]
name = "dust"
quantity = "min"
along = [1, 0, 0]

[[probe]]
name = "wall"
quantity = "position"
collider = "wall"
component = "x"
"#
        );
        let json = Run::new(&text).json("out", &[]);
        let value = |name: &str| json["reports"][name].as_f64().unwrap();
        let (dust, wall) = (value("dust"), value("wall"));
        assert!((wall - 2.7).abs() < 1e-9);
        // Between the threshold and a few hundredths of a cell; the wall goes a half a step.
        let gap = dust - wall;
        assert!(-0.0011 < gap && gap < 0.005, "{mode} {dt}: {gap}");
    }
}

/// Free bodies fall by the gravity of their world.
#[test]
fn issue_005_gravity_of_worlds() {
    let body = |name: &str, world: u32| {
        format!(
            r#"
[[collider]]
name = "{name}"
shape = "sphere"
radius = 0.1
position = [5, 5, 5]
body = "dynamic"
mass = 1
world = {world}

[[probe]]
name = "{name}"
quantity = "velocity"
collider = "{name}"
"#
        )
    };
    let text = format!(
        r#"steps = 10
dt = 0.01

[mpm]
voxel_size = 0.1
separate_worlds = true
gravity = [[0, 0, -10], [2, 0, 1]]

[materials.sand]

[[particles]]
shape = "box"
lower = [0, 0, 0]
upper = [0.3, 0.3, 0.3]
per_cell = 2
density = 1000
worlds = 2

[[probe]]
name = "balance"
quantity = "momentum_balance"
{}{}"#,
        body("first", 0),
        body("second", 1)
    );
    let json = Run::new(&text).json("out", &[]);
    for (name, wanted) in [("first", [0.0, 0.0, -1.0]), ("second", [0.2, 0.0, 0.1])] {
        for d in 0..3 {
            let found = json["reports"][name][d].as_f64().unwrap();
            assert!((found - wanted[d]).abs() < 1e-9, "{name}: {found}");
        }
    }
    let balance = json["reports"]["balance"].as_f64().unwrap();
    assert!(balance < 1e-4, "{balance}");
}
