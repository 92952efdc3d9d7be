//! The XPath version that policies and requests declare (XACML 3.0, 5.4): only what is evaluated here may be declared.

use std::fmt;

use crate::wording::quote;

/// XPath 1.0. The second spelling stands in the examples of the XACML 1.x and 2.0 standards, and so in many policies.
const XPATH_1: [&str; 2] =
    ["http://www.w3.org/TR/1999/REC-xpath-19991116", "http://www.w3.org/TR/1999/Rec-xpath-19991116"];

/// The identifier of XPath 2.0 (XACML 3.0, 5.4).
const XPATH_2: &str = "http://www.w3.org/TR/2007/REC-xpath20-20070123";

/// A declared version that is not evaluated here. One path can mean another thing in each version: `@until < '2020-06-01'`
/// compares texts in 2.0, and numbers in 1.0, so that a rule with it would never apply, and say nothing. Shown as the sentence that refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherVersion<'a>(&'a str);

/// The way out of an [`OtherVersion`], for authors and callers.
pub const OTHER_VERSION_HELP: &str = "declare `http://www.w3.org/TR/1999/REC-xpath-19991116` and write the \
                                             paths in it; without paths, leave the element out";

/// Whether what `XPathVersion` says is what is evaluated here: XPath 1.0, which is also what is taken where nothing is
/// declared. Policies and requests that declare another are refused, even without any path in them.
///
/// ```
/// use durward_xacml::content::check_version;
///
/// assert!(check_version("http://www.w3.org/TR/1999/REC-xpath-19991116").is_ok());
/// let other = check_version("http://www.w3.org/TR/2007/REC-xpath20-20070123").unwrap_err();
/// assert!(other.to_string().starts_with("`XPathVersion` is XPath 2.0"));
/// ```
///
/// # Errors
/// Any text but the two spellings of XPath 1.0.
pub fn check_version(declared: &str) -> Result<(), OtherVersion<'_>> {
    if XPATH_1.contains(&declared) { Ok(()) } else { Err(OtherVersion(declared)) }
}

impl fmt::Display for OtherVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, quote(self.0)) {
            (XPATH_2, declared) => {
                write!(f, "`XPathVersion` is XPath 2.0 ({declared}), and only 1.0 is supported")
            }
            (_, declared) => write!(f, "`XPathVersion` is {declared}, and only XPath 1.0 is supported"),
        }
    }
}
