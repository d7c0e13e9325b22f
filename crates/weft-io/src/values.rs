//! Arrays of numbers on their way to and from a file.
//!
//! [`Values`] borrows an array of any [`Item`]: numbers, vectors, matrices. The invariant: the
//! bytes of a number are little endian on every machine.

use std::ops::Range;

/// What an array in a file can hold: `u8 u16 u32 u64 i32 i64 f32 f64`, and arrays of items, so
/// `[f32; 3]` for vectors and `[[f64; 3]; 3]` for matrices, row by row.
pub trait Item: Copy + sealed::Item {}

/// Items of equal width, borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values<'a> {
    /// Numbers of an item: 1 scalar, 3 vector, 9 matrix, or any other.
    width: usize,
    /// Whether items are known not to be matrices, which tells a quaternion from a 2×2 matrix.
    vectors: bool,
    flat: Flat<'a>,
}

pub(crate) mod sealed {
    use super::Flat;

    pub trait Item: Sized {
        /// Numbers of an item.
        const WIDTH: usize;
        /// Number of indices of an item.
        const RANK: usize;
        /// Bytes of an item.
        const BYTES: usize;
        /// Which number type.
        const CODE: u8;
        /// All numbers, one after another.
        fn flat(items: &[Self]) -> Flat<'_>;
        /// An item from the first [`Item::BYTES`] bytes, which must be there.
        fn load(bytes: &[u8]) -> Self;
    }
}

impl<T: Item, const N: usize> Item for [T; N] {}

impl<T: sealed::Item, const N: usize> sealed::Item for [T; N] {
    const WIDTH: usize = N * T::WIDTH;
    const RANK: usize = 1 + T::RANK;
    const BYTES: usize = N * T::BYTES;
    const CODE: u8 = T::CODE;

    fn flat(items: &[Self]) -> Flat<'_> {
        T::flat(items.as_flattened())
    }

    fn load(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::load(&bytes[i * T::BYTES..]))
    }
}

macro_rules! numbers {
    ($($variant:ident $number:ident $code:literal $vtk:literal,)*) => {
        /// Numbers of one type.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Flat<'a> {
            $($variant(&'a [$number]),)*
        }

        impl Flat<'_> {
            /// How many.
            pub fn len(&self) -> usize {
                match self { $(Flat::$variant(n) => n.len(),)* }
            }

            /// Bytes of a number.
            pub fn size(&self) -> usize {
                match self { $(Flat::$variant(_) => size_of::<$number>(),)* }
            }

            /// The type's number in checkpoints.
            pub fn code(&self) -> u8 {
                match self { $(Flat::$variant(_) => $code,)* }
            }

            /// The type's name in VTK files.
            pub fn vtk(&self) -> &'static str {
                match self { $(Flat::$variant(_) => $vtk,)* }
            }

            /// Appends the bytes of a range of numbers.
            pub fn put(&self, range: Range<usize>, out: &mut Vec<u8>) {
                match self {
                    $(Flat::$variant(n) => n[range]
                        .iter()
                        .for_each(|x| out.extend_from_slice(&x.to_le_bytes())),)*
                }
            }

            /// The shortest text that reads back as the same number.
            pub fn text(&self, i: usize) -> String {
                match self {
                    $(Flat::$variant(n) => match n[i] {
                        x if x.partial_cmp(&x).is_none() => "nan".to_string(),
                        x => format!("{x:?}"),
                    },)*
                }
            }
        }

        $(
            impl Item for $number {}

            impl sealed::Item for $number {
                const WIDTH: usize = 1;
                const RANK: usize = 0;
                const BYTES: usize = size_of::<$number>();
                const CODE: u8 = $code;

                fn flat(items: &[Self]) -> Flat<'_> {
                    Flat::$variant(items)
                }

                fn load(bytes: &[u8]) -> Self {
                    let mut own = [0; size_of::<$number>()];
                    own.copy_from_slice(&bytes[..size_of::<$number>()]);
                    $number::from_le_bytes(own)
                }
            }
        )*

        /// Name of a number type by its number in checkpoints.
        pub(crate) fn type_name(code: u8) -> Option<&'static str> {
            match code { $($code => Some(stringify!($number)),)* _ => None }
        }

        /// Bytes of a number by its type's number in checkpoints.
        pub(crate) fn type_size(code: u8) -> Option<usize> {
            match code { $($code => Some(size_of::<$number>()),)* _ => None }
        }
    };
}

