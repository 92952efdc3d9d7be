//! Reads reports in JUnit's form, strictly: what the schema of Jenkins does not allow fails.

use std::collections::BTreeMap;

use quick_xml::events::attributes::{AttrError, Attribute};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// An element with all that is in it.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) children: Vec<Element>,
    pub(crate) text: String,
}

impl Element {
    fn of(tag: &BytesStart<'_>) -> Element {
        let attribute = |attribute: Result<Attribute<'_>, AttrError>| {
            let attribute = attribute.unwrap();
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap();
            (attribute.key.into_inner().to_owned(), value.into_owned())
        };
        Element {
            name: tag.name().into_inner().to_owned(),
            attributes: tag.attributes().map(attribute).collect(),
            ..Element::default()
        }
    }

    #[track_caller]
    pub(crate) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).unwrap_or_else(|| panic!("no `{name}` in {self:?}"))
    }

    #[track_caller]
    fn number(&self, name: &str) -> usize {
        self.attribute(name).parse().unwrap()
    }

    /// Its elements with this name, at any depth.
    pub(crate) fn all<'e>(&'e self, name: &str) -> Vec<&'e Element> {
        let mut found = Vec::new();
        for child in &self.children {
            if child.name == name {
                found.push(child);
            }
            found.extend(child.all(name));
        }
        found
    }

    /// The only test with this name.
    #[track_caller]
    pub(crate) fn case(&self, name: &str) -> &Element {
        let all = self.all("testcase");
        let found: Vec<&&Element> = all.iter().filter(|case| case.attribute("name") == name).collect();
        assert_eq!(found.len(), 1, "{name} in {self:#?}");
        found[0]
    }
}

/// Reads a report, and checks that it has the elements and attributes of the schema, and that its numbers are right.
#[track_caller]
pub(crate) fn read_junit(text: &str) -> Element {
    let allowed = |character: char| {
        matches!(character, '\t' | '\n' | '\r')
            || character >= ' ' && !matches!(character, '\u{FFFE}' | '\u{FFFF}')
    };
    assert!(text.chars().all(allowed), "XML does not allow a character of {text:?}");
    let root = parse(text);
    assert_eq!(root.name, "testsuites");
    has(&root, &["name", "tests", "failures", "errors", "time"], &["testsuite"]);
    counts(&root);
    for suite in &root.children {
        has(suite, &["name", "tests", "failures", "errors", "skipped", "time"], &["testcase"]);
        counts(suite);
        for case in &suite.children {
            has(case, &["name", "classname", "time"], &["failure", "error", "system-out"]);
            assert!(case.children.len() <= 1, "{case:?}");
            for inner in &case.children {
                let attributes: &[&str] = if inner.name == "system-out" { &[] } else { &["type", "message"] };
                has(inner, attributes, &[]);
            }
        }
    }
    root
}

/// Whether an element has these attributes, no others, and no other elements.
#[track_caller]
fn has(element: &Element, attributes: &[&str], children: &[&str]) {
    let mut expected: Vec<&str> = attributes.to_vec();
    expected.sort_unstable();
    let found: Vec<&str> = element.attributes.keys().map(String::as_str).collect();
    assert_eq!(found, expected, "{}", element.name);
    for child in &element.children {
        assert!(children.contains(&child.name.as_str()), "`{}` in `{}`", child.name, element.name);
    }
    if let Some(time) = element.attributes.get("time") {
        assert!(time.parse::<f64>().unwrap() >= 0.0, "{time}");
    }
}

#[track_caller]
fn counts(element: &Element) {
    assert_eq!(element.number("tests"), element.all("testcase").len());
    assert_eq!(element.number("failures"), element.all("failure").len());
    assert_eq!(element.number("errors"), element.all("error").len());
}

fn parse(text: &str) -> Element {
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    loop {
        let event = reader.read_event().unwrap_or_else(|error| panic!("{error}: {text}"));
        let inside = open.last_mut().unwrap();
        match event {
            Event::Start(tag) => open.push(Element::of(&tag)),
            Event::Empty(tag) => inside.children.push(Element::of(&tag)),
            Event::End(_) => {
                let element = open.pop().unwrap();
                open.last_mut().unwrap().children.push(element);
            }
            Event::Text(text) => inside.text.push_str(&text.xml10_content()),
            Event::GeneralRef(name) => match name.resolve_char_ref().unwrap() {
                Some(character) => inside.text.push(character),
                None => inside.text.push_str(quick_xml::escape::resolve_predefined_entity(&name).unwrap()),
            },
            Event::Decl(_) => assert_eq!(open.len(), 1),
            Event::Eof => break,
            Event::CData(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {
                panic!("this does not belong into a report: {text}")
            }
        }
    }
    assert_eq!(open.len(), 1, "an element does not end: {text}");
    let mut document = open.remove(0);
    assert_eq!(document.children.len(), 1, "{text}");
    document.children.remove(0)
}
