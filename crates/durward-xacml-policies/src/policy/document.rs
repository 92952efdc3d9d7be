//! Reads a whole policy document.

use durward_xacml::wording::quote;

use super::cursor::{Cursor, Element, Namespace, Step};
use super::decode::{Undecodable, decode, in_utf8};
use super::error::{PolicyError, Problems};
use super::limits::Limits;
use super::reader::{Reader, is_xml_space};
use crate::tree::{Document, PolicyOrSet, Standard, XmlLocation};

const BEGINNING: XmlLocation = XmlLocation { offset: 0, line: 1, column: 1 };

/// Reads a policy or policy set of XACML 3.0, 2.0, 1.1 or 1.0: an XML document in UTF-8 or UTF-16, told apart by the
/// namespace of its root element. `source_name` is only for messages and the tree.
///
/// ```
/// use durward_xacml_policies::policy::{Limits, read_policy};
/// let text = br#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
///   RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides">
///   <Target/>
///   <Rul RuleId="r" Effect="Permit"/>
/// </Policy>"#;
/// let problems = read_policy("a.xml", text, &Limits::default()).unwrap_err();
/// assert_eq!(problems[0].to_string(), "a.xml:4:3: unknown element `Rul` in `Policy`; did you mean `Rule`?");
/// ```
///
/// # Errors
///
/// Everything found to be wrong with the document, in its order, at most a hundred problems: never empty.
pub fn read_policy(source_name: &str, text: &[u8], limits: &Limits) -> Result<Document, Vec<PolicyError>> {
    let unreadable = |Undecodable { place, message, help }: Undecodable| {
        let mut problems = Problems::new(source_name);
        problems.report(place, message, help);
        problems.into_sorted()
    };
    let bytes = within(text, limits).and_then(|()| in_utf8(text)).map_err(unreadable)?;
    let decoded = within(&bytes, limits).and_then(|()| decode(&bytes));
    let (text, skipped) = decoded.map_err(unreadable)?;
    read_text(Cursor::new(text, skipped, limits, Problems::new(source_name)))
}

fn within(text: &[u8], limits: &Limits) -> Result<(), Undecodable> {
    // Offsets are u32.
    let bytes_max = limits.bytes_max.min(u32::MAX as usize);
    if text.len() <= bytes_max {
        return Ok(());
    }
    let message = format!("the document has {} bytes, more than {bytes_max}", text.len());
    Err(Undecodable { place: BEGINNING, message, help: Some("split it, or raise the limit".to_owned()) })
}

fn read_text(xml: Cursor<'_>) -> Result<Document, Vec<PolicyError>> {
    let mut reader = Reader { xml, standard: Standard::Xacml3 };
    let root = reader.read_root();
    reader.read_rest();
    let Reader { xml, standard: written_in } = reader;
    match root {
        Some(root) if xml.problems.is_empty() => {
            Ok(Document { source: xml.problems.source().clone(), written_in, root })
        }
        _ => Err(xml.problems.into_sorted()),
    }
}

impl<'a> Reader<'a> {
    fn read_root(&mut self) -> Option<PolicyOrSet> {
        loop {
            match self.xml.step() {
                Step::Open(root) => return self.read_root_element(&root),
                Step::Text(text) => self.refuse_text_outside(&text),
                Step::Close => {}
                Step::End => {
                    if !self.xml.is_halted() {
                        self.xml.halt("the document has no root element".to_owned(), None);
                    }
                    return None;
                }
            }
        }
    }

    fn read_root_element(&mut self, root: &Element<'a>) -> Option<PolicyOrSet> {
        let standard = self.standard_of(root)?;
        self.standard = standard;
        match root.name {
            "Policy" => Some(PolicyOrSet::Policy(self.read_policy(root))),
            "PolicySet" => Some(PolicyOrSet::PolicySet(self.read_policy_set(root))),
            other => {
                let help = "a policy document begins with `Policy` or `PolicySet`".to_owned();
                self.report(root.place, format!("root element {}", quote(other)), Some(help));
                self.xml.skip();
                None
            }
        }
    }

    /// The version of the standard the root element is of; from here on its namespace is the policy's.
    fn standard_of(&mut self, root: &Element<'a>) -> Option<Standard> {
        let uri = match &root.namespace {
            Namespace::Other(uri) => uri.clone(),
            Namespace::None | Namespace::Policy => Default::default(),
        };
        let standard = Standard::of_namespace(&uri);
        if standard.is_none() {
            let found =
                if uri.is_empty() { "no namespace".to_owned() } else { format!("namespace {}", quote(&uri)) };
            let help = "XACML 3.0 is `urn:oasis:names:tc:xacml:3.0:core:schema:wd-17`".to_owned();
            self.report(root.place, format!("root element {} has {found}", quote(root.name)), Some(help));
            self.xml.skip();
        }
        self.xml.namespace = uri;
        standard
    }

    /// What follows the root element: comments at most.
    fn read_rest(&mut self) {
        loop {
            match self.xml.step() {
                Step::Open(second) => {
                    let message = format!("second root element {}", quote(second.name));
                    self.xml
                        .halt(message, Some("put policies of one document into a `PolicySet`".to_owned()));
                }
                Step::Text(text) => self.refuse_text_outside(&text),
                Step::Close => {}
                Step::End => return,
            }
        }
    }

    fn refuse_text_outside(&mut self, text: &str) {
        let text = text.trim_matches(is_xml_space);
        if !text.is_empty() {
            self.xml.halt(format!("text {} outside the root element", quote(text)), None);
        }
    }
}
