//! What a solver carries from step to step, as bytes: the first guesses of stress and impulses,
//! and the cells of a fixed grid. All else is made anew each step.

use crate::grid::Remembered;
use crate::{Config, GridKind, MpmError, Solver};

const MAGIC: &[u8; 8] = b"weftmpm\0";
const VERSION: u32 = 1;

impl Solver {
    /// Appends to `out` what the next step depends on besides particles and colliders. A solver
    /// of the same options that [restores](Self::restore) it goes on with the same bits. Numbers
    /// are little-endian on all platforms.
    pub fn save(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.0.extend_from_slice(MAGIC);
        out.number(VERSION);
        out.number(layout(&self.config));
        out.0.extend(self.config.voxel_size.to_bits().to_le_bytes());
        out.number(self.worlds as u32);
        out.remembered(&self.last_sites);
        out.floats(&self.last_stress);
        out.remembered(&self.last_samples);
        out.floats(&self.last_impulses);
        let fixed = self.cells.fixed();
        out.number(u32::from(fixed.is_some()));
        if let Some((worlds, cells)) = fixed {
            out.cells(&cells);
            worlds.iter().for_each(|&w| out.number(w));
        }
    }

    /// Takes over what [`save`](Self::save) gave.
    ///
    /// # Errors
    /// [`MpmError::Saved`] if the bytes are damaged or from a solver with another cell size, kind
    /// of grid, bases, first guess or number of worlds (other options may differ); [`MpmError::Grid`] for cells out of range. Nothing has changed then.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), MpmError> {
        let mut from = Reader { bytes, at: 0 };
        if from.take(8)? != MAGIC {
            return Err(fault("expected it to begin with \"weftmpm\""));
        }
        from.expect("version", VERSION)?;
        from.expect("kinds of grid, bases and first guess", layout(&self.config))?;
        let size = u64::from_le_bytes(from.array()?);
        if size != self.config.voxel_size.to_bits() {
            let found = f64::from_bits(size);
            return Err(MpmError::Saved(format!(
                "voxel_size = {found}, expected {}",
                self.config.voxel_size
            )));
        }
        from.expect("number of worlds", self.worlds as u32)?;
        let (sites, count) = from.remembered()?;
        let stress: Vec<[f32; 6]> = from.floats()?;
        if count > 0 && (!stress.len().is_multiple_of(count) || stress.is_empty()) {
            return Err(fault("stress does not fit the number of cells"));
        }
        let (samples, count) = from.remembered()?;
        let impulses: Vec<[f32; 3]> = from.floats()?;
        if count != impulses.len() {
            return Err(fault("impulses do not fit the number of samples"));
        }
        let fixed = match from.number()? {
            0 => None,
            _ if self.config.grid != GridKind::Fixed => {
                return Err(fault("cells of a fixed grid, which the solver has not"));
            }
            _ => {
                let cells = from.cells()?;
                let mut worlds = Vec::new();
                for _ in 0..cells.len() {
                    let world = from.number()?;
                    if world as usize >= self.worlds {
                        return Err(fault("a cell of a world that does not exist"));
                    }
                    worlds.push(world);
                }
                Some((worlds, cells))
            }
        };
        if from.at != bytes.len() {
            return Err(fault("more bytes than expected"));
        }
        self.cells.set_fixed(fixed)?;
        self.last_sites = sites;
        self.last_stress = stress;
        self.last_samples = samples;
        self.last_impulses = impulses;
        // Laid out anew: what is there may be of other cells.
        self.fresh = false;
        Ok(())
    }
}

/// The options that give the data its layout, as one number.
fn layout(config: &Config) -> u32 {
    use crate::{ColliderBasis as C, StrainBasis as S, WarmStart as W};
    let strain = match config.strain_basis {
        S::P0 => 0,
        S::P1d => 1,
        S::Q1 => 2,
        S::Q1d => 3,
        S::Particle(_) => 4,
    };
    let collider = match config.collider_basis {
        C::Q1 => 0,
        C::S2 => 1,
        C::S3 => 2,
        C::Particle(_) => 3,
    };
    let warm = match config.warm_start {
        W::None => 0,
        W::Auto => 1,
        W::Particles => 2,
        W::Grid => 3,
        W::Smoothed => 4,
    };
    let grid = config.grid as u32;
    let separate = u32::from(config.separate_worlds);
    strain | collider << 4 | warm << 8 | grid << 12 | separate << 16
}

fn fault(reason: &str) -> MpmError {
    MpmError::Saved(reason.into())
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn number(&mut self, x: u32) {
        self.0.extend_from_slice(&x.to_le_bytes());
    }

    fn cells(&mut self, list: &[[i32; 3]]) {
        self.number(list.len() as u32);
        for c in list.iter().flatten() {
            self.0.extend_from_slice(&c.to_le_bytes());
        }
    }

    fn floats<const N: usize>(&mut self, list: &[[f32; N]]) {
        self.number(list.len() as u32);
        for x in list.iter().flatten() {
            self.0.extend_from_slice(&x.to_le_bytes());
        }
    }

    fn remembered(&mut self, all: &Remembered) {
        let (points, shifts) = all.saved();
        self.cells(&points);
        self.number(shifts.len() as u32);
        for shift in shifts {
            self.number(u32::from(shift.is_some()));
            for c in shift.unwrap_or([0; 3]) {
                self.0.extend_from_slice(&c.to_le_bytes());
            }
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], MpmError> {
        let end = self.at.checked_add(n).filter(|&e| e <= self.bytes.len());
        let Some(end) = end else {
            return Err(MpmError::Saved(format!(
                "{} bytes, expected {n} more at byte {}",
                self.bytes.len(),
                self.at
            )));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MpmError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    fn number(&mut self) -> Result<u32, MpmError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn expect(&mut self, what: &str, expected: u32) -> Result<(), MpmError> {
        let found = self.number()?;
        if found == expected {
            return Ok(());
        }
        Err(MpmError::Saved(format!(
            "{what}: {found}, expected {expected} as in the solver"
        )))
    }

    /// A list of `N` numbers of four bytes each; its memory is bounded by the bytes at hand.
    fn list<T, const N: usize>(&mut self, of: fn([u8; 4]) -> T) -> Result<Vec<[T; N]>, MpmError>
    where
        T: Copy + Default,
    {
        let n = self.number()? as usize;
        let bytes = self.take(n.saturating_mul(4 * N))?;
        let mut out = vec![[T::default(); N]; n];
        for (x, b) in out.iter_mut().flatten().zip(bytes.chunks_exact(4)) {
            *x = of([b[0], b[1], b[2], b[3]]);
        }
        Ok(out)
    }

    fn cells(&mut self) -> Result<Vec<[i32; 3]>, MpmError> {
        self.list(i32::from_le_bytes)
    }

    fn floats<const N: usize>(&mut self) -> Result<Vec<[f32; N]>, MpmError> {
        self.list(f32::from_le_bytes)
    }

    fn remembered(&mut self) -> Result<(Remembered, usize), MpmError> {
        let points = self.cells()?;
        let n = self.number()? as usize;
        let mut shifts = Vec::new();
        for _ in 0..n {
            let known = self.number()? != 0;
            let shift = [0; 3].map(|_: i32| self.array().map(i32::from_le_bytes));
            let [x, y, z] = shift;
            let shift = [x?, y?, z?];
            shifts.push(known.then_some(shift));
        }
        Ok((Remembered::restored(&points, shifts)?, points.len()))
    }
}
