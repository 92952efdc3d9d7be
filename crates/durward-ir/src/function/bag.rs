//! Bags (XACML 3.0, A.3.10) and sets (A.3.11).
//!
//! The code is one for all types: values know their type, and [`Value::equals`] is the `T-equal` that the
//! standard refers to. Which types may meet is said by the table.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use crate::fault::{Evaluated, Fault};
use crate::function::{BOOLEAN, Function, INTEGER, Type, id, row, row_from, take};
use crate::value::{DataType, Operand, Value};

/// The most values a function may put into a bag. A request of usual size holds far fewer; unions of unions and
/// maps must not grow without end.
pub const BAG_SIZE_MAX: usize = 1 << 20;

macro_rules! bag_functions {
    ($($version:literal, $name:literal, $type:ident;)*) => {
        &[ $(
            row(
                id!($version, $name, "-one-and-only"),
                &[Type::Bag(DataType::$type)],
                Type::One(DataType::$type),
                one_and_only,
            ),
            row(id!($version, $name, "-bag-size"), &[Type::Bag(DataType::$type)], INTEGER, bag_size),
            row(
                id!($version, $name, "-is-in"),
                &[Type::One(DataType::$type), Type::Bag(DataType::$type)],
                BOOLEAN,
                is_in,
            ),
            row_from(id!($version, $name, "-bag"), 0, &[Type::One(DataType::$type)], Type::Bag(DataType::$type), bag),
        )* ]
    };
}

macro_rules! set_functions {
    ($($version:literal, $name:literal, $type:ident;)*) => {
        &[ $(
            row(
                id!($version, $name, "-intersection"),
                &[Type::Bag(DataType::$type), Type::Bag(DataType::$type)],
                Type::Bag(DataType::$type),
                intersection,
            ),
            row(
                id!($version, $name, "-at-least-one-member-of"),
                &[Type::Bag(DataType::$type), Type::Bag(DataType::$type)],
                BOOLEAN,
                at_least_one_member_of,
            ),
            row_from(
                id!($version, $name, "-union"),
                2,
                &[Type::Bag(DataType::$type)],
                Type::Bag(DataType::$type),
                union,
            ),
            row(
                id!($version, $name, "-subset"),
                &[Type::Bag(DataType::$type), Type::Bag(DataType::$type)],
                BOOLEAN,
                subset,
            ),
            row(
                id!($version, $name, "-set-equals"),
                &[Type::Bag(DataType::$type), Type::Bag(DataType::$type)],
                BOOLEAN,
                set_equals,
            ),
        )* ]
    };
}

// `is-in` of addresses is not in the standard's table; it is offered because nothing speaks against it.
pub(super) static BAG_TABLE: &[Function] = bag_functions! {
    "1.0", "string", Text;
    "1.0", "boolean", Boolean;
    "1.0", "integer", Integer;
    "1.0", "double", Double;
    "1.0", "time", Time;
    "1.0", "date", Date;
    "1.0", "dateTime", DateTime;
    "1.0", "anyURI", AnyUri;
    "1.0", "hexBinary", HexBinary;
    "1.0", "base64Binary", Base64Binary;
    "3.0", "dayTimeDuration", DayTimeDuration;
    "3.0", "yearMonthDuration", YearMonthDuration;
    "1.0", "dayTimeDuration", DayTimeDuration;
    "1.0", "yearMonthDuration", YearMonthDuration;
    "1.0", "x500Name", X500Name;
    "1.0", "rfc822Name", Rfc822Name;
    "2.0", "ipAddress", IpAddress;
    "2.0", "dnsName", DnsName;
};

