//! Names in messages: which of the accepted names a misspelt one was meant to be, and lists.

use weft::element::CellKind;

/// The accepted names that are near `name`, best first, at most three.
///
/// Near means an edit distance (insertions, deletions, replacements, swaps of neighbours; upper
/// and lower case alike) of at most a third of the length or one, or being the start of one
/// another. A single letter is near only itself.
pub fn nearest<'a>(name: &str, accepted: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let limit = if length < 2 { 0 } else { (length / 3).max(1) };
    let mut near: Vec<(usize, &str)> = accepted
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let distance = edit_distance(&wanted, &lower);
            let starts = wanted.len().min(lower.len()) >= 3
                && (lower.starts_with(&wanted) || wanted.starts_with(&lower));
            (distance <= limit || starts).then_some((distance, candidate))
        })
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// ``did you mean `a` or `b`?``, or nothing if no accepted name is near.
pub fn suggestion<'a>(name: &str, accepted: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(name, accepted);
    (!near.is_empty()).then(|| format!("did you mean {}?", either(&near)))
}

/// `` `a`, `b` or `c` ``.
pub fn either(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Cells of a kind, many of them.
pub fn cells(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Point => "points",
        CellKind::Segment => "segments",
        CellKind::Triangle => "triangles",
        CellKind::Quad => "quads",
        CellKind::Tet => "tets",
        CellKind::Hex => "hexes",
    }
}

/// Damerau–Levenshtein distance in its optimal string alignment form.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("degree", "degre", 1),
            ("degree", "dergee", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn near_names_come_best_first() {
        let keys = ["degree", "value", "size", "continuous", "nodes"];
        assert_eq!(nearest("degre", keys), ["degree"]);
        assert_eq!(nearest("Degree", keys), ["degree"]);
        assert_eq!(nearest("cont", keys), ["continuous"]);
        assert!(nearest("picture", keys).is_empty());
        assert_eq!(
            suggestion("bolt", ["bolts", "bold", "load"]).unwrap(),
            "did you mean `bold` or `bolts`?"
        );
    }
}
