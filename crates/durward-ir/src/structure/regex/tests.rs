//! Expressions with what `java.util.regex.Pattern` of Java 21 says of them.

use super::*;

/// The expression matches the whole of these texts and not of those.
#[track_caller]
fn matches(pattern: &str, whole: &[&str], others: &[&str]) {
    let regex = Regex::compile(pattern).unwrap_or_else(|error| panic!("{error}"));
    for text in whole {
        assert_eq!(regex.matches(text), Ok(true), "{pattern:?} {text:?}");
    }
    for text in others {
        assert_eq!(regex.matches(text), Ok(false), "{pattern:?} {text:?}");
    }
}

#[track_caller]
fn refuses(pattern: &str, message: &str) {
    assert_eq!(Regex::compile(pattern).unwrap_err().to_string(), message, "{pattern:?}");
}

#[test]
fn whole_texts_are_matched() {
    matches("abc", &["abc"], &["b", "abcd", "xabc", ""]);
    matches("a.c", &["abc", "a😀c"], &["a\nc", "a\rc", "a\u{85}c", "a\u{2028}c", "ac"]);
    matches("a|ab", &["a", "ab"], &["abc"]);
    matches("", &[""], &["a"]);
    matches("(?i)abc", &["ABC", "aBc"], &["abd"]);
    matches("foo(?=bar)bar", &["foobar"], &["foobaz"]);
    matches("foo(?!baz).*", &["foobar", "foo"], &["foobaz"]);
    matches("a{2,3}+", &["aa", "aaa"], &["a", "aaaa"]);
    matches("[\\w.]+@[\\w.]+", &["me@ex.com"], &["me@", "m é@x"]);
}

#[test]
fn classes_unite_and_intersect() {
    matches("[a-z&&[^x]]", &["a", "z"], &["x", "&"]);
    matches("[a-d[m-p]]", &["a", "p"], &["e", "["]);
    matches("[a-z&&[def]]", &["d", "f"], &["a"]);
    matches("[a-z&&[^m-p]]", &["l", "q"], &["m", "A"]);
    matches("[^a-c[x]]", &["d"], &["a", "x"]);
    matches("[a-e&&[b-d]&&[c]]", &["c"], &["b"]);
    matches("[a-c&&[b-d]c]", &["b", "c"], &["a", "d"]);
    matches("[a-z&&aeiou]", &["e"], &["b"]);
    matches("[\\w&&[^\\d]]", &["_", "a"], &["1"]);
    matches("[]a]", &["]", "a"], &["[]a]"]);
    matches("[^]a]", &["b"], &["]", "a"]);
    matches("[a-]", &["a", "-"], &["b"]);
    matches("[a-[b]]", &["a", "-", "b"], &["["]);
    matches("[!--b]", &["!", "+", "-", "b"], &["a", "/"]);
    matches("[a~~b]", &["a", "~", "b"], &["c"]);
    matches("[a&b]", &["a", "&", "b"], &["c"]);
    matches("[.$*|(){}^?+]", &[".", "$", "*", "|", "^", "+"], &["a"]);
    matches("[\\Q^-]\\E]", &["^", "-", "]"], &["Q", "\\"]);
    matches("[\\d-z]", &["1", "-", "z"], &["y"]);
    matches("[\\x41-\\u0043]", &["A", "B", "C"], &["D"]);
    matches("[😀-😂]", &["😁"], &["a", "😃"]);
}

#[test]
fn escapes_are_those_of_java() {
    matches("\\d", &["1"], &["٣", "a"]);
    matches("\\w", &["a", "_", "1"], &["é", "-"]);
    matches("\\s", &["\t", "\u{b}", " "], &["\u{a0}", "\u{85}"]);
    matches("\\h", &["\t", "\u{a0}", "\u{180e}"], &["\n"]);
    matches("\\v", &["\n", "\u{b}", "\u{85}"], &[" ", "v"]);
    matches("\\R", &["\r\n", "\n", "\u{2028}"], &["\n\n", "a"]);
    matches("\\Qa.b\\E+", &["a.b", "a.bbb"], &["axb", "a.ba.b"]);
    matches("\\Q.\\", &[".\\"], &["."]);
    matches("\\x41\\x{42}\\u0043\\0104", &["ABCD"], &["abcd"]);
    matches("\\ud83d\\ude00", &["😀"], &[]);
    matches("\\cA\\e\\a\\t\\n\\r\\f", &["\u{1}\u{1b}\u{7}\t\n\r\u{c}"], &[]);
    matches("\\.\\-\\_\\é\\(", &[".-_é("], &[]);
    matches("\\p{Lu}\\pL\\P{Lu}", &["Aba", "AB1"], &["aba", "ABC"]);
    matches("\\p{Lower}", &["a"], &["é", "A"]);
    matches("(?U)\\p{Lower}", &["a", "é"], &["A"]);
    matches("(?i)\\p{Lower}", &["a", "A"], &["é"]);
    matches("\\p{IsLatin}\\p{InGreek}\\p{IsAlphabetic}", &["aαβ", "éΑa"], &["ααα"]);
    matches("\\p{sc=Greek}\\p{gc=Lu}\\p{blk=Greek}", &["αAα"], &["aAα"]);
    matches("\\p{javaLowerCase}\\p{Punct}\\p{XDigit}", &["é!f"], &["É!f", "é!g"]);
    matches("]}", &["]}"], &[]);
}

