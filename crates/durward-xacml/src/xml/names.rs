//! Namespaces: which are known, and which prefixes are bound to them where.

use std::borrow::Cow;

/// The namespaces the readers can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// No namespace.
    None,
    /// XACML 3.0, policies and context alike.
    Core3,
    /// XACML 2.0 context.
    Context2,
    /// XACML 1.x context.
    Context1,
    /// XACML 2.0 policy: obligations of a response.
    Policy2,
    /// XACML 1.x policy: obligations of a response.
    Policy1,
    /// `xml:`, bound always.
    Xml,
    /// XML Schema instance: `xsi:schemaLocation` and the like may stand anywhere.
    SchemaInstance,
    /// Any other.
    Other,
}

/// XACML 3.0.
pub(crate) const CORE3: &str = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
/// XACML 2.0 context.
pub(crate) const CONTEXT2: &str = "urn:oasis:names:tc:xacml:2.0:context:schema:os";
/// XACML 1.x context.
pub(crate) const CONTEXT1: &str = "urn:oasis:names:tc:xacml:1.0:context";
/// XACML 2.0 policy.
pub(crate) const POLICY2: &str = "urn:oasis:names:tc:xacml:2.0:policy:schema:os";
/// XACML 1.x policy.
pub(crate) const POLICY1: &str = "urn:oasis:names:tc:xacml:1.0:policy";
/// XML Schema instance.
pub(crate) const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

impl Space {
    /// The namespace with this name.
    pub(crate) fn of(uri: &str) -> Space {
        match uri {
            "" => Space::None,
            CORE3 => Space::Core3,
            CONTEXT2 => Space::Context2,
            CONTEXT1 => Space::Context1,
            POLICY2 => Space::Policy2,
            POLICY1 => Space::Policy1,
            XML => Space::Xml,
            SCHEMA_INSTANCE => Space::SchemaInstance,
            _ => Space::Other,
        }
    }
}

/// How many namespace declarations may be in force at once. Every element with a prefix searches them.
pub(crate) const NAMESPACES_MAX: usize = 256;

/// The prefixes bound around the place a reader is at, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scopes<'a> {
    bindings: Vec<Binding<'a>>,
}

#[derive(Debug)]
struct Binding<'a> {
    prefix: &'a str,
    uri: Cow<'a, str>,
    space: Space,
    depth: usize,
}

impl<'a> Scopes<'a> {
    /// Binds a prefix ("" for the default namespace) for the element at `depth` and what is in it. False where
    /// there are [`NAMESPACES_MAX`] already.
    #[must_use]
    pub(crate) fn bind(&mut self, prefix: &'a str, uri: Cow<'a, str>, depth: usize) -> bool {
        let fits = self.bindings.len() < NAMESPACES_MAX;
        if fits {
            let space = Space::of(&uri);
            self.bindings.push(Binding { prefix, uri, space, depth });
        }
        fits
    }

    /// Forgets what was bound at `depth` or deeper.
    pub(crate) fn leave(&mut self, depth: usize) {
        while self.bindings.last().is_some_and(|binding| binding.depth >= depth) {
            self.bindings.pop();
        }
    }

    /// The namespace an element with this prefix is in; `None` where the prefix is not bound.
    pub(crate) fn space(&self, prefix: &str) -> Option<Space> {
        match self.bindings.iter().rev().find(|binding| same(binding.prefix, prefix)) {
            Some(binding) => Some(binding.space),
            None if prefix.is_empty() => Some(Space::None),
            None if prefix == "xml" => Some(Space::Xml),
            None => None,
        }
    }

    /// The name of the namespace a prefix is bound to.
    pub(crate) fn uri(&self, prefix: &str) -> Option<&str> {
        self.bindings.iter().rev().find(|binding| same(binding.prefix, prefix)).map(|binding| &*binding.uri)
    }

    /// All bindings in force, innermost winning, outermost first.
    pub(crate) fn in_force(&self) -> Vec<(&str, &str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for binding in self.bindings.iter().rev() {
            if !found.iter().any(|(prefix, _)| *prefix == binding.prefix) {
                found.push((binding.prefix, &binding.uri));
            }
        }
        found.retain(|(_, uri)| !uri.is_empty()); // xmlns="" takes the default namespace away
        found.reverse();
        found
    }
}

/// Whether two prefixes are the same. Empty ones, which almost all are, must not reach `memcmp`: an empty slice may
/// have an address that is not mapped, and a masked load from there costs a hundred comparisons.
fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}
