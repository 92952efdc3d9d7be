//! The identifiers requests use all the time, and a way to hold them without allocating.

use durward_ir::Value;
use smol_str::SmolStr;

/// Declares identifiers, and the function that finds them among all texts.
macro_rules! identifiers {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// The identifier of this module that equals `text`. A comparison is one of lengths first, so an unknown
        /// text costs about as much as a known one.
        fn known(text: &str) -> Option<&'static str> {
            match text {
                $($text => Some($name),)*
                _ => None,
            }
        }
    };
}

identifiers! {
    /// Category: the subject that asks for access.
    ACCESS_SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
    /// Category: the resource.
    RESOURCE = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
    /// Category: the action.
    ACTION = "urn:oasis:names:tc:xacml:3.0:attribute-category:action";
    /// Category: the environment.
    ENVIRONMENT = "urn:oasis:names:tc:xacml:3.0:attribute-category:environment";
    /// Category: who receives the result.
    RECIPIENT_SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:recipient-subject";
    /// Category: who passes the request on.
    INTERMEDIARY_SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:intermediary-subject";
    /// Category: the code that asks.
    CODEBASE = "urn:oasis:names:tc:xacml:1.0:subject-category:codebase";
    /// Category: the machine that asks.
    REQUESTING_MACHINE = "urn:oasis:names:tc:xacml:1.0:subject-category:requesting-machine";

    /// Attribute: who the subject is.
    SUBJECT_ID = "urn:oasis:names:tc:xacml:1.0:subject:subject-id";
    /// Attribute: the subject's security domain.
    SUBJECT_ID_QUALIFIER = "urn:oasis:names:tc:xacml:1.0:subject:subject-id-qualifier";
    /// Attribute: the subject's role (RBAC profile).
    SUBJECT_ROLE = "urn:oasis:names:tc:xacml:2.0:subject:role";
    /// Attribute: which resource.
    RESOURCE_ID = "urn:oasis:names:tc:xacml:1.0:resource:resource-id";
    /// Attribute: which action.
    ACTION_ID = "urn:oasis:names:tc:xacml:1.0:action:action-id";
    /// Attribute: the time of day, where the request says it.
    CURRENT_TIME = "urn:oasis:names:tc:xacml:1.0:environment:current-time";
    /// Attribute: the date, where the request says it.
    CURRENT_DATE = "urn:oasis:names:tc:xacml:1.0:environment:current-date";
    /// Attribute: date and time, where the request says it.
    CURRENT_DATE_TIME = "urn:oasis:names:tc:xacml:1.0:environment:current-dateTime";

    /// Attribute: the namespace of the resource's content.
    TARGET_NAMESPACE = "urn:oasis:names:tc:xacml:2.0:resource:target-namespace";
    /// Attribute of the Hierarchical Resource profile: a parent of the resource.
    RESOURCE_PARENT = "urn:oasis:names:tc:xacml:2.0:resource:resource-parent";
    /// Attribute of the Hierarchical Resource profile: an ancestor of the resource.
    RESOURCE_ANCESTOR = "urn:oasis:names:tc:xacml:2.0:resource:resource-ancestor";
    /// Attribute of the Hierarchical Resource profile: the resource itself or an ancestor of it.
    RESOURCE_ANCESTOR_OR_SELF = "urn:oasis:names:tc:xacml:2.0:resource:resource-ancestor-or-self";
    /// Attribute of the Hierarchical Resource profile: the document a node belongs to.
    DOCUMENT_ID = "urn:oasis:names:tc:xacml:2.0:resource:document-id";
    /// Attribute of the Multiple Decision profile: which part of a hierarchy is meant.
    SCOPE = "urn:oasis:names:tc:xacml:2.0:resource:scope";
    /// The same as [`SCOPE`], by its XACML 1.0 name.
    SCOPE_1_0 = "urn:oasis:names:tc:xacml:1.0:resource:scope";
    /// Attribute: the nodes of the content of which each is an individual request (Multiple Decision profile).
    MULTIPLE_CONTENT_SELECTOR = "urn:oasis:names:tc:xacml:3.0:profile:multiple:content-selector";
    /// The same as [`MULTIPLE_CONTENT_SELECTOR`], as AT&T's conformance tests name it.
    MULTIPLE_CONTENT_SELECTOR_SHORT = "urn:oasis:names:tc:xacml:3.0:multiple:content-selector";
    /// Attribute: the node of the content an individual request is about.
    CONTENT_SELECTOR = "urn:oasis:names:tc:xacml:3.0:content-selector";
}

/// Whether an attribute of this name is a mark of the Multiple Decision profile.
pub(crate) fn asks_for_several(id: &str) -> bool {
    // Compared by length first, which differs from that of most identifiers.
    id == SCOPE || id == SCOPE_1_0 || selects_content(id)
}

/// Whether an attribute of this name selects the nodes that are asked about.
pub(crate) fn selects_content(id: &str) -> bool {
    id == MULTIPLE_CONTENT_SELECTOR || id == MULTIPLE_CONTENT_SELECTOR_SHORT
}

/// The text as a shared string: one of the identifiers of this module costs no allocation.
pub fn shared(text: &str) -> SmolStr {
    match known(text) {
        Some(known) => SmolStr::new_static(known),
        None => SmolStr::new(text),
    }
}

/// The identifier of a value's data type.
pub(crate) fn data_type_uri(value: &Value) -> &str {
    if let Value::Opaque(opaque) = value { &opaque.data_type } else { value.data_type().uri() }
}
