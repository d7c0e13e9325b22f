//! Scenes of material points with one mistake each: the message names the thing, shows the line,
//! and says what would be accepted.

mod common;

use common::{one_fault, settings};
use std::path::Path;
use weft_cli::scene::Scene;
use weft_cli::simulate;

const GOOD: &str = r#"title = "A good scene"
steps = 10
dt = "1/60"

[parameters]
mu = 0.68
depth = "2*mu"

[mpm]
voxel_size = 0.25
tolerance = 1e-4
solver = "gs"
strain_basis = "P0"
gravity = [0, 0, "-10"]

[materials.sand]
friction = "mu"

[materials.snow]
hardening = 5

[[particles]]
name = "cube"
shape = "box"
lower = [0, 0, 0]
upper = [1, 1, "depth"]
per_cell = 2
density = 1000
material = "sand"
kinematic = "0.1 - x[2]"

[[particles]]
name = "ball"
shape = "sphere"
position = [0, 0, 4]
radius = 0.5
spacing = 0.1
density = 400
material = "snow"

[[motion]]
particles = "cube"
where = "0.1 - x[2]"
velocity = [1, 0, 0]

[[collider]]
name = "ground"
shape = "plane"
friction = 0.5

[[collider]]
name = "block"
shape = "box"
half = [0.5, 0.5, 0.5]
position = [0, 0, 1]
rotation = { axis = [0, 1, 0], degrees = 45 }
body = "kinematic"
angular_velocity = [0, 0, 1]

[[emitter]]
position = [0, 0, 6]
size = [0.5, 0.5]
speed = 2
per_cell = 2
density = 1000
material = "sand"

[[kill]]
point = [0, 0, -5]
normal = [0, 0, 1]

[[probe]]
name = "top"
quantity = "max"
along = [0, 0, 1]

[[check]]
name = "bottom"
quantity = "min"
along = [0, 0, 1]
at_least = -0.25

[output]
frames = 5
fields = ["velocity", "pressure"]
picture = { color = "speed", size = [640, 480] }

[small]
steps = 2
mpm.voxel_size = 0.5
particles.cube.per_cell = 1
"#;

fn parse(text: &str, set: &[(&str, &str)], small: bool) -> Result<Scene, String> {
    Scene::parse(Path::new("cases/a.toml"), text, &settings(set), small).map_err(|e| e.to_string())
}

/// The faults of a text, those that show when particles are made too, or "" if it has none.
fn faults(text: &str, set: &[(&str, &str)]) -> String {
    match parse(text, set, false) {
        Ok(scene) => simulate::check(&scene).map_or_else(|e| e.to_string(), |()| String::new()),
        Err(faults) => faults,
    }
}

/// The good scene with `old` replaced by `new` must fail with one fault, whose text has all
/// `parts`.
#[track_caller]
fn bad(old: &str, new: &str, parts: &[&str]) {
    assert_eq!(GOOD.matches(old).count(), 1, "`{old}` is not there once");
    let shown = faults(&GOOD.replace(old, new), &[]);
    one_fault(&shown, &format!("{new:?}"), parts);
}

/// The good scene with a setting of the command line must fail likewise.
#[track_caller]
fn bad_setting(key: &str, value: &str, parts: &[&str]) {
    let shown = faults(GOOD, &[(key, value)]);
    one_fault(&shown, &format!("{key}={value}"), parts);
}

#[test]
fn the_good_scene_is_good() {
    assert_eq!(faults(GOOD, &[]), "");
    let scene = parse(GOOD, &[], false).unwrap();
    assert_eq!((scene.steps, scene.dt), (10, 1.0 / 60.0));
    assert_eq!(scene.config.gravity, [[0.0, 0.0, -10.0]]);
    assert_eq!(scene.materials[0].material.friction, 0.68);
    assert_eq!(scene.particles[0].fill.spacing, 0.125);
    assert_eq!(scene.particles[1].fill.material, 1);
}

