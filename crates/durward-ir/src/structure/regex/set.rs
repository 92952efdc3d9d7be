//! Sets of characters, and those that have names.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::flags::{Flags, Lines, Words};
use super::wrong::Reason;

/// A set of characters.
pub(super) type Set = ClassUnicode;

/// The set of these ranges, both ends included.
pub(super) fn ranges(ranges: &[(char, char)]) -> Set {
    Set::new(ranges.iter().map(|(first, last)| ClassUnicodeRange::new(*first, *last)))
}

/// The set of these characters.
pub(super) fn characters(characters: &[char]) -> Set {
    Set::new(characters.iter().map(|character| ClassUnicodeRange::new(*character, *character)))
}

pub(super) fn negated(mut set: Set) -> Set {
    set.negate();
    set
}

pub(super) fn union(mut a: Set, b: &Set) -> Set {
    a.union(b);
    a
}

pub(super) fn intersection(mut a: Set, b: &Set) -> Set {
    a.intersect(b);
    a
}

fn difference(mut a: Set, b: &Set) -> Set {
    a.difference(b);
    a
}

/// The characters from one to another, with their other cases as the flags say.
pub(super) fn range(first: char, last: char, flags: Flags) -> Set {
    fold(ranges(&[(first, last)]), flags)
}

/// The set with the other cases of its characters, as the flags say.
fn fold(mut set: Set, flags: Flags) -> Set {
    if !flags.fold {
        return set;
    }
    if flags.fold_unicode {
        // Fails only without the tables, which this crate asks for.
        let _ = set.try_case_fold_simple();
        return set;
    }
    let mut letters = intersection(set.clone(), &ranges(&[('A', 'Z'), ('a', 'z')]));
    let _ = letters.try_case_fold_simple();
    // Simple folding takes `K` to the sign of Kelvin, too.
    union(set, &intersection(letters, &ranges(&[('\0', '\x7f')])))
}

/// Whether no character in the set but those of ASCII has another case.
pub(super) fn is_caseless_beyond_ascii(set: &Set) -> bool {
    let beyond = difference(set.clone(), &ranges(&[('\0', '\x7f')]));
    let mut folded = beyond.clone();
    let _ = folded.try_case_fold_simple();
    folded == beyond
        && intersection(beyond, &known(r"[\p{Lowercase}\p{Uppercase}\p{Lt}]")).ranges().is_empty()
}

/// What `.` matches.
pub(super) fn dot(flags: Flags) -> Set {
    if flags.dot_all {
        return ranges(&[('\0', char::MAX)]);
    }
    negated(line_ends(flags.ends()))
}

/// The characters that end a line.
pub(super) fn line_ends(lines: Lines) -> Set {
    match lines {
        Lines::Unix => characters(&['\n']),
        Lines::All => characters(&['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']),
    }
}

