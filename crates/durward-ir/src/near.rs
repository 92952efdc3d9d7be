//! Names that look alike: "did you mean ...?". The only edit distance there is.

/// Longer names are not compared: nobody mistypes them, and comparing takes time.
const LENGTH_MAX: usize = 200;

/// The name nearest to a word, if one of them is near enough to be meant: a third of its letters may be wrong. Letter
/// case counts only between names that are equally near.
///
/// ```
/// use durward_ir::near::nearest;
///
/// assert_eq!(nearest("stauts", ["role", "status"]), Some("status"));
/// assert_eq!(nearest("elephant", ["role", "status"]), None);
/// ```
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest_within(word, (word.len() + 1) / 3, names)
}

/// The name nearest to a word of those that are so many letters away, or fewer.
pub fn nearest_within<'n>(
    word: &str,
    far_max: usize,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let near = |name: &'n str| {
        let far = distance_within(word, name, far_max)?;
        Some(((far, cases_differ(word, name)), name))
    };
    names.into_iter().filter_map(near).min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// The number of letters to insert, remove, change or swap with their neighbours, letter case not counted; `None` where
/// it is more than `far_max`, and for very long names.
pub fn distance_within(word: &str, name: &str, far_max: usize) -> Option<usize> {
    let (word, name) = (word.as_bytes(), name.as_bytes());
    if word.len().max(name.len()) > LENGTH_MAX || word.len().abs_diff(name.len()) > far_max {
        return None;
    }
    // Rows of the table of distances between beginnings: that of the letter before, and the one before that.
    let mut row: Vec<usize> = (0..=name.len()).collect();
    let mut above = vec![usize::MAX; row.len()];
    let mut last = 0u8;
    for (at, letter) in word.iter().map(u8::to_ascii_lowercase).enumerate() {
        let next = next_row(at + 1, letter, last, name, &row, &above);
        if next.iter().all(|far| *far > far_max) {
            return None;
        }
        above = std::mem::replace(&mut row, next);
        last = letter;
    }
    row.last().copied().filter(|far| *far <= far_max)
}

/// The distances from the beginning of a word that ends with `letter` to every beginning of `name`; `last` is the letter
/// before.
fn next_row(first: usize, letter: u8, last: u8, name: &[u8], row: &[usize], above: &[usize]) -> Vec<usize> {
    let mut next = Vec::with_capacity(row.len());
    next.push(first);
    let (mut left, mut before) = (first, 0u8);
    // Where two letters are swapped, the rest is that of two rows up and two columns to the left.
    let swapped = std::iter::once(&usize::MAX).chain(above);
    for ((other, pair), two_back) in name.iter().map(u8::to_ascii_lowercase).zip(row.windows(2)).zip(swapped)
    {
        let (diagonal, up) = match pair {
            [diagonal, up] => (*diagonal, *up),
            _ => break,
        };
        let mut far = (diagonal + usize::from(letter != other)).min(up + 1).min(left + 1);
        if letter == before && last == other && letter != other {
            far = far.min(two_back.saturating_add(1));
        }
        next.push(far);
        (left, before) = (far, other);
    }
    next
}

fn cases_differ(word: &str, name: &str) -> usize {
    word.bytes().zip(name.bytes()).filter(|(a, b)| a != b && a.eq_ignore_ascii_case(b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_insertions_removals_changes_and_swaps() {
        for (one, other, far) in [
            ("Rule", "Rule", 0),
            ("rule", "Rule", 0),
            ("Rul", "Rule", 1),
            ("Ruule", "Rule", 1),
            ("", "Rule", 4),
            ("kitten", "sitting", 3),
            ("stauts", "status", 1),
            ("ab", "ba", 1),
            ("ca", "abc", 3),
        ] {
            for (one, other) in [(one, other), (other, one)] {
                assert_eq!(distance_within(one, other, far), Some(far), "{one} {other}");
                assert_eq!(far.checked_sub(1).and_then(|most| distance_within(one, other, most)), None);
            }
        }
        assert_eq!(distance_within(&"x".repeat(1000), &"x".repeat(1000), 5), None);
    }

    #[test]
    fn letter_case_decides_between_equally_near_names() {
        assert_eq!(nearest("roles", ["ROLE", "role"]), Some("role"));
        assert_eq!(nearest("ROLES", ["role", "ROLE"]), Some("ROLE"));
    }

    #[test]
    fn only_a_near_name_is_nearest() {
        let names = ["Rule", "Target", "AttributeDesignator"];
        assert_eq!(nearest("Targte", names), Some("Target"));
        assert_eq!(nearest("AttributeDesignater", names), Some("AttributeDesignator"));
        assert_eq!(nearest("Elephant", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"R".repeat(1000), names), None);
    }
}
