//! Clouds of particles from boxes, spheres, meshes and height fields.
