//! A node by the URI of its namespace: a name that holds wherever the namespaces have other indexes.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use opcua_types::Identifier;

use super::NodeTableError;
use super::table::{IDENTIFIER_BYTES_MAX, NAMESPACE_BYTES_MAX};

/// The namespace of the standard itself, which has index 0 everywhere.
pub const NAMESPACE_OF_THE_STANDARD: &str = "http://opcfoundation.org/UA/";

/// A node as a table names it: `nsu=http://plant.example/;s=Line1.Motor3`, or `i=85` for one of the standard (Part 6, 5.1.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableNode {
    namespace: String,
    identifier: Identifier,
}

impl TableNode {
    /// A node of a namespace.
    ///
    /// # Errors
    /// An empty or too long URI, or an identifier that is null, empty or longer than the standard lets it be.
    pub fn new(
        namespace: impl Into<String>,
        identifier: impl Into<Identifier>,
    ) -> Result<TableNode, NodeTableError> {
        let (namespace, identifier) = (namespace.into(), identifier.into());
        if namespace.is_empty() || namespace.len() > NAMESPACE_BYTES_MAX {
            return Err(NodeTableError::new(format!(
                "a namespace URI has 1 to {NAMESPACE_BYTES_MAX} bytes; this one has {}",
                namespace.len()
            )));
        }
        let length = text_of(&identifier).map_or(1, <[u8]>::len);
        if length == 0 || length > IDENTIFIER_BYTES_MAX {
            return Err(NodeTableError::new(format!(
                "an identifier has 1 to {IDENTIFIER_BYTES_MAX} bytes; this one has {length}"
            )));
        }
        Ok(TableNode { namespace, identifier })
    }

    /// The URI of its namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What names it within its namespace.
    pub fn identifier(&self) -> &Identifier {
        &self.identifier
    }

    pub(super) fn into_parts(self) -> (String, Identifier) {
        (self.namespace, self.identifier)
    }
}

impl fmt::Display for TableNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace != NAMESPACE_OF_THE_STANDARD {
            let escaped = self.namespace.replace('%', "%25").replace(';', "%3B");
            write!(f, "nsu={escaped};")?;
        }
        write!(f, "{}", self.identifier)
    }
}

impl FromStr for TableNode {
    type Err = NodeTableError;

    fn from_str(text: &str) -> Result<TableNode, NodeTableError> {
        let wrong = |what: &str| NodeTableError::new(format!("`{}` is no node: {what}", shortened(text)));
        let (namespace, identifier) = match text.strip_prefix("nsu=") {
            Some(rest) => {
                let (uri, identifier) =
                    rest.split_once(';').ok_or_else(|| wrong("`;` is missing behind the namespace"))?;
                let uri = unescaped(uri).ok_or_else(|| wrong("`%` stands only in `%25` and `%3B`"))?;
                (uri, identifier)
            }
            None => (NAMESPACE_OF_THE_STANDARD.to_owned(), text),
        };
        if !["i=", "s=", "g=", "b="].iter().any(|kind| identifier.starts_with(kind)) {
            return Err(wrong(
                "write `nsu=URI;` and one of `i=`, `s=`, `g=`, `b=`; `i=2255` of the server lists the URIs, beginning with number 0",
            ));
        }
        let identifier =
            Identifier::from_str(identifier).map_err(|()| wrong("its identifier cannot be read"))?;
        TableNode::new(namespace, identifier)
    }
}

/// What is shown of a text in a message.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

fn unescaped(uri: &str) -> Option<String> {
    let mut parts = uri.split('%');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (sign, rest) = part.split_at_checked(2)?;
        plain.push(match sign {
            "25" => '%',
            "3B" | "3b" => ';',
            _ => return None,
        });
        plain.push_str(rest);
    }
    Some(plain)
}

/// The bytes of an identifier that is a text or opaque.
pub(super) fn text_of(identifier: &Identifier) -> Option<&[u8]> {
    match identifier {
        Identifier::String(text) => Some(text.as_ref().as_bytes()),
        Identifier::ByteString(bytes) => Some(bytes.as_ref()),
        Identifier::Numeric(_) | Identifier::Guid(_) => None,
    }
}

/// The place of an identifier's kind in a table: the order of Part 6, 5.2.2.9.
pub(super) fn kind_of(identifier: &Identifier) -> u8 {
    match identifier {
        Identifier::Numeric(_) => 0,
        Identifier::String(_) => 1,
        Identifier::Guid(_) => 2,
        Identifier::ByteString(_) => 3,
    }
}

/// The order of a table: by kind, then by number or by bytes.
pub(super) fn compare(one: &Identifier, other: &Identifier) -> Ordering {
    match (one, other) {
        (Identifier::Numeric(one), Identifier::Numeric(other)) => one.cmp(other),
        (Identifier::Guid(one), Identifier::Guid(other)) => one.to_bytes().cmp(&other.to_bytes()),
        _ => kind_of(one).cmp(&kind_of(other)).then_with(|| text_of(one).cmp(&text_of(other))),
    }
}