#[test]
fn flags_hold_to_the_end_of_their_group() {
    matches("a(?i)b", &["ab", "aB"], &["AB"]);
    matches("(a(?i)b)c", &["aBc"], &["aBC"]);
    matches("(?i:a)b", &["Ab"], &["AB"]);
    matches("(?i)a(?-i)b", &["Ab"], &["AB"]);
    matches("(?i)é", &["é"], &["É"]);
    matches("(?iu)é", &["é", "É"], &["e"]);
    matches("(?i)k", &["k", "K"], &["\u{212a}"]);
    matches("(?s).", &["\n", "a"], &["\r\n"]);
    matches("(?d).", &["\r", "\u{85}"], &["\n"]);
    matches("(?x) a b # c", &["ab"], &["ab # c"]);
    matches("(?x)[a b]\\ ", &["a ", "b "], &["  "]);
    matches("(?U)\\w\\d\\s", &["é٣\u{a0}"], &["é a"]);
}

#[test]
fn edges_know_line_ends() {
    matches("^abc$", &["abc"], &["abc\n"]);
    matches("a$\\n", &["a\n"], &["a"]);
    matches("a$\\r\\n", &["a\r\n"], &["a"]);
    matches("a\\r$\\n", &[], &["a\r\n"]);
    matches("(?d)a\\r$\\n", &["a\r\n"], &[]);
    matches("(?m)a$\\n^b", &["a\nb"], &["ab"]);
    matches("(?m)^", &[], &[""]);
    matches("a\\Z\\n", &["a\n"], &["a"]);
    matches("\\Aa\\z", &["a"], &["a\n"]);
    matches("\\bfoo\\b.*", &["foo", "foo bar"], &["foobar"]);
    matches("foo\\B.*", &["foobar"], &["foo", "foo bar"]);
    matches("a\\bé", &["aé"], &[]);
    matches("(?U)a\\bé", &[], &["aé"]);
    matches("(?:^a|b$)", &["a", "b"], &["ab"]);
}

#[test]
fn groups_look_around_and_refer_back() {
    matches("(a)(b)?\\1", &["aa", "aba"], &["ab"]);
    matches("(?<n>.)\\k<n>", &["aa"], &["ab"]);
    matches("(a)\\11", &["aa1"], &["a11"]);
    matches("\\1(a)", &[], &["a", "aa"]);
    matches("(?i)(\\w)\\1", &["aA", "Aa"], &["ab"]);
    matches("(?iu)(.)\\1", &["éÉ"], &["ab"]);
    matches("(?<=a|bc)d|.(?<!b).*", &["ad", "x"], &["d\n", "bx"]);
    matches("(?>a+)a|a++b", &["aab"], &["aa"]);
    matches("a*+a", &[], &["aaa"]);
    matches("(?:.{1,}| ){2}+c", &[], &["ab_ba_c"]);
    matches("(?=a)*b", &["b"], &["ab"]);
    matches("a{2}{3}", &["aa"], &["aaaaaa"]);
    matches("((?!ab).)*", &["ba", ""], &["ab", "cab"]);
}

