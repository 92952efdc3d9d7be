use super::FUNCTIONS;
use durward_functions::check::{CallExample, TestedLibrary, array, decimal, values};

const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

fn globs() -> Vec<CallExample<'static>> {
    let glob = |pattern: &'static str, text: &'static str, delimiters, matches: &'static str| {
        ("patterns.matchGlob", values![pattern, text, delimiters], Ok(matches))
    };
    vec![
        glob("*.hospital.org", "cardio.hospital.org", array!["."], "true"),
        glob("*.hospital.org", "a.cardio.hospital.org", array!["."], "false"),
        glob("**.hospital.org", "a.cardio.hospital.org", array!["."], "true"),
        glob("/api/*/users", "/api/v1/users", array!["/"], "true"),
        glob("/api/?/users", "/api///users", array!["/"], "false"),
        glob("a*", "a.b", array![], "false"),
        glob("a*", "a.b", array![""], "true"),
        // Every character of a delimiter delimits.
        glob("a*", "a:b", array!["::"], "false"),
        glob("a*", "a]b", array!["^", "]"], "false"),
        glob("a*", "a\nb", array!["."], "true"),
        glob("a*", "a\nb", array![""], "false"),
        glob("a**", "a\nb", array!["."], "false"),
        glob("", "", array!["."], "true"),
        glob("\u{1f600}?", "\u{1f600}\u{1f600}", array!["."], "true"),
        glob("x{1,{2,3}}y", "x3y", array!["."], "true"),
        glob("x{,1}", "x", array!["."], "true"),
        glob("x}", "x}", array!["."], "true"),
        glob("[a-c]", "b", array!["."], "true"),
        glob("[!a-c]", "b", array!["."], "false"),
        glob("[-a]", "-", array!["."], "true"),
        glob("[^a]", "^", array!["."], "true"),
        glob("[a\\]]", "]", array!["."], "true"),
        // Classes are those of Java, where two ampersands intersect.
        glob("[a-z&&b-c]", "a", array!["."], "false"),
        // Wildcards in classes are none.
        glob("[*]", "x", array!["."], "false"),
        glob("a\\*", "ab", array!["."], "false"),
        glob("a\\*", "a*", array!["."], "true"),
        glob("a\\", "a\\", array!["."], "true"),
        ("patterns.matchGlobWithoutDelimiters", values!["a*c", "a.b/c"], Ok("true")),
        ("patterns.matchGlobWithoutDelimiters", values!["a?c", "a.c"], Ok("true")),
        ("patterns.matchGlobWithoutDelimiters", values!["a?c", "ac"], Ok("false")),
        ("patterns.escapeGlob", values!["a*b?[c]{d}\\-!.,é"], Ok(r#""a\\*b\\?\\[c\\]\\{d\\}\\\\\\-\\!.,é""#)),
        ("patterns.escapeGlob", values![""], Ok(r#""""#)),
    ]
}

fn expressions() -> Vec<CallExample<'static>> {
    let template = |template: &'static str, text: &'static str, matches: &'static str| {
        ("patterns.matchTemplate", values![template, text, "{{", "}}"], Ok(matches))
    };
    vec![
        ("patterns.isValidRegex", values!["a(b|c)*+"], Ok("true")),
        ("patterns.isValidRegex", values!["(a"], Ok("false")),
        ("patterns.isValidRegex", values![""], Ok("true")),
        ("patterns.isValidRegex", values![&*"a".repeat(1000)], Ok("true")),
        ("patterns.isValidRegex", values![&*"a".repeat(1001)], Ok("false")),
        // It may be dangerous: what it is used for says so.
        ("patterns.isValidRegex", values!["(a+)+"], Ok("true")),
        ("patterns.findMatches", values!["\\d+", "1 22, 333"], Ok(r#"["1","22","333"]"#)),
        ("patterns.findMatches", values!["x", "abc"], Ok("[]")),
        ("patterns.findMatches", values!["x*", "axb"], Ok(r#"["","x","",""]"#)),
        ("patterns.findMatches", values!["(?<=a)b", "ab b"], Ok(r#"["b"]"#)),
        ("patterns.findMatchesLimited", values!["\\d", "123", 2], Ok(r#"["1","2"]"#)),
        ("patterns.findMatchesLimited", values!["\\d", "123", 0], Ok("[]")),
        ("patterns.findMatchesLimited", values!["\\d", "123", decimal("1.9")], Ok(r#"["1"]"#)),
        ("patterns.findMatchesLimited", values!["\\d", "12", decimal("1E+30")], Ok(r#"["1","2"]"#)),
        (
            "patterns.findAllSubmatch",
            values!["(\\w+)=(\\d+)?", "a=1;b="],
            Ok(r#"[["a=1","a","1"],["b=","b",null]]"#),
        ),
        ("patterns.findAllSubmatchLimited", values!["(a)", "aaa", 1], Ok(r#"[["a","a"]]"#)),
        ("patterns.replaceAll", values!["2024-05", "(\\d+)-(\\d+)", "$2/$1"], Ok(r#""05/2024""#)),
        ("patterns.replaceAll", values!["ab", "(?<first>a)", "${first}${first}\\$"], Ok(r#""aa$b""#)),
        // Of digits as many count as make the number of a group.
        ("patterns.replaceAll", values!["a", "(a)", "$12"], Ok(r#""a2""#)),
        ("patterns.replaceAll", values!["b", "(a)?b", "<$1>"], Ok(r#""<>""#)),
        ("patterns.replaceAll", values!["ab", "", "-"], Ok(r#""-a-b-""#)),
        // Nobody reads a replacement that is not used.
        ("patterns.replaceAll", values!["a", "x", "$9"], Ok(r#""a""#)),
        ("patterns.split", values![",", "a,b,c"], Ok(r#"["a","b","c"]"#)),
        ("patterns.split", values![",", "a,,"], Ok(r#"["a","",""]"#)),
        ("patterns.split", values![",", ",a"], Ok(r#"["","a"]"#)),
        ("patterns.split", values!["", "ab"], Ok(r#"["a","b",""]"#)),
        ("patterns.split", values![",", ""], Ok(r#"[""]"#)),
        template("tenant:{{\\d+}}:x", "tenant:17:x", "true"),
        template("tenant:{{\\d+}}:x", "tenant:a:x", "false"),
        template("a.b", "axb", "false"),
        template("a\\*{{b|c}}", "a*c", "true"),
        template("", "", "true"),
        // Parts are groups, which others may refer to.
        template("{{a|b}}-{{\\1}}", "b-b", "true"),
    ]
}

#[test]
fn globs_and_expressions_match_as_in_java() {
    let mut all = globs();
    all.extend(expressions());
    LIBRARY.rows(&all);
    LIBRARY.all_called(&all);
}

#[test]
fn dangerous_expressions_are_refused() {
    let refused = "Invalid or dangerous regex pattern.";
    let dangerous = ["(a+)+", "(a|b)*", "(a*b)c*", "a{1,2}b{3,}", ".*.*", "a.+.+", "(", &"a|".repeat(101)];
    for pattern in dangerous {
        LIBRARY.faults(&[
            ("patterns.findMatches", values![pattern, "a"], refused),
            ("patterns.findAllSubmatch", values![pattern, "a"], refused),
            ("patterns.replaceAll", values!["a", pattern, ""], refused),
            ("patterns.split", values![pattern, "a"], refused),
        ]);
    }
    LIBRARY.rows(&[("patterns.split", values![&*"a|".repeat(100), "b"], Ok(r#"["b",""]"#))]);
}

#[test]
fn faults_say_what_is_wrong() {
    let glob = |pattern: &str, why| ("patterns.matchGlob", values![pattern, "a", array!["."]], why);
    let nested = format!("{}{}", "{".repeat(52), "}".repeat(52));
    let template = |template: &str, why| ("patterns.matchTemplate", values![template, "a", "<", ">"], why);
    let limit = "Limit must be non-negative.";
    LIBRARY.faults(&[
        glob("a[b", "Unclosed character class starting at position 1."),
        glob("\u{1f600}{b", "Unclosed alternative group starting at position 2."),
        glob("[]", "Invalid glob pattern: "),
        glob("[c-a]", "Invalid glob pattern: "),
        glob(&nested, "Glob pattern too deeply nested (max 50 levels)."),
        glob(&"{a}".repeat(31), "Too many alternative groups (max 30 groups)."),
        ("patterns.matchGlob", values!["a", "a", array![1]], "All delimiters must be text values."),
        template("<a", "Invalid template format: mismatched or nested delimiters."),
        template("<(a+)+>", "Template contains dangerous regex patterns."),
        template("<(>", "Invalid regex in template: "),
        template(&"a".repeat(1001), "Template or value exceeds maximum length."),
        ("patterns.matchTemplate", values!["a", "a", "", ">"], "Delimiters cannot be empty."),
        ("patterns.findMatchesLimited", values!["a", "a", -1], limit),
        ("patterns.findAllSubmatchLimited", values!["a", "a", decimal("-0.5")], limit),
        ("patterns.replaceAll", values!["a", "a", "$1"], "Replacement failed: No group 1"),
        ("patterns.replaceAll", values!["a", "a", "$"], "Replacement failed: Illegal group reference"),
        ("patterns.replaceAll", values!["a", "a", "${b}"], "Replacement failed: No group with name {b}"),
        (
            "patterns.replaceAll",
            values!["a", "a", "\\"],
            "Replacement failed: character to be escaped is missing",
        ),
        ("patterns.findMatches", values![1, "a"], ""),
    ]);
}

#[test]
fn long_texts_are_refused() {
    let pattern = "Pattern too long (max 1000 characters).";
    let input = "Input too long (max 100000 characters).";
    let (long, longer) = ("a".repeat(1001), "a".repeat(100_001));
    LIBRARY.faults(&[
        ("patterns.matchGlob", values![&*long, "a", array![]], pattern),
        ("patterns.matchGlobWithoutDelimiters", values!["a", &*longer], input),
        ("patterns.findMatches", values![&*long, "a"], pattern),
        ("patterns.split", values!["a", &*longer], input),
    ]);
    LIBRARY.rows(&[(
        "patterns.matchGlobWithoutDelimiters",
        values!["é*", &*"é".repeat(100_000)],
        Ok("true"),
    )]);
}

#[test]
fn at_most_ten_thousand_matches_are_given() {
    let count = |name: &str, text: &str| {
        let given = LIBRARY.call(name, &values!["a", text]).expect("matches");
        given.matches(',').count() + 1
    };
    let text = "a".repeat(10_001);
    assert_eq!(count("patterns.findMatches", &text), 10_000);
    assert_eq!(count("patterns.split", &text), 10_000);
    let replaced =
        LIBRARY.call("patterns.replaceAll", &values![&*"a".repeat(100_000), "a", &*"b".repeat(101)]);
    assert!(replaced.is_err_and(|why| why.contains("too long")));
}

#[test]
fn looking_for_costly_expressions_ends() {
    // Each search goes to the end of the text.
    let text = "a".repeat(100_000);
    let given = LIBRARY.call("patterns.findMatches", &values!["a(?=[^b]*b|$)", &*text]);
    assert!(given.is_err() || given.is_ok_and(|given| given == "[\"a\"]"));
}