#[test]
fn a_whole_message() {
    assert_eq!(
        faults(&GOOD.replace("voxel_size = 0.25", "voxel_siz = 0.25"), &[]),
        "error: unknown key `voxel_siz` in `mpm`
  --> cases/a.toml:10:1
   |
10 | voxel_siz = 0.25
   | ^^^^^^^^^ did you mean `voxel_size`?
   = accepted here: `voxel_size`, `max_iterations`, `tolerance`, `solver`, `relaxation`, \
         `legacy_half_adjoint`, `check_every`, `warmstart_mode`, `collider_velocity_mode`, \
         `grid_type`, `grid_padding`, `max_active_cell_count`, `transfer_scheme`, \
         `integration_scheme`, `critical_fraction`, `air_drag`, `max_velocity`, \
         `collider_normal_from_sdf_gradient`, `collider_basis`, `strain_basis`, \
         `velocity_basis`, `separate_worlds` or `gravity`"
    );
}

#[test]
fn every_setting_can_be_made_on_the_command_line() {
    let scene = |set: &[(&str, &str)]| parse(GOOD, set, false).unwrap();
    assert_eq!(scene(&[("steps", "6500")]).steps, 6500);
    assert_eq!(scene(&[("dt", "1/100")]).dt, 0.01);
    let s = scene(&[("mpm.voxel_size", "0.5")]);
    assert_eq!(s.config.voxel_size, 0.5);
    // What is given by cells follows.
    assert_eq!(s.particles[0].fill.spacing, 0.25);
    assert_eq!(
        scene(&[("mpm.max_iterations", "7")]).config.max_iterations,
        7
    );
    assert_eq!(
        scene(&[("mpm.solver", "[\"cg\", \"gs\"]")])
            .config
            .solver
            .len(),
        2
    );
    let s = scene(&[("materials.snow.friction", "0.25")]);
    assert_eq!(s.materials[1].material.friction, 0.25);
    let s = scene(&[("parameters.mu", "0.5")]);
    assert_eq!(s.materials[0].material.friction, 0.5);
    let s = scene(&[("particles.cube.spacing", "0.1")]);
    assert_eq!(s.particles[0].fill.spacing, 0.1);
    assert_eq!(scene(&[("particles.1.radius", "0.25")]).particles.len(), 2);
    assert_eq!(
        scene(&[("collider.block.friction", "0.1")]).colliders[1].friction,
        0.1
    );
    assert!(scene(&[("project_outside", "true")]).project_outside);
    assert_eq!(scene(&[("output.frames", "1")]).output.frames, 1);
    bad_setting("steps", "many", &["whole number", "command line"]);
    bad_setting("mpm.voxel", "1", &["did you mean `voxel_size`?"]);
    bad_setting(
        "materials.mud.friction",
        "1",
        &["accepted here: `sand` or `snow`"],
    );
    bad_setting("materials.sand.fricton", "1", &["did you mean `friction`?"]);
    bad_setting("particles.bal.radius", "1", &["did you mean `ball`?"]);
    bad_setting("mesh.file", "a.msh", &["no value `mesh`"]);
}

#[test]
fn the_small_version() {
    let scene = parse(GOOD, &[("output.frames", "3")], true).unwrap();
    assert_eq!((scene.steps, scene.config.voxel_size), (2, 0.5));
    assert_eq!(scene.particles[0].fill.spacing, 0.5);
    assert_eq!(scene.output.frames, 3);
    // The command line comes last.
    assert_eq!(parse(GOOD, &[("steps", "5")], true).unwrap().steps, 5);
    bad(
        "steps = 2\n",
        "stepps = 2\n",
        &["no value `stepps`", "did you mean `steps`?", ":89:1"],
    );
    bad(
        "particles.cube.per_cell = 1",
        "particles.cub.per_cell = 1",
        &["no value `particles.cub`", "did you mean `cube`?"],
    );
    let without = &GOOD[..GOOD.find("[small]").unwrap()];
    let shown = parse(without, &[], true).unwrap_err();
    assert!(shown.contains("the case has no [small]"), "{shown}");
}

