//! Queries held against a schema.

use super::*;

#[test]
fn sensible_queries_are_valid() {
    for query in [
        "{ book(id: 1) { id title } }",
        "query Q($id: ID!) { book(id: $id) { ...B } } fragment B on Book { title readers(first: 2) { ...R } }
            fragment R on Reader { name books { title } }",
        "{ books { __typename title } __schema { queryType { name fields { name type { ofType { kind } } } } } }",
        r#"{ __type(name: "Book") { name kind enumValues(includeDeprecated: true) { name } } }"#,
        "{ books(first: null, genre: HORROR, tags: \"one\") { id } }",
        r#"{ books(filter: {title: "t", inner: {title: "u", pages: 3}}, tags: ["a", "b"]) { id } }"#,
        "query ($g: Genre = POETRY, $t: String!, $list: [String!]) { books(genre: $g, filter: {title: $t}, tags: $list) { id } }",
        "query ($t: String = \"x\") { reader(name: $t) { name } }",
        "mutation { lend(book: 1, to: \"me\") { to } rate(stars: 5) }",
        "mutation ($days: Int) { lend(book: 1, to: \"me\", days: $days) { to } }",
        "subscription { lent { to } }",
        "query Q @cached(seconds: 1) { a: books @cached(seconds: 1) @cached(seconds: 2) { id @skip(if: true) } }",
        "query ($yes: Boolean!) { books @include(if: $yes) { ... @skip(if: $yes) { id } ... on Book { title } } }",
        "{ a: book(id: 1) { id } a: book(id: 1) { title } }",
        "{ book(id: 1) { ...A ...B } } fragment A on Book { id ...B } fragment B on Book { title }",
        "query A { books { id } } query B { books { title } }",
    ] {
        assert_eq!(errors(query), Vec::<String>::new(), "{query}");
    }
}

