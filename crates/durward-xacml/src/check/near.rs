//! How far two identifiers are apart.

/// Longer texts are not compared: no name anybody mistypes is as long.
const LENGTH_MAX: usize = 200;

/// The number of bytes to insert, remove or change; a very large number for very long texts. Unlike the names of
/// XML elements, identifiers differ by letter case too.
pub(super) fn distance(one: &str, other: &str) -> usize {
    if one.len() > LENGTH_MAX || other.len() > LENGTH_MAX {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, byte) in one.bytes().enumerate() {
        let (mut diagonal, mut left) = (index, index + 1);
        for (above, letter) in row.iter_mut().skip(1).zip(other.bytes()) {
            let changed = diagonal + usize::from(byte != letter);
            diagonal = *above;
            left = changed.min(left + 1).min(diagonal + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_insertions_removals_and_changes() {
        for (one, other, far) in [("a", "a", 0), ("a", "A", 1), ("", "abc", 3), ("kitten", "sitting", 3)] {
            assert_eq!(distance(one, other), far, "{one} {other}");
        }
        assert_eq!(distance(&"x".repeat(1000), "x"), usize::MAX);
    }
}