pub(super) static SET_TABLE: &[Function] = set_functions! {
    "1.0", "string", Text;
    "1.0", "boolean", Boolean;
    "1.0", "integer", Integer;
    "1.0", "double", Double;
    "1.0", "time", Time;
    "1.0", "date", Date;
    "1.0", "dateTime", DateTime;
    "1.0", "anyURI", AnyUri;
    "1.0", "hexBinary", HexBinary;
    "1.0", "base64Binary", Base64Binary;
    "3.0", "dayTimeDuration", DayTimeDuration;
    "3.0", "yearMonthDuration", YearMonthDuration;
    "1.0", "dayTimeDuration", DayTimeDuration;
    "1.0", "yearMonthDuration", YearMonthDuration;
    "1.0", "x500Name", X500Name;
    "1.0", "rfc822Name", Rfc822Name;
};

fn one_and_only(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [bag] = take(operands)?;
    match bag.as_bag()? {
        [only] => Ok(Operand::one(only.clone())),
        others => {
            let count = others.len();
            Err(Fault::processing(format!("a bag with exactly one value was expected, this one has {count}")))
        }
    }
}

fn bag_size(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [bag] = take(operands)?;
    let size = i64::try_from(bag.as_bag()?.len()).unwrap_or(i64::MAX);
    Ok(Operand::one(Value::integer(size)))
}

fn is_in(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [value, bag] = take(operands)?;
    let value = value.as_one()?;
    Ok(Operand::boolean(bag.as_bag()?.iter().any(|member| member.equals(value))))
}

fn bag(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let values: Evaluated<Vec<Value>> = operands.iter().map(|operand| operand.as_one().cloned()).collect();
    values.map(Operand::bag)
}

/// A value that hashes as it compares.
struct Member<'a>(&'a Value);

impl PartialEq for Member<'_> {
    fn eq(&self, other: &Member<'_>) -> bool {
        self.0.equals(other.0)
    }
}

impl Eq for Member<'_> {}

impl Hash for Member<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash_content(state);
    }
}

/// Bags up to this size are searched from end to end: cheaper than hashing.
const SCAN_SIZE_MAX: usize = 16;

/// Answers whether values are in a bag, in time that does not grow with the square of what a caller sends.
enum Members<'a> {
    Few(&'a [Value]),
    // The standard library's hasher is keyed at random: members come from callers, who must not choose collisions.
    Many(HashSet<Member<'a>>),
}

impl<'a> Members<'a> {
    fn of(bag: &'a [Value]) -> Members<'a> {
        if bag.len() <= SCAN_SIZE_MAX {
            Members::Few(bag)
        } else {
            Members::Many(bag.iter().map(Member).collect())
        }
    }

    fn has(&self, value: &Value) -> bool {
        match self {
            Members::Few(bag) => bag.iter().any(|member| member.equals(value)),
            Members::Many(members) => members.contains(&Member(value)),
        }
    }

    fn has_all(&self, bag: &[Value]) -> bool {
        bag.iter().all(|value| self.has(value))
    }
}

/// These values without repeats, in the order of first appearance.
fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Evaluated<Operand<'static>> {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for value in values {
        if seen.insert(Member(value)) {
            kept.push(value.clone());
        }
        if kept.len() > BAG_SIZE_MAX {
            return Err(Fault::processing(format!("the resulting bag has more than {BAG_SIZE_MAX} values")));
        }
    }
    Ok(Operand::bag(kept))
}

fn intersection(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    let members = Members::of(right.as_bag()?);
    distinct(left.as_bag()?.iter().filter(|value| members.has(value)))
}

fn union(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let bags: Evaluated<Vec<&[Value]>> = operands.iter().map(Operand::as_bag).collect();
    distinct(bags?.into_iter().flatten())
}

fn at_least_one_member_of(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    let members = Members::of(right.as_bag()?);
    Ok(Operand::boolean(left.as_bag()?.iter().any(|value| members.has(value))))
}

fn subset(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    Ok(Operand::boolean(Members::of(right.as_bag()?).has_all(left.as_bag()?)))
}

fn set_equals(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [left, right] = take(operands)?;
    let (left, right) = (left.as_bag()?, right.as_bag()?);
    Ok(Operand::boolean(Members::of(right).has_all(left) && Members::of(left).has_all(right)))
}
