//! What is counted in queries.

use super::*;

#[test]
fn a_query_is_described_in_the_order_of_the_java_engine() {
    let query = r#"query Shelf($first: Int = 10, $id: ID!) @cached(seconds: 60) {
        shelf: books(first: $first, tags: ["a", "b"], filter: {pages: 1.5, genre: HORROR, no: null, yes: true}) {
            title @include(if: false)
            ... on Book { readers(limit: 7) { name } }
            ...Cover
        }
    }
    fragment Cover on Book { cover { url } }"#;
    let expected = concat!(
        r#"{"valid":true,"operation":"query","fields":["books","title","readers","name"],"fieldCount":4,"depth":4,"#,
        r#""complexity":12,"security":{"aliasCount":1,"rootFieldCount":1,"batchingScore":6,"maxPaginationLimit":7,"#,
        r#""hasCircularFragments":false,"isIntrospection":false,"directiveCount":1,"directivesPerField":0.25},"#,
        r#""ast":{"operationName":"Shelf","types":["Book"],"variables":{"first":10},"arguments":{"books":"#,
        r#"{"first":{"$variable":"first"},"tags":["a","b"],"filter":{"pages":1.5,"genre":"HORROR","no":null,"#,
        r#""yes":true}},"readers":{"limit":7}},"fragments":{"Cover":{"typeName":"Book","fields":["cover","url"]}},"#,
        r#""fragmentCount":1,"directives":[{"name":"include","arguments":{"if":false}}]}}"#,
    );
    assert_json(&analyzed(query), expected, query);
}

#[test]
fn a_query_that_cannot_be_read_is_described_as_nothing() {
    let expected = concat!(
        r#"{"valid":false,"errors":["Failed to parse GraphQL query: Invalid syntax with offending token '<EOF>' at "#,
        r#"line 1 column 7"],"operation":"query","depth":0,"fieldCount":0,"complexity":0,"fields":[],"security":"#,
        r#"{"aliasCount":0,"rootFieldCount":0,"batchingScore":0,"maxPaginationLimit":0,"hasCircularFragments":false,"#,
        r#""isIntrospection":false,"directiveCount":0,"directivesPerField":0},"ast":{"operationName":"","types":[],"#,
        r#""directives":[],"variables":{},"fragments":{},"fragmentCount":0,"arguments":{}}}"#,
    );
    assert_json(&analyzed("{ book"), expected, "{ book");
}

