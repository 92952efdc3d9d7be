//! Calls of literals alone. What fails when it is computed is an error when it is evaluated, and no reason to refuse the
//! policy: it may stand where nobody asks. A negative position of `string-substring` once refused the whole document.

use durward_pdp::ir::DataType;
use durward_pdp::ir::function::{self, Body, Function, Type};
use durward_pdp::ir::value::{Operand, Value};
use durward_pdp::{Decision, Request};

use crate::write::{condition, decide, failing, integer, pdp, policy, rule, text};

/// Literals of each type, the odd ones among them.
fn samples(data_type: DataType) -> &'static [&'static str] {
    match data_type {
        DataType::Text => &["", "abc", "-1", "%", "2024-02-30"],
        DataType::Boolean => &["true", "false"],
        DataType::Integer => &["-1", "0", "2", "9223372036854775808", "1000000000000000000000000000000"],
        DataType::Double => &["-0.0", "1.5", "1e308", "INF", "NaN"],
        DataType::Time => &["12:00:00Z"],
        DataType::Date => &["9999-12-31", "-0044-03-15"],
        DataType::DateTime => &["9999-12-31T23:59:59Z"],
        DataType::DayTimeDuration => &["P999999999999D", "-P1D"],
        DataType::YearMonthDuration => &["P999999999999Y", "-P1M"],
        DataType::AnyUri => &["urn:a", "a%20b"],
        DataType::HexBinary => &["00ff"],
        DataType::Base64Binary => &["AAAA"],
        DataType::Rfc822Name => &["a@b.example"],
        DataType::X500Name => &["cn=a,o=b"],
        DataType::IpAddress => &["10.0.0.1/255.0.0.0:80-"],
        DataType::DnsName => &["*.example.com:80"],
        DataType::XPathExpression
        | DataType::Opaque
        | DataType::Number
        | DataType::Null
        | DataType::Undefined
        | DataType::Array
        | DataType::Object => &[],
    }
}

/// The operands a parameter may get, each with the expression that makes it.
fn arguments(parameter: Type) -> Vec<(Operand<'static>, String)> {
    let data_type = parameter.data_type();
    let literals: Vec<(Value, String)> = samples(data_type)
        .iter()
        .filter_map(|text| Some((Value::parse(data_type, text).ok()?, text)))
        .map(|(value, text)| {
            let uri = data_type.uri();
            (value, format!(r#"<AttributeValue DataType="{uri}">{text}</AttributeValue>"#))
        })
        .collect();
    match parameter {
        Type::One(_) => literals.into_iter().map(|(value, text)| (Operand::one(value), text)).collect(),
        Type::Bag(_) => {
            let name = format!("-{}-bag", data_type.short_name());
            let bag = function::all().find(|function| format!("-{}", function.short_name()) == name);
            let Some(bag) = bag else { return Vec::new() };
            let of = |count: usize| {
                let (values, texts): (Vec<Value>, Vec<String>) = literals.iter().take(count).cloned().unzip();
                let call = format!(r#"<Apply FunctionId="{}">{}</Apply>"#, bag.id, texts.concat());
                (Operand::bag(values), call)
            };
            vec![of(0), of(2)]
        }
    }
}

/// Calls of the function with literals that fail.
fn failing_calls(function: &Function) -> Vec<String> {
    let (Body::Strict(signature, run), false) = (function.body, function.takes_pattern()) else {
        return Vec::new();
    };
    let count = signature.variadic_min.unwrap_or(signature.parameters.len()).max(signature.parameters.len());
    let mut calls = vec![(Vec::new(), String::new())];
    for place in 0..count {
        let parameter = *signature.parameters.get(place).unwrap_or(signature.parameters.last().unwrap());
        let choices = arguments(parameter);
        calls = calls
            .iter()
            .flat_map(|(operands, texts)| {
                choices.iter().map(move |(operand, text)| {
                    ([operands.as_slice(), std::slice::from_ref(operand)].concat(), format!("{texts}{text}"))
                })
            })
            .collect();
    }
    let call = |texts: &str| format!(r#"<Apply FunctionId="{}">{texts}</Apply>"#, function.id);
    calls.iter().filter(|(operands, _)| run(operands).is_err()).map(|(_, texts)| call(texts)).collect()
}

fn asked() -> Request {
    Request::builder().subject("n", 1).build()
}

/// A policy that permits and hands out the value.
fn handing_out(expression: &str) -> String {
    let obligation = format!(
        r#"<ObligationExpressions><ObligationExpression ObligationId="o" FulfillOn="Permit">
             <AttributeAssignmentExpression AttributeId="a">{expression}</AttributeAssignmentExpression>
           </ObligationExpression></ObligationExpressions>"#
    );
    policy("p", "3.0 deny-overrides", "", &rule("Permit", &obligation))
}

#[test]
fn a_call_of_literals_that_fails_is_indeterminate_when_evaluated() {
    let mut functions = 0;
    for function in function::all() {
        // A few of each kind are enough, and the last ones differ most from the first.
        let calls = failing_calls(function);
        functions += usize::from(!calls.is_empty());
        for call in calls.iter().take(3).chain(calls.iter().rev().take(3)) {
            let result = decide(&pdp(&[handing_out(call)]), &asked());
            assert_eq!(result.decision, Decision::Indeterminate, "{call}");
            // A text that is not of the type is a syntax error (A.3.6), the rest are processing errors.
            assert!(result.status.code.value.ends_with("-error"), "{call}: {:?}", result.status);
        }
    }
    assert!(functions > 40, "{functions}");
}

#[test]
fn a_call_that_always_fails_does_no_harm_where_nobody_asks() {
    let substring = |begin: i64, end: i64| {
        let arguments = text("abc") + &integer(begin) + &integer(end);
        format!(
            r#"<Apply FunctionId="urn:oasis:names:tc:xacml:3.0:function:string-substring">{arguments}</Apply>"#
        )
    };
    let is_abc = |first: &str| {
        format!(
            r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-equal">{first}{}</Apply>"#,
            text("abc")
        )
    };
    for (begin, end) in [(-1, 2), (0, -2), (2, 1), (0, 4)] {
        let always = rule("Permit", &condition(&is_abc(&substring(begin, end))));
        let alone = policy("p", "3.0 deny-overrides", "", &always);
        assert_eq!(decide(&pdp(&[alone]), &asked()).decision, Decision::Indeterminate, "{begin} {end}");
        let either = format!(
            r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:or">{}{}</Apply>"#,
            is_abc(&substring(begin, end)),
            is_abc(&text("abc")),
        );
        let unasked = policy("p", "3.0 deny-overrides", "", &rule("Permit", &condition(&either)));
        assert_eq!(decide(&pdp(&[unasked]), &asked()).decision, Decision::Permit, "{begin} {end}");
    }
    let broken = policy("p", "3.0 deny-overrides", "", &rule("Permit", &condition(&failing())));
    assert_eq!(decide(&pdp(&[broken]), &asked()).decision, Decision::Indeterminate);
}