/// `\v`: vertical white space.
pub(super) fn vertical() -> Set {
    ranges(&[('\n', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')])
}

/// The characters of words, for `\b`.
pub(super) fn word(words: Words) -> Set {
    match words {
        Words::Ascii => ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
        Words::Unicode => known(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"),
    }
}

/// The set that an escaped letter stands for: `\d`, `\s`, `\w`, `\h`, `\v` and their opposites.
pub(super) fn escaped(letter: char, flags: Flags) -> Option<Set> {
    let set = match letter.to_ascii_lowercase() {
        'd' if flags.unicode => known(r"\p{Nd}"),
        'd' => ranges(&[('0', '9')]),
        's' if flags.unicode => known(r"\p{White_Space}"),
        's' => ranges(&[('\t', '\r'), (' ', ' ')]),
        'w' => word(flags.words()),
        'h' => horizontal(),
        'v' => vertical(),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { negated(set) } else { set })
}

fn horizontal() -> Set {
    let spread =
        [(' ', ' '), ('\t', '\t'), ('\u{a0}', '\u{a0}'), ('\u{1680}', '\u{1680}'), ('\u{180e}', '\u{180e}')];
    let close = [
        ('\u{2000}', '\u{200a}'),
        ('\u{202f}', '\u{202f}'),
        ('\u{205f}', '\u{205f}'),
        ('\u{3000}', '\u{3000}'),
    ];
    union(ranges(&spread), &ranges(&close))
}

/// The set of a class that is known to be right.
fn known(class: &str) -> Set {
    lookup(class).unwrap_or_else(Set::empty)
}

/// The set of a class in the syntax of the `regex` crate.
fn lookup(class: &str) -> Option<Set> {
    let kind = regex_syntax::parse(class).ok()?.into_kind();
    if let HirKind::Class(Class::Unicode(set)) = kind { Some(set) } else { None }
}

const UNKNOWN_PROPERTY: Reason = "there is no such property of characters";

/// The set of a property, written `\p{name}`.
pub(super) fn property(name: &str, flags: Flags) -> Result<Set, Reason> {
    if let Some((kind, value)) = name.split_once('=') {
        return match kind.to_ascii_lowercase().as_str() {
            "sc" | "script" => script(value),
            "gc" | "general_category" => category(value, flags),
            "blk" | "block" => block(value),
            _ => None,
        }
        .ok_or(UNKNOWN_PROPERTY);
    }
    if let Some(name) = name.strip_prefix("In") {
        return block(name).ok_or(UNKNOWN_PROPERTY);
    }
    if let Some(name) = name.strip_prefix("Is") {
        return binary(name, flags)
            .or_else(|| category(name, flags))
            .or_else(|| script(name))
            .ok_or(UNKNOWN_PROPERTY);
    }
    let posix = if flags.unicode { unicode_posix(name, flags) } else { None };
    posix
        .or_else(|| category(name, flags))
        .or_else(|| ascii_posix(name, flags))
        .or_else(|| name.strip_prefix("java").and_then(|name| java(name, flags)))
        .ok_or(UNKNOWN_PROPERTY)
}

fn plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' '))
}

fn script(name: &str) -> Option<Set> {
    if plain_name(name) { lookup(&format!(r"\p{{Script={name}}}")) } else { None }
}

/// Blocks are known by their names without spaces, in whatever case.
fn block(name: &str) -> Option<Set> {
    let name = name.replace([' ', '_'], "");
    let (first, last) = crate::function::block(&name)?;
    Some(ranges(&[(char::from_u32(first)?, char::from_u32(last)?)]))
}

/// General categories and what Java has beside them; names are in this case only.
fn category(name: &str, flags: Flags) -> Option<Set> {
    const NAMES: [&str; 36] = [
        "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf",
        "Co", "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf", "L", "M", "N", "Z", "C", "P",
        "S",
    ];
    match name {
        "Lu" | "Ll" | "Lt" if flags.fold => Some(known(r"\p{LC}")),
        "LC" => Some(known(r"\p{LC}")),
        "LD" => Some(known(r"[\p{L}\p{Nd}]")),
        "L1" => Some(ranges(&[('\0', '\u{ff}')])),
        "all" => Some(ranges(&[('\0', char::MAX)])),
        // No text holds surrogates.
        "Cs" => Some(Set::empty()),
        _ if NAMES.contains(&name) => lookup(&format!(r"\p{{gc={name}}}")),
        _ => None,
    }
}

/// The letters of one case, or of all cases when case does not count.
fn cased(name: &str, flags: Flags) -> Set {
    if flags.fold { known(r"[\p{Lowercase}\p{Uppercase}\p{Lt}]") } else { known(&format!(r"\p{{{name}}}")) }
}

fn ascii_posix(name: &str, flags: Flags) -> Option<Set> {
    const PUNCTUATION: &[(char, char)] = &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')];
    const LETTERS: &[(char, char)] = &[('A', 'Z'), ('a', 'z')];
    Some(ranges(match name {
        "ASCII" => &[('\0', '\x7f')],
        "Lower" | "Upper" if flags.fold => LETTERS,
        "Lower" => &[('a', 'z')],
        "Upper" => &[('A', 'Z')],
        "Alpha" => LETTERS,
        "Digit" => &[('0', '9')],
        "Alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "Punct" => PUNCTUATION,
        "Graph" => &[('!', '~')],
        "Print" => &[(' ', '~')],
        "Blank" => &[('\t', '\t'), (' ', ' ')],
        "Cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "XDigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        "Space" => &[('\t', '\r'), (' ', ' ')],
        _ => return None,
    }))
}

fn unicode_posix(name: &str, flags: Flags) -> Option<Set> {
    let graph = || negated(known(r"[\p{White_Space}\p{Cc}\p{Cn}]"));
    let blank = || difference(known(r"\p{White_Space}"), &known(r"[\p{Zl}\p{Zp}\n-\r\x{85}]"));
    Some(match name.to_ascii_lowercase().as_str() {
        "lower" => cased("Lowercase", flags),
        "upper" => cased("Uppercase", flags),
        "alpha" => known(r"\p{Alphabetic}"),
        "digit" => known(r"\p{Nd}"),
        "alnum" => known(r"[\p{Alphabetic}\p{Nd}]"),
        "punct" => known(r"\p{P}"),
        "graph" => graph(),
        "print" => difference(union(graph(), &blank()), &known(r"\p{Cc}")),
        "blank" => blank(),
        "cntrl" => known(r"\p{Cc}"),
        "xdigit" => known(r"[\p{Nd}\p{Hex_Digit}]"),
        "space" => known(r"\p{White_Space}"),
        _ => return None,
    })
}

/// Binary properties, written with `Is`; case does not count in their names.
fn binary(name: &str, flags: Flags) -> Option<Set> {
    Some(match name.to_ascii_uppercase().replace('_', "").as_str() {
        "ALPHABETIC" => known(r"\p{Alphabetic}"),
        "ASSIGNED" => negated(known(r"\p{Cn}")),
        "CONTROL" => known(r"\p{Cc}"),
        "HEXDIGIT" => known(r"[\p{Nd}\p{Hex_Digit}]"),
        "IDEOGRAPHIC" => known(r"\p{Ideographic}"),
        "JOINCONTROL" => known(r"\p{Join_Control}"),
        "LETTER" => known(r"\p{L}"),
        "LOWERCASE" => cased("Lowercase", flags),
        "NONCHARACTERCODEPOINT" => known(r"\p{Noncharacter_Code_Point}"),
        "TITLECASE" => cased("Lt", flags),
        "PUNCTUATION" => known(r"\p{P}"),
        "UPPERCASE" => cased("Uppercase", flags),
        "WHITESPACE" => known(r"\p{White_Space}"),
        "WORD" => word(Words::Unicode),
        "DIGIT" => known(r"\p{Nd}"),
        "ALNUM" => known(r"[\p{Alphabetic}\p{Nd}]"),
        "EMOJI" => known(r"\p{Emoji}"),
        "EMOJIPRESENTATION" => known(r"\p{Emoji_Presentation}"),
        "EMOJIMODIFIER" => known(r"\p{Emoji_Modifier}"),
        "EMOJIMODIFIERBASE" => known(r"\p{Emoji_Modifier_Base}"),
        "EMOJICOMPONENT" => known(r"\p{Emoji_Component}"),
        "EXTENDEDPICTOGRAPHIC" => known(r"\p{Extended_Pictographic}"),
        _ => return None,
    })
}

/// What the methods of `java.lang.Character` say, written `javaLowerCase`.
fn java(name: &str, flags: Flags) -> Option<Set> {
    Some(match name {
        "LowerCase" => cased("Lowercase", flags),
        "UpperCase" => cased("Uppercase", flags),
        "TitleCase" => cased("Lt", flags),
        "Alphabetic" => known(r"\p{Alphabetic}"),
        "Ideographic" => known(r"\p{Ideographic}"),
        "Digit" => known(r"\p{Nd}"),
        "Defined" => negated(known(r"\p{Cn}")),
        "Letter" => known(r"\p{L}"),
        "LetterOrDigit" => known(r"[\p{L}\p{Nd}]"),
        "SpaceChar" => known(r"\p{Z}"),
        "Whitespace" => known(r"[[\p{Z}--[\u{a0}\u{2007}\u{202f}]]\t-\r\x1c-\x1f]"),
        "ISOControl" => ranges(&[('\0', '\x1f'), ('\x7f', '\u{9f}')]),
        _ => return None,
    })
}
