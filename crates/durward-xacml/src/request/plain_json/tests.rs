//! The short way is held to the general reader: over good documents, and over everything a few edits make of them.

use super::super::{Limits, Request};
use super::read;

const GOOD: [&str; 4] = [
    r#"{"Request": {"ReturnPolicyIdList": true, "Category": [
        {"CategoryId": "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject", "Attribute": [
            {"AttributeId": "role", "Value": "nurse", "IncludeInResult": true, "Issuer": "me"},
            {"AttributeId": "level", "Value": [1, -20, 3], "DataType": "integer"}]},
        {"CategoryId": "Resource", "Attribute": {"AttributeId": "a", "DataType": "http://www.w3.org/2001/XMLSchema#date", "Value": "2020-01-01"}},
        {"CategoryId": "c"}]}}"#,
    r#"{"Request":{"AccessSubject":{"Attribute":[{"AttributeId":"a","Value":true},{"AttributeId":"b","Value":["x","y"]}]},"Action":[{"Attribute":[]}],"CombinedDecision":false}}"#,
    r#" {"Request":{"Category":{"CategoryId":"c","Attribute":[{"Value":" ä€ ","AttributeId":"b","DataType":"anyURI"},{"AttributeId":"b","Value":"12","DataType":"double","IncludeInResult":true},{"AttributeId":"b","Value":7,"DataType":"double"}]}}} "#,
    r#"{"Request":{"Resource":[{"Attribute":[{"AttributeId":"urn:oasis:names:tc:xacml:2.0:resource:scope","Value":"Children"}]},{}]}}"#,
];

/// Pieces an edit may put in: what the readers branch on.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\n",
    "\\u0041",
    " ",
    "\n",
    "\t",
    "\r",
    "null",
    "true",
    "false",
    "0",
    "-",
    "1.5",
    "1e3",
    "007",
    "99999999999999999999",
    "\"x\"",
    "\"Value\":",
    "\"AttributeId\":\"x\",",
    "\"DataType\":\"time\",",
    "\"DataType\":\"xpathExpression\",",
    "\"DataType\":\"urn:x:y\",",
    "\"Issuer\":\"i\",",
    "\"IncludeInResult\":true,",
    "\"Content\":\"<a/>\",",
    "\"Id\":\"x\",",
    "\"CategoryId\":\"Action\",",
    "\"Attribute\":",
    "\"Environment\":{},",
    "\"XPathVersion\":\"http://www.w3.org/TR/1999/REC-xpath-19991116\",",
    "\u{FEFF}",
    "\0",
    "e\u{301}",
];

fn agrees(text: &str) {
    let limits = Limits::default();
    let Some(plain) = read(text.as_bytes(), &limits) else { return };
    match Request::from_json_generally(text.as_bytes(), &limits) {
        Ok(general) => assert_eq!(format!("{plain:?}"), format!("{general:?}"), "{text}"),
        Err(error) => panic!("the short way accepts what is refused with `{error}`: {text}"),
    }
}

/// A small generator of numbers, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

fn edited(text: &str, numbers: &mut Numbers) -> String {
    let mut text = text.to_owned();
    for _ in 0..=numbers.below(3) {
        let at = text.floor_char_boundary(numbers.below(text.len() + 1));
        let to = text.floor_char_boundary((at + numbers.below(12)).min(text.len()));
        match numbers.below(4) {
            0 => text.replace_range(at..to, ""),
            1 => text.insert_str(at, PIECES[numbers.below(PIECES.len())]),
            2 => text.replace_range(at..to, PIECES[numbers.below(PIECES.len())]),
            _ => {
                let copy =
                    text[at..text.floor_char_boundary((at + numbers.below(80)).min(text.len()))].to_owned();
                text.insert_str(at, &copy);
            }
        }
    }
    text
}

#[test]
fn plain_documents_take_the_short_way() {
    for good in GOOD {
        assert!(read(good.as_bytes(), &Limits::default()).is_some(), "{good}");
        agrees(good);
    }
}

#[test]
fn what_the_short_way_accepts_the_general_reader_accepts_with_the_same_result() {
    let mut numbers = Numbers(42);
    let mut accepted = 0;
    for _ in 0..60_000 {
        let text = edited(GOOD[numbers.below(GOOD.len())], &mut numbers);
        accepted += usize::from(read(text.as_bytes(), &Limits::default()).is_some());
        agrees(&text);
    }
    assert!(accepted > 1_000, "only {accepted} edits were accepted: this tests too little");
}

#[test]
fn limits_hold_on_the_short_way() {
    let limits = Limits { attributes_max: 1, ..Limits::default() };
    assert!(read(GOOD[0].as_bytes(), &limits).is_none());
    assert!(Request::from_json_within(GOOD[0].as_bytes(), &limits).is_err());
    assert!(read(GOOD[3].as_bytes(), &limits).is_some());
    let limits = Limits { values_max: 4, ..Limits::default() };
    assert!(read(GOOD[0].as_bytes(), &limits).is_none());
    assert!(Request::from_json_within(GOOD[0].as_bytes(), &limits).is_err());
}
