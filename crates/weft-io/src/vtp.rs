//! Writing of particle clouds as VTK poly data (`.vtp`).
//!
//! [`Cloud`] borrows positions and any arrays on them. Each particle is a vertex cell, so that
//! ParaView and PyVista can select and threshold them. [`Series`](crate::vtu::Series) lists the
//! files of a run with their times.
//!
//! ```no_run
//! # let (position, velocity) = (vec![[0.0f64; 3]; 5], vec![[0.0f32; 3]; 5]);
//! weft_io::vtp::Cloud::new(&position)
//!     .array("velocity", &velocity)
//!     .write("sand.vtp", weft_io::vtu::Encoding::Compressed)?;
//! # Ok::<(), weft_io::vtu::VtuError>(())
//! ```
//!
//! The invariant: a file is whole or absent.

use std::path::Path;

use crate::Values;
use crate::vtu::VtuError;
use crate::vtu::encode::{Array, Encoding, Numbers};
use crate::vtu::xml::{Document, check_arrays};

/// Particles with data, to be written.
#[derive(Clone, Debug)]
pub struct Cloud<'a> {
    positions: Values<'a>,
    arrays: Vec<(String, Values<'a>)>,
}

impl<'a> Cloud<'a> {
    /// Particles at these positions: `[f64; 3]` or `[f32; 3]`, which the file keeps.
    pub fn new(positions: impl Into<Values<'a>>) -> Cloud<'a> {
        Cloud {
            positions: positions.into(),
            arrays: Vec::new(),
        }
    }

    /// Adds an array, an item a particle: numbers, vectors, matrices (row by row), as
    /// [`Item`](crate::Item) lists them. Vectors of two components are written with a zero third
    /// one, 2×2 matrices (`[[f64; 2]; 2]`, not `[f64; 4]`) as the upper left of 3×3 ones.
    pub fn array(mut self, name: impl Into<String>, values: impl Into<Values<'a>>) -> Self {
        self.arrays.push((name.into(), values.into()));
        self
    }

    /// Writes the cloud.
    ///
    /// # Errors
    /// [`VtuError::Points`] for positions that are not triples of real numbers,
    /// [`VtuError::Length`], [`VtuError::RepeatedName`], [`VtuError::Io`]; then what stood at
    /// `path` before still does.
    pub fn write(&self, path: impl AsRef<Path>, encoding: Encoding) -> Result<(), VtuError> {
        let numbers = self.positions.numbers();
        if self.positions.width() != 3 || !numbers.vtk().starts_with("Float") {
            return Err(VtuError::Points {
                components: self.positions.width(),
                number: numbers.vtk(),
            });
        }
        let points = numbers.len() / 3;
        // Positions may have been given as a flat list.
        check_arrays([("Points", self.positions)].into_iter(), points)?;
        let named = self
            .arrays
            .iter()
            .map(|(name, values)| (name.as_str(), *values));
        check_arrays(named.clone(), points)?;
        let steps = |name, first| Array {
            name,
            numbers: Numbers::Steps {
                first,
                step: 1,
                count: points,
            },
        };
        let document = Document {
            kind: "PolyData",
            version: "1.0",
            counts: vec![("NumberOfPoints", points), ("NumberOfVerts", points)],
            sections: vec![
                ("PointData", named.map(|(n, v)| Array::held(n, v)).collect()),
                ("Points", vec![Array::held("Points", self.positions)]),
                ("Verts", vec![steps("connectivity", 0), steps("offsets", 1)]),
            ],
        };
        document.write(path.as_ref(), encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vtu::tests::{ALL, ints, read_array};

    fn written(cloud: &Cloud<'_>, encoding: Encoding) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloud.vtp");
        cloud.write(&path, encoding).unwrap();
        std::fs::read(path).unwrap()
    }

    /// The bytes of an array as they must be read, in text as in binary.
    fn expected(values: Values<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        values.numbers().put(0..values.numbers().len(), &mut out);
        out
    }

    #[test]
    fn every_kind_of_array_is_read_back_in_every_encoding() {
        for count in [0, 1, 2, 50_000] {
            let position: Vec<[f64; 3]> = (0..count)
                .map(|i| [f64::from(i) * 0.1, -1e-300, 1e300])
                .collect();
            let single: Vec<[f32; 3]> = position.iter().map(|p| [p[0] as f32; 3]).collect();
            let tensor: Vec<[[f32; 3]; 3]> = single.iter().map(|p| [*p; 3]).collect();
            let stress: Vec<[f32; 6]> = (0..count).map(|i| [1.5 * i as f32; 6]).collect();
            let mass: Vec<f32> = (0..count).map(|i| 1.0 / (1.0 + i as f32)).collect();
            let material: Vec<u16> = (0..count).map(|i| i as u16).collect();
            let flags: Vec<u8> = (0..count).map(|i| i as u8).collect();
            let world: Vec<u32> = (0..count as u32).map(|i| u32::MAX - i).collect();
            let signed: Vec<i64> = (0..count).map(|i| i64::MIN + i64::from(i)).collect();
            let arrays: [(&str, Values<'_>); 8] = [
                ("velocity", (&single).into()),
                ("F", (&tensor).into()),
                ("stress", (&stress).into()),
                ("mass", (&mass).into()),
                ("material", (&material).into()),
                ("flags", (&flags).into()),
                ("world", (&world).into()),
                ("signed", (&signed).into()),
            ];
            for positions in [Values::from(&position), Values::from(&single)] {
                let mut cloud = Cloud::new(positions);
                for (name, values) in arrays {
                    cloud = cloud.array(name, values);
                }
                for encoding in ALL {
                    let file = written(&cloud, encoding);
                    let text = String::from_utf8_lossy(&file);
                    assert!(text.contains(&format!("NumberOfVerts=\"{count}\"")));
                    assert_eq!(read_array(&file, "Points"), expected(positions));
                    for (name, values) in arrays {
                        let components = format!(
                            "type=\"{}\" Name=\"{name}\" NumberOfComponents=\"{}\"",
                            values.numbers().vtk(),
                            values.width()
                        );
                        assert!(text.contains(&components), "{components}");
                        assert_eq!(read_array(&file, name), expected(values), "{name}");
                    }
                    let n = i64::from(count);
                    let nodes = ints(&read_array(&file, "connectivity"));
                    assert!(nodes.into_iter().eq(0..n));
                    assert!(ints(&read_array(&file, "offsets")).into_iter().eq(1..=n));
                }
            }
        }
    }

    #[test]
    fn values_that_are_no_number_are_kept_and_pairs_are_padded() {
        let position = [[f64::NAN, f64::INFINITY, -0.0]];
        let cloud = Cloud::new(&position)
            .array("pair", &[[1i32, 2]])
            .array("plane", &[[[1f32, 2.0], [3.0, 4.0]]])
            .array("turn", &[[1f32, 2.0, 3.0, 4.0]]);
        for encoding in ALL {
            let file = written(&cloud, encoding);
            let points = read_array(&file, "Points");
            let back: Vec<f64> = points
                .chunks(8)
                .map(|c| f64::from_le_bytes(c.try_into().unwrap()))
                .collect();
            assert!(back[0].is_nan() && back[1] == f64::INFINITY);
            assert_eq!(back[2].to_bits(), (-0.0f64).to_bits());
            let pair = expected(Values::from(&[1i32, 2, 0]));
            assert_eq!(read_array(&file, "pair"), pair);
            let plane = [1f32, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0];
            assert_eq!(read_array(&file, "plane"), expected(Values::from(&plane)));
            let turn = expected(Values::from(&[1f32, 2.0, 3.0, 4.0]));
            assert_eq!(read_array(&file, "turn"), turn);
        }
    }

    #[test]
    fn faulty_clouds_are_refused_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.vtp");
        let position = [[0.0; 3]; 2];
        let refuse = |cloud: Cloud<'_>, part: &str| {
            let message = cloud.write(&path, Encoding::Raw).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        };
        refuse(Cloud::new(&[[0.0f64; 2]; 3]), "2 numbers of type Float64");
        refuse(Cloud::new(&[[0i32; 3]; 3]), "3 numbers of type Int32");
        refuse(
            Cloud::new(Values::flat(3, &[0.0f64; 4])),
            "\"Points\" has 4",
        );
        let one = Cloud::new(&position).array("u", &[1.0f32]);
        refuse(one, "\"u\" has 1 values");
        let none: [[f32; 0]; 2] = [[]; 2];
        refuse(
            Cloud::new(&position).array("u", &none),
            "\"u\" has 0 values",
        );
        let twice = Cloud::new(&position).array("u", &[1u8; 2]);
        refuse(twice.array("u", &[1u8; 2]), "two arrays");
        let lost = Cloud::new(&position).write(folder.path().join("no/a.vtp"), Encoding::Raw);
        assert!(matches!(lost, Err(VtuError::Io { .. })));
    }
}
