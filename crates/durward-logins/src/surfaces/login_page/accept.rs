//! Which language a reader gets: `Accept-Language` (RFC 9110, 12.5.4) by the lookup of RFC 4647, 3.4.

use super::language::primary;

/// Most ranges that are looked at: more than browsers send.
const RANGES_MAX: usize = 32;

/// A language that is wanted, and how much, in thousandths.
struct Range<'h> {
    tag: &'h str,
    quality: u16,
}

/// The place, among those there are, of the language that is liked best; `None` where none of those that are liked is there.
pub(super) fn choose(header: &str, there: &[&str]) -> Option<usize> {
    let mut ranges: Vec<Range<'_>> = header.split(',').take(RANGES_MAX).filter_map(range).collect();
    let is_refused =
        |tag: &str| ranges.iter().any(|range| range.quality == 0 && range.tag.eq_ignore_ascii_case(tag));
    let refused: Vec<bool> = there.iter().map(|tag| is_refused(tag)).collect();
    ranges.retain(|range| range.quality > 0);
    // Stable: of those that are liked equally, the first.
    ranges.sort_by_key(|range| std::cmp::Reverse(range.quality));
    let is_open = |place: &usize| refused.get(*place) == Some(&false);
    ranges.iter().find_map(|range| found(range.tag, there).filter(is_open))
}

fn range(text: &str) -> Option<Range<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let tag = parts.next().filter(|tag| is_tag(tag) || *tag == "*")?;
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some(Range { tag, quality: weight.map_or(Some(1000), thousandths)? })
}

/// `0.8` is 800. What is no weight is none of a range that could be chosen.
fn thousandths(weight: &str) -> Option<u16> {
    let weight: f32 = weight.parse().ok()?;
    (0.0..=1.0).contains(&weight).then(|| (weight * 1000.0).round() as u16)
}

/// Whether it looks like the name of a language: `de`, `pt-BR`, `zh-Hant-TW`.
pub(super) fn is_tag(text: &str) -> bool {
    let mut parts = text.split('-');
    let is_language =
        |part: &str| (2..=8).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_alphabetic());
    let is_more =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_alphanumeric());
    parts.next().is_some_and(is_language) && parts.all(is_more)
}

/// The language of a range: itself, or with fewer parts, or else a regional form of it.
fn found(range: &str, there: &[&str]) -> Option<usize> {
    if range == "*" {
        return (!there.is_empty()).then_some(0);
    }
    let mut wanted = range;
    loop {
        if let Some(place) = there.iter().position(|tag| tag.eq_ignore_ascii_case(wanted)) {
            return Some(place);
        }
        match wanted.rsplit_once('-') {
            Some((shorter, _)) => wanted = shorter,
            None => break,
        }
    }
    let is_form = |tag: &&str| primary(tag).eq_ignore_ascii_case(wanted);
    there.iter().position(is_form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_that_is_liked_best_is_chosen() {
        let there = ["en", "de", "fr", "pt-BR"];
        for (header, expected) in [
            ("de", Some("de")),
            ("de-AT, en;q=0.9", Some("de")),
            ("en;q=0.5, DE;q=0.8", Some("de")),
            ("en;q=0.8, de;q=0.8", Some("en")),
            ("ja, fr;q=0.1", Some("fr")),
            ("pt", Some("pt-BR")),
            ("pt-PT", Some("pt-BR")),
            ("PT-br;q=1.0", Some("pt-BR")),
            ("de;q=0, en;q=0.1", Some("en")),
            ("de;q=0, de-AT", None),
            ("*", Some("en")),
            ("ja, *;q=0.1", Some("en")),
            ("de;q=7, fr;q=x", None),
            ("ja", None),
            ("", None),
            (",;q=1,--,\u{e9}", None),
        ] {
            assert_eq!(choose(header, &there).map(|place| there[place]), expected, "{header}");
        }
    }

    #[test]
    fn names_of_languages_are_told_from_other_names() {
        for tag in ["de", "pt-BR", "zh-Hant-TW", "gsw"] {
            assert!(is_tag(tag), "{tag}");
        }
        for other in ["", "d", "de_AT", "de-", "-", "languages-of-the-world", "../de", "d1"] {
            assert!(!is_tag(other), "{other}");
        }
    }
}
