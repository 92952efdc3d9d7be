//! How cases are written: `1.0:integer-add i'1' i'2' -> i'3'`, bags as `[s'a' s'b']`, the empty bag as `[string]`,
//! errors as `processing-error` and `syntax-error`.

use super::super::*;
use crate::fault::FaultCode;
use crate::value::Value;

pub(super) struct Case {
    pub(super) function: &'static Function,
    arguments: Vec<(Type, Operand<'static>)>,
    pub(super) expected: Outcome,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Value(Value),
    Bag(Vec<Value>),
    Processing,
    Syntax,
}

impl Outcome {
    /// Compares by text as well: results must be right to the letter.
    pub(super) fn is_same(&self, other: &Outcome) -> bool {
        let same = |a: &Value, b: &Value| a.data_type() == b.data_type() && a.lexical() == b.lexical();
        match (self, other) {
            (Outcome::Value(a), Outcome::Value(b)) => same(a, b),
            (Outcome::Bag(a), Outcome::Bag(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Outcome::Processing, Outcome::Processing) | (Outcome::Syntax, Outcome::Syntax) => true,
            _ => false,
        }
    }
}

impl Case {
    pub(super) fn read(line: &str) -> Case {
        let (name, rest) = line.split_once(' ').unwrap();
        let (version, name) = name.split_once(':').unwrap();
        let id = format!("urn:oasis:names:tc:xacml:{version}:function:{name}");
        let function = find(&id).unwrap_or_else(|| panic!("no function {id}"));
        let mut text = rest.trim_start();
        let mut arguments = Vec::new();
        while !text.starts_with("->") {
            arguments.push(operand(&mut text));
        }
        let expected = match text[2..].trim() {
            "processing-error" => Outcome::Processing,
            "syntax-error" => Outcome::Syntax,
            mut result => match operand(&mut result).1 {
                Operand::One(value) => Outcome::Value(value.into_owned()),
                Operand::Bag(values) => Outcome::Bag(values.into_owned()),
            },
        };
        Case { function, arguments, expected }
    }

    pub(super) fn argument_types(&self) -> Vec<Argument> {
        self.arguments.iter().map(|(kind, _)| Argument::Expression(*kind)).collect()
    }

    pub(super) fn evaluate(&self) -> Outcome {
        let Body::Strict(_, strict) = self.function.body else {
            panic!("{} is not strict", self.function.id)
        };
        let operands: Vec<Operand<'_>> = self.arguments.iter().map(|(_, operand)| operand.clone()).collect();
        match strict(&operands) {
            Ok(Operand::One(value)) => Outcome::Value(value.into_owned()),
            Ok(Operand::Bag(values)) => Outcome::Bag(values.into_owned()),
            Err(fault) => match fault.code {
                FaultCode::ProcessingError => Outcome::Processing,
                FaultCode::SyntaxError => Outcome::Syntax,
                FaultCode::MissingAttribute => panic!("no function misses an attribute"),
            },
        }
    }
}

fn operand(text: &mut &str) -> (Type, Operand<'static>) {
    let Some(inside) = text.strip_prefix('[') else {
        let value = value(text);
        return (Type::One(value.data_type()), Operand::one(value));
    };
    *text = inside;
    let mut values = Vec::new();
    let mut data_type = None;
    if let Some((name, rest)) = text.split_once(']').filter(|(name, _)| !name.contains('\'')) {
        data_type = DataType::from_short_name(name);
        *text = &rest.trim_start()[0..];
    } else {
        while !text.starts_with(']') {
            values.push(value(text));
        }
        *text = text[1..].trim_start();
    }
    let data_type = values.first().map(Value::data_type).or(data_type).unwrap();
    (Type::Bag(data_type), Operand::bag(values))
}

fn value(text: &mut &str) -> Value {
    let (prefix, rest) = text.split_once('\'').unwrap_or_else(|| panic!("no value at {text:?}"));
    let (content, rest) = rest.split_once('\'').unwrap();
    *text = rest.trim_start();
    let data_type = match prefix {
        "s" => DataType::Text,
        "b" => DataType::Boolean,
        "i" => DataType::Integer,
        "d" => DataType::Double,
        "t" => DataType::Time,
        "date" => DataType::Date,
        "dt" => DataType::DateTime,
        "u" => DataType::AnyUri,
        "hex" => DataType::HexBinary,
        "base64" => DataType::Base64Binary,
        "days" => DataType::DayTimeDuration,
        "months" => DataType::YearMonthDuration,
        "x500" => DataType::X500Name,
        "mail" => DataType::Rfc822Name,
        "ip" => DataType::IpAddress,
        "dns" => DataType::DnsName,
        _ => panic!("no type is abbreviated {prefix:?}"),
    };
    Value::parse(data_type, content).unwrap()
}
