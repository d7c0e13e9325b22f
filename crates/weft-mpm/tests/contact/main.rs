//! Material against colliders, in many worlds, and over interruptions.

#[allow(dead_code)]
#[path = "../physics/scene.rs"]
mod scene;

mod bodies;
mod checkpoint;
mod grains;
mod reset;
mod sand;
mod walls;
mod worlds;
