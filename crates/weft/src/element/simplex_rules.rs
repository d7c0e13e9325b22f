//! Symmetric quadrature rules on triangles and tets as orbits.
//!
//! The main type is [`Orbit`]: one weight for all points whose barycentric coordinates are
//! permutations of each other, so that renumbering the vertices does not change a rule.

use super::simplex_tables::{TET, TRIANGLE};
use Orbit::{Center, Edge, Vertex, Wide};

/// Points that are permutations of each other in barycentric coordinates; the weight of each
/// comes first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Orbit {
    /// The centroid.
    Center(f64),
    /// All coordinates but one equal to `a`.
    Vertex(f64, f64),
    /// On a tet: two coordinates `a`, two `1/2 - a`.
    Edge(f64, f64),
    /// On a triangle `(a, b, c)`; on a tet `(a, a, b, c)`; the coordinates sum to 1.
    Wide(f64, f64, f64),
}

impl Orbit {
    /// The weight of each point.
    pub(super) fn weight(self) -> f64 {
        match self {
            Center(w) | Vertex(w, _) | Edge(w, _) | Wide(w, _, _) => w,
        }
    }

    /// Calls `visit` with the `vertices` barycentric coordinates of each point.
    pub(super) fn for_each(self, vertices: usize, mut visit: impl FnMut(&[f64])) {
        // Which of the values each coordinate takes, in ascending order, and the values.
        let (mut labels, values) = match self {
            Center(_) => ([0, 0, 0, 0], [1.0 / vertices as f64, 0.0, 0.0]),
            Vertex(_, a) => {
                let mut labels = [0; 4];
                labels[vertices - 1] = 1;
                (labels, [a, 1.0 - (vertices - 1) as f64 * a, 0.0])
            }
            Edge(_, a) => ([0, 0, 1, 1], [a, 0.5 - a, 0.0]),
            Wide(_, a, b) if vertices == 3 => ([0, 1, 2, 0], [a, b, 1.0 - a - b]),
            Wide(_, a, b) => ([0, 0, 1, 2], [a, b, 1.0 - 2.0 * a - b]),
        };
        let labels = &mut labels[..vertices];
        loop {
            let coordinates = [0, 1, 2, 3].map(|i| labels.get(i).map_or(0.0, |&l| values[l]));
            visit(&coordinates[..vertices]);
            if !next_permutation(labels) {
                return;
            }
        }
    }
}

/// Steps to the next permutation in lexicographic order; false after the last.
fn next_permutation(labels: &mut [usize]) -> bool {
    let Some(i) = (1..labels.len()).rev().find(|&i| labels[i - 1] < labels[i]) else {
        return false;
    };
    let pivot = labels[i - 1];
    let larger = (i..labels.len()).rev().find(|&j| labels[j] > pivot);
    labels.swap(i - 1, larger.unwrap_or(i));
    labels[i..].reverse();
    true
}

/// The smallest tabulated rule on the triangle exact to `degree`, with the degree it reaches.
pub(super) fn triangle_orbits(degree: usize) -> Option<(usize, &'static [Orbit])> {
    TRIANGLE.iter().copied().find(|rule| rule.0 >= degree)
}

/// The smallest tabulated rule on the tet exact to `degree`, with the degree it reaches.
pub(super) fn tet_orbits(degree: usize) -> Option<(usize, &'static [Orbit])> {
    TET.iter().copied().find(|rule| rule.0 >= degree)
}
