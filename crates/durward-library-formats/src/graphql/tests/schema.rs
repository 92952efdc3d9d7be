//! Schemas by themselves.

use super::*;

fn parsed(schema: &str) -> Value {
    call_with(FUNCTIONS, "graphql.parseSchema", &[text(schema)]).unwrap()
}

/// The errors of a query `{ a }` against a schema, which is what the schema is to blame for.
fn blamed(schema: &str) -> Vec<String> {
    errors_of(&call_with(FUNCTIONS, "graphql.validateQuery", &[text("{ a }"), text(schema)]).unwrap())
}

#[test]
fn types_and_directives_are_listed_with_the_scalars_last() {
    let schema = r#"
        "described" scalar Date
        """
        Also described
        """
        type Query implements Node & Named { a(x: Int = 1 @d): [Int!]! @deprecated(reason: "x") }
        interface Node implements Named @d { id: ID }
        union Some @d = | A | B
        union None
        enum E @d { X Y @d }
        input I @d { "of" x: [E] = [X] @d }
        directive @d("of" x: Int = 1) repeatable on | FIELD | QUERY
        extend type Query { b: Int }
        extend schema @d { mutation: M }
        schema @d { "of" query: Query }
    "#;
    let expected = concat!(
        r#"{"valid":true,"ast":{"types":[{"kind":"ObjectTypeDefinition","name":"Query"},"#,
        r#"{"kind":"InterfaceTypeDefinition","name":"Node"},{"kind":"UnionTypeDefinition","name":"Some"},"#,
        r#"{"kind":"UnionTypeDefinition","name":"None"},{"kind":"EnumTypeDefinition","name":"E"},"#,
        r#"{"kind":"InputObjectTypeDefinition","name":"I"},{"kind":"ScalarTypeDefinition","name":"Int"},"#,
        r#"{"kind":"ScalarTypeDefinition","name":"Float"},{"kind":"ScalarTypeDefinition","name":"String"},"#,
        r#"{"kind":"ScalarTypeDefinition","name":"Boolean"},{"kind":"ScalarTypeDefinition","name":"ID"},"#,
        r#"{"kind":"ScalarTypeDefinition","name":"Date"}],"directives":[{"name":"d"}]}}"#,
    );
    assert_json(&parsed(schema), expected, schema);
}

#[test]
fn types_need_not_be_known_where_they_are_only_listed() {
    for schema in ["type Query { a: Missing }", "type A", "type A {}", "extend type A { b: C }", "scalar Int"]
    {
        assert_json(&at(&parsed(schema), "valid"), "true", schema);
    }
}

#[test]
fn schemas_that_are_none_are_told() {
    for (schema, error) in [
        ("", "Invalid syntax with offending token '<EOF>' at line 1 column 1"),
        ("type", "Invalid syntax with offending token '<EOF>' at line 1 column 5"),
        ("type Query { a }", "Invalid syntax with offending token '}' at line 1 column 16"),
        ("type Query { a: [Int }", "Invalid syntax with offending token '}' at line 1 column 22"),
        ("type Query { a(): Int }", "Invalid syntax with offending token ')' at line 1 column 16"),
        ("type Query { a: Int!! }", "Invalid syntax with offending token '!' at line 1 column 21"),
        ("type Query implements { a: Int }", "Invalid syntax with offending token '{' at line 1 column 23"),
        ("enum E { true }", "Invalid syntax with offending token 'true' at line 1 column 10"),
        ("union U = ", "Invalid syntax with offending token '<EOF>' at line 1 column 11"),
        ("schema { }", "Invalid syntax with offending token '}' at line 1 column 10"),
        ("schema { select: A }", "Invalid syntax with offending token 'select' at line 1 column 10"),
        ("directive @d", "Invalid syntax with offending token '<EOF>' at line 1 column 13"),
        (
            "extend directive @d on FIELD",
            "Invalid syntax with offending token 'directive' at line 1 column 8",
        ),
        ("input I { a: Int = $b }", "Invalid syntax with offending token '$' at line 1 column 20"),
        (
            "\"described\" extend type A { b: Int }",
            "Invalid syntax with offending token '\"described\"' at line 1 column 1",
        ),
        ("type A { a: Int } type A { b: Int }", "'A' type tried to redefine existing 'A' type"),
        ("type A { a: Int } enum A { B }", "'A' type tried to redefine existing 'A' type"),
        ("directive @d on FIELD directive @d on QUERY", "'d' type tried to redefine existing 'd' type"),
        ("schema { query: A } schema { query: A }", "'schema' type tried to redefine existing 'schema' type"),
        (
            "type A { a: Int } { a }",
            "The schema definition text contains a non schema definition language (SDL) element ''",
        ),
    ] {
        let parsed = parsed(schema);
        assert_json(&at(&parsed, "valid"), "false", schema);
        assert_json(&at(&parsed, "ast"), "{}", schema);
        let given = errors_of(&parsed).concat();
        let is_syntax =
            given.starts_with(&format!("errors=[InvalidSyntaxError{{ message={error} ,offendingToken="));
        assert!(is_syntax || given == format!("errors=[{error}]"), "{schema}: {given}");
    }
}