#[test]
fn each_number_and_name_is_counted_as_the_java_engine_counts() {
    let deep = "{a".repeat(120) + &"}".repeat(120);
    for (query, path, expected) in [
        ("{ a }", "operation", r#""query""#),
        ("mutation { a }", "operation", r#""mutation""#),
        ("subscription { a }", "operation", r#""subscription""#),
        ("query One { a } mutation Two { b }", "ast.operationName", r#""One""#),
        ("{ a b { c } }", "fields", r#"["a","b","c"]"#),
        ("{ a a }", "fieldCount", "2"),
        ("{ a b { c } }", "depth", "2"),
        (deep.as_str(), "depth", "100"),
        (deep.as_str(), "complexity", "320"),
        ("{ ... on Query { a } }", "depth", "2"),
        ("{ ... { a } }", "depth", "2"),
        ("{ ...F } fragment F on Query { a { b } }", "depth", "1"),
        ("{ ...F } fragment F on Query { a { b } }", "fields", "[]"),
        ("{ a b ... on Query { c } }", "security.rootFieldCount", "2"),
        ("{ x: a y: b { z: c } }", "security.aliasCount", "3"),
        ("{ x: a y: b { z: c } }", "security.batchingScore", "17"),
        ("{ a(first: 5) { b(LIMIT: 9) } }", "security.maxPaginationLimit", "9"),
        ("{ a(last: 1, offset: 2, Skip: 3, take: 4) }", "security.maxPaginationLimit", "4"),
        ("{ a(first: -5, count: 9, limit: \"9\", take: 9.0) }", "security.maxPaginationLimit", "0"),
        ("query($n: Int = 9) { a(first: $n) }", "security.maxPaginationLimit", "0"),
        ("{ a(first: 4294967303) }", "security.maxPaginationLimit", "4294967303"),
        ("{ a(first: 99999999999999999999) }", "security.maxPaginationLimit", "9223372036854775807"),
        ("query Q { a } mutation M { b { c: d } }", "fieldCount", "3"),
        ("query Q { a } mutation M { b { c: d } }", "security.rootFieldCount", "2"),
        ("query Q { a } mutation M { b { c: d } }", "operation", "\"query\""),
        ("query Q { a } mutation M { b { c: d } }", "depth", "2"),
        ("{ a(first: 4294967303) }", "ast.arguments", r#"{"a":{"first":4294967303}}"#),
        ("{ a @x b @y(n: 1) @y }", "security.directiveCount", "3"),
        ("{ a @x b @y(n: 1) @y }", "security.directivesPerField", "1.5"),
        (
            "{ ...F @x ... @y { a @z } } fragment F on T @w { b @v }",
            "ast.directives",
            r#"[{"name":"x","arguments":{}},{"name":"y","arguments":{}},{"name":"z","arguments":{}}]"#,
        ),
        ("{ __schema { types { name } } }", "security.isIntrospection", "true"),
        ("{ a { __typename } }", "security.isIntrospection", "true"),
        ("{ __x: a ...__F }", "security.isIntrospection", "false"),
        // As a HashSet of Java orders them.
        (
            "{ ... on Zebra { a } ... on Ant { a } ... on Bee { a } ... on Ant { b } }",
            "ast.types",
            r#"["Bee","Zebra","Ant"]"#,
        ),
        ("query($a: Int, $b: Int = 1, $c: [E!] = [X]) { d }", "ast.variables", r#"{"b":1,"c":["X"]}"#),
        ("{ a(x: 1) b { a(x: 2) } }", "ast.arguments", r#"{"a":{"x":2}}"#),
        ("{ a(x: 1, x: 2) }", "ast.arguments", r#"{"a":{"x":2}}"#),
        (
            "{ a } fragment F on T { b } fragment F on U { c }",
            "ast.fragments",
            r#"{"F":{"typeName":"U","fields":["c"]}}"#,
        ),
        ("{ a } fragment F on T { b } fragment F on U { c }", "ast.fragmentCount", "1"),
    ] {
        assert_json(&at(&analyzed(query), path), expected, &format!("{path} of {query}"));
    }
}

#[test]
fn fragments_in_a_circle_are_noticed() {
    for (fragments, is_circular) in [
        ("fragment A on T { b }", false),
        ("fragment A on T { ...A }", true),
        ("fragment A on T { ...B } fragment B on T { c { ... { ...A } } }", true),
        ("fragment A on T { ...B ...C } fragment B on T { ...C } fragment C on T { d }", false),
        ("fragment A on T { ...B } fragment B on T { ...C } fragment C on T { ...B }", true),
        ("fragment A on T { ...Missing }", false),
        // The last of a name counts.
        ("fragment A on T { ...A } fragment A on T { b }", false),
    ] {
        let found = at(&analyzed(&format!("{{ a }} {fragments}")), "security.hasCircularFragments");
        assert_json(&found, &is_circular.to_string(), fragments);
    }
}

#[test]
fn values_of_arguments_are_read() {
    for (written, expected) in [
        ("-0", "0"),
        ("2147483648", "2147483648"),
        ("99999999999999999999", "99999999999999999999"),
        ("1.0", "1"),
        ("1e1", "10"),
        ("1e3", "1000.0"),
        ("0.1", "0.1"),
        ("-1.5E-2", "-0.015"),
        (r#""""#, r#""""#),
        (r#""a\"\\\/\b\f\n\r\tb""#, r#""a\"\\/\b\f\n\r\tb""#),
        (r#""\u0041\uD83D\uDE00\u{1F600}""#, r#""A😀😀""#),
        (r##""# , { no comment""##, r##""# , { no comment""##),
        (r#""""a""""#, r#""a""#),
        (r#""""a \""" b \n""""#, r#""a \"\"\" b \\n""#),
        ("\"\"\"\n    one\n      two\n\n    three\n  \n\"\"\"", r#""one\n  two\n\nthree""#),
        ("\"\"\"one\r\n  two\r  three\"\"\"", r#""one\ntwo\nthree""#),
        ("\"\"\" \n \"\"\"", r#""""#),
        ("truer", r#""truer""#),
        ("[]", "[]"),
        ("[[1 2], [3,]]", "[[1,2],[3]]"),
        ("{}", "{}"),
        ("{a: {b: [$c]}}", r#"{"a":{"b":[{"$variable":"c"}]}}"#),
    ] {
        let query = format!("{{ f(x: {written}) }}");
        assert_json(&at(&analyzed(&query), "ast.arguments.f.x"), expected, &query);
    }
}

#[test]
fn everything_in_the_grammar_is_read() {
    for query in [
        "\u{feff}{a,,b#comment\n}",
        "query Q{a}",
        "query ($a: [Int!]! = [1] @x, $b: [[T]]) @y { a }",
        "{ query mutation subscription fragment on true false null type input extend }",
        "{ on: on }",
        "{ ... @include(if: true) { a } ... on on { b } }",
        "{ ...true } fragment true on T { a }",
        "{ a } type T implements A & B { f(x: Int = 1): T! @d } scalar S",
        "extend type T { a: Int } { a }",
    ] {
        assert_json(&at(&analyzed(query), "valid"), "true", query);
    }
}

#[test]
fn the_place_of_what_is_wrong_in_a_query_is_told() {
    for (query, error) in [
        ("", "Invalid syntax with offending token '<EOF>' at line 1 column 1"),
        (" # {a}", "Invalid syntax with offending token '<EOF>' at line 1 column 7"),
        ("{}", "Invalid syntax with offending token '}' at line 1 column 2"),
        ("{ a\n  b() }", "Invalid syntax with offending token ')' at line 2 column 5"),
        ("{ a: }", "Invalid syntax with offending token '}' at line 1 column 6"),
        (
            "{ a } }",
            "Invalid syntax encountered. There are extra tokens in the text that have not been consumed. Offending token \
             '}' at line 1 column 7",
        ),
        ("{ a { } }", "Invalid syntax with offending token '}' at line 1 column 7"),
        ("{ a(b: ) }", "Invalid syntax with offending token ')' at line 1 column 8"),
        ("{ a(b 1) }", "Invalid syntax with offending token '1' at line 1 column 7"),
        ("{ a(b: [1) }", "Invalid syntax with offending token ')' at line 1 column 10"),
        ("{ a(b: {c 1}) }", "Invalid syntax with offending token '1' at line 1 column 11"),
        ("{ ...on }", "Invalid syntax with offending token '}' at line 1 column 9"),
        ("{ ... }", "Invalid syntax with offending token '...' at line 1 column 3"),
        ("query($a: Int = $b) { a }", "Invalid syntax with offending token '$' at line 1 column 17"),
        ("query(a: Int) { a }", "Invalid syntax with offending token 'a' at line 1 column 7"),
        ("query() { a }", "Invalid syntax with offending token ')' at line 1 column 7"),
        ("fragment on on T { a }", "Invalid syntax with offending token 'on' at line 1 column 10"),
        ("fragment F { a }", "Invalid syntax with offending token '{' at line 1 column 12"),
        ("select { a }", "Invalid syntax with offending token 'select' at line 1 column 1"),
        (
            "{ a(b: \"\\x\") }",
            "Invalid syntax with ANTLR error 'token recognition error at: '\"\\x'' at line 1 column 8",
        ),
        ("{ a(b: \"\\uD83D\") }", "Invalid syntax with offending token '\"\\uD83D\"' at line 1 column 8"),
        ("{ é }", "Invalid syntax with ANTLR error 'token recognition error at: 'é'' at line 1 column 3"),
        (
            "{ a(b: 01) }",
            "Invalid syntax with ANTLR error 'token recognition error at: '01'' at line 1 column 8",
        ),
        (
            "{ a(b: 1x) }",
            "Invalid syntax with ANTLR error 'token recognition error at: '1x'' at line 1 column 8",
        ),
        (
            "{ a(b: 1.) }",
            "Invalid syntax with ANTLR error 'token recognition error at: '1.)'' at line 1 column 8",
        ),
        (
            "{ a(b: 1e) }",
            "Invalid syntax with ANTLR error 'token recognition error at: '1e)'' at line 1 column 8",
        ),
        (
            "{ a(b: -) }",
            "Invalid syntax with ANTLR error 'token recognition error at: '-)'' at line 1 column 8",
        ),
        (
            "{ a .. b }",
            "Invalid syntax with ANTLR error 'token recognition error at: '.. '' at line 1 column 5",
        ),
        (
            "{ a(b: \"x\n\") }",
            "Invalid syntax with ANTLR error 'token recognition error at: '\"x\\n'' at line 1 column 8",
        ),
        (
            "{ a(b: \"\"\"x\") }",
            "Invalid syntax with ANTLR error 'token recognition error at: '\"\"\"x\") }'' at line 1 column 8",
        ),
        ("type T { a: Int }", "No operation definition found."),
        ("fragment F on T { a }", "No operation definition found."),
        ("{ a(b: 1e999) }", "a number is too large"),
    ] {
        let found = at(&analyzed(query), "errors");
        let expected = Value::array([text(format!("Failed to parse GraphQL query: {error}"))]);
        assert_eq!(found.to_json(), expected.to_json(), "{query}");
    }
}

#[test]
fn complexity_weighs_the_fields() {
    for (parsed, weights, expected) in [
        (r#"{"fields":["a","b","a"],"depth":2}"#, "{}", "7"),
        (r#"{"fields":["a","b","a"],"depth":2}"#, r#"{"a":10,"c":99}"#, "25"),
        (r#"{"fields":["a"],"depth":0}"#, r#"{"a":0}"#, "0"),
        (r#"{"fields":["a"],"depth":0}"#, r#"{"a":-2.9}"#, "-2"),
        (r#"{"fields":["a"],"depth":0}"#, r#"{"a":"10"}"#, "1"),
        (r#"{"fields":["a"]}"#, "{}", "3"),
        (r#"{"fields":["a"],"depth":"2"}"#, "{}", "3"),
        (r#"{"fields":[1,null,["a"]],"depth":0}"#, "{}", "0"),
        (r#"{"fields":"a","depth":2}"#, "{}", "0"),
        (r#"{"depth":2}"#, "{}", "0"),
        ("{}", "{}", "0"),
        (r#"{"fields":["a","a"],"depth":0}"#, r#"{"a":2147483647}"#, "-2"),
        (r#"{"fields":[],"depth":1073741824}"#, "{}", "-2147483648"),
    ] {
        let found = call_with(FUNCTIONS, "graphql.complexity", &[json(parsed), json(weights)]).unwrap();
        assert_json(&found, expected, &format!("{parsed} {weights}"));
    }
    let parsed = analyzed("{ a { b } }");
    assert_json(
        &call_with(FUNCTIONS, "graphql.complexity", &[parsed, json(r#"{"b":3}"#)]).unwrap(),
        "8",
        "an analysis",
    );
}

#[test]
fn arguments_of_other_types_are_errors() {
    for (name, arguments) in [
        ("graphql.analyzeQuery", "[1]"),
        ("graphql.validateQuery", r#"["{a}", {}]"#),
        ("graphql.validateQuery", r#"[null, ""]"#),
        ("graphql.parseSchema", "[{}]"),
        ("graphql.complexity", "[[], {}]"),
        ("graphql.complexity", "[{}, 1]"),
    ] {
        assert!(durward_functions::fixture::call(FUNCTIONS, name, arguments).is_err(), "{name} {arguments}");
    }
}
