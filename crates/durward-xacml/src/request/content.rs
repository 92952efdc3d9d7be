//! Content as text.

use smol_str::SmolStr;

/// The `<Content>` of a category, kept as text and parsed only when an XPath expression asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawContent {
    /// What stands between `<Content>` and `</Content>`, as written.
    pub xml: SmolStr,
    /// Prefix and namespace pairs declared around it and still in scope; the default namespace has the prefix "".
    pub namespaces: Vec<(SmolStr, SmolStr)>,
}
