//! Written files, whole, cut, changed and forged.

use super::*;
use proptest::prelude::*;

fn built(version: u32, sections: &[(&str, Values<'_>)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.weft");
    write(&path, version, sections).unwrap();
    std::fs::read(path).unwrap()
}

fn small() -> Vec<u8> {
    built(
        7,
        &[
            ("x", (&[[1.5f64, -0.0, f64::NAN]]).into()),
            ("none", Values::from(&[] as &[u8])),
            ("μ", (&[1u16, 2, 3]).into()),
        ],
    )
}

/// A file with its checksums made right again after `change`; `data` is where the numbers
/// of the only section begin.
fn forged(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut file = built(0, &[("abc", (&[1u32, 2]).into())]);
    change(&mut file);
    let data = HEADER + SECTION + 3 + 4;
    for (from, to) in [(0, HEADER - 4), (HEADER, data - 4)] {
        let sum = crc32fast::hash(&file[from..to]).to_le_bytes();
        file[to..to + 4].copy_from_slice(&sum);
    }
    file
}

fn message(bytes: &[u8], version: u32) -> String {
    from_bytes(bytes, version).unwrap_err().to_string()
}

#[test]
fn what_was_written_is_read_bit_by_bit() {
    fn check<T: Item + PartialEq + std::fmt::Debug>(items: &[T]) {
        let file = built(3, &[("a", items.into())]);
        let back = from_bytes(&file, 3).unwrap().get::<T>("a").unwrap();
        assert_eq!(back, items);
    }
    check(&[0u8, 1, 255]);
    check(&[u16::MAX, 1]);
    check(&[u32::MAX, 1]);
    check(&[u64::MAX, 1]);
    check(&[i32::MIN, 1]);
    check(&[i64::MIN, 1]);
    check(&[[1e-45f32, f32::INFINITY, -1.0]; 5]);
    check(&[[[1e-320f64, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]; 2]);
    // Around the number of bytes that are turned at a time.
    for count in [0, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
        let items: Vec<f64> = (0..count).map(|i| (i as f64).sin()).collect();
        check(&items);
    }
    let nan = f32::from_bits(0x7fa0_1234);
    let file = built(0, &[("nan", (&[nan]).into())]);
    let back = from_bytes(&file, 0).unwrap().get::<f32>("nan").unwrap();
    assert_eq!(back[0].to_bits(), nan.to_bits());
    assert_eq!(from_bytes(&built(0, &[]), 0).unwrap().names().count(), 0);
}

#[test]
fn a_file_is_read_and_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.weft");
    for step in 0..3u64 {
        let many: Vec<[f32; 3]> = vec![[step as f32; 3]; 70_000];
        let number = [step];
        let sections = [("step", (&number).into()), ("v", (&many).into())];
        write(&path, 1, &sections).unwrap();
        let saved = read(&path, 1).unwrap();
        assert!(saved.names().eq(["step", "v"]));
        assert_eq!(saved.get::<u64>("step").unwrap(), [step]);
        assert_eq!(saved.get::<[f32; 3]>("v").unwrap(), many);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    // A fault leaves the last good one.
    assert!(write(&path, 1, &[("", (&[0u8]).into())]).is_err());
    assert_eq!(read(&path, 1).unwrap().get::<u64>("step").unwrap(), [2]);
    let lost = read(folder.path().join("no.weft"), 1).unwrap_err();
    assert!(lost.to_string().contains("no.weft"));
    assert!(read(folder.path(), 1).is_err());
    assert!(write(folder.path().join("no/a.weft"), 1, &[]).is_err());
}

#[test]
fn every_change_of_a_byte_is_an_error() {
    let file = small();
    from_bytes(&file, 7).unwrap();
    for at in 0..file.len() {
        for value in 0..=255 {
            let mut changed = file.clone();
            changed[at] = value;
            let answer = from_bytes(&changed, 7);
            assert_eq!(answer.is_ok(), value == file[at], "byte {at}: {value}");
        }
    }
}

#[test]
fn every_length_but_its_own_is_an_error() {
    let file = small();
    for end in 0..file.len() {
        let message = message(&file[..end], 7);
        let clear = if end < HEADER {
            message.contains("needs") && message.contains("left")
        } else {
            message == format!("the file has {end} bytes; {} were written", file.len())
        };
        assert!(clear, "{end}: {message}");
    }
    for more in 1..20 {
        let longer = [file.as_slice(), &vec![0; more]].concat();
        assert!(message(&longer, 7).contains("bytes"));
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let file = small();
    assert!(message(b"$MeshFormat", 7).contains("not a checkpoint: it begins with \"$MeshFor"));
    assert!(message(b"x", 7).contains("not a checkpoint"));
    assert!(message(b"", 7).contains("the header needs"));
    assert!(message(&file, 8).contains("version 7; this program reads version 8"));
    let mut changed = file.clone();
    changed[8] = 2;
    assert!(message(&changed, 7).contains("layout has version 2"));
    changed = file.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert!(message(&changed, 7).contains("the checksum of section \"μ\" is"));
    let saved = from_bytes(&file, 7).unwrap();
    let missing = saved.get::<f64>("y").unwrap_err().to_string();
    assert!(
        missing.ends_with("there are \"x\", \"none\", \"μ\""),
        "{missing}"
    );
    let other = saved.get::<[f32; 3]>("x").unwrap_err().to_string();
    assert!(other.contains("items of 3 f64, not of 3 f32"), "{other}");
    assert!(saved.get::<f64>("x").is_err());
    assert!(saved.get::<[f64; 0]>("x").is_err());
}

#[test]
fn forged_lengths_take_no_memory() {
    from_bytes(&forged(|_| {}), 0).unwrap();
    let set = |at: usize, bytes: &'static [u8]| {
        forged(move |f| f[at..at + bytes.len()].copy_from_slice(bytes))
    };
    // Items, numbers of an item, both.
    let width = HEADER + 2;
    assert!(message(&set(width + 4, &[0xff; 8]), 0).contains("needs"));
    assert!(message(&set(width, &[0xff; 4]), 0).contains("needs"));
    assert!(message(&set(width, &[0xff; 12]), 0).contains("needs"));
    assert!(message(&set(width, &[0; 4]), 0).contains("no numbers"));
    assert!(message(&set(width + 4, &[1]), 0).contains("checksum"));
    // 4 bytes · 2³² numbers · 2³⁰ items overflow to 0.
    assert!(message(&set(width, &[0, 0, 0, 0x80, 0, 0, 0, 0x80]), 0).contains("needs"));
    assert!(message(&set(HEADER, &[0]), 0).contains("type 0"));
    assert!(message(&set(HEADER, &[99]), 0).contains("type 99"));
    assert!(message(&set(HEADER + SECTION, &[0xff]), 0).contains("UTF-8"));
    // More sections than there are, and fewer.
    assert!(message(&set(16, &[0xff; 4]), 0).contains("head of section 1 needs"));
    assert!(message(&set(16, &[0]), 0).contains("follow the last section"));
    assert!(message(&set(20, &[0xff; 8]), 0).contains("were written"));
    let twice = forged(|f| {
        let section = f[HEADER..].to_vec();
        f.extend(section);
        let size = f.len() as u64;
        f[20..28].copy_from_slice(&size.to_le_bytes());
        f[16] = 2;
    });
    assert!(message(&twice, 0).contains("two sections"));
}

#[test]
fn faulty_sections_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.weft");
    let refuse = |sections: &[(&str, Values<'_>)], part: &str| {
        let message = write(&path, 0, sections).unwrap_err().to_string();
        assert!(
            message.contains(part) && message.contains("a.weft"),
            "{message}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    };
    let one = Values::from(&[1u8]);
    refuse(&[("", one)], "1 to 255");
    refuse(&[(&"n".repeat(256), one)], "1 to 255");
    refuse(&[("a", one), ("b", one), ("a", one)], "two sections");
    refuse(&[("a", Values::flat(2, &[0f32; 3]))], "3 numbers");
    refuse(&[("a", Values::flat(0, &[0f32; 3]))], "items of 0");
    write(&path, 0, &[(&"n".repeat(255), one)]).unwrap();
}

proptest! {
    #[test]
    fn any_bytes_are_answered(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(from_bytes(&tail, 0).is_err());
        let mut head = MAGIC.to_vec();
        head.extend(LAYOUT.to_le_bytes());
        head.extend([0; 4]);
        head.extend(3u32.to_le_bytes());
        head.extend((HEADER as u64 + tail.len() as u64).to_le_bytes());
        seal(&mut head);
        head.extend(&tail);
        prop_assert!(from_bytes(&head, 0).is_err());
    }
}

#[test]
fn the_layout_is_as_documented() {
    let file = small();
    assert_eq!(&file[..8], b"\x89WFT\r\n\x1a\n");
    assert_eq!(u32::load(&file[8..]), 1);
    assert_eq!(u32::load(&file[12..]), 7);
    assert_eq!(u32::load(&file[16..]), 3);
    assert_eq!(u64::load(&file[20..]), file.len() as u64);
    // The first section: doubles, a name of one byte, one item of three numbers.
    assert_eq!(file[32..34], [8, 1]);
    assert_eq!(u32::load(&file[34..]), 3);
    assert_eq!(u64::load(&file[38..]), 1);
    assert_eq!(file[46], b'x');
    assert_eq!(f64::load(&file[51..]), 1.5);
    // The check value of CRC-32.
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
}
