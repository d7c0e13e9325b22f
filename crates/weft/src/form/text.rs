//! Nearest names for messages.

/// The known name closest to `name` in edit distance, if it is close enough to be meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // One letter is as near to any other: for those only the case may differ.
    let length = name.chars().count();
    let limit = (length / 3).max((length > 1) as usize);
    known
        .map(|k| (distance(name, k), k))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, k)| k)
}

/// Levenshtein distance, without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = corner + (x != y) as usize;
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_name() {
        assert_eq!(
            nearest("lamda", ["lambda", "mu"].into_iter()),
            Some("lambda")
        );
        assert_eq!(nearest("Grad", ["grad", "div"].into_iter()), Some("grad"));
        assert_eq!(nearest("zzz", ["grad", "div"].into_iter()), None);
    }
}
