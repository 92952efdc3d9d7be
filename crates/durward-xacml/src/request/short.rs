//! Short attribute identifiers, as AT&T's and WSO2's decision points take them in JSON: `subject-id` for
//! `urn:oasis:names:tc:xacml:1.0:subject:subject-id`. The profile has none, so they are read only where that is asked for.

use super::identifiers::{
    ACCESS_SUBJECT, ACTION, CODEBASE, ENVIRONMENT, INTERMEDIARY_SUBJECT, RECIPIENT_SUBJECT,
    REQUESTING_MACHINE, RESOURCE, shared,
};
use super::{Categories, Request};

/// Short and whole identifiers of one category.
type Names = &'static [(&'static str, &'static str)];

/// The attributes of subjects of all kinds (XACML 3.0, B.4; RBAC profile).
const OF_SUBJECTS: Names = &[
    ("subject-id", "urn:oasis:names:tc:xacml:1.0:subject:subject-id"),
    ("subject-id-qualifier", "urn:oasis:names:tc:xacml:1.0:subject:subject-id-qualifier"),
    ("key-info", "urn:oasis:names:tc:xacml:1.0:subject:key-info"),
    ("authentication-time", "urn:oasis:names:tc:xacml:1.0:subject:authentication-time"),
    ("authentication-method", "urn:oasis:names:tc:xacml:1.0:subject:authentication-method"),
    ("request-time", "urn:oasis:names:tc:xacml:1.0:subject:request-time"),
    ("session-start-time", "urn:oasis:names:tc:xacml:1.0:subject:session-start-time"),
    ("ip-address", "urn:oasis:names:tc:xacml:3.0:subject:authn-locality:ip-address"),
    ("dns-name", "urn:oasis:names:tc:xacml:3.0:subject:authn-locality:dns-name"),
    ("role", "urn:oasis:names:tc:xacml:2.0:subject:role"),
];

/// The attributes of each category, WSO2's own among them.
const TABLE: [(&str, Names); 8] = [
    (ACCESS_SUBJECT, &[]),
    (
        RECIPIENT_SUBJECT,
        &[("recipient-subject-id", "urn:oasis:names:tc:xacml:1.0:recipient-subject:recipient-subject-id")],
    ),
    (
        INTERMEDIARY_SUBJECT,
        &[(
            "intermediary-subject-id",
            "urn:oasis:names:tc:xacml:1.0:intermediary-subject:intermediary-subject-id",
        )],
    ),
    (CODEBASE, &[("codebase-id", "urn:oasis:names:tc:xacml:1.0:codebase:codebase-id")]),
    (
        REQUESTING_MACHINE,
        &[("requesting-machine-id", "urn:oasis:names:tc:xacml:1.0:requesting-machine:requesting-machine-id")],
    ),
    (
        RESOURCE,
        &[
            ("resource-id", "urn:oasis:names:tc:xacml:1.0:resource:resource-id"),
            ("resource-location", "urn:oasis:names:tc:xacml:1.0:resource:resource-location"),
            ("simple-file-name", "urn:oasis:names:tc:xacml:1.0:resource:simple-file-name"),
            ("target-namespace", "urn:oasis:names:tc:xacml:2.0:resource:target-namespace"),
        ],
    ),
    (
        ACTION,
        &[
            ("action-id", "urn:oasis:names:tc:xacml:1.0:action:action-id"),
            ("implied-action", "urn:oasis:names:tc:xacml:1.0:action:implied-action"),
            ("action-namespace", "urn:oasis:names:tc:xacml:1.0:action:action-namespace"),
        ],
    ),
    (
        ENVIRONMENT,
        &[
            ("current-time", "urn:oasis:names:tc:xacml:1.0:environment:current-time"),
            ("current-date", "urn:oasis:names:tc:xacml:1.0:environment:current-date"),
            ("current-dateTime", "urn:oasis:names:tc:xacml:1.0:environment:current-dateTime"),
            ("environment-id", "urn:oasis:names:tc:xacml:1.0:environment:environment-id"),
        ],
    ),
];

/// The identifier that a short one stands for in a category.
fn whole(category: &str, id: &str) -> Option<&'static str> {
    let (category, own) = TABLE.iter().find(|(known, _)| *known == category)?;
    let of_subjects = if [RESOURCE, ACTION, ENVIRONMENT].contains(category) { &[][..] } else { OF_SUBJECTS };
    own.iter().chain(of_subjects).find(|(short, _)| *short == id).map(|(_, whole)| *whole)
}

impl Request {
    /// Gives attributes with short identifiers, such as `subject-id`, their whole ones. Both in one request are one attribute.
    ///
    /// ```
    /// use durward_xacml::request::Request;
    ///
    /// let text = br#"{"Request": {"Action": {"Attribute": {"AttributeId": "action-id", "Value": "read"}}}}"#;
    /// let mut request = Request::from_json(text)?;
    /// request.expand_short_ids();
    /// let action = request.categories.attributes().next();
    /// assert!(action.is_some_and(|action| action.id == "urn:oasis:names:tc:xacml:1.0:action:action-id"));
    /// # Ok::<(), durward_xacml::request::RequestError>(())
    /// ```
    pub fn expand_short_ids(&mut self) {
        let has_short = |(category, id): (&str, &str)| whole(category, id).is_some();
        if !self.categories.attributes().any(|found| has_short((found.category(), found.id.as_str()))) {
            return;
        }
        let old = std::mem::take(&mut self.categories);
        let mut new = Categories::with_capacity(old.len(), old.attribute_count());
        for category in old.iter() {
            new.begin_category(category.category.clone(), category.xml_id.clone());
            if let Some(content) = &category.content {
                new.set_content(content.clone());
            }
            for attribute in category.attributes() {
                let id =
                    whole(&category.category, &attribute.id).map_or_else(|| attribute.id.clone(), shared);
                new.copy_attribute_as(id, attribute);
            }
        }
        self.categories = new;
    }
}
