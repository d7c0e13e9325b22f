//! What the tests share.

use weft_cli::args::Setting;

/// Settings of the command line, from keys and values.
pub fn settings(all: &[(&str, &str)]) -> Vec<Setting> {
    all.iter()
        .map(|(key, value)| Setting {
            key: key.to_string(),
            value: value.to_string(),
        })
        .collect()
}

/// What is `shown` of `what` must be one fault whose text has all `parts`.
#[track_caller]
#[allow(dead_code)] // Not every test binary looks at faults.
pub fn one_fault(shown: &str, what: &str, parts: &[&str]) {
    assert_eq!(shown.matches("error:").count(), 1, "{what} gives\n{shown}");
    for part in parts {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
}