#[test]
fn top_level() {
    bad("steps = 10\n", "", &["the case needs a value for `steps`"]);
    bad(
        "steps = 10\n",
        "steps = -1\n",
        &["whole number from 0", "this is -1"],
    );
    bad(
        "dt = \"1/60\"",
        "dt = 0",
        &["`dt` must be a number above 0", "this is 0"],
    );
    bad("dt = \"1/60\"", "dt = -0.1", &["above 0"]);
    bad("dt = \"1/60\"", "dt = \"1/0\"", &["finite number"]);
    bad(
        "dt = \"1/60\"",
        "dt = \"1/q\"",
        &["a formula for one", ":3:9"],
    );
    bad("dt = \"1/60\"", "dt = \"x[0]\"", &["a formula for one"]);
    bad("dt = \"1/60\"", "dt = [1]", &["this is a list"]);
    bad(
        "title =",
        "titel =",
        &["unknown key `titel`", "did you mean `title`?"],
    );
    bad("[[kill]]", "[kill]", &["write [[kill]]"]);
    bad(
        "[[kill]]",
        "[mesh]\nfile = \"a\"\n[[kill]]",
        &["unknown key `mesh`"],
    );
    bad("mu = 0.68", "x = 3\nmu = 0.68", &["cannot be called `x`"]);
    bad("mu = 0.68", "h = 3\nmu = 0.68", &["cannot be called `h`"]);
    bad(
        "depth = \"2*mu\"",
        "depth = \"2*muu\"",
        &["`parameters.depth`"],
    );
}

#[test]
fn options() {
    bad(
        "voxel_size = 0.25",
        "voxel_size = 0",
        &["`mpm.voxel_size`", "above 0", ":10:14"],
    );
    bad("voxel_size = 0.25", "voxel_size = -1", &["above 0"]);
    bad("tolerance = 1e-4", "tolerance = -1", &["at least 0"]);
    bad(
        "tolerance = 1e-4",
        "relaxation = 2",
        &["above 0, at most 1"],
    );
    bad(
        "tolerance = 1e-4",
        "max_iterations = 1.5",
        &["a whole number"],
    );
    bad(
        "tolerance = 1e-4",
        "grid_type = \"spars\"",
        &["did you mean `sparse`?"],
    );
    bad(
        "tolerance = 1e-4",
        "warmstart_mode = \"gird\"",
        &["did you mean `grid`?"],
    );
    bad(
        "tolerance = 1e-4",
        "transfer_scheme = \"flip\"",
        &["`apic` or `pic`"],
    );
    bad(
        "tolerance = 1e-4",
        "integration_scheme = \"mpm\"",
        &["`pic` or `gimp`"],
    );
    bad(
        "tolerance = 1e-4",
        "collider_velocity_mode = \"up\"",
        &["`forward` or `backward`"],
    );
    bad(
        "tolerance = 1e-4",
        "critical_fraction = 1.5",
        &["from 0 to 1"],
    );
    bad(
        "tolerance = 1e-4",
        "max_active_cell_count = -2",
        &["whole number", "this is -2"],
    );
    bad(
        "tolerance = 1e-4",
        "velocity_basis = \"B4\"",
        &["`Q1`, `B2` or `B3`"],
    );
    bad(
        "tolerance = 1e-4",
        "velocity_basis = \"pic8\"",
        &["`Q1`, `B2` or `B3`"],
    );
    bad(
        "tolerance = 1e-4",
        "collider_basis = \"pic0\"",
        &["N particles a cell"],
    );
    bad(
        "strain_basis = \"P0\"",
        "strain_basis = \"P1\"",
        &["write P1d"],
    );
    bad(
        "strain_basis = \"P0\"",
        "strain_basis = \"Q2\"",
        &["`P0`, `P1d`, `Q1`, `Q1d` or `picN`"],
    );
    bad(
        "solver = \"gs\"",
        "solver = \"gss\"",
        &["did you mean `gs`?"],
    );
    bad("solver = \"gs\"", "solver = []", &["at least one"]);
    bad(
        "solver = \"gs\"",
        "solver = \"cg\"",
        &["a linear solver knows no contact", ":12:10"],
    );
    bad(
        "solver = \"gs\"",
        "solver = [\"gs\", \"cg\"]",
        &["only be the first guess", ":12:10"],
    );
    bad(
        "gravity = [0, 0, \"-10\"]",
        "gravity = [0, 0]",
        &["a list of 3", "these are 2"],
    );
    bad("gravity = [0, 0, \"-10\"]", "gravity = 9.81", &["a list"]);
}

