//! Node ids as text: `ns=2;s=Tag`, `i=2258`, `nsu=urn:x;i=5`, and browse paths: `/Objects/2:Boiler/2:Temperature`.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opcua_types::{Guid, Identifier, NodeId, StatusCode, UAString};

use crate::error::Error;

/// Bytes of an identifier (Part 3, 8.2.4).
const IDENTIFIER_BYTES_MAX: usize = 4_096;
/// Elements of a path.
const PATH_ELEMENTS_MAX: usize = 100;

/// A node, as somebody wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeText {
    /// An id, its namespace by its index.
    Id(NodeId),
    /// An id, its namespace by its URI: what index that has the server knows.
    Uri {
        /// The namespace.
        uri: String,
        /// The identifier in it.
        identifier: Identifier,
    },
    /// Browse names from the root folder on.
    Path(Vec<PathElement>),
}

/// A browse name in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathElement {
    /// The namespace; nothing: any.
    pub namespace: Option<u16>,
    /// The name.
    pub name: String,
}

/// Reads a node id or a path.
///
/// # Errors
/// `BadNodeIdInvalid`, with what is wrong and how it is written.
pub fn parse_node(text: &str) -> Result<NodeText, Error> {
    if let Some(path) = text.strip_prefix('/') {
        return parse_path(text, path).map(NodeText::Path);
    }
    if let Some(rest) = text.strip_prefix("nsu=") {
        let (uri, identifier) =
            rest.split_once(';').ok_or_else(|| invalid(text, "a `;` is missing behind the URI"))?;
        // Part 6, 5.1.12: `;` and `%` are escaped in the URI.
        let uri = uri.replace("%3B", ";").replace("%3b", ";").replace("%25", "%");
        return Ok(NodeText::Uri { uri, identifier: parse_identifier(text, identifier)? });
    }
    let (namespace, identifier) = match text.strip_prefix("ns=") {
        Some(rest) => {
            let (index, identifier) =
                rest.split_once(';').ok_or_else(|| invalid(text, "a `;` is missing behind the namespace"))?;
            (
                index.parse().map_err(|_| invalid(text, "the namespace is no number from 0 to 65535"))?,
                identifier,
            )
        }
        None => (0, text),
    };
    Ok(NodeText::Id(NodeId { namespace, identifier: parse_identifier(text, identifier)? }))
}

/// A node id as text, in the form that [`parse_node`] reads.
pub fn node_text(node: &NodeId) -> String {
    let identifier = match &node.identifier {
        Identifier::Numeric(number) => format!("i={number}"),
        Identifier::String(text) => format!("s={text}"),
        Identifier::Guid(guid) => format!("g={guid}"),
        Identifier::ByteString(bytes) => {
            format!("b={}", STANDARD.encode(bytes.value.as_deref().unwrap_or_default()))
        }
    };
    if node.namespace == 0 { identifier } else { format!("ns={};{identifier}", node.namespace) }
}

/// The id, with the server's namespaces.
///
/// # Errors
/// `BadNodeIdInvalid` when the server has no such namespace.
pub fn with_namespace(namespaces: &[String], uri: &str, identifier: Identifier) -> Result<NodeId, Error> {
    let index = namespaces.iter().position(|known| known == uri).and_then(|index| u16::try_from(index).ok());
    let namespace = index.ok_or_else(|| {
        Error::new(
            StatusCode::BadNodeIdInvalid,
            format!("the server has no namespace `{}`", uri.escape_debug()),
        )
    })?;
    Ok(NodeId { namespace, identifier })
}

fn invalid(text: &str, reason: &str) -> Error {
    let text: String = text.chars().take(100).collect();
    Error::new(
        StatusCode::BadNodeIdInvalid,
        format!(
            "`{}` is no node: {reason}; write ns=2;s=Name, ns=2;i=5, nsu=URI;s=Name or /Objects/Name",
            text.escape_debug()
        ),
    )
}

fn parse_identifier(text: &str, identifier: &str) -> Result<Identifier, Error> {
    let (kind, value) = identifier
        .split_once('=')
        .ok_or_else(|| invalid(text, "it begins with none of i=, s=, g= and b="))?;
    if value.len() > IDENTIFIER_BYTES_MAX {
        return Err(invalid(text, "the identifier is too long"));
    }
    match kind {
        "i" => value
            .parse()
            .map(Identifier::Numeric)
            .map_err(|_| invalid(text, "`i=` needs a number up to 4294967295")),
        "s" if value.is_empty() => Err(invalid(text, "`s=` needs a name")),
        "s" => Ok(Identifier::String(UAString::from(value))),
        "g" => Guid::from_str(value).map(Identifier::Guid).map_err(|_| invalid(text, "`g=` needs a GUID")),
        "b" => {
            let bytes = STANDARD.decode(value).map_err(|_| invalid(text, "`b=` needs Base64"))?;
            Ok(Identifier::ByteString(bytes.into()))
        }
        _ => Err(invalid(text, "it begins with none of i=, s=, g= and b=")),
    }
}

/// Elements are separated by `/`; a namespace stands before its name (`2:Boiler`); `&` makes what follows it a part of the name.
fn parse_path(text: &str, path: &str) -> Result<Vec<PathElement>, Error> {
    let mut elements = Vec::new();
    let mut element = Some(PathElement { namespace: None, name: String::new() });
    let mut chars = path.chars();
    let mut is_escaped = false;
    while let Some(char) = chars.next() {
        let current = element.get_or_insert_with(|| PathElement { namespace: None, name: String::new() });
        match char {
            '&' => {
                current.name.push(chars.next().ok_or_else(|| invalid(text, "nothing follows the `&`"))?);
                is_escaped = true;
            }
            '/' => {
                elements.extend(element.take());
                element = Some(PathElement { namespace: None, name: String::new() });
                is_escaped = false;
            }
            ':' if current.namespace.is_none() && !is_escaped && is_number(&current.name) => {
                let index = current
                    .name
                    .parse()
                    .map_err(|_| invalid(text, "the namespace is no number up to 65535"))?;
                (current.namespace, current.name) = (Some(index), String::new());
            }
            _ => current.name.push(char),
        }
    }
    elements.extend(element);
    if elements.len() > PATH_ELEMENTS_MAX {
        return Err(invalid(text, "the path is too long"));
    }
    if elements.iter().any(|element| element.name.is_empty()) {
        return Err(invalid(text, "a name of the path is empty"));
    }
    Ok(elements)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
