//! Where things stand in the source text, and which namespace prefixes hold there.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

/// Where something begins in its source text. `u32` is enough: a document of 4 GiB is refused long before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct XmlLocation {
    /// Bytes from the beginning of the source, a byte order mark included.
    pub offset: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
}

/// The namespace prefixes declared at one element, and those it inherits. XPath expressions in policies are
/// read with these (XACML 3.0, section 5.30: the prefixes in scope at the element that holds the expression).
#[derive(Default, PartialEq, Eq)]
pub struct NamespaceScope {
    pub(crate) declared: Vec<(SmolStr, SmolStr)>,
    pub(crate) outer: Option<Arc<NamespaceScope>>,
}

impl NamespaceScope {
    /// The namespace bound to a prefix, or `None` where the prefix is not declared. The empty prefix asks for
    /// the default namespace; an undeclared default (`xmlns=""`) is `None` too.
    pub fn resolve(&self, prefix: &str) -> Option<&str> {
        self.bindings().find(|(bound, _)| *bound == prefix).map(|(_, uri)| uri).filter(|uri| !uri.is_empty())
    }

    /// Every binding, innermost first; a prefix declared again further out appears again, later.
    pub fn bindings(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::successors(Some(self), |scope| scope.outer.as_deref())
            .flat_map(|scope| scope.declared.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str())))
    }
}

impl fmt::Display for XmlLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl fmt::Debug for XmlLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{self}")
    }
}

impl fmt::Debug for NamespaceScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.bindings()).finish()
    }
}