#[test]
fn materials() {
    bad(
        "friction = \"mu\"",
        "friction = -1",
        &["`materials.sand.friction`", "at least 0"],
    );
    bad("friction = \"mu\"", "young_modulus = 0", &["above 0"]);
    bad("friction = \"mu\"", "poisson_ratio = 0.5", &["below 0.5"]);
    bad("friction = \"mu\"", "poisson_ratio = -1", &["above -1"]);
    bad(
        "friction = \"mu\"",
        "tensile_yield_ratio = 1.5",
        &["from 0 to 1"],
    );
    bad("friction = \"mu\"", "dilatancy = -0.5", &["from 0 to 1"]);
    bad("friction = \"mu\"", "viscosity = 1e39", &["at least 0"]);
    bad(
        "friction = \"mu\"",
        "fricton = 1",
        &["did you mean `friction`?"],
    );
    bad(
        "material = \"snow\"",
        "material = \"snoww\"",
        &["no material `snoww`", "did you mean `snow`?"],
    );
    bad(
        "material = \"snow\"",
        "",
        &[
            "`particles` needs a value for `material`",
            "`sand` or `snow`",
        ],
    );
}

#[test]
fn particles() {
    bad(
        "shape = \"sphere\"",
        "shape = \"spher\"",
        &["did you mean `sphere`?"],
    );
    bad(
        "radius = 0.5\n",
        "",
        &["`particles` needs a value for `radius`"],
    );
    bad(
        "radius = 0.5\n",
        "radius = 0.5\nupper = [1, 1, 1]\n",
        &["does not belong to a sphere"],
    );
    bad(
        "upper = [1, 1, \"depth\"]",
        "upper = [1, 1, 0]",
        &["above the lower corner"],
    );
    bad(
        "upper = [1, 1, \"depth\"]",
        "upper = [1, 1, \"dept\"]",
        &["`particles.upper`"],
    );
    bad(
        "spacing = 0.1\n",
        "",
        &["needs `per_cell` or `spacing`", "for example"],
    );
    bad(
        "spacing = 0.1\n",
        "spacing = 0.1\nper_cell = 3\n",
        &["either `per_cell` or a `spacing`"],
    );
    bad("spacing = 0.1\n", "spacing = 0\n", &["above 0"]);
    bad(
        "spacing = 0.1\n",
        "spacing = 1e-9\n",
        &["lattice points", "larger spacing"],
    );
    bad("density = 400\n", "", &["needs a value for `density`"]);
    bad("density = 400\n", "density = -400\n", &["above 0"]);
    bad(
        "density = 400\n",
        "density = 400\njitter = 2\n",
        &["from 0 to 1"],
    );
    bad(
        "density = 400\n",
        "density = 400\nworld = 1\nworlds = 2\n",
        &["either one `world`"],
    );
    bad(
        "density = 400\n",
        "density = 400\ninitial_plastic_volume = 0\n",
        &["above 0"],
    );
    bad(
        "density = 400\n",
        "density = 400\nwhere = \"x[3]\"\n",
        &["x[0], x[1] and x[2]"],
    );
    bad(
        "density = 400\n",
        "density = 400\nwhere = \"x\"\n",
        &["this is a"],
    );
    bad(
        "density = 400\n",
        "density = 400\nwhere = \"n[0]\"\n",
        &["`particles.where`"],
    );
    bad(
        "density = 400\n",
        "density = 400\nvelocity = [0, 0]\n",
        &["a list of 3"],
    );
    bad(
        "density = 400\n",
        "density = 400\nvelocity = [\"1/(x[0] - x[0])\", 0, 0]\n",
        &["no value"],
    );
    bad(
        "kinematic = \"0.1 - x[2]\"",
        "kinematic = 3",
        &["true or false"],
    );
    bad(
        "particles = \"cube\"\n",
        "particles = \"kube\"\n",
        &["no cloud of particles `kube`"],
    );
    bad(
        "where = \"0.1 - x[2]\"\nvelocity = [1, 0, 0]",
        "where = \"-1\"\nvelocity = [1, 0, 0]",
        &["moves no particle"],
    );
    bad(
        "velocity = [1, 0, 0]\n",
        "",
        &["a motion needs a `velocity`"],
    );
    bad(
        "name = \"ball\"",
        "name = \"cube\"",
        &["two clouds of particles are called `cube`"],
    );
}

