//! The program from outside: exit codes, help, what goes to which stream, start-up time.

use std::process::{Command, Output};
use std::time::Instant;

fn weft(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap()
}

/// Exit code, standard output, standard error.
fn result(arguments: &[&str]) -> (i32, String, String) {
    let output = weft(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn help_shows_commands_and_examples() {
    let (code, out, err) = result(&["--help"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for word in ["run", "check", "info", "bench", "Examples:", "Exit codes"] {
        assert!(out.contains(word), "{word} is not in:\n{out}");
    }
    let (code, out, _) = result(&["run", "--help"]);
    assert_eq!(code, 0);
    for word in [
        "--out",
        "--threads",
        "--set",
        "--json",
        "--memory",
        "--quiet",
    ] {
        assert!(out.contains(word), "{word} is not in:\n{out}");
    }
    assert_eq!(result(&["--version"]).0, 0);
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    for arguments in [
        &[][..],
        &["solve"],
        &["run"],
        &["run", "cases/bracket.toml", "--thread", "2"],
        &["run", "cases/bracket.toml", "--threads", "0"],
        &["run", "cases/bracket.toml", "--threads", "two"],
        &["run", "cases/bracket.toml", "--set", "degree"],
        &["check", "cases/bracket.toml", "--set", "mesh.fil=x.msh"],
        &[
            "check",
            "cases/bracket.toml",
            "--set",
            "spaces.u.degree=high",
        ],
        &[
            "check",
            "cases/bracket.toml",
            "--set",
            "mesh.file=nowhere.msh",
        ],
        &["bench"],
        &["bench", "solving"],
    ] {
        let (code, out, err) = result(arguments);
        assert_eq!(code, 2, "{arguments:?}\n{err}");
        assert_eq!(out, "", "{arguments:?}");
        assert!(!err.is_empty());
    }
}

#[test]
fn a_wrong_case_file_exits_with_1() {
    let (code, out, err) = result(&["run", "cases/braket.toml", "--json"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.starts_with("error: cannot read cases/braket.toml:"),
        "{err}"
    );
    assert!(err.contains("did you mean `bracket.toml`?"), "{err}");

    let folder = tempfile::tempdir().unwrap();
    let case = folder.path().join("bad.toml");
    std::fs::write(&case, "[mesh]\nshape = \"box\"\n").unwrap();
    let (code, _, err) = result(&["check", case.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(err.contains("bad.toml:2:9"), "{err}");
}

#[test]
fn the_cases_of_the_repository_have_no_mistakes() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases");
    let mut count = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let (code, out, err) = result(&["check", path.to_str().unwrap()]);
            assert_eq!(code, 0, "{}:\n{err}", path.display());
            assert!(out.contains("no mistakes found"));
            count += 1;
        }
    }
    assert!(count >= 9);
}

#[test]
fn help_starts_in_twenty_milliseconds() {
    // The best of several, since the machine may be busy with other tests.
    let best = (0..20)
        .map(|_| {
            let start = Instant::now();
            assert!(weft(&["--help"]).status.success());
            start.elapsed()
        })
        .min()
        .unwrap();
    assert!(best.as_millis() < 20, "{best:?}");
}