#[test]
fn schemas_that_fit_together_are_used() {
    for schema in [
        "type Query { a: Int }",
        "schema { query: Q mutation: M } type Q { a: Int } type M { b: Int }",
        "schema { query: Q } type Q { a: Int } type Query { b: Int }",
        "type Query { a: Int @deprecated b(x: I = {y: [E]}): E @d } enum E { A @d } input I @d { y: [E!] @d } \
         directive @d on FIELD_DEFINITION | ENUM_VALUE | INPUT_OBJECT | INPUT_FIELD_DEFINITION",
        "type Query extend type Query { a: Int }",
        "type Query { b: E } extend type Query { a: Int } enum E { A } extend enum E { B } extend schema { mutation: M } \
         type M { m: Int }",
    ] {
        assert_eq!(blamed(schema), Vec::<String>::new(), "{schema}");
    }
}

#[test]
fn schemas_that_do_not_fit_together_are_to_blame() {
    for (schema, error) in [
        ("nonsense", "Invalid syntax with offending token 'nonsense' at line 1 column 1"),
        ("type Q { a: Int }", "A schema MUST have a 'query' operation defined"),
        ("schema { mutation: M } type M { a: Int }", "A schema MUST have a 'query' operation defined"),
        ("schema { query: Missing }", "There is no object type 'Missing' for the 'query' operation"),
        ("schema { query: E } enum E { A }", "There is no object type 'E' for the 'query' operation"),
        ("type Query { a: B }", "The field type 'B' is not present when resolving type 'Query'"),
        ("type Query { a(b: [B!]): Int }", "The field type 'B' is not present when resolving type 'Query'"),
        (
            "type Query implements B { a: Int }",
            "The interface type 'B' is not present when resolving type 'Query'",
        ),
        ("type Query { a: Int } type B {}", "\"B\" must define one or more fields."),
        ("type Query { a: Int a: Int }", "The type 'Query' has declared a field with a non unique name 'a'"),
        (
            "type Query { a(x: Int, x: Int): Int }",
            "The type 'Query' has declared a argument with a non unique name 'x'",
        ),
        (
            "type Query { a: Int } enum E { B B }",
            "The type 'E' has declared a enum value with a non unique name 'B'",
        ),
        ("type Query { a: I } input I { b: Int }", "The type 'I' of field 'a' in 'Query' is an input type"),
        ("type Query { a(q: Query): Int }", "The type 'Query' of 'q' in 'Query' is not an input type"),
        ("type Query { a: Int @d }", "'Query' tried to use an undeclared directive 'd'"),
        ("type Query { a: Int } type A @d { b: Int }", "'A' tried to use an undeclared directive 'd'"),
        (
            "type Query { a: Int } extend type B { c: Int }",
            "The extension 'B' type is missing its base underlying type",
        ),
        (
            "type Query { a: Int } extend type Query { a: Int }",
            "'Query' extension type tried to redefine field 'a'",
        ),
        (
            "type Query { a: Int } type A { b: Int } type A { b: Int }",
            "'A' type tried to redefine existing 'A' type",
        ),
        // Nothing can be behind these, as nothing is wired to the schema.
        (
            "type Query { a: Int } interface I { b: Int }",
            "There is no type resolver defined for interface / union 'I' type",
        ),
        (
            "type Query { a: Int } union U = Query",
            "There is no type resolver defined for interface / union 'U' type",
        ),
        (
            "type Query { a: Int } scalar Date",
            "There is no scalar implementation for the named 'Date' scalar type",
        ),
    ] {
        let given = blamed(schema).concat();
        let is_syntax = given
            .starts_with(&format!("Schema parsing failed: errors=[InvalidSyntaxError{{ message={error} ,"));
        assert!(
            is_syntax || given == format!("Schema parsing failed: errors=[{error}]"),
            "{schema}: {given}"
        );
    }
}

/// The whole error as graphql-java prints it, with three lines around.
#[test]
fn syntax_errors_of_schemas_show_the_lines_around() {
    let schema = "type A {a: Int}\n\n\n\n\nx\n y\n\n\n\nz";
    let expected = concat!(
        r#"["errors=[InvalidSyntaxError{ message=Invalid syntax encountered. There are extra tokens in the text that have "#,
        r#"not been consumed. Offending token 'x' at line 6 column 1 ,offendingToken=x ,"#,
        r#"locations=[SourceLocation{line=6, column=1}] ,sourcePreview=\n\n\nx\n y\n\n\n}]"]"#
    );
    assert_json(&at(&parsed(schema), "errors"), expected, schema);
}
