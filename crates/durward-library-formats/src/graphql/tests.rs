//! Queries and schemas by cases, and what hostile ones do.

use super::*;
use durward_functions::fixture::{call_with, json};

mod analysis;
mod limits;
mod schema;
mod validation;

/// A schema with what the Java engine can make executable.
const LIBRARY: &str = r#"
    "Books and who reads them"
    type Query {
        book(id: ID!): Book
        books(first: Int = 10, genre: Genre, filter: Filter, tags: [String!]): [Book!]!
        reader(name: String!): Reader
    }
    type Mutation { lend(book: ID!, to: String!, days: Int! = 14): Loan  rate(stars: Float!): Boolean }
    type Subscription { lent: Loan  returned: Loan }
    type Book { id: ID!  title: String!  genre: Genre  readers(first: Int): [Reader] }
    type Reader { name: String!  age: Int  books: [Book] }
    type Loan { book: Book!  to: String! }
    enum Genre { HORROR POETRY }
    input Filter { title: String!  pages: Int = 100  inner: Filter }
    directive @cached(seconds: Int!) repeatable on FIELD | QUERY
"#;

fn analyzed(query: &str) -> Value {
    call_with(FUNCTIONS, "graphql.analyzeQuery", &[text(query)]).unwrap()
}

fn validated(query: &str) -> Value {
    call_with(FUNCTIONS, "graphql.validateQuery", &[text(query), text(LIBRARY)]).unwrap()
}

/// The errors of a query in [`LIBRARY`]; none when it is valid.
fn errors(query: &str) -> Vec<String> {
    errors_of(&validated(query))
}

fn errors_of(result: &Value) -> Vec<String> {
    let is_valid = at(result, "valid").to_json() == "true";
    let Value::Object(object) = result else { panic!("{result:?}") };
    let errors = match object.get("errors") {
        Some(Value::Array(errors)) => errors.iter().map(message).collect(),
        _ => Vec::new(),
    };
    assert_eq!(is_valid, errors.is_empty(), "{}", result.to_json());
    errors
}

fn message(error: &Value) -> String {
    let Value::Text(error) = error else { panic!("{error:?}") };
    error.to_string()
}

/// What is at a path of keys.
fn at(value: &Value, path: &str) -> Value {
    path.split('.').fold(value.clone(), |value, key| {
        let Value::Object(object) = value else { panic!("{key} of {value:?}") };
        object.get(key).unwrap_or_else(|| panic!("no {key}")).clone()
    })
}

fn assert_json(value: &Value, expected: &str, what: &str) {
    assert_eq!(value.to_json(), expected, "{what}");
}
