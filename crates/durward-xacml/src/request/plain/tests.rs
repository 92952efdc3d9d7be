//! The short way is held to the general reader: over good documents, and over everything a few edits make of them.

use super::super::{Limits, Request, xml};
use super::read;

const GOOD: [&str; 3] = [
    r#"<?xml version="1.0" encoding="UTF-8"?>
<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false" ReturnPolicyIdList="true">
  <Attributes Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject">
    <Attribute AttributeId="urn:oasis:names:tc:xacml:1.0:subject:subject-id" IncludeInResult="true" Issuer="me">
      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string"> Julius Hibbert </AttributeValue>
      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer"> 7 </AttributeValue>
    </Attribute>
    <Attribute IncludeInResult='false' AttributeId='role'>
      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#double">NaN</AttributeValue>
    </Attribute>
  </Attributes>
  <Attributes Category="urn:oasis:names:tc:xacml:3.0:attribute-category:action"></Attributes>
  <Attributes Category="urn:oasis:names:tc:xacml:3.0:attribute-category:environment"/>
</Request>
"#,
    r#"<Request  xsi:schemaLocation="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17 x.xsd" ReturnPolicyIdList="false" CombinedDecision="true" xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" xmlns:md="urn:md" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><Attributes Category="a"><Attribute AttributeId="b" IncludeInResult="false"><AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">ä€😀</AttributeValue></Attribute></Attributes></Request>"#,
    r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false" ReturnPolicyIdList="false"><Attributes Category="a"><Attribute AttributeId="b" IncludeInResult="false"><AttributeValue DataType="http://www.w3.org/2001/XMLSchema#boolean">true</AttributeValue><AttributeValue DataType="http://www.w3.org/2001/XMLSchema#boolean">false</AttributeValue></Attribute></Attributes><Attributes Category="a"/></Request>"#,
];

/// Pieces an edit may put in: what the readers branch on.
const PIECES: [&str; 44] = [
    "<",
    ">",
    "/",
    "/>",
    "\"",
    "'",
    "=",
    " ",
    "\t",
    "\n",
    "\r",
    "&",
    "&amp;",
    "&#65;",
    "&bad;",
    "]]>",
    "<!-- x -->",
    "<![CDATA[x]]>",
    "<?pi x?>",
    "<!DOCTYPE x>",
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"",
    "xmlns:p=\"urn:p\"",
    "xmlns:p=\"\"",
    "xmlns=\"urn:x\"",
    "xml:id=\"x\"",
    "xsi:schemaLocation=\"x\"",
    "p:a=\"x\"",
    "Issuer=\"x\"",
    "IncludeInResult=\"true\"",
    "Category=\"x\"",
    "x=\"y\"",
    "</Attribute>",
    "<Attribute ",
    "</Attributes>",
    "<Attributes Category=\"x\">",
    "<Content><x/></Content>",
    "</Request>",
    "\u{FEFF}",
    "\u{FFFF}",
    "\0",
    "true",
    "1",
    "AttributeValue",
    "s",
];

fn agrees(text: &str) {
    let limits = Limits::default();
    let Some(plain) = read(text.as_bytes(), &limits) else { return };
    match xml::read_any(text, &limits) {
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
    assert!(Request::from_xml_within(GOOD[0].as_bytes(), &limits).is_err());
    assert!(read(GOOD[1].as_bytes(), &limits).is_some());
}
