//! Which namespaces prefixes stand for.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::tag::{XmlAttribute, XmlReason, XmlVersion, is_name, no_name};

const XML_SPACE: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS_SPACE: &str = "http://www.w3.org/2000/xmlns/";

/// An attribute and its namespace.
type ScopedAttribute<'a> = (Option<Rc<str>>, XmlAttribute<'a>);

/// The prefixes that are declared where the reader is.
pub(super) struct NamespaceScopes<'a> {
    /// What each prefix stands for, innermost last.
    spaces: HashMap<&'a str, Vec<Rc<str>>>,
    /// The prefixes declared by the open elements, and how many by each.
    declared: Vec<&'a str>,
    counts: Vec<usize>,
}

impl<'a> NamespaceScopes<'a> {
    pub(super) fn new() -> NamespaceScopes<'a> {
        let spaces = HashMap::from([("xml", vec![Rc::from(XML_SPACE)])]);
        NamespaceScopes { spaces, declared: Vec::new(), counts: Vec::new() }
    }

    /// Enters an element that declares prefixes. Gives the attributes that declare none, with their namespaces.
    ///
    /// # Errors
    /// A declaration is not allowed, a prefix is not declared, or an attribute comes twice.
    pub(super) fn enter(
        &mut self,
        attributes: Vec<XmlAttribute<'a>>,
        version: XmlVersion,
    ) -> Result<Vec<ScopedAttribute<'a>>, XmlReason> {
        let before = self.declared.len();
        let mut names = HashSet::new();
        let mut others = Vec::new();
        for attribute in attributes {
            let prefix = match (attribute.prefix, attribute.local) {
                ("", "xmlns") => "",
                ("xmlns", prefix) => prefix,
                _ => {
                    others.push(attribute);
                    continue;
                }
            };
            if !names.insert((Some(Rc::from(XMLNS_SPACE)), attribute.local)) {
                return Err(twice(&attribute));
            }
            self.declare(prefix, attribute.value(version)?, version)?;
        }
        self.counts.push(self.declared.len() - before);
        let mut found = Vec::with_capacity(others.len());
        for attribute in others {
            let space = self.space(attribute.prefix)?.filter(|_| !attribute.prefix.is_empty());
            if !names.insert((space.clone(), attribute.local)) {
                return Err(twice(&attribute));
            }
            found.push((space, attribute));
        }
        Ok(found)
    }

    fn declare(&mut self, prefix: &'a str, space: String, version: XmlVersion) -> Result<(), XmlReason> {
        let may_not = || format!("the prefix `{prefix}` may not be declared so").into();
        let is_xml = prefix == "xml";
        if !prefix.is_empty() && !is_name(prefix) {
            return Err(no_name(prefix));
        }
        let is_undeclared = space.is_empty() && !prefix.is_empty() && version == XmlVersion::Old;
        if prefix == "xmlns" || is_undeclared || space == XMLNS_SPACE || (space == XML_SPACE) != is_xml {
            return Err(may_not());
        }
        self.spaces.entry(prefix).or_default().push(space.into());
        self.declared.push(prefix);
        Ok(())
    }

    /// Leaves the innermost element.
    pub(super) fn leave(&mut self) {
        let count = self.counts.pop().unwrap_or_default();
        for prefix in self.declared.drain(self.declared.len().saturating_sub(count)..) {
            if let Some(spaces) = self.spaces.get_mut(prefix) {
                spaces.pop();
            }
        }
    }

    /// What a prefix stands for.
    ///
    /// # Errors
    /// It is not declared.
    pub(super) fn space(&self, prefix: &str) -> Result<Option<Rc<str>>, XmlReason> {
        let space = self.spaces.get(prefix).and_then(|spaces| spaces.last());
        match space.filter(|space| !space.is_empty()) {
            Some(space) => Ok(Some(Rc::clone(space))),
            None if prefix.is_empty() => Ok(None),
            None => Err(format!("the prefix `{prefix}` is not declared").into()),
        }
    }
}

fn twice(attribute: &XmlAttribute<'_>) -> XmlReason {
    format!("the attribute `{}` comes twice", attribute.local).into()
}
