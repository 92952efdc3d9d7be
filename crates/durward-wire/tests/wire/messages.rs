//! Messages in protocol buffers: measured bytes, round trips, and bytes that are no messages.

use bytes::BytesMut;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::path::Element;
use durward_subscription::{Decision, Outcome, Subscription};
use durward_wire::sapl::MultiSubscription;
use durward_wire::sapl::protobuf::{
    self, Limits, VALUE_DEPTH_MAX, read_decision, read_multi_subscription, read_subscription, read_value,
};

use crate::support::Dice;

const LIMITS: Limits = Limits { values_max: 10_000, subscriptions_max: 3 };

/// Alice reads the document: as SAPL's own client was seen to send it.
const ALICE: &[u8] =
    b"\x0a\x07\x22\x05alice\x12\x06\x22\x04read\x1a\x0a\x22\x08document\x22\x02\x38\x01\x2a\x02\x32\x00";

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn alice() -> Subscription {
    let (subject, action, resource) = (text("alice"), text("read"), text("document"));
    Subscription::new(subject, action, resource, Value::Undefined).with_secrets(Value::object::<&str>([]))
}

/// Everything that can be told apart: the digits of numbers, and undefined from null.
fn shown(subscription: &Subscription) -> String {
    let elements = Element::ALL.into_iter().map(|element| subscription.element(element));
    elements.chain([subscription.secrets()]).map(Value::to_json).collect::<Vec<_>>().join(" ")
}

fn written(decision: &Decision) -> Vec<u8> {
    let mut out = BytesMut::new();
    protobuf::write_decision(&mut out, decision);
    out.to_vec()
}

fn number(text: &str) -> Value {
    Value::Number(Decimal::parse(text).unwrap())
}