#[test]
fn colliders() {
    bad(
        "shape = \"plane\"",
        "shape = \"plan\"",
        &["did you mean `plane`?"],
    );
    bad(
        "half = [0.5, 0.5, 0.5]",
        "half = [0.5, 0, 0.5]",
        &["above 0"],
    );
    bad(
        "half = [0.5, 0.5, 0.5]\n",
        "",
        &["`collider` needs a value for `half`"],
    );
    bad(
        "half = [0.5, 0.5, 0.5]",
        "half = [1, 1, 1]\nradius = 1",
        &["does not belong to a box"],
    );
    bad("axis = [0, 1, 0]", "axis = [0, 0, 0]", &["no length"]);
    bad("degrees = 45", "degree = 45", &["did you mean `degrees`?"]);
    bad(
        "body = \"kinematic\"",
        "body = \"dynamic\"",
        &["needs a value for `mass`"],
    );
    bad(
        "body = \"kinematic\"",
        "body = \"dynamic\"\nmass = -1",
        &["above 0"],
    );
    bad(
        "body = \"kinematic\"\n",
        "",
        &["a static collider has no velocity"],
    );
    bad(
        "body = \"kinematic\"",
        "body = \"kinematic\"\nmass = 1",
        &["only a dynamic body"],
    );
    bad("friction = 0.5\n", "friction = -0.5\n", &["at least 0"]);
    bad(
        "friction = 0.5\n",
        "friction = 0.5\nfile = \"a.obj\"\n",
        &["does not belong to a plane"],
    );
    bad(
        "shape = \"plane\"",
        "shape = \"mesh\"\nfile = \"a.obj\"",
        &["an existing file", "a.obj"],
    );
    bad(
        "shape = \"plane\"",
        "shape = \"revolved\"\nprofile = [[0, 0], [0, 1], [1, 0]]",
        &["counter-clockwise", "these go clockwise"],
    );
    bad(
        "shape = \"plane\"",
        "shape = \"revolved\"\nprofile = [[0, 0], [1, 0]]",
        &["at least 3"],
    );
    bad(
        "shape = \"plane\"",
        "shape = \"heightfield\"\nsize = [1, 1]\nsamples = [1, 2]\nheight = 0",
        &["from 2 to"],
    );
    bad(
        "name = \"block\"",
        "name = \"ground\"",
        &["two colliders are called `ground`"],
    );
}

#[test]
fn emitters_and_kill_zones() {
    bad("speed = 2\n", "", &["`emitter` needs a value for `speed`"]);
    bad(
        "speed = 2\n",
        "speed = 2\nmass_per_second = 1e9\n",
        &["at most", "full stream"],
    );
    bad(
        "speed = 2\n",
        "speed = 2\nfrom = 2\nuntil = 1\n",
        &["not before `from`"],
    );
    bad(
        "speed = 2\n",
        "speed = 2\nmass_per_second = 1\nparticles_per_second = 1\n",
        &["either `particles_per_second`"],
    );
    bad(
        "normal = [0, 0, 1]",
        "",
        &["`kill` needs a value for `normal`"],
    );
    bad(
        "normal = [0, 0, 1]",
        "normal = [0, 0, 1]\nlower = [0, 0, 0]",
        &["either a box"],
    );
}

