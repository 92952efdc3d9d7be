//! What the type check accepts and refuses, and how it says so.

use super::super::*;
use crate::value::Value;

const STRING_BAG: Type = Type::Bag(DataType::Text);

fn named(name: &str) -> &'static Function {
    let (version, name) = name.split_once(':').unwrap();
    find(&format!("urn:oasis:names:tc:xacml:{version}:function:{name}")).unwrap()
}

fn types(types: &[Type]) -> Vec<Argument> {
    types.iter().copied().map(Argument::Expression).collect()
}

fn applying(applied: &str, rest: &[Type]) -> Vec<Argument> {
    let mut arguments = vec![Argument::Function(named(applied))];
    arguments.extend(types(rest));
    arguments
}

#[track_caller]
fn accepts(name: &str, arguments: &[Argument], result: Type) {
    assert_eq!(named(name).check(arguments).unwrap(), result);
}

#[track_caller]
fn refuses(name: &str, arguments: &[Argument], message: &str) {
    assert_eq!(named(name).check(arguments).unwrap_err().to_string(), message);
}

#[test]
fn numbers_of_arguments_are_checked() {
    accepts("1.0:string-equal", &types(&[TEXT, TEXT]), BOOLEAN);
    refuses("1.0:string-equal", &types(&[TEXT]), "`string-equal` takes 2 arguments, not 1");
    refuses("1.0:string-equal", &types(&[TEXT, TEXT, TEXT]), "`string-equal` takes 2 arguments, not 3");
    refuses("1.0:not", &[], "`not` takes 1 argument, not 0");
    refuses("1.0:integer-add", &types(&[INTEGER]), "`integer-add` takes at least 2 arguments, not 1");
    accepts("1.0:integer-add", &types(&[INTEGER; 5]), INTEGER);
    refuses("1.0:n-of", &[], "`n-of` takes at least 1 argument, not 0");
    accepts("1.0:n-of", &types(&[INTEGER]), BOOLEAN);
    accepts("1.0:n-of", &types(&[INTEGER, BOOLEAN, BOOLEAN]), BOOLEAN);
    accepts("1.0:or", &[], BOOLEAN);
    accepts("1.0:string-bag", &[], STRING_BAG);
    refuses("1.0:string-union", &types(&[STRING_BAG]), "`string-union` takes at least 2 arguments, not 1");
}

#[test]
fn types_of_arguments_are_checked() {
    // IIC003: a bag where a value is expected.
    refuses(
        "1.0:string-equal",
        &types(&[TEXT, STRING_BAG]),
        "argument 2 of `string-equal` is a bag of string where a string is expected; \
         `string-one-and-only` takes the value out of a bag",
    );
    // IIC014: an integer is expected.
    refuses(
        "1.0:integer-add",
        &types(&[INTEGER, TEXT]),
        "argument 2 of `integer-add` is a string where an integer is expected",
    );
    // IIE003: a literal of another type in a match.
    refuses(
        "1.0:string-equal",
        &types(&[INTEGER, TEXT]),
        "argument 1 of `string-equal` is an integer where a string is expected",
    );
    refuses(
        "1.0:string-is-in",
        &types(&[TEXT, TEXT]),
        "argument 2 of `string-is-in` is a string where a bag of string is expected; \
         `string-bag` makes a bag of values",
    );
    refuses(
        "1.0:n-of",
        &types(&[BOOLEAN, BOOLEAN]),
        "argument 1 of `n-of` is a boolean where an integer is expected",
    );
    refuses(
        "1.0:and",
        &[Argument::Expression(BOOLEAN), Argument::Function(named("1.0:not"))],
        "argument 2 of `and` is the function `not` where an expression is expected",
    );
}

#[test]
fn contextual_functions_have_types_by_version() {
    let expression = Type::One(DataType::XPathExpression);
    accepts("3.0:xpath-node-count", &types(&[expression]), INTEGER);
    accepts("1.0:xpath-node-count", &types(&[TEXT]), INTEGER);
    accepts("3.0:xpath-node-match", &types(&[expression, expression]), BOOLEAN);
    accepts("1.0:xpath-node-equal", &types(&[TEXT, TEXT]), BOOLEAN);
    accepts("3.0:access-permitted", &types(&[URI, TEXT]), BOOLEAN);
    assert!(named("3.0:xpath-node-count").check(&types(&[TEXT])).is_err());
    assert!(named("1.0:xpath-node-count").check(&types(&[expression])).is_err());
}

#[test]
fn functions_over_one_bag_take_it_anywhere() {
    for name in ["3.0:any-of", "3.0:all-of", "1.0:any-of", "1.0:all-of"] {
        accepts(name, &applying("1.0:string-equal", &[TEXT, STRING_BAG]), BOOLEAN);
        accepts(name, &applying("1.0:string-equal", &[STRING_BAG, TEXT]), BOOLEAN);
        accepts(name, &applying("1.0:not", &[Type::Bag(DataType::Boolean)]), BOOLEAN);
        accepts(name, &applying("1.0:n-of", &[INTEGER, BOOLEAN, Type::Bag(DataType::Boolean)]), BOOLEAN);
    }
    refuses(
        "3.0:any-of",
        &applying("1.0:string-equal", &[TEXT, TEXT]),
        "`any-of` needs exactly one bag among its arguments, not 0",
    );
    refuses(
        "3.0:all-of",
        &applying("1.0:string-equal", &[STRING_BAG, STRING_BAG]),
        "`all-of` needs exactly one bag among its arguments, not 2",
    );
    refuses(
        "3.0:any-of",
        &applying("1.0:string-equal", &[]),
        "`any-of` needs exactly one bag among its arguments, not 0",
    );
}