numbers! {
    U8 u8 1 "UInt8",
    U16 u16 2 "UInt16",
    U32 u32 3 "UInt32",
    U64 u64 4 "UInt64",
    I32 i32 5 "Int32",
    I64 i64 6 "Int64",
    F32 f32 7 "Float32",
    F64 f64 8 "Float64",
}

impl<'a> Values<'a> {
    /// Items that are held as one list of numbers, `width` of each.
    pub fn flat<T: Item>(width: usize, numbers: &'a [T]) -> Values<'a> {
        Values {
            width: width.saturating_mul(T::WIDTH),
            vectors: false,
            flat: T::flat(numbers),
        }
    }

    /// The same, as vectors: 4 numbers are no 2×2 matrix.
    pub(crate) fn as_vectors(self, vectors: bool) -> Values<'a> {
        Values { vectors, ..self }
    }

    /// Numbers of an item in a VTK file, which knows vectors of 3 and matrices of 9.
    pub(crate) fn padded_width(&self) -> usize {
        match self.width {
            2 => 3,
            4 if !self.vectors => 9,
            n => n,
        }
    }

    /// Numbers of an item.
    pub fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn numbers(&self) -> Flat<'a> {
        self.flat
    }
}

impl<'a, T: Item> From<&'a [T]> for Values<'a> {
    fn from(items: &'a [T]) -> Values<'a> {
        Values::flat(1, items).as_vectors(T::RANK == 1)
    }
}

impl<'a, T: Item> From<&'a Vec<T>> for Values<'a> {
    fn from(items: &'a Vec<T>) -> Values<'a> {
        items.as_slice().into()
    }
}

impl<'a, T: Item, const N: usize> From<&'a [T; N]> for Values<'a> {
    fn from(items: &'a [T; N]) -> Values<'a> {
        items.as_slice().into()
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::Item as _;
    use super::*;

    #[test]
    fn items_flatten_and_load_again() {
        let matrices = [[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], [[-1.0; 3], [0.5; 3]]];
        let values = Values::from(&matrices);
        assert_eq!(values.width(), 6);
        assert_eq!(values.numbers().len(), 12);
        assert_eq!(
            values,
            Values::flat(6, matrices.as_flattened().as_flattened())
        );
        assert_eq!(values, Values::flat(2, matrices.as_flattened()));
        let mut bytes = Vec::new();
        values.numbers().put(0..12, &mut bytes);
        type Matrix = [[f32; 3]; 2];
        assert_eq!(bytes.len(), 2 * Matrix::BYTES);
        assert_eq!(Matrix::load(&bytes[Matrix::BYTES..]), matrices[1]);
        assert_eq!(Values::from(&vec![7u16; 3]).width(), 1);
    }

    #[test]
    fn codes_names_and_sizes_belong_together() {
        fn check<T: Item + Default>(name: &str) {
            let items = [T::default()];
            let flat = Values::from(&items).numbers();
            assert_eq!(flat.code(), T::CODE);
            assert_eq!(type_name(T::CODE), Some(name));
            assert_eq!(type_size(T::CODE), Some(T::BYTES));
            assert_eq!(flat.size(), T::BYTES);
            let vtk = format!("{:?}", flat.vtk()).to_lowercase();
            let bits = 8 * T::BYTES;
            assert!(vtk.contains(&bits.to_string()) && name.ends_with(&bits.to_string()));
        }
        check::<u8>("u8");
        check::<u16>("u16");
        check::<u32>("u32");
        check::<u64>("u64");
        check::<i32>("i32");
        check::<i64>("i64");
        check::<f32>("f32");
        check::<f64>("f64");
        assert_eq!(type_name(0), None);
        assert_eq!(type_size(9), None);
    }

    #[test]
    fn text_is_exact() {
        assert_eq!(Values::from(&[0.1f32]).numbers().text(0), "0.1");
        assert_eq!(Values::from(&[f64::NAN]).numbers().text(0), "nan");
        assert_eq!(
            Values::from(&[u64::MAX]).numbers().text(0),
            "18446744073709551615"
        );
    }
}