#[test]
fn what_is_found_comes_with_its_groups() {
    let regex = Regex::compile("(?<year>\\d{4})-(\\d\\d)|(x)").unwrap();
    let text = "é 2024-01 x";
    let first = regex.find_at(text, 0).unwrap().unwrap();
    assert_eq!(first.span(), (3, 10));
    assert_eq!((first.group(1), first.group(2), first.group(3)), (Some((3, 7)), Some((8, 10)), None));
    let second = regex.find_at(text, 10).unwrap().unwrap();
    assert_eq!((second.span(), second.group(3)), ((11, 12), Some((11, 12))));
    assert_eq!(regex.find_at(text, 12), Ok(None));
    assert_eq!(regex.find_at(text, 1), Ok(None));
    assert_eq!((regex.group_count(), regex.group_of("year"), regex.group_of("month")), (3, Some(1), None));
    let behind = Regex::compile("(?<=a)b$").unwrap();
    assert_eq!(behind.find_at("bab\n", 0).unwrap().unwrap().span(), (2, 3));
    assert_eq!(behind.find_at("bab\nab", 3).unwrap().unwrap().span(), (5, 6));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    refuses("[", "`[` is no regular expression: a `]` is missing (after 1 characters)");
    refuses("(a", "`(a` is no regular expression: a `)` is missing (after 2 characters)");
    refuses("a)", "`a)` is no regular expression: there is no `(` for this `)` (after 1 characters)");
    refuses("a**", "`a**` is no regular expression: there is nothing to repeat here (after 3 characters)");
    refuses("\\y", "`\\y` is no regular expression: there is no such escape (after 2 characters)");
    for pattern in [
        "[]",
        "[^]",
        "[z-a]",
        "[a-\\d]",
        "[&&]",
        "[\\b]",
        "[\\R]",
        "a{",
        "a{,3}",
        "a{3,2}",
        "a{2147483648000}",
        "{",
        "+",
        "*a",
        "(?z)a",
        "(?<1>a)",
        "(?<n>a)(?<n>b)",
        "\\k<n>(?<n>a)",
        "\\k",
        "\\",
        "\\08",
        "\\xg1",
        "\\x{110000}",
        "\\x{}",
        "\\u12",
        "\\ud800",
        "\\p{Foo}",
        "\\p{IsFoo}",
        "\\p{InFoo}",
        "\\p{L",
        "\\p",
        "(?",
        "(?<",
        "(?<n",
        "[a",
        "[a-",
        "[a&&",
        "(?x)[#]",
    ] {
        assert!(Regex::compile(pattern).is_err(), "{pattern:?}");
    }
    for (pattern, reason) in [
        ("\\X", "grapheme clusters are not supported"),
        ("\\N{LATIN SMALL LETTER A}", "names of characters are not supported"),
        ("(?c)a", "canonical equivalence is not supported"),
        ("(?i)(.)\\1", "a back-reference that ignores case needs the flag `u` when its group is not ASCII"),
        ("(a\\1)", "a group cannot refer to itself"),
    ] {
        assert_eq!(Regex::compile(pattern).unwrap_err().reason, reason, "{pattern:?}");
    }
}

#[test]
fn nothing_takes_without_end() {
    assert!(Regex::compile(&"(".repeat(10_000)).is_err());
    assert!(Regex::compile(&"[".repeat(10_000)).is_err());
    assert!(Regex::compile(&format!("{}a{}", "(".repeat(59), ")".repeat(59))).is_ok());
    assert_eq!(Regex::compile("((a{1000}){1000}){1000}").unwrap_err().reason, "it takes too much memory");
    assert!(Regex::compile("(?=((a{1000}){1000}){1000})a").is_err());
    assert_eq!(Regex::compile(&"a".repeat(PATTERN_LENGTH_MAX + 1)).unwrap_err().reason, "it is too long");
    let text = "a".repeat(50_000);
    matches("(a|a)*b", &[], &[&text]);
    matches("(?:a|b)*?", &[&text], &[]);
    let slow = Regex::compile("(?=(a+)+b)(x+x+)+y|(a|aa)+\\1c").unwrap();
    assert!(slow.matches(&"a".repeat(40)).is_err());
    let message = Regex::compile("(a|aa)+(?!b)c\\1").unwrap().matches(&"a".repeat(60)).unwrap_err().message;
    assert_eq!(message, "matching `(a|aa)+(?!b)c\\1` takes too long on this text");
}

#[test]
fn values_that_are_no_texts_do_not_match() {
    let text = |text: &str| Value::Text(text.into());
    assert_eq!(super::matches(&Value::Undefined, &text("a")), Ok(false));
    assert_eq!(super::matches(&Value::number(1), &text(".*")), Ok(false));
    assert_eq!(super::matches(&text("aa"), &text("a*")), Ok(true));
    let message = |pattern: &Value| super::matches(&text("a"), pattern).unwrap_err().message;
    assert_eq!(message(&Value::Null), "a regular expression must be a text, not null");
    assert!(message(&text("[")).contains("is no regular expression"));
    for n in 0..200 {
        assert_eq!(super::matches(&text(&n.to_string()), &text(&format!("{n}"))), Ok(true));
    }
}
