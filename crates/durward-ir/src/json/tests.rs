//! JSON there and back.

use super::*;

fn reads(text: &str, written: &str) {
    assert_eq!(read(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_json(), written, "{text}");
}

#[track_caller]
fn refuses(text: &str, message: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), message, "{text}");
}

#[test]
fn values_are_written_back_as_they_were() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "1.50",
        "-0.1",
        "123456789012345678901234567890.5",
        "\"\"",
        "[]",
        "{}",
        "[1,\"x\",[null,true],{\"a\":{}}]",
        "{\"b\":1,\"a\":2,\"\":3}",
        "\"é😀\u{7f}\u{2028}/\"",
        r#""\"\\\b\t\n\f\r\u0000\u001F""#,
    ] {
        reads(text, text);
    }
}

#[test]
fn numbers_are_written_as_java_writes_them() {
    reads("1e3", "1E+3");
    reads("1E-2", "0.01");
    reads("-0", "0");
    // What equals 0, 1 or 10 loses its digits, as in the engine.
    reads("[1.0e0, 100e-2, 0.00, 0e9, 1e1, 10.0]", "[1,1,0,0,10,10]");
    reads("[1.50, 2.0, -1.0, 1e2, 100.0]", "[1.50,2.0,-1.0,1E+2,100.0]");
    reads("1e1000", "1E+1000");
}

