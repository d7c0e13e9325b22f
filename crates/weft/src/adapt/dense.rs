//! A small symmetric positive definite matrix, factored once for many right-hand sides.

/// Lower factor of a Cholesky decomposition, row by row.
pub struct Cholesky {
    n: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors an n × n matrix, of which the lower half is read; it must be positive definite.
    pub fn new(n: usize, mut a: Vec<f64>) -> Cholesky {
        for i in 0..n {
            for j in 0..=i {
                let done: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
                let rest = a[i * n + j] - done;
                a[i * n + j] = if i == j {
                    rest.sqrt()
                } else {
                    rest / a[j * n + j]
                };
            }
        }
        Cholesky { n, lower: a }
    }

    /// Solves for every `stride`-th entry of `b` from `first` on, in place.
    pub fn solve(&self, b: &mut [f64], first: usize, stride: usize) {
        let (n, l) = (self.n, &self.lower);
        let at = |i: usize| first + i * stride;
        for i in 0..n {
            let done: f64 = (0..i).map(|k| l[i * n + k] * b[at(k)]).sum();
            b[at(i)] = (b[at(i)] - done) / l[i * n + i];
        }
        for i in (0..n).rev() {
            let done: f64 = (i + 1..n).map(|k| l[k * n + i] * b[at(k)]).sum();
            b[at(i)] = (b[at(i)] - done) / l[i * n + i];
        }
    }
}
