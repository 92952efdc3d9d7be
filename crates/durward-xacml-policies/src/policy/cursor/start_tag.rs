//! Takes start tags apart: attributes, and the namespaces they declare.

use std::borrow::Cow;
use std::sync::Arc;

use durward_xacml::wording::quote;
use quick_xml::XmlVersion;
use quick_xml::events::attributes::{AttrError, Attribute as RawAttribute, Attributes};
use smol_str::SmolStr;

use super::{Attribute, Cursor, REFERENCES, XML_NAMESPACE};
use crate::policy::decode::is_xml_character;
use crate::tree::NamespaceScope;

/// Most attributes of one element, namespace declarations included: the schema's richest element has six.
/// Duplicates are looked for pair by pair.
const ATTRIBUTES_MAX: usize = 64;

/// Most namespace prefixes in scope at one place: prefixes are looked for one by one.
const NAMESPACES_MAX: usize = 256;

impl<'a> Cursor<'a> {
    /// Reads the attributes of a start tag and takes its namespace declarations into scope.
    pub(super) fn attributes(&mut self, tag: &'a str, name_length: usize) -> Vec<Attribute<'a>> {
        let mut attributes: Vec<Attribute<'a>> = Vec::new();
        let mut declared: Vec<(SmolStr, SmolStr)> = Vec::new();
        let mut parsed = Attributes::new(tag, name_length);
        for attribute in parsed.with_checks(false) {
            if self.halted {
                break;
            }
            match attribute {
                Ok(attribute) => {
                    let key = attribute.key.into_inner();
                    // The key is a piece of the tag: one byte, `<`, stands before the tag.
                    let offset = 1 + (key.as_ptr() as usize).saturating_sub(tag.as_ptr() as usize);
                    let Some(value) = self.attribute_value(&attribute, offset) else { break };
                    match namespace_declaration(key) {
                        Some(prefix) => self.declare(&mut declared, prefix, &value, offset),
                        None => self.add_attribute(&mut attributes, key, value, offset),
                    }
                }
                Err(error) => self.ill_formed_attribute(&error),
            }
        }
        // What is declared again as it is (generated documents do so at every element) changes nothing.
        declared.retain(|(prefix, uri)| self.scope.resolve(prefix) != Some(uri));
        if !declared.is_empty() {
            let outer = Arc::clone(&self.scope);
            self.scope = Arc::new(NamespaceScope { declared, outer: Some(Arc::clone(&outer)) });
            self.outer_scopes.push((self.depth, outer));
        }
        attributes
    }

    fn attribute_value(&mut self, attribute: &RawAttribute<'a>, offset: usize) -> Option<Cow<'a, str>> {
        let problem = if attribute.value.contains('<') {
            "`<` is not allowed in the value of an attribute".to_owned()
        } else {
            match attribute.normalized_value(XmlVersion::Implicit1_0) {
                // What is borrowed has no references, and its characters were checked with the document.
                Ok(Cow::Borrowed(value)) => return Some(Cow::Borrowed(value)),
                Ok(value) if value.chars().all(is_xml_character) => return Some(value),
                Ok(_) => "a character reference names a character XML does not allow".to_owned(),
                Err(_) => format!("unknown reference in {}", quote(&attribute.value)),
            }
        };
        let key = attribute.key.into_inner();
        self.halt_in_tag(offset, format!("attribute {}: {problem}", quote(key)), Some(REFERENCES.to_owned()));
        None
    }

    fn add_attribute(
        &mut self,
        attributes: &mut Vec<Attribute<'a>>,
        key: &'a str,
        value: Cow<'a, str>,
        offset: usize,
    ) {
        let (prefix, name) = key.split_once(':').unwrap_or(("", key));
        if attributes.iter().any(|earlier| earlier.name == name && earlier.prefix == prefix) {
            self.halt_in_tag(offset, format!("attribute {} is given twice", quote(key)), None);
        } else if attributes.len() == ATTRIBUTES_MAX {
            self.halt_in_tag(offset, format!("more than {ATTRIBUTES_MAX} attributes"), None);
        } else {
            attributes.push(Attribute { prefix, name, value, offset });
        }
    }

    fn declare(
        &mut self,
        declared: &mut Vec<(SmolStr, SmolStr)>,
        prefix: &str,
        namespace: &str,
        offset: usize,
    ) {
        let in_scope = self.scope.bindings().count();
        if declared.iter().any(|(earlier, _)| earlier == prefix) {
            self.halt_in_tag(offset, format!("namespace prefix {} is declared twice", quote(prefix)), None);
        } else if in_scope + declared.len() >= NAMESPACES_MAX {
            self.halt_in_tag(offset, format!("more than {NAMESPACES_MAX} namespaces are declared"), None);
        } else if prefix == "xmlns" || (prefix == "xml") != (namespace == XML_NAMESPACE) {
            self.halt_in_tag(
                offset,
                "the prefixes `xml` and `xmlns` cannot be declared anew".to_owned(),
                None,
            );
        } else if namespace.is_empty() && !prefix.is_empty() {
            self.halt_in_tag(offset, format!("namespace prefix {} stands for nothing", quote(prefix)), None);
        } else {
            let name = self.names.share(prefix);
            declared.push((name, self.names.share(namespace)));
        }
    }

    fn ill_formed_attribute(&mut self, error: &AttrError) {
        let (offset, message) = match error {
            AttrError::ExpectedEq(offset) => (*offset, "an attribute without `=`".to_owned()),
            AttrError::ExpectedValue(offset) => (*offset, "an attribute without value".to_owned()),
            AttrError::UnquotedValue(offset) => (*offset, "an attribute value without quotes".to_owned()),
            AttrError::ExpectedQuote(offset, _) => {
                (*offset, "an attribute value without closing quote".to_owned())
            }
            AttrError::Duplicated(offset, _) => (*offset, "an attribute given twice".to_owned()),
        };
        self.halt_in_tag(offset + 1, format!("not well-formed XML: {message}"), None);
    }
}

/// The prefix an attribute declares: empty for the default namespace, `None` if it is no declaration.
fn namespace_declaration(key: &str) -> Option<&str> {
    let rest = key.strip_prefix("xmlns")?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix(':') }
}