#[test]
fn white_space_and_escapes_are_read() {
    reads(" \t\r\n[ 1 ,\n2 ] ", "[1,2]");
    reads(r#""A\u00e9\/\ud83d\ude00""#, "\"Aé/😀\"");
}

#[test]
fn the_last_of_equal_keys_counts_in_the_place_of_the_first() {
    reads(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#);
    let keys: Vec<String> = (0..100).map(|n| format!("\"{}\":{n}", n % 50)).collect();
    let read = read(format!("{{{}}}", keys.join(","))).unwrap();
    let object = read.as_object().unwrap();
    assert_eq!(object.len(), 50);
    assert!(object.iter().enumerate().all(|(at, (key, value))| {
        *key == at.to_string() && value.as_number().unwrap().to_i64() == i64::try_from(at + 50).ok()
    }));
}

#[test]
fn a_key_that_is_there_twice_is_refused_where_it_counts() {
    let refuses = |text: &str, message: &str| {
        assert_eq!(read_unique(text).unwrap_err().to_string(), message, "{text}");
    };
    refuses(r#"{"a":1,"b":2,"a":3}"#, "line 1, column 18: the key `a` is there twice");
    refuses(r#"{"a":1,"\u0061":3}"#, "line 1, column 17: the key `a` is there twice");
    refuses("[{\"a\":{\n\"b\":1,\"b\":[]}}]", "line 2, column 11: the key `b` is there twice");
    let many = |last: &str| {
        let keys: Vec<String> = (0..100).map(|n| format!("\"{n}\":{n}")).collect();
        format!("{{{},\"{last}\":0}}", keys.join(","))
    };
    assert!(read_unique(many("99")).is_err() && read_unique(many("100")).is_ok());
    assert_eq!(
        read_unique(r#"{"a":{"a":1},"b":{"a":1}}"#).unwrap().to_json(),
        r#"{"a":{"a":1},"b":{"a":1}}"#
    );
    let subscription = |subject: &str| format!(r#"{{"subject":{subject},"action":1,"resource":2}}"#);
    assert!(read_subscription(subscription(r#"{"a":{"b":1}}"#).as_bytes()).is_ok());
    assert!(read_subscription(subscription(r#"{"a":{"b":1,"b":2}}"#).as_bytes()).is_err());
}

#[test]
fn errors_say_where_and_what() {
    refuses("", "line 1, column 1: the text ends where a value is expected");
    refuses("[1,\n 2", "line 2, column 3: the text ends inside an array");
    refuses("{\"a\":1", "line 1, column 7: the text ends inside an object");
    refuses("\"abc", "line 1, column 5: the text ends inside a string");
    refuses("{\"é\" 1}", "line 1, column 6: a `:` is expected behind the key");
    refuses("[1 2]", "line 1, column 4: a `,` or `]` is expected");
    refuses("{\"a\":1 \"b\":2}", "line 1, column 8: a `,` or `}` is expected");
    refuses("{a:1}", "line 1, column 2: a key in quotation marks is expected");
    refuses("{\"a\":1,}", "line 1, column 8: a value is expected behind the `,`");
    refuses("[1,]", "line 1, column 4: a value is expected behind the `,`");
    refuses("1 2", "line 1, column 3: there is more behind the value");
    refuses("nul", "line 1, column 4: the text ends where a value is expected");
    refuses("nope", "line 1, column 2: `true`, `false` or `null` is expected");
    refuses("'a'", "line 1, column 1: a value is expected");
    refuses("undefined", "line 1, column 1: a value is expected");
    refuses("\"\\x\"", "line 1, column 3: there is no such escape");
    refuses("\"a\nb\"", "line 1, column 3: control characters in strings must be escaped");
    for text in ["01", "-", "1.", ".5", "+1", "1e", "NaN", "Infinity", "-Infinity", "0x1", "1_0"] {
        assert!(read(text).is_err(), "{text}");
    }
    assert!(read(r#""\ud800""#).is_err());
    assert!(read(r#""\udc00""#).is_err());
    assert!(read(b"\"\xff\"").is_err());
    assert!(read(b"\xef\xbb\xbf1").is_err());
}

#[test]
fn limits_are_kept() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(nested(JSON_DEPTH_MAX)).is_ok());
    refuses(&nested(JSON_DEPTH_MAX + 1), "line 1, column 501: the value is nested too deep");
    assert!(read("[".repeat(10_000_000)).is_err());
    refuses("[1, 1e1001]", "line 1, column 5: its exponent is out of range");
    refuses(&"9".repeat(1001), "line 1, column 1: the number is too long");
    let many = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
    assert!(read(many(JSON_VALUES_MAX)).is_ok());
    assert!(read(many(JSON_VALUES_MAX + 1)).unwrap_err().to_string().ends_with("there are too many values"));
}

#[test]
fn comments_are_skipped_where_they_are_allowed() {
    let text = "// first\n{ \"a\": 1, # second\n /* third\n */ \"b//\\\"#\": \"/* no */\" }";
    assert_eq!(read_configuration(text).unwrap().to_json(), r##"{"a":1,"b//\"#":"/* no */"}"##);
    assert!(read(text).is_err());
    let error = read_configuration("/* é\n */ ?").unwrap_err();
    assert_eq!((error.line, error.column), (2, 5));
    assert!(read_configuration("1 /* open").is_ok());
    assert!(read_configuration("\"open # not a comment").is_err());
    assert!(read_configuration("1 / 2").is_err());
}

/// Reproducible pseudo-random numbers.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn text(&mut self) -> String {
        const CHARACTERS: &[char] = &['a', 'b', '"', '\\', '\n', '\u{1}', 'é', '😀', '/', ' '];
        (0..self.below(6)).map(|_| CHARACTERS[usize::try_from(self.below(10)).unwrap()]).collect()
    }

    fn number(&mut self) -> Decimal {
        let mut digits = self.below(1000).to_string();
        for _ in 0..self.below(4) {
            digits = format!("{digits}{}{}", self.below(100_000_000), self.below(2) * 1000);
        }
        let exponent = i64::try_from(self.below(60)).unwrap() - 30;
        Decimal::parse(&format!("{}{digits}e{exponent}", ["", "-"][usize::try_from(self.below(2)).unwrap()]))
            .unwrap()
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0 => Value::Null,
            1 => Value::Boolean(self.below(2) == 0),
            2 => Value::number(self.number()),
            3 | 4 => Value::Text(self.text().into()),
            5 => Value::array((0..self.below(5)).map(|_| self.value(depth - 1)).collect::<Vec<_>>()),
            _ => Value::object(
                (0..self.below(20)).map(|_| (self.text(), self.value(depth - 1))).collect::<Vec<_>>(),
            ),
        }
    }

    /// An equal value, written otherwise: other scales, another order of keys.
    fn disguised(&mut self, value: &Value) -> Value {
        if let Some(number) = value.as_number() {
            let zeros = i32::try_from(self.below(3)).unwrap();
            let raised = number.unscaled() * num_bigint::BigInt::from(10).pow(zeros.unsigned_abs());
            Value::Number(Decimal::new(raised, number.scale() + zeros))
        } else if let Some(values) = value.as_array() {
            Value::array(values.iter().map(|value| self.disguised(value)).collect::<Vec<_>>())
        } else if let Some(object) = value.as_object() {
            let mut entries: Vec<(SmolStr, Value)> =
                object.iter().map(|(key, value)| (key.clone(), self.disguised(value))).collect();
            let turns = usize::try_from(self.below(8)).unwrap();
            if !entries.is_empty() {
                let middle = turns % entries.len();
                entries.rotate_left(middle);
            }
            Value::object(entries)
        } else {
            value.clone()
        }
    }
}

#[test]
fn values_survive_writing_and_reading() {
    let mut seeded = Seeded(1);
    for _ in 0..3000 {
        let value = seeded.value(4);
        let text = value.to_json();
        let again = read(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(again.equals(&value), "{text}");
        assert_eq!(again.to_json(), text);
    }
}

#[test]
fn equal_values_have_equal_hashes_and_unequal_ones_differ() {
    let mut seeded = Seeded(2);
    let mut before = Value::Null;
    for _ in 0..3000 {
        let value = seeded.value(3);
        let same = seeded.disguised(&value);
        assert!(value.equals(&same) && same.equals(&value), "{} {}", value.to_json(), same.to_json());
        assert_eq!(value.content_hash(), same.content_hash(), "{} {}", value.to_json(), same.to_json());
        let equal = value.equals(&before);
        assert_eq!(equal, before.equals(&value));
        assert_eq!(equal, value.content_hash() == before.content_hash());
        before = value;
    }
}

#[test]
fn decimals_survive_writing_and_reading() {
    let mut seeded = Seeded(3);
    for _ in 0..10_000 {
        let number = seeded.number();
        let again = Decimal::parse(&number.to_string()).unwrap();
        assert_eq!((again.unscaled(), again.scale()), (number.unscaled(), number.scale()));
        assert_eq!(Decimal::parse(&number.to_plain()).unwrap(), number);
        let other = seeded.number();
        let difference = number.sub(&other).unwrap().signum();
        assert_eq!(number.cmp(&other), difference.cmp(&0), "{number} {other}");
    }
}

#[test]
fn large_objects_find_every_key() {
    let keys = |count: u32| (0..count).map(|n| (format!("key {n}"), Value::number(i64::from(n))));
    for count in [0, 1, 8, 9, 10, 16, 17, 1000, 10_000] {
        let object = Object::from_iter(keys(count));
        assert_eq!(object.len(), usize::try_from(count).unwrap());
        for (key, value) in keys(count) {
            assert!(object.get(&key).is_some_and(|found| found.equals(&value)), "{key} of {count}");
            assert!(object.get_key(&crate::value::Key::new(key)).is_some());
        }
        assert!(object.get("key").is_none() && object.get("").is_none());
        assert!(object.keys().map(ToString::to_string).eq(keys(count).map(|(key, _)| key)));
    }
}

/// Recorded from SAPL 4.2, which reads `pdp.json` through doubles.
#[test]
fn numbers_of_a_configuration_are_doubles_where_they_have_a_fraction_or_an_exponent() {
    for (written, read) in [
        ("2.00", "2.0"),
        ("0.1234567890123456789", "0.12345678901234568"),
        ("1e2", "100.0"),
        ("1e0", "1"),
        ("5e0", "5.0"),
        ("1.5e1", "15.0"),
        ("10.0", "10"),
        ("-0.0", "0"),
        ("0.0001", "0.00010"),
        ("1e7", "1.0E+7"),
        ("12345678901234567890.5", "1.2345678901234567E+19"),
        ("9007199254740993.0", "9007199254740992"),
        ("9007199254740993", "9007199254740993"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1e-400", "0"),
        ("5e-324", "4.9E-324"),
    ] {
        assert_eq!(read_configuration(written).unwrap().to_json(), read, "{written}");
    }
    assert!(read_configuration("1e400").is_err());
}
