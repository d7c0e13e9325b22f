//! Things of plain colour, such as the obstacles among particles.

use super::PictureError;

/// Most squares along a side of a checked plane.
pub(super) const MAX_SQUARES: usize = 1000;

/// Triangles of plain colour, seen from both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Three corners a triangle.
    pub(super) positions: Vec<[f64; 3]>,
    /// A colour a triangle.
    pub(super) colors: Vec<[u8; 3]>,
    /// As those of [`Surface`](super::Surface).
    pub(super) outlines: Vec<u8>,
}

/// `center` plus multiples of some vectors.
fn at<const N: usize>(center: [f64; 3], vectors: &[[f64; 3]; N], times: [f64; N]) -> [f64; 3] {
    [0, 1, 2].map(|d| (0..N).fold(center[d], |x, i| x + times[i] * vectors[i][d]))
}

impl Body {
    /// A mesh of triangles, of colour red, green, blue.
    ///
    /// # Errors
    /// [`PictureError::Corner`] for a corner that is no point.
    pub fn triangles(
        points: &[[f64; 3]],
        triangles: &[[u32; 3]],
        color: [u8; 3],
    ) -> Result<Body, PictureError> {
        let mut positions = Vec::with_capacity(3 * triangles.len());
        for (i, corners) in triangles.iter().enumerate() {
            for &corner in corners {
                let point = points.get(corner as usize);
                positions.push(*point.ok_or(PictureError::Corner {
                    triangle: i,
                    corner,
                    points: points.len(),
                })?);
            }
        }
        Ok(Body {
            positions,
            colors: vec![color; triangles.len()],
            outlines: Vec::new(),
        })
    }

    /// A box from its centre and three vectors from there to the middles of its faces, with its
    /// edges drawn.
    pub fn cuboid(center: [f64; 3], half: [[f64; 3]; 3], color: [u8; 3]) -> Body {
        let mut body = Body::default();
        for d in 0..3 {
            let sides = [half[(d + 1) % 3], half[(d + 2) % 3]];
            for sign in [-1.0, 1.0] {
                let middle = at(center, &[half[d]], [sign]);
                body.quad(middle, sides, color, true);
            }
        }
        body
    }

    /// A part of a plane: the parallelogram round `center` that two vectors reach from there to
    /// the middles of its edges.
    pub fn plane(center: [f64; 3], half: [[f64; 3]; 2], color: [u8; 3]) -> Body {
        let mut body = Body::default();
        body.quad(center, half, color, false);
        body
    }

    /// As [`Body::plane`], of so many squares along each vector in two colours by turns.
    ///
    /// # Errors
    /// [`PictureError::Squares`] for none along a side, or more than 1000.
    pub fn checked_plane(
        center: [f64; 3],
        half: [[f64; 3]; 2],
        squares: [usize; 2],
        colors: [[u8; 3]; 2],
    ) -> Result<Body, PictureError> {
        let [n, m] = squares;
        if !(1..=MAX_SQUARES).contains(&n) || !(1..=MAX_SQUARES).contains(&m) {
            return Err(PictureError::Squares(n, m));
        }
        let mut body = Body::default();
        let side = [0, 1].map(|d| half[d].map(|x| x / squares[d] as f64));
        let place = |i: usize, count: usize| (2 * i + 1) as f64 - count as f64;
        for i in 0..n {
            for j in 0..m {
                let middle = at(center, &side, [place(i, n), place(j, m)]);
                body.quad(middle, side, colors[(i + j) % 2], false);
            }
        }
        Ok(body)
    }

    fn quad(&mut self, center: [f64; 3], half: [[f64; 3]; 2], color: [u8; 3], outlined: bool) {
        let corner = |a: f64, b: f64| at(center, &half, [a, b]);
        let round = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        let [p, q, r, s] = round.map(|(a, b)| corner(a, b));
        self.positions.extend([p, q, r, p, r, s]);
        self.colors.extend([color; 2]);
        // All edges but the cut.
        self.outlines
            .extend(if outlined { [0b011, 0b110] } else { [0; 2] });
    }
}
