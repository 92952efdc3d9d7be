//! What is refused, where, and in which words.

use durward_sapl::syntax::{DIAGNOSTICS_MAX, Diagnostic, LineIndex, Span, parse, parse_expression};

/// What the message is about, the message, and the way out ("" for none).
type Said<'t> = (&'t str, &'t str, &'t str);

fn said<'t>(text: &'t str, diagnostics: &'t [Diagnostic]) -> Vec<Said<'t>> {
    let said = diagnostics
        .iter()
        .map(|one| (one.span.text(text), one.message.as_str(), one.help.as_deref().unwrap_or_default()));
    said.collect()
}

fn expression(text: &str, expected: Said<'_>) {
    let parsed = parse_expression(text);
    assert_eq!(said(text, &parsed.diagnostics), [expected], "{text}");
}

fn document(text: &str, expected: &[Said<'_>]) {
    let parsed = parse(text);
    assert_eq!(said(text, &parsed.diagnostics), expected, "{text}");
}

#[test]
fn expressions() {
    for (text, about, message, help) in [
        (
            "resource.policy",
            "policy",
            "`policy` is a keyword and cannot be a key after `.`",
            "write .`policy` with backticks, or [\"policy\"]",
        ),
        (
            "x..in",
            "in",
            "`in` is a keyword and cannot be a key after `..`",
            "write ..`in` with backticks, or ..[\"in\"]",
        ),
        ("{in: 1}", "in", "`in` is a keyword and cannot be a key", "write \"in\""),
        (
            "permit",
            "permit",
            "`permit` is a keyword and cannot be a value",
            "write `permit` with backticks if you mean a name",
        ),
        (
            "a.in()",
            "in",
            "`in` is a keyword and cannot be part of a name",
            "write `in` with backticks if you mean a name",
        ),
        ("1 = 1", "=", "expected the end of the expression, found `=`", "write `==` to compare"),
        ("a and b", "and", "expected the end of the expression, found `and`", "write `&&`"),
        ("a or b", "or", "expected the end of the expression, found `or`", "write `||`"),
        (
            "a?.b",
            "?",
            "expected the end of the expression, found `?`",
            "keys of what is missing are undefined, so a plain `.` is enough",
        ),
        (
            "a |-1",
            "|-",
            "expected the end of the expression, found `|-`",
            "`|-` is the filter operator; put a blank between `|` and `-`",
        ),
        (
            "a|<b",
            "|<",
            "expected the end of the expression, found `|<`",
            "`|<` takes an attribute's first value; put a blank between `|` and `<`",
        ),
        (
            "a |- f.g |- h.i",
            "|-",
            "expected the end of the expression, found `|-`",
            "put parentheses around the expression before it",
        ),
        (
            "a[0](1)",
            "(",
            "expected the end of the expression, found `(`",
            "only a name can be called: `library.function(...)`",
        ),
        (
            "a == b != c",
            "!=",
            "this comparison has two operators",
            "join two comparisons with `&&`, or put one into parentheses",
        ),
        (
            "1 < 2 < 3",
            "<",
            "this comparison has two operators",
            "join two comparisons with `&&`, or put one into parentheses",
        ),
        (
            "a has b has c",
            "has",
            "this comparison has two operators",
            "join two comparisons with `&&`, or put one into parentheses",
        ),
        ("01", "01", "a number does not start with `0`", "write `1`"),
        (".5", ".", "expected an expression, found `.`", "write `0.5`"),
        ("5.", "", "expected a key, `*` or an attribute after `.`, found the end of the text", ""),
        ("a.5", "5", "expected a key after `.`, found `5`", "write [5] for an index, [\"5\"] for a key"),
        ("1 +", "", "expected an expression, found the end of the text", ""),
        ("", "", "expected an expression, found the end of the text", ""),
        ("[1,2,]", ",", "a comma stands after the last item", "remove it"),
        ("{a: 1,}", ",", "a comma stands after the last item", "remove it"),
        ("[1\n2]", "", "expected `,` or `]`, found `2`", "the `[` in line 1 is not closed"),
        ("(1", "", "expected `)`, found the end of the text", "the `(` in line 1 is not closed"),
        ("f.g(1", "", "expected `,` or `)`, found the end of the text", "the `(` in line 1 is not closed"),
        ("<a.b", "", "expected `>`, found the end of the text", "the `<` in line 1 is not closed"),
        ("a[1", "", "expected `]`, found the end of the text", "the `[` in line 1 is not closed"),
        ("(a = 1)", "=", "expected `)`, found `=`", "write `==` to compare"),
        ("{a 1}", "1", "expected `:` after the key, found `1`", ""),
        ("{1: 1}", "1", "expected a key, found `1`", ""),
        (
            "a[b]",
            "b",
            "expected a key in quotation marks, an index, a slice, `*`, `(` or `?(` after `[`, found `b`",
            "write [(b...)] for the value of an expression, [\"b\"] for the key",
        ),
        (
            "a[]",
            "]",
            "expected a key in quotation marks, an index, a slice, `*`, `(` or `?(` after `[`, found `]`",
            "write [*] for all elements",
        ),
        ("a[1.5]", "1.5", "`1.5` is no index", "indices are whole numbers from -2147483648 to 2147483647"),
        (
            "a[-2147483649]",
            "-2147483649",
            "`-2147483649` is no index",
            "indices are whole numbers from -2147483648 to 2147483647",
        ),
        ("a[?true]", "true", "expected `(` after `?`, found `true`", "write [?(condition)]"),
        ("a[1,]", "]", "expected a whole number, found `]`", ""),
        ("a[\"b\",1]", "1", "expected another key in quotation marks after `,`, found `1`", ""),
        ("a[1:2:]", "]", "expected a whole number, found `]`", ""),
        ("a..[?(1)]", "?", "expected a key in quotation marks, an index or `*` after `..[`, found `?`", ""),
        ("a |- {}", "}", "expected a filter after `{`, found `}`", "write { @.key : function }"),
        ("a |- { b : f.g }", "b", "expected `@`, found `b`", "a filter is written { @.key : function }"),
        (
            "a |- { @.b : each f.g }",
            "each",
            "`each` stands before the path",
            "write { each @.key : function }",
        ),
        (
            "a |- { @.<b.c> : f.g }",
            "<",
            "what a filter changes cannot be reached through an attribute",
            "put the attribute's value into a variable and filter that",
        ),
        ("|- f.g", "|-", "expected an expression, found `|-`", "the value to filter stands before `|-`"),
        ("<>", ">", "expected the name of an attribute, found `>`", ""),
        ("'a'", "'a'", "texts stand in double quotation marks", "write `\"a\"`"),
        (
            "\"a\\q\"",
            "\\q",
            "`\\q` is no escape",
            "the escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits",
        ),
        (
            "`a-b`",
            "`a-b`",
            "`a-b` is no name",
            "names are made of letters, digits, `_` and `$`; any other key goes into `[\"...\"]`",
        ),
        (
            "1e1001",
            "1e1001",
            "the number `1e1001` is out of range",
            "at most 1000 digits after the point, or an exponent of that size",
        ),
    ] {
        expression(text, (about, message, help));
    }
}

#[test]
fn documents() {
    document("", &[("", "expected `policy`, `set`, `import` or a schema, found the end of the text", "")]);
    document(
        "POLICY \"a\" permit",
        &[(
            "POLICY",
            "expected `policy`, `set`, `import` or a schema, found `POLICY`",
            "did you mean `policy`?",
        )],
    );
    document(
        "policy permit",
        &[("permit", "expected the policy's name in quotation marks, found `permit`", "")],
    );
    document(
        "policy \"a\" allow",
        &[("allow", "expected `permit`, `deny` or `suspend` after the policy's name, found `allow`", "")],
    );
    document(
        "policy \"a\" Permit",
        &[(
            "Permit",
            "expected `permit`, `deny` or `suspend` after the policy's name, found `Permit`",
            "did you mean `permit`?",
        )],
    );
    document(
        "policy \"a\" permit true",
        &[("", "expected `;` after the condition, found the end of the text", "")],
    );
    document("policy \"a\" permit true; ;", &[(";", "a condition should stand before `;`", "remove it")]);
    document(
        "policy \"a\" permit where true;",
        &[(
            "where",
            "SAPL 4 has no `where`",
            "remove it: conditions follow the effect at once, each with its `;`",
        )],
    );
    document(
        "policy \"a\" permit true where true;",
        &[(
            "where",
            "expected `;` after the condition, found `where`",
            "SAPL 4 has no `where`: conditions follow the effect at once, each with its `;`",
        )],
    );
    document(
        "policy \"a\" permit policy \"b\" deny",
        &[(
            "policy",
            "a document holds one policy or one set",
            "put policies that belong together into a `set`, and all others into documents of their own",
        )],
    );
    document(
        "import filter policy \"a\" permit",
        &[(
            "policy",
            "expected `.` after the library, found `policy`",
            "one function or attribute is imported at a time: `import filter.blacken`",
        )],
    );
    document(
        "import filter.* policy \"a\" permit",
        &[(
            "*",
            "expected the name of a function, found `*`",
            "a whole library cannot be imported; name each function: `import filter.blacken`",
        )],
    );
    document("import a.b; policy \"a\" permit", &[(";", "no `;` stands after an import", "remove it")]);
    document(
        "subject schema {} import a.b policy \"a\" permit",
        &[("import", "an import stands after a schema", "move it to the top")],
    );
    document(
        "user schema {} policy \"a\" permit",
        &[(
            "user",
            "expected `policy`, `set`, `import` or a schema, found `user`",
            "a schema is for `subject`, `action`, `resource` or `environment`",
        )],
    );
    document(
        "subject enforced {} policy \"a\" permit",
        &[("{", "expected `schema` after `enforced`, found `{`", "")],
    );
}

/// Documents as people wrote them for SAPL 3: each difference is told once, and the rest is read.
#[test]
fn documents_of_sapl_3_are_told_the_new_form() {
    let no_where = (
        "where",
        "SAPL 4 has no `where`",
        "remove it: conditions follow the effect at once, each with its `;`",
    );
    for conditions in [
        "subject.role == \"doctor\";",
        "var x = 1; x == 1;",
        "!subject.blocked;",
        "\"a\" in subject.roles;",
        "@ == 1;",
    ] {
        document(&format!("policy \"a\" permit where {conditions}"), &[no_where]);
    }
    document(
        "import clock as c policy \"a\" permit",
        &[(
            "as",
            "expected `.` after the library, found `as`",
            "a library has no other name in SAPL 4; each function can have one: `import filter.blacken as blacken`",
        )],
    );
    document(
        "policy \"a\" permit where resource.^policy == 1; obligation { \"a\": ^in }",
        &[
            no_where,
            (
                "^policy",
                "SAPL 4 writes no `^` before names",
                "write .`policy` with backticks, or [\"policy\"]",
            ),
            ("^in", "SAPL 4 writes no `^` before names", "write `in` with backticks if you mean a name"),
        ],
    );
    expression("^x", ("^x", "SAPL 4 writes no `^` before names", "remove the `^`"));
    document(
        "set \"s\" first-applicable policy \"a\" permit where true; policy \"b\" deny where true;",
        &[
            (
                "first",
                "expected an algorithm, found `first`",
                "what SAPL 3 called `first-applicable` is `first or abstain errors propagate`",
            ),
            no_where,
            no_where,
        ],
    );
}

/// In SAPL 4 `where` is a name.
#[test]
fn a_variable_may_be_called_where() {
    for condition in [
        "where;",
        "where == 1;",
        "where.a;",
        "where[\"a\"];",
        "where in [1];",
        "where has \"a\";",
        "where any in [1];",
        "where - 1 == 0;",
        "where(1);",
        "where < 2;",
        "1 ^where == 2;",
    ] {
        document(&format!("policy \"a\" permit {condition}"), &[]);
    }
}

#[test]
fn policies() {
    document(
        "policy \"a\" permit advice 1 obligation 2",
        &[(
            "obligation",
            "an obligation stands after advice",
            "the order is: obligations, advice, transformation",
        )],
    );
    document(
        "policy \"a\" permit transform 1 transform 2",
        &[("transform", "a policy has one transformation", "make one expression of both")],
    );
    document(
        "policy \"a\" permit obligation 1; advice 2",
        &[(";", "no `;` stands after an obligation", "remove it")],
    );
    document(
        "policy \"a\" permit obligation 1 true;",
        &[(
            "true",
            "expected the end of the policy after an obligation, found `true`",
            "conditions and variables stand before it",
        )],
    );
    document(
        "policy \"a\" permit var subject = 1;",
        &[(
            "subject",
            "`subject` is part of every subscription and cannot be a variable",
            "choose another name",
        )],
    );
    document(
        "policy \"a\" permit var in = 1;",
        &[("in", "`in` is a keyword and cannot be a name", "write `in` with backticks if you mean a name")],
    );
    document("policy \"a\" permit var x;", &[(";", "expected `=` after the variable's name, found `;`", "")]);
    document(
        "policy \"a\" permit var = 1;",
        &[("=", "expected the variable's name after `var`, found `=`", "")],
    );
    document(
        "policy \"a\" permit x = 1;",
        &[("=", "expected `;` after the condition, found `=`", "write `==` to compare")],
    );
}

#[test]
fn sets() {
    document(
        "set \"s\" first or deny",
        &[("", "expected the set's first `policy`, found the end of the text", "")],
    );
    document(
        "set \"s\" deny-overrides policy \"a\" permit",
        &[(
            "deny",
            "expected an algorithm, found `deny`",
            "what SAPL 3 called `deny-overrides` is `priority deny or abstain errors propagate`",
        )],
    );
    document(
        "set \"s\" frist or deny policy \"a\" permit",
        &[(
            "frist",
            "expected an algorithm: `first`, `priority`, `unanimous` or `unique`, found `frist`",
            "did you mean `first`?",
        )],
    );
    document(
        "set \"s\" priority or deny policy \"a\" permit",
        &[("or", "expected `deny`, `permit` or `suspend` after `priority`, found `or`", "")],
    );
    document(
        "set \"s\" first policy \"a\" permit",
        &[("policy", "expected `or` after the algorithm, found `policy`", "")],
    );
    document(
        "set \"s\" first or deny, policy \"a\" permit",
        &[("policy", "expected `errors` after `,`, found `policy`", "")],
    );
    document(
        "set \"s\" first or deny errors stop policy \"a\" permit",
        &[("stop", "expected `abstain` or `propagate` after `errors`, found `stop`", "")],
    );
    document(
        "set \"s\" first or deny for true; policy \"a\" permit",
        &[(";", "no `;` stands after a target", "remove it")],
    );
    document(
        "set \"s\" first or deny var x = 1 policy \"a\" permit",
        &[("policy", "expected `;` after the variable, found `policy`", "")],
    );
}

#[test]
fn every_statement_gets_its_own_message() {
    let text = "import a
subject schema ]
policy \"p\" permit
  subject.in == 1;
  (a;
  fine == 1;
  var = 2;
  var y = ;
  b = 1;
  1 +;
obligation [1 2]
advice ,
transform {a}
";
    let lines = LineIndex::new(text);
    let diagnostics = parse(text).diagnostics;
    let places: Vec<u32> = diagnostics.iter().map(|one| lines.place(text, one.span.start).line).collect();
    assert_eq!(places, [1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13], "{diagnostics:#?}");
}

#[test]
fn a_policy_that_cannot_be_read_leaves_the_others() {
    let parsed =
        parse("set \"s\" first or deny policy \"a\" allow x; policy \"b\" permit (; policy \"c\" deny");
    assert_eq!(parsed.diagnostics.len(), 2);
    let Some(durward_sapl::syntax::tree::Root::Set(set)) = parsed.tree.root else { panic!() };
    let names: Vec<&str> = set.policies.iter().map(|policy| policy.name.text.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
}

#[test]
fn a_text_full_of_errors_is_read_in_bounded_time_and_memory() {
    for piece in [
        "(;",
        "policy \"a\" permit )\n",
        "import a ",
        "\u{202e}",
        "\"\n\\\"",
        "[1 2]; ",
        "obligation ",
        "set \"s\" x ",
        "'",
        "' ",
        "` `",
        "`",
        "\"a\" ",
        "/*",
        "1 e",
        "[",
        "{a:",
        "subject schema ",
        "var ",
        "a.",
        "<",
        "a|-",
        "a[",
    ] {
        let text = format!("policy \"a\" permit {}", piece.repeat(300_000 / piece.len()));
        let parsed = parse(&text);
        assert!(parsed.has_errors() && parsed.diagnostics.len() <= DIAGNOSTICS_MAX, "{piece}");
    }
}

#[test]
fn spans_of_messages_lie_in_the_text() {
    for text in ["ä", "\"ä", "policy \"ä\" ä", "`ä`", "/*ä", "a.ä", "'ä'", "1 ä", "policy \"\\ä\" permit"]
    {
        let parsed = parse(text);
        assert!(parsed.has_errors());
        for Span { start, end } in parsed.diagnostics.iter().map(|one| one.span) {
            assert!(text.get(start as usize..end as usize).is_some(), "{text}: {start}..{end}");
        }
    }
}
