//! Patterns by example: what they match, what is refused.

use super::*;

#[track_caller]
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    let compiled = Pattern::compile(pattern).unwrap();
    for text in matching {
        assert!(compiled.is_match(text), "{pattern:?} should match {text:?}");
    }
    for text in others {
        assert!(!compiled.is_match(text), "{pattern:?} should not match {text:?}");
    }
}

#[test]
fn patterns_match_anywhere_unless_anchored() {
    check("b", &["abc", "b"], &["ac", ""]);
    check("^b", &["bc"], &["ab", "a\nb"]);
    check("b$", &["ab"], &["ba", "b\n", "b\na"]);
    check("^$", &[""], &["a", "\n"]);
    check("", &["", "x"], &[]);
    check("^a|b$", &["ax", "xb"], &["xa", "bx"]);
    check("(^a)*b", &["ab", "b"], &["a"]);
}

#[test]
fn dot_is_anything_but_a_newline() {
    check("^.$", &["a", "\r", "é", "😀"], &["\n", "ab", ""]);
}

#[test]
fn quantifiers_repeat() {
    check("^ab{2}c?d*e+$", &["abbe", "abbcddee"], &["abe", "abbd"]);
    check("^a{2,3}$", &["aa", "aaa"], &["a", "aaaa"]);
    check("^a{2,}$", &["aa", "aaaaa"], &["a"]);
    check("^a{0}$", &[""], &["a"]);
    check("^a*?b+?c??$", &["aabb", "bc"], &["a"]);
    check("^(ab|c)+$", &["abcab"], &["abx"]);
    check("^(?:ab)+$", &["abab"], &["a"]);
    check("^()$", &[""], &["a"]);
    check("^(a|)$", &["a", ""], &["b"]);
}

#[test]
fn escapes_stand_for_themselves() {
    check(r"^\\\|\.\?\*\+\(\)\{\}\-\[\]\^\$$", &[r"\|.?*+(){}-[]^$"], &[]);
    check(r"^\n\r\t$", &["\n\r\t"], &[]);
    check("^#&~/@!,;:'\"<>=% _-$", &["#&~/@!,;:'\"<>=% _-"], &[]);
}

#[test]
fn sets_are_those_of_xml() {
    check(r"^\s$", &[" ", "\t", "\n", "\r"], &["\u{a0}", "\u{b}", "a"]);
    check(r"^\S$", &["\u{a0}", "a"], &[" ", "\n"]);
    check(r"^\d+$", &["123", "٣"], &["a", "½"]);
    check(r"^\D$", &["a", "½"], &["1"]);
    check(r"^\w+$", &["aé9", "$+"], &["_", "-", " ", "a b"]);
    check(r"^\W$", &["_", "-", " "], &["a", "$"]);
    check(r"^\i\c*$", &["a-b.c:d_9", "_x", ":x", "é"], &["9a", "-a", "a b", ""]);
    check(r"^\I$", &["9", "-", " "], &["a", "_"]);
    check(r"^\C$", &[" ", "/"], &["9", "-"]);
}

#[test]
fn properties_name_categories_and_blocks() {
    check(r"^\p{Lu}\p{Ll}$", &["Éa"], &["aA", "AA"]);
    check(r"^\P{Lu}$", &["a", "1"], &["A"]);
    check(r"^\p{IsGreek}+$", &["αβγ"], &["a"]);
    check(r"^\p{IsBasicLatin}$", &["a", "\u{7f}"], &["é"]);
    check(r"^\P{IsBasicLatin}$", &["é"], &["a"]);
    check(r"^\p{IsLatin-1Supplement}$", &["é"], &["a"]);
    check(r"^[\p{L}\p{N}_-]+$", &["aé_9-"], &["a b"]);
    for category in CATEGORIES {
        check(&format!(r"^(\p{{{category}}}|\P{{{category}}})$"), &["a", "1"], &["ab"]);
    }
}