#[test]
fn probes_checks_and_output() {
    bad(
        "quantity = \"max\"",
        "quantity = \"maxx\"",
        &["did you mean `max`?"],
    );
    bad(
        "quantity = \"max\"\nalong = [0, 0, 1]",
        "quantity = \"max\"",
        &["needs a value for `along`"],
    );
    bad(
        "quantity = \"max\"",
        "quantity = \"mass\"",
        &["`probe.along` does not belong to `mass`"],
    );
    bad(
        "quantity = \"max\"\nalong = [0, 0, 1]",
        "quantity = \"force\"\ncollider = \"grund\"",
        &["no collider `grund`", "did you mean `ground`?"],
    );
    bad(
        "quantity = \"max\"\nalong = [0, 0, 1]",
        "quantity = \"quantile\"\nalong = [0, 0, 1]\nquantile = 2",
        &["from 0 to 1"],
    );
    bad(
        "quantity = \"max\"",
        "component = \"z\"\nquantity = \"max\"",
        &["has no components"],
    );
    bad(
        "quantity = \"min\"\nalong = [0, 0, 1]",
        "quantity = \"momentum\"",
        &["needs a `component`"],
    );
    bad("at_least = -0.25", "", &["a check needs `at_least`"]);
    bad(
        "at_least = -0.25",
        "at_least = 1\nat_most = 0",
        &["not below `at_least`"],
    );
    bad("frames = 5", "frames = -5", &["whole number"]);
    bad(
        "\"pressure\"]",
        "\"presure\"]",
        &["did you mean `pressure`?"],
    );
    bad(
        "color = \"speed\"",
        "color = \"sped\"",
        &["did you mean `speed`?"],
    );
    bad("color = \"speed\"", "every = \"all\"", &["whole number"]);
}

#[test]
fn what_a_scene_needs() {
    let cut = |section: &str, next: &str| {
        let start = GOOD.find(section).unwrap();
        let end = GOOD.find(next).unwrap();
        faults(&format!("{}{}", &GOOD[..start], &GOOD[end..]), &[])
    };
    let shown = cut("[materials.sand]", "[[particles]]");
    assert!(shown.contains("the case has no [materials]"), "{shown}");
    let shown = faults("steps = 1\ndt = 1\n[mpm]\n[materials.a]\n", &[]);
    assert!(
        shown.contains("neither [[particles]] nor an [[emitter]]"),
        "{shown}"
    );
}

#[test]
fn all_mistakes_are_shown_at_once() {
    let text = GOOD
        .replace("density = 400", "densty = 400")
        .replace("voxel_size = 0.25", "voxel_size = 0")
        .replace("friction = 0.5", "friction = -2")
        .replace("frames = 5", "frames = 0.5");
    let shown = faults(&text, &[]);
    assert_eq!(shown.matches("error:").count(), 4, "{shown}");
}

#[test]
fn hostile_texts_are_errors() {
    for text in [
        "mpm = 3",
        "[[mpm]]",
        "[mpm]\n[small]",
        "[mpm]\nsmall = 3",
        "[mpm]\nparticles = 3",
    ] {
        assert!(faults(text, &[]).starts_with("error:"), "{text}");
    }
    // Any prefix of a good scene ends in an error or a scene, never a panic.
    for end in 0..GOOD.len() {
        let _ = parse(&GOOD[..end], &[], false);
    }
}

#[test]
fn issue_005_refused() {
    bad(
        "shape = \"plane\"\nfriction = 0.5",
        "shape = \"plane\"\nfriction = 0.5\nworld = 1",
        &[
            "a collider has a `world` only where worlds are separate",
            "separate_worlds = true",
        ],
    );
    bad_setting("mpm.grid_padding", "65", &["grid_padding", "64"]);
    // An emitter alone gives a fixed grid nothing to begin with.
    let text = r#"steps = 1
dt = 0.01

[mpm]
grid_type = "fixed"

[materials.sand]

[[emitter]]
position = [0, 0, 5]
size = [0.1, 0.1]
speed = 1
per_cell = 2
density = 1000
"#;
    one_fault(&faults(text, &[]), "fixed", &["no active particle"]);
}
