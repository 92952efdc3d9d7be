//! Hostile queries and schemas end with an error, in time.

use super::*;
use std::fmt::Write as _;

fn reason(query: &str) -> String {
    errors_of(&analyzed(query)).concat().trim_start_matches("Failed to parse GraphQL query: ").to_owned()
}

fn cancelled(what: &str) -> String {
    format!(
        "More than {what} have been presented. To prevent Denial Of Service attacks, parsing has been cancelled."
    )
}

const TOO_DEEP: &str = "More than 500 deep 'grammar' rules have been entered. To prevent Denial Of Service attacks, \
                        parsing has been cancelled.";

#[test]
fn what_is_nested_too_deep_is_refused() {
    let nested =
        |open: &str, close: &str, count: usize| format!("{}a{}", open.repeat(count), close.repeat(count));
    assert_json(&at(&analyzed(&nested("{a", "}", 150).replace("aa", "a{a}")), "depth"), "100", "150 levels");
    for query in [
        nested("{a", "}", 170),
        nested("{a", "}", 7_000),
        nested("{...", "}", 7_000),
        format!("{{a(x: {})}}", nested("[", "]", 7_000)),
        format!("{{a(x: {})}}", nested("{x:", "}", 4_000)),
        format!("query($x: Int = {}) {{a}}", nested("[", "]", 7_000)),
        format!("query($x: {}) {{a}}", nested("[", "]", 7_000)),
    ] {
        assert_eq!(reason(&query), TOO_DEEP, "{}", query.get(..40).unwrap());
    }
    let schema = format!("type Query {{ a: {} }}", nested("[", "]", 100_000));
    let result = call_with(FUNCTIONS, "graphql.parseSchema", &[text(&schema)]).unwrap();
    let error = errors_of(&result).concat();
    assert!(
        error.starts_with(&format!("errors=[InvalidSyntaxError{{ message={TOO_DEEP} ,")),
        "a nested type"
    );
}

#[test]
fn what_is_too_long_is_refused() {
    // With the braces and the end these are the 15,000 tokens that are allowed.
    assert_json(
        &at(&analyzed(&format!("{{{}}}", "a ".repeat(14_997))), "fieldCount"),
        "14997",
        "14,997 fields",
    );
    let tokens = cancelled("15,000 'grammar' tokens");
    assert_eq!(reason(&format!("{{{}}}", "a ".repeat(14_998))), tokens);
    let blanks = cancelled("200,000 'whitespace' tokens");
    assert_eq!(reason(&format!("{{a{}}}", " ".repeat(200_001))), blanks);
    // The limit counts bytes of UTF-8.
    let most = (1 << 19) - "{a}#".len();
    assert_eq!(
        reason(&format!("{{a}}#{}", "x".repeat(most + 1))),
        "Query exceeds maximum size of 524288 bytes."
    );
    assert_eq!(
        reason(&format!("{{a}}#{}", "é".repeat(most / 2 + 1))),
        "Query exceeds maximum size of 524288 bytes."
    );
    assert_json(&at(&analyzed(&format!("{{a}}#{}", "x".repeat(most))), "valid"), "true", "a long comment");
}

#[test]
fn schemas_have_the_limit_of_queries() {
    let schema = format!("type Query {{ a: Int }} #{}", "x".repeat(1 << 19));
    let result = call_with(FUNCTIONS, "graphql.validateQuery", &[text("{ a }"), text(&schema)]).unwrap();
    let error = "Failed to parse GraphQL query: Schema exceeds maximum size of 524288 bytes.";
    assert_eq!(errors_of(&result), [error]);
    let listed = call_with(FUNCTIONS, "graphql.parseSchema", &[text(&schema)]).unwrap();
    assert_eq!(errors_of(&listed), ["Schema exceeds maximum size of 524288 bytes."]);
}

#[test]
fn a_long_chain_of_fragments_needs_little_stack() {
    let count = 1_800;
    let mut query = "{ books { ...F0 } }".to_owned();
    for number in 0..count {
        write!(query, " fragment F{number} on Book {{ ...F{} }}", number + 1).unwrap();
    }
    write!(query, " fragment F{count} on Book {{ id }}").unwrap();
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(move || {
            assert_eq!(errors(&query), Vec::<String>::new());
            assert_json(&at(&analyzed(&query), "security.hasCircularFragments"), "false", "a chain");
            let circle = query.replace("{ id }", "{ ...F0 }");
            assert_eq!(errors(&circle).len(), 100);
            assert_json(&at(&analyzed(&circle), "security.hasCircularFragments"), "true", "a circle");
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn fragments_that_double_fields_end_in_time() {
    let count = 60;
    let mut query = "{ books { ...F0 } }".to_owned();
    for number in 0..count {
        let next = number + 1;
        write!(
            query,
            " fragment F{number} on Book {{ x: readers {{ books {{ ...F{next} }} }} y: readers {{ books {{ ...F{next} }} }} \
             ...F{next} }}"
        )
        .unwrap();
    }
    write!(query, " fragment F{count} on Book {{ id }}").unwrap();
    // Whether the comparison comes to an end is not said, but that all of this does.
    let found = errors(&query);
    assert!(found.iter().all(|error| error.contains("FieldsConflict")), "{found:?}");
}

#[test]
fn large_schemas_are_checked_in_time() {
    let types: String = (0..15_000).fold(String::new(), |mut types, number| {
        writeln!(types, "type T{number} implements I {{ a: Int }}").unwrap();
        types
    });
    let schema = format!("type Query {{ a: Int }} {types}");
    let result = call_with(FUNCTIONS, "graphql.validateQuery", &[text("{ a }"), text(&schema)]).unwrap();
    assert_json(&at(&result, "valid"), "false", "no interface I");
}

#[test]
fn broken_documents_do_no_harm() {
    let query = "query Q($f: [Int!] = [1, -2.5e3] @x) @y(s: \"a\\u{1F600}\\n\") { a: books(filter: {pages: $f, t: \"\"\"é\n \"\"\"}) \
                 { ... on Book @skip(if: true) { title } ...F # é\n } } fragment F on Book { id }";
    for document in [query, LIBRARY] {
        for at in (0..document.len()).filter(|at| document.is_char_boundary(*at)) {
            let (before, after) = document.split_at(at);
            let rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap();
            for changed in [
                before.to_owned(),
                format!("{before}{rest}"),
                format!("{before}\"{after}"),
                format!("{before}}}{after}"),
            ] {
                let _analyzed = analyzed(&changed);
                let _validated = validated(&changed);
                let _parsed = call_with(FUNCTIONS, "graphql.parseSchema", &[text(&changed)]);
                let _schema = call_with(
                    FUNCTIONS,
                    "graphql.validateQuery",
                    &[text("{ books { id } }"), text(&changed)],
                );
            }
        }
    }
}