#[test]
fn a_measured_subscription_is_read_and_written() {
    let subscription = read_subscription(ALICE, &LIMITS).unwrap();
    assert_eq!(shown(&subscription), r#""alice" "read" "document" undefined {}"#);
    let mut out = BytesMut::new();
    protobuf::write_subscription(&mut out, &alice()).unwrap();
    assert_eq!(out, ALICE);
}

#[test]
fn measured_decisions_are_written_byte_for_byte() {
    let deny = [0x08, 0x02, 0x12, 0x00, 0x1a, 0x00, 0x22, 0x02, 0x38, 0x01];
    assert_eq!(written(&Decision::plain(Outcome::Deny)), deny);
    // The default of the enumeration is written too.
    assert_eq!(written(&Decision::plain(Outcome::Indeterminate))[..2], [0x08, 0x00]);
    for (outcome, code) in
        [(Outcome::Permit, 1), (Outcome::Deny, 2), (Outcome::NotApplicable, 3), (Outcome::Suspend, 4)]
    {
        assert_eq!(written(&Decision::plain(outcome))[..2], [8, code]);
    }
}

#[test]
fn numbers_are_written_without_exponents() {
    let resource = Value::array([number("1.50"), number("1E+3"), number("-0.10")]);
    let decision = Decision::new(Outcome::Permit, [], [], Some(resource));
    let bytes = written(&decision);
    let all = String::from_utf8_lossy(&bytes).into_owned();
    assert!(all.contains("\u{4}1.50") && all.contains("\u{4}1000") && all.contains("\u{5}-0.10"), "{all:?}");
    assert_eq!(read_decision(&bytes, 100).unwrap().resource().unwrap().to_json(), "[1.50,1000,-0.10]");
}

#[test]
fn no_bytes_are_a_subscription_in_which_everything_is_undefined() {
    let subscription = read_subscription(b"", &LIMITS).unwrap();
    assert_eq!(shown(&subscription), ["undefined"; 5].join(" "));
    // A value without a field says the same.
    assert_eq!(shown(&read_subscription(b"\x0a\x00", &LIMITS).unwrap()), ["undefined"; 5].join(" "));
}

#[test]
fn of_a_field_of_a_value_that_comes_twice_the_last_counts() {
    let cases: [(&[u8], &str); 6] = [
        (b"\x22\x01a\x10\x01", "true"),
        (b"\x10\x01\x22\x01a", "\"a\""),
        // Two arrays are not one.
        (b"\x2a\x05\x0a\x03\x22\x01a\x2a\x05\x0a\x03\x22\x01b", "[\"b\"]"),
        (b"\x0a\x00\x38\x01", "undefined"),
        // A field of a later version says nothing.
        (b"\x22\x01a\x78\x01", "\"a\""),
        (b"\x32\x0e\x0a\x0c\x0a\x01k\x0a\x01l\x12\x02\x10\x01\x12\x00", "{}"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read_value(bytes, 100).unwrap().to_json(), expected);
    }
}

/// Whoever looks at a message on its way could take the first.
#[test]
fn parts_of_a_subscription_and_keys_of_an_object_that_come_twice_are_refused() {
    let part = b"\x0a\x03\x22\x01a";
    assert!(read_subscription(part, &LIMITS).is_ok());
    assert!(read_subscription(&[*part, *part].concat(), &LIMITS).is_err());
    let entry = b"\x0a\x07\x0a\x01k\x12\x02\x10\x01";
    let object = |entries: &[u8]| [&[0x32, u8::try_from(entries.len()).unwrap()][..], entries].concat();
    assert_eq!(read_value(&object(entry), 100).unwrap().to_json(), "{\"k\":true}");
    assert!(read_value(&object(&[*entry, *entry].concat()), 100).is_err());
    // Of a key that is undefined nothing is said.
    let undefined = b"\x0a\x05\x0a\x01k\x12\x00";
    assert!(read_value(&object(&[&entry[..], &undefined[..]].concat()), 100).is_ok());
    let named = |content: &[u8]| [&[0x0a, u8::try_from(content.len()).unwrap()][..], content].concat();
    let (id, empty) = (b"\x0a\x01a", b"\x12\x00");
    let count = |content: &[u8]| {
        read_multi_subscription(&named(content), &LIMITS).map(|multi| multi.subscriptions.len())
    };
    assert_eq!(count(&[&id[..], &empty[..]].concat()), Ok(1));
    assert!(count(&[&id[..], &id[..], &empty[..]].concat()).is_err());
    assert!(count(&[&id[..], &empty[..], &empty[..]].concat()).is_err());
}

/// An object whose only key is not UTF-8, and has a value that is undefined: of both readers, the quick one did not look at the key.
#[test]
fn keys_of_undefined_values_are_read_all_the_same() {
    let bytes = b"\x1a\x0b\x32\x09\x0a\x07\x0a\x01\xe4\x12\x02\x50\x01";
    assert!(read_subscription(bytes, &LIMITS).is_err());
    assert!(protobuf::read_raw(bytes, &LIMITS).is_none());
    let bytes = b"\x1a\x0b\x32\x09\x0a\x07\x0a\x01\x61\x12\x02\x50\x01";
    assert!(protobuf::read_raw(bytes, &LIMITS).is_some());
}

#[test]
fn values_of_every_kind_come_through() {
    let cases: [(&[u8], &str); 8] = [
        (b"\x0a\x00", "null"),
        (b"\x10\x00", "false"),
        (b"\x1a\x041.50", "1.50"),
        (b"\x22\x00", "\"\""),
        (b"\x2a\x00", "[]"),
        (b"\x32\x00", "{}"),
        (b"\x38\x01", "undefined"),
        (b"\x2a\x0d\x0a\x02\x0a\x00\x0a\x02\x38\x01\x0a\x03\x1a\x011", "[null,1]"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read_value(bytes, 100).unwrap().to_json(), expected, "{bytes:?}");
    }
}

#[test]
fn bytes_that_are_no_value_are_refused() {
    let long = format!("\x1a\u{7f}{}", "1".repeat(127));
    assert!(read_value(long.as_bytes(), 100).is_ok());
    let cases: [&[u8]; 14] = [
        b"\x0a",
        b"\x0a\x05",
        b"\x22\x01\xff",
        b"\x1a\x03abc",
        b"\x1a\x00",
        b"\x1a\x061e2000",
        b"\x20\x01",
        b"\x12\x00",
        b"\x42\x03\x0a\x01x",
        b"\x03",
        b"\x07\x01",
        b"\x02\x00",
        b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
    ];
    for bytes in cases {
        assert!(read_value(bytes, 100).is_err(), "{bytes:?}");
        let mut subscription = vec![0x0a, bytes.len() as u8];
        subscription.extend(bytes);
        assert!(read_subscription(&subscription, &LIMITS).is_err(), "{bytes:?}");
    }
}

/// Arrays within arrays.
fn nested(depth: usize) -> Vec<u8> {
    let mut value = Vec::new();
    for _ in 1..depth {
        for tag in [0x0a, 0x2a] {
            let mut outer = vec![tag];
            let mut length = value.len();
            while length >= 0x80 {
                outer.push(length as u8 | 0x80);
                length >>= 7;
            }
            outer.push(length as u8);
            outer.extend(value);
            value = outer;
        }
    }
    value
}

#[test]
fn values_nested_too_deeply_are_refused_and_others_are_not() {
    let deepest = read_value(&nested(VALUE_DEPTH_MAX), 10_000).unwrap();
    assert_eq!(deepest.to_json().len(), 2 * (VALUE_DEPTH_MAX - 1));
    assert!(read_value(&nested(VALUE_DEPTH_MAX + 1), 10_000).is_err());
    assert!(read_value(&nested(30_000), 100_000).is_err());
}

#[test]
fn a_decision_nested_too_deeply_is_indeterminate() {
    let nest = |depth: usize| (1..depth).fold(Value::Null, |value, _| Value::array([value]));
    let with = |depth| Decision::new(Outcome::Permit, [], [], Some(nest(depth)));
    let fits = with(VALUE_DEPTH_MAX);
    assert!(read_decision(&written(&fits), 10_000).unwrap().equals(&fits));
    let too_deep = with(VALUE_DEPTH_MAX + 1);
    assert_eq!(written(&too_deep), written(&Decision::plain(Outcome::Indeterminate)));
}

#[test]
fn many_small_values_are_too_many() {
    let many = |count: usize| b"\x0a\x02\x0a\x00".repeat(count);
    let array = |count: usize| {
        let mut out = BytesMut::new();
        let elements = many(count);
        // Two bytes of length are enough for these.
        out.extend_from_slice(&[0x2a, elements.len() as u8 | 0x80, (elements.len() >> 7) as u8]);
        out.extend_from_slice(&elements);
        out
    };
    assert!(read_value(&array(999), 1000).is_ok());
    assert!(read_value(&array(1000), 1000).is_err());
}

#[test]
fn several_subscriptions_have_several_ids() {
    let one = |id: &str| (id.into(), alice());
    let write = |ids: &[&str]| {
        let mut out = BytesMut::new();
        let subscriptions = ids.iter().map(|id| one(id)).collect();
        protobuf::write_multi_subscription(&mut out, &MultiSubscription { subscriptions }).unwrap();
        out
    };
    let read = read_multi_subscription(&write(&["b", "a"]), &LIMITS).unwrap();
    let ids: Vec<&str> = read.subscriptions.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
    assert!(read_multi_subscription(b"", &LIMITS).unwrap().subscriptions.is_empty());
    for ids in [&["a", "a"][..], &[""], &[" \t"], &["a", "b", "c", "d"], &["b", "a", "b"]] {
        assert!(read_multi_subscription(&write(ids), &LIMITS).is_err(), "{ids:?}");
    }
}

#[test]
fn several_decisions_are_a_map_in_their_order() {
    let mut out = BytesMut::new();
    let (permit, deny) = (Decision::plain(Outcome::Permit), Decision::plain(Outcome::Deny));
    protobuf::write_multi_decision(&mut out, [("b", &permit), ("a", &deny)]);
    let entry = |id: u8, outcome: u8| {
        let mut entry = vec![0x0a, 15, 0x0a, 1, id, 0x12, 10];
        entry.extend([8, outcome, 0x12, 0, 0x1a, 0, 0x22, 2, 0x38, 1]);
        entry
    };
    assert_eq!(out.to_vec(), [entry(b'b', 1), entry(b'a', 2)].concat());
    let mut out = BytesMut::new();
    protobuf::write_identifiable_decision(&mut out, "a", &deny);
    assert_eq!(out.to_vec(), entry(b'a', 2)[2..]);
}

fn random(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Boolean(dice.below(2) == 1),
        2 => number(&format!("{}.{:03}", dice.below(1 << 40) as i64 - (1 << 39), dice.below(1000))),
        3 => number(&dice.next().to_string()),
        4 => text(&"ä€😀x".repeat(dice.below(80) as usize)),
        5 | 6 => Value::array((0..dice.below(6)).map(|_| random(dice, depth - 1)).collect::<Vec<_>>()),
        _ => {
            let count = dice.below(14);
            let entries = (0..count).map(|key| (format!("k{key}"), random(dice, depth - 1)));
            Value::object(entries.collect::<Vec<_>>())
        }
    }
}

#[test]
fn whatever_is_written_is_read_again() {
    for seed in 0..500 {
        let mut dice = Dice::new(seed);
        let mut value = || random(&mut dice, 4);
        let subscription = Subscription::new(value(), value(), value(), value());
        let mut out = BytesMut::new();
        protobuf::write_subscription(&mut out, &subscription).unwrap();
        let read = read_subscription(&out, &LIMITS).unwrap();
        assert_eq!(shown(&read), shown(&subscription));
        let decision = Decision::new(Outcome::Permit, [value(), value()], [value()], Some(value()));
        assert!(read_decision(&written(&decision), 100_000).unwrap().equals(&decision));
    }
}

#[test]
fn noise_is_read_or_refused_and_nothing_else() {
    for seed in 0..5000 {
        let mut dice = Dice::new(seed);
        let mut bytes = ALICE.to_vec();
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(3) {
                0 => bytes[at] = dice.next() as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, dice.next() as u8),
            }
        }
        // Nothing to check but that they return.
        let _ = read_subscription(&bytes, &LIMITS);
        let _ = read_multi_subscription(&bytes, &LIMITS);
        let _ = read_decision(&bytes, 100);
    }
}