#[test]
fn each_mistake_is_told_in_the_words_of_graphql_java() {
    for (query, kind, message) in [
        ("{ nothing }", "FieldUndefined@[nothing]", "Field 'nothing' in type 'Query' is undefined"),
        (
            "{ book(id: 1) { nothing { more } } }",
            "FieldUndefined@[book/nothing]",
            "Field 'nothing' in type 'Book' is undefined",
        ),
        (
            "{ books { __schema { x } } }",
            "FieldUndefined@[books/__schema]",
            "Field '__schema' in type 'Book' is undefined",
        ),
        ("{ book { id } }", "MissingFieldArgument@[book]", "Missing field argument 'id'"),
        ("{ book(id: 1, x: 2) { id } }", "UnknownArgument@[book]", "Unknown field argument 'x'"),
        (
            "{ book(id: null) { id } }",
            "NullValueForNonNullArgument@[book]",
            "Null value for non-null field argument 'id'",
        ),
        (
            "{ book(id: 1.5) { id } }",
            "WrongType@[book]",
            "argument 'id' with value '1.5' is not a valid 'ID'",
        ),
        (
            "{ books(first: \"1\") { id } }",
            "WrongType@[books]",
            "argument 'first' with value '\"1\"' is not a valid 'Int'",
        ),
        (
            "{ books(first: 2147483648) { id } }",
            "WrongType@[books]",
            "argument 'first' with value '2147483648' is not a valid 'Int'",
        ),
        (
            "{ books(genre: PROSE) { id } }",
            "WrongType@[books]",
            "argument 'genre' with value 'PROSE' is not a valid 'Genre'",
        ),
        (
            "{ books(tags: [1]) { id } }",
            "WrongType@[books]",
            "argument 'tags' with value '[1]' is not a valid 'String'",
        ),
        (
            "{ books(tags: [null]) { id } }",
            "WrongType@[books]",
            "argument 'tags' with value '[null]' must not be null",
        ),
        (
            "{ books(filter: 1) { id } }",
            "WrongType@[books]",
            "argument 'filter' with value '1' must be an object type",
        ),
        (
            "{ books(filter: {}) { id } }",
            "WrongType@[books]",
            "argument 'filter' with value '{}' is missing required fields '[title]'",
        ),
        (
            "{ books(filter: {title: \"t\", x: 1}) { id } }",
            "WrongType@[books]",
            "argument 'filter' with value '{title: \"t\", x: 1}' contains a field not in 'Filter': 'x'",
        ),
        (
            "{ books(filter: {title: \"t\", pages: true}) { id } }",
            "WrongType@[books]",
            "argument 'filter' with value '{title: \"t\", pages: true}' is not a valid 'Int' ('pages')",
        ),
        (
            "mutation { rate(stars: \"5\") }",
            "WrongType@[rate]",
            "argument 'stars' with value '\"5\"' is not a valid 'Float'",
        ),
        (
            "{ books }",
            "SubselectionRequired@[books]",
            "Subselection required for type '[Book!]!' of field 'books'",
        ),
        (
            "{ books { title { x } } }",
            "SubselectionNotAllowed@[books/title]",
            "Subselection not allowed on leaf type 'String!' of field 'title'",
        ),
        ("{ books @x { id } }", "UnknownDirective@[books]", "Unknown directive 'x'"),
        (
            "{ books @deprecated { id } }",
            "MisplacedDirective@[books]",
            "Directive 'deprecated' not allowed here",
        ),
        ("query @skip(if: true) { books { id } }", "MisplacedDirective", "Directive 'skip' not allowed here"),
        ("{ books @skip { id } }", "MissingDirectiveArgument@[books]", "Missing directive argument 'if'"),
        (
            "{ books @skip(if: true, x: 1) { id } }",
            "UnknownArgument@[books]",
            "Unknown directive argument 'x'",
        ),
        (
            "{ books @skip(if: true) @skip(if: true) { id } }",
            "DuplicateDirectiveName@[books]",
            "Non repeatable directives must be uniquely named within a location. The directive 'skip' used on a 'FIELD' \
             is not unique",
        ),
        (
            "{ book(id: 1, id: 1) { id } }",
            "DuplicateArgumentNames@[book]",
            "There can be only one argument named 'id'",
        ),
        ("{ books { ...F } }", "UndefinedFragment@[books]", "Undefined fragment 'F'"),
        ("{ books { ... on Pear { id } } }", "UnknownType@[books]", "Unknown type 'Pear'"),
        (
            "{ books { ... on Genre { id } } }",
            "InlineFragmentTypeConditionInvalid@[books]",
            "Inline fragment type condition is invalid, must be on Object/Interface/Union",
        ),
        (
            "{ books { ... on Reader { name } } }",
            "InvalidFragmentType@[books]",
            "Fragment cannot be spread here as objects of type 'Book' can never be of type 'Reader'",
        ),
        (
            "{ books { ...R } } fragment R on Reader { name }",
            "InvalidFragmentType@[books]",
            "Fragment 'R' cannot be spread here as objects of type 'Book' can never be of type 'Reader'",
        ),
        ("{ books { id } } fragment F on Book { id }", "UnusedFragment@[F]", "Unused fragment 'F'"),
        (
            "{ books { ...F } } fragment F on Book { readers { books { ...F } } }",
            "FragmentCycle@[F]",
            "Fragment cycles not allowed",
        ),
        (
            "{ books { ...F } } fragment F on Filter { pages }",
            "InvalidFragmentTypeCondition@[F]",
            "Fragment type condition is invalid, must be on Object/Interface/Union",
        ),
        (
            "query ($i: ID!, $i: ID!) { book(id: $i) { id } }",
            "DuplicateVariableName",
            "There can be only one variable named 'i'",
        ),
        ("query ($i: ID) { book(id: 1) { id } }", "UnusedVariable", "Unused variable 'i'"),
        ("{ book(id: $i) { id } }", "UndefinedVariable", "Undefined variable 'i'"),
        (
            "query ($i: ID) { book(id: $i) { id } }",
            "VariableTypeMismatch",
            "Variable 'i' of type 'ID' used in position expecting type 'ID!'",
        ),
        (
            "query ($i: [ID!]!) { book(id: $i) { id } }",
            "VariableTypeMismatch",
            "Variable 'i' of type '[ID!]!' used in position expecting type 'ID!'",
        ),
        (
            "query ($s: [String]) { books(tags: $s) { id } }",
            "VariableTypeMismatch",
            "Variable 's' of type '[String]' used in position expecting type '[String!]'",
        ),
        (
            "query ($p: String) { books(filter: {title: \"t\", pages: $p}) { id } }",
            "VariableTypeMismatch",
            "Variable 'p' of type 'String' used in position expecting type 'Int'",
        ),
        (
            "query ($n: Int = \"1\") { books(first: $n) { id } }",
            "BadValueForDefaultArg",
            "Bad default value '\"1\"' for type 'Int'",
        ),
        (
            "{ a: books { id } a: reader(name: \"x\") { name } }",
            "FieldsConflict@[a]",
            "'a' : 'books' and 'reader' are different fields",
        ),
        (
            "{ book(id: 1) { id } book(id: 2) { id } }",
            "FieldsConflict@[book]",
            "'book' : fields have different arguments",
        ),
        (
            "{ books { id: title } books { id } }",
            "FieldsConflict@[books/id]",
            "'id' : 'title' and 'id' are different fields",
        ),
        (
            "subscription S { lent { to } returned { to } }",
            "SubscriptionMultipleRootFields",
            "Subscription operation 'S' must have exactly one root field",
        ),
        (
            "subscription { __typename }",
            "SubscriptionIntrospectionRootField",
            "Subscription operation 'null' root field '__typename' cannot be an introspection field",
        ),
        (
            "{ books { id } } query Q { books { id } }",
            "LoneAnonymousOperationViolation",
            "Anonymous operation with other operations",
        ),
        (
            "query Q { books { id } } query Q { books { id } }",
            "DuplicateOperationName",
            "There can be only one operation named 'Q'",
        ),
        ("{ books { id } } scalar S", "NonExecutableDefinition", "Type 'S' definition is not executable"),
        (
            "{ books(filter: {title: \"t\", title: \"t\"}) { id } }",
            "UniqueObjectFieldName@[books]",
            "There can be only one field named 'title'",
        ),
    ] {
        assert_eq!(errors(query), [format!("Validation error ({kind}) : {message}")], "{query}");
    }
}

