//! The short names that JSON has for categories.

use crate::request::identifiers;

/// The category that a member of the request is a shorthand for (section 4.2.2.1).
pub(crate) fn category_of_shorthand(name: &str) -> Option<&'static str> {
    Some(match name {
        "AccessSubject" => identifiers::ACCESS_SUBJECT,
        "Resource" => identifiers::RESOURCE,
        "Action" => identifiers::ACTION,
        "Environment" => identifiers::ENVIRONMENT,
        "RecipientSubject" => identifiers::RECIPIENT_SUBJECT,
        "IntermediarySubject" => identifiers::INTERMEDIARY_SUBJECT,
        "Codebase" => identifiers::CODEBASE,
        "RequestingMachine" => identifiers::REQUESTING_MACHINE,
        _ => return None,
    })
}