#[test]
fn classes_take_ranges_sets_and_subtractions() {
    check("^[abc]$", &["a", "c"], &["d", "ab"]);
    check("^[^abc]$", &["d", "\n"], &["a"]);
    check("^[a-c]$", &["b"], &["d", "-"]);
    check("^[-a]$", &["-", "a"], &["b"]);
    check("^[a-]$", &["-", "a"], &["b"]);
    check("^[^-a]$", &["b"], &["-", "a"]);
    check(r"^[a\-c]$", &["-", "a", "c"], &["b"]);
    check(r"^[\^\]\[]$", &["^", "]", "["], &["\\"]);
    check("^[a^]$", &["a", "^"], &["b"]);
    check(r"^[\d\s]$", &["1", " "], &["a"]);
    check(r"^[^\d]$", &["a"], &["1"]);
    check(r"^[\i-[:]]$", &["a"], &[":"]);
    check("^[a-z-[aeiou]]$", &["b", "z"], &["a", "u", "A"]);
    check("^[^a-c-[x]]$", &["d", "y"], &["a", "x"]);
    check("^[a-z-[^aeiou]]$", &["a", "u"], &["b"]);
    check("^[a-z-[b-y-[m]]]$", &["a", "z", "m"], &["b"]);
    check("^[&&~~.*+?|$(){}]$", &["&", "~", ".", "*", "$", "("], &["a"]);
    check(r"^[!-~]$", &["A"], &[" "]);
}

#[test]
fn what_is_no_pattern_is_refused() {
    let broken = [
        "*a",
        "a**",
        "a+*",
        "a|*b",
        "(*a)",
        "a{2}{3}",
        "(",
        ")",
        "(a",
        "a)",
        "[",
        "[]",
        "[^]",
        "[a",
        "]",
        "}",
        "{",
        "a{",
        "a{}",
        "a{,2}",
        "a{2,1}",
        "a{x}",
        "a{2",
        "a{12345}",
        r"\",
        r"\a",
        r"\b",
        r"\B",
        r"\A",
        r"\z",
        r"\x41",
        r"\u0041",
        r"\/",
        r"\1",
        r"(a)\1",
        r"[\1]",
        "[b-a]",
        "[a-c-e]",
        r"[a-\d]",
        "[a[b]]",
        "[a-[b]c]",
        "[-[a]]",
        r"\p",
        r"\p{",
        r"\p{}",
        r"\p{Greek}",
        r"\p{Letter}",
        r"\p{Lx}",
        r"\p{IsNowhere}",
        r"\pL",
        r"\p{^Lu}",
        "(?i)a",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?P<n>a)",
        "(?<n>a)",
        "(?>a)",
        "a++",
        "[[:alpha:]]",
        "[--a]",
    ];
    for pattern in broken {
        assert!(Pattern::compile(pattern).is_err(), "{pattern:?} should be refused");
    }
}

#[test]
fn limits_hold() {
    assert!(Pattern::compile(&"a".repeat(PATTERN_LENGTH_MAX)).is_ok());
    assert!(Pattern::compile(&"a".repeat(PATTERN_LENGTH_MAX + 1)).is_err());
    let nested = |depth: usize| "(".repeat(depth) + &")".repeat(depth);
    assert!(Pattern::compile(&nested(PATTERN_DEPTH_MAX)).is_ok());
    assert!(Pattern::compile(&nested(PATTERN_DEPTH_MAX + 1)).is_err());
    let subtracted = |depth: usize| "[a-".repeat(depth) + "[b]" + &"]".repeat(depth);
    assert!(Pattern::compile(&subtracted(PATTERN_DEPTH_MAX)).is_ok());
    assert!(Pattern::compile(&subtracted(5000)).is_err());
    assert!(Pattern::compile("(a{1000}){1000}").is_err());
    assert!(Pattern::compile(r"(\w{1000}){9}").is_err());
}

#[test]
fn nested_repetition_takes_no_exponential_time() {
    let compiled = Pattern::compile("^(a+)+$").unwrap();
    assert!(!compiled.is_match(&("a".repeat(50_000) + "b")));
}

#[test]
fn errors_name_the_pattern_and_the_reason() {
    let error = Pattern::compile("a)").unwrap_err().to_string();
    assert_eq!(error, "`a)` is not a regular expression of XPath: a `)` closes nothing");
}