#[test]
fn several_mistakes_are_all_told_up_to_a_hundred() {
    assert_eq!(
        errors("query ($v: Int) { nothing books { more } ...F }"),
        [
            "Validation error (FieldUndefined@[nothing]) : Field 'nothing' in type 'Query' is undefined",
            "Validation error (FieldUndefined@[books/more]) : Field 'more' in type 'Book' is undefined",
            "Validation error (UndefinedFragment) : Undefined fragment 'F'",
            "Validation error (UnusedVariable) : Unused variable 'v'",
        ]
    );
    assert_eq!(
        errors("query ($b: Book) { books(first: $b) { id } }"),
        [
            "Validation error (NonInputTypeOnVariable) : Input variable 'b' type 'Book' is not an input type",
            "Validation error (VariableTypeMismatch) : Variable 'b' of type 'Book' used in position expecting type 'Int'",
        ]
    );
    let query = (0..150).map(|number| format!(" x{number}")).collect::<String>();
    assert_eq!(errors(&format!("{{{query}}}")).len(), 100);
}

#[test]
fn operations_without_a_root_type_are_refused() {
    let schema = "type Query { a: Int }";
    for (query, error) in [
        ("mutation { a }", "The 'mutation' operation is not supported by the schema"),
        ("subscription { a }", "The 'subscription' operation is not supported by the schema"),
    ] {
        let result = call_with(FUNCTIONS, "graphql.validateQuery", &[text(query), text(schema)]).unwrap();
        assert_eq!(errors_of(&result), [format!("Validation error (UnknownOperation) : {error}")]);
    }
}

#[test]
fn only_valid_queries_are_counted() {
    let query = "{ a: books(first: 3) { id } }";
    assert_json(&validated(query), &analyzed(query).to_json(), query);
    let result = validated("{ a: books(first: 3) { nothing } }");
    for path in ["fieldCount", "depth", "complexity", "security.aliasCount", "ast.fragmentCount"] {
        assert_json(&at(&result, path), "0", path);
    }
    let result = validated("fragment F on Book { id }");
    assert_eq!(errors_of(&result), ["Validation error (UnusedFragment@[F]) : Unused fragment 'F'"]);
}

#[test]
fn queries_that_cannot_be_read_are_not_held_against_anything() {
    for schema in [LIBRARY, "nonsense"] {
        let result = call_with(FUNCTIONS, "graphql.validateQuery", &[text("{"), text(schema)]).unwrap();
        assert_json(&result, &analyzed("{").to_json(), schema);
    }
}
