//! Location on grids by arithmetic.
//!
//! Planes between cells are computed as the grid's own map computes them, so that a vertex of
//! the grid lies exactly on them.

use super::vector::Vec3;

/// The cells of a grid, last axis fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Planes {
    pub dim: usize,
    pub cells: [usize; 3],
    pub lower: Vec3,
    pub upper: Vec3,
}

/// Bounds `low..=high` of cell places.
type Window = [[usize; 2]; 3];

impl Planes {
    /// Position of plane `i` across `axis`.
    fn plane(&self, axis: usize, i: usize) -> f64 {
        let n = self.cells[axis];
        let (lower, upper) = (self.lower[axis], self.upper[axis]);
        match i {
            0 => lower,
            _ if i == n => upper,
            _ => lower + i as f64 / n as f64 * (upper - lower),
        }
    }

    /// The first layer across `axis` whose upper plane is at or after `x`.
    fn first_layer(&self, axis: usize, x: f64) -> usize {
        let n = self.cells[axis];
        let share = (x - self.lower[axis]) / (self.upper[axis] - self.lower[axis]);
        // Saturates outside; then at most a step or two for rounding.
        let mut i = ((share * n as f64) as usize).min(n - 1);
        while i > 0 && self.plane(axis, i) >= x {
            i -= 1;
        }
        while i + 1 < n && self.plane(axis, i + 1) < x {
            i += 1;
        }
        i
    }

    /// Distance along `axis` from `x` to layer `i`.
    fn gap(&self, axis: usize, i: usize, x: f64) -> f64 {
        let below = self.plane(axis, i) - x;
        below.max(x - self.plane(axis, i + 1)).max(0.0)
    }

    fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.cells[1] + j) * self.cells[2] + k
    }

    fn place(&self, cell: usize) -> [usize; 3] {
        let [_, b, c] = self.cells;
        [cell / (b * c), cell / c % b, cell % c]
    }

    /// Largest extent of a cell.
    fn size(&self) -> f64 {
        (0..self.dim)
            .map(|d| (self.upper[d] - self.lower[d]) / self.cells[d] as f64)
            .fold(0.0, f64::max)
    }

    /// Closest point of one cell: reference coordinates, position, squared distance.
    pub fn closest_of(&self, cell: usize, x: Vec3) -> (Vec3, Vec3, f64) {
        let place = self.place(cell);
        let (mut xi, mut position) = ([0.0; 3], [0.0; 3]);
        let mut distance2 = 0.0;
        for d in 0..3 {
            if d < self.dim {
                let (a, b) = (self.plane(d, place[d]), self.plane(d, place[d] + 1));
                position[d] = x[d].clamp(a, b);
                xi[d] = ((position[d] - a) / (b - a)).clamp(0.0, 1.0);
            }
            distance2 += (x[d] - position[d]) * (x[d] - position[d]);
        }
        (xi, position, distance2)
    }

    /// The smallest cell among those nearest to `x`.
    pub fn nearest(&self, x: Vec3) -> usize {
        let mut place = [0; 3];
        for d in 0..self.dim {
            place[d] = self.first_layer(d, x[d].clamp(self.lower[d], self.upper[d]));
        }
        self.number(place)
    }

    /// The smallest cell at a distance of at most `tolerance` times the size of a cell.
    pub fn find(&self, x: Vec3, tolerance: f64) -> Option<usize> {
        let limit = tolerance * self.size();
        let limit2 = limit * limit;
        // What is left of the squared distance once later axes have taken their least.
        let near = self.nearest(x);
        let least = self.place(near);
        let off: f64 = (self.dim..3).map(|d| x[d] * x[d]).sum();
        let gaps: Vec3 = std::array::from_fn(|d| match d < self.dim {
            true => self.gap(d, least[d], x[d]).powi(2),
            false => 0.0,
        });
        let mut used = off;
        let mut place = [0; 3];
        for d in 0..self.dim {
            let later: f64 = gaps[d + 1..].iter().sum();
            if used + gaps[d] + later > limit2 {
                return None;
            }
            let reach = (limit2 - used - later).max(0.0).sqrt();
            let mut i = self.first_layer(d, x[d] - reach);
            // The root rounds; the nearest layer is within the limit.
            while i < least[d] && used + self.gap(d, i, x[d]).powi(2) + later > limit2 {
                i += 1;
            }
            used += self.gap(d, i, x[d]).powi(2);
            place[d] = i;
        }
        Some(self.number(place))
    }

    /// As [`find`](Self::find), among the cells that `accept` takes: walks the cells within the
    /// tolerance in order.
    pub fn find_accepted(
        &self,
        x: Vec3,
        tolerance: f64,
        accept: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let limit = tolerance * self.size();
        let mut window: Window = [[0, 0]; 3];
        for d in 0..self.dim {
            let mut last = self.first_layer(d, x[d] + limit);
            // The layer after it may begin exactly there.
            if last + 1 < self.cells[d] && self.gap(d, last + 1, x[d]) <= limit {
                last += 1;
            }
            window[d] = [self.first_layer(d, x[d] - limit), last];
        }
        let mut found: Option<usize> = None;
        self.between(None, window, |cell| {
            if found.is_none() {
                let (_, _, distance2) = self.closest_of(cell, x);
                if distance2 <= limit * limit && accept(cell) {
                    found = Some(cell);
                }
            }
        });
        found
    }

    /// The nearest cell that `accept` takes, within `limit2` (squared), the smallest of
    /// several: looks at larger and larger windows of cells around the point.
    pub fn nearest_accepted(
        &self,
        x: Vec3,
        mut limit2: f64,
        accept: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let center = self.place(self.nearest(x));
        let mut best: Option<(f64, usize)> = None;
        let mut inner: Option<Window> = None;
        for half in 0.. {
            let outer: Window = std::array::from_fn(|d| {
                let (c, n) = (center[d], self.cells[d]);
                [c.saturating_sub(half), (c + half).min(n - 1)]
            });
            if inner == Some(outer) || inner.is_some_and(|w| self.outside2(&w, x) > limit2) {
                break;
            }
            self.between(inner, outer, |cell| {
                let (_, _, distance2) = self.closest_of(cell, x);
                let closer = match best {
                    Some((least, smallest)) => {
                        distance2 < least || distance2 == least && cell < smallest
                    }
                    None => distance2 <= limit2,
                };
                if closer && accept(cell) {
                    best = Some((distance2, cell));
                    limit2 = distance2;
                }
            });
            inner = Some(outer);
        }
        best.map(|(_, cell)| cell)
    }

    /// Squared distance from `x` to the cells outside a window.
    fn outside2(&self, window: &Window, x: Vec3) -> f64 {
        let mut least = f64::INFINITY;
        for d in 0..self.dim {
            let [low, high] = window[d];
            if low > 0 {
                least = least.min(x[d] - self.plane(d, low));
            }
            if high + 1 < self.cells[d] {
                least = least.min(self.plane(d, high + 1) - x[d]);
            }
        }
        let least = least.max(0.0);
        least * least
    }

    /// The cells of `outer` that are not in `inner`.
    fn between(&self, inner: Option<Window>, outer: Window, mut visit: impl FnMut(usize)) {
        let [a, b, c] = outer;
        for i in a[0]..=a[1] {
            for j in b[0]..=b[1] {
                let row = inner.filter(|w| {
                    (w[0][0]..=w[0][1]).contains(&i) && (w[1][0]..=w[1][1]).contains(&j)
                });
                let mut k = c[0];
                while k <= c[1] {
                    match row {
                        Some(w) if (w[2][0]..=w[2][1]).contains(&k) => k = w[2][1] + 1,
                        _ => {
                            visit(self.number([i, j, k]));
                            k += 1;
                        }
                    }
                }
            }
        }
    }
}