#[test]
fn the_function_applied_must_fit() {
    refuses("3.0:any-of", &types(&[TEXT, STRING_BAG]), "the first argument of `any-of` must be a function");
    refuses("3.0:any-of", &[], "the first argument of `any-of` must be a function");
    refuses(
        "3.0:any-of",
        &applying("1.0:integer-equal", &[TEXT, STRING_BAG]),
        "in the calls that `any-of` makes, argument 1 of `integer-equal` is a string where an integer is expected",
    );
    refuses(
        "3.0:any-of",
        &applying("1.0:string-equal", &[STRING_BAG]),
        "in the calls that `any-of` makes, `string-equal` takes 2 arguments, not 1",
    );
    refuses(
        "3.0:any-of",
        &applying("1.0:string-normalize-space", &[STRING_BAG]),
        "`any-of` needs a function that gives a boolean; `string-normalize-space` gives a string",
    );
    refuses(
        "3.0:any-of",
        &applying("3.0:any-of", &[STRING_BAG]),
        "`any-of` takes a function itself and cannot be applied by `any-of`",
    );
    // A function of a bag cannot be applied value by value.
    assert!(named("3.0:map").check(&applying("1.0:string-bag-size", &[STRING_BAG])).is_err());
}

#[test]
fn map_gives_a_bag_of_results() {
    accepts("3.0:map", &applying("1.0:string-normalize-to-lower-case", &[STRING_BAG]), STRING_BAG);
    accepts("1.0:map", &applying("3.0:integer-from-string", &[STRING_BAG]), Type::Bag(DataType::Integer));
    accepts(
        "3.0:map",
        &applying("1.0:integer-add", &[Type::Bag(DataType::Integer), INTEGER]),
        Type::Bag(DataType::Integer),
    );
    refuses(
        "3.0:map",
        &applying("1.0:string-bag", &[STRING_BAG]),
        "`map` needs a function that gives one value; `string-bag` gives a bag of string",
    );
}

#[test]
fn functions_over_two_bags_take_exactly_those() {
    accepts("3.0:any-of-any", &applying("1.0:string-equal", &[STRING_BAG, STRING_BAG]), BOOLEAN);
    accepts("3.0:any-of-any", &applying("1.0:string-equal", &[TEXT, STRING_BAG]), BOOLEAN);
    accepts("3.0:any-of-any", &applying("1.0:string-equal", &[TEXT, TEXT]), BOOLEAN);
    accepts("1.0:any-of-any", &applying("1.0:string-equal", &[STRING_BAG, STRING_BAG]), BOOLEAN);
    assert!(named("3.0:any-of-any").check(&applying("1.0:or", &[])).is_err());
    for name in ["1.0:all-of-any", "1.0:any-of-all", "1.0:all-of-all"] {
        accepts(name, &applying("1.0:string-equal", &[STRING_BAG, STRING_BAG]), BOOLEAN);
        assert!(named(name).check(&applying("1.0:string-equal", &[TEXT, STRING_BAG])).is_err());
        assert!(named(name).check(&applying("1.0:not", &[Type::Bag(DataType::Boolean)])).is_err());
    }
    refuses(
        "1.0:all-of-any",
        &applying("1.0:string-equal", &[STRING_BAG, TEXT]),
        "argument 3 of `all-of-any` is a string where a bag is expected",
    );
}

#[test]
fn constants_that_always_fail_are_found() {
    let check = |name: &str, begin: Option<i64>, end: Option<i64>| {
        let (begin, end) = (begin.map(Value::integer), end.map(Value::integer));
        named(name).check_constants(&[None, begin.as_ref(), end.as_ref()])
    };
    assert_eq!(
        check("3.0:string-substring", Some(-2), Some(8)).unwrap_err().to_string(),
        "argument 2 of `string-substring` is `-2`, so that it always fails; the first character has position 0"
    );
    assert!(check("3.0:anyURI-substring", Some(-2), Some(8)).is_err());
    assert!(check("3.0:string-substring", Some(0), Some(-2)).is_err());
    assert!(check("3.0:string-substring", Some(5), Some(4)).is_err());
    for (begin, end) in
        [(Some(0), Some(-1)), (Some(3), Some(3)), (None, Some(0)), (Some(900), None), (None, None)]
    {
        assert!(check("3.0:string-substring", begin, end).is_ok(), "{begin:?} {end:?}");
    }
    assert!(named("1.0:integer-divide").check_constants(&[None, Some(&Value::integer(0))]).is_ok());
}
