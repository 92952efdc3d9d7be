//! Near misses: what is there where a policy asks for something that is missing.
//!
//! An attribute of XACML is found by category, identifier, data type and issuer: one that differs in any of them is not
//! found, and says nothing. A key of SAPL's subscriptions that is written otherwise is undefined, and says nothing either.

use durward_ir::AttributeName;
use durward_ir::library::kind_of;
use durward_ir::near::{distance_within, nearest};
use durward_ir::path::{Element, Path, value_at};
use durward_xacml::request::Request;

use crate::documents::sapl::Subscription;

/// Attributes looked at for one that is missing: requests can hold very many.
const ATTRIBUTES_MAX: usize = 1_000;

/// Letters that may be wrong in an identifier: most of an URN is the same in all of them.
const LETTERS_WRONG_MAX: usize = 2;

/// What was asked.
#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    Request(&'a Request),
    Subscription(&'a Subscription),
}

impl Given<'_> {
    /// What is there instead of an attribute that is missing.
    pub(super) fn instead_of_attribute(&self, wanted: &AttributeName) -> Option<String> {
        match self {
            Given::Request(request) => in_request(request, wanted),
            // Policies of XACML see a subscription as attributes that are made for them.
            Given::Subscription(_) => None,
        }
    }

    /// What is there instead of a part of the subscription that is undefined.
    pub(super) fn instead_of_part(&self, path: &Path) -> Option<String> {
        match self {
            Given::Request(_) => None,
            Given::Subscription(subscription) => in_subscription(subscription, path),
        }
    }
}

/// The nearest first: the same attribute but for its type, its issuer or letter case, then one elsewhere.
fn in_request(request: &Request, wanted: &AttributeName) -> Option<String> {
    let all = || request.categories.attributes().take(ATTRIBUTES_MAX);
    let here = || all().filter(|attribute| attribute.category() == wanted.category);
    let same = || here().filter(|attribute| attribute.id == wanted.id);
    let is_of_issuer = |issuer: &Option<_>| wanted.issuer.is_none() || *issuer == wanted.issuer;
    let short = wanted.data_type.short_name();
    let other_type = same()
        .filter(|attribute| is_of_issuer(&attribute.issuer))
        .find_map(|attribute| Some((attribute, attribute.values().first()?.data_type())));
    if let Some((attribute, there)) = other_type {
        return Some(format!(
            "`{}` is there, as {}, and {short} is asked for",
            attribute.id,
            there.short_name()
        ));
    }
    if let Some(attribute) = same().next() {
        let issuer = wanted.issuer.as_deref().unwrap_or_default();
        let whose = match &attribute.issuer {
            Some(issuer) => format!("from the issuer `{issuer}`"),
            None => "without an issuer".to_owned(),
        };
        return Some(format!("`{}` is there, {whose}, and not from `{issuer}`", attribute.id));
    }
    if let Some(other) = here().find(|attribute| attribute.id.eq_ignore_ascii_case(&wanted.id)) {
        return Some(format!("`{}` is there: names are case sensitive", other.id));
    }
    if let Some(other) = all().find(|attribute| attribute.id == wanted.id) {
        return Some(format!("`{}` is there in the category `{}`", other.id, other.category()));
    }
    let is_near = |id: &str| {
        last_word(id) == last_word(&wanted.id)
            || distance_within(id, &wanted.id, LETTERS_WRONG_MAX.min(wanted.id.len() / 3)).is_some()
    };
    here().find(|attribute| is_near(&attribute.id)).map(|other| format!("`{}` is there", other.id))
}

/// What people take for the name in an identifier: `role` of `urn:...:role` and `http://.../role`.
fn last_word(id: &str) -> &str {
    id.rsplit([':', '/', '#']).next().unwrap_or(id)
}

fn in_subscription(subscription: &Subscription, path: &Path) -> Option<String> {
    let keys = path.keys();
    let root = subscription.element(path.element());
    let missing = (1..=keys.len())
        .find(|length| keys.get(..*length).is_some_and(|keys| value_at(root, keys).is_undefined()))?;
    let (before, key) = (keys.get(..missing - 1)?, keys.get(missing - 1)?);
    let parent = value_at(root, before);
    let parent_name = Path::new(path.element(), before.iter().cloned());
    let Some(object) = parent.as_object() else {
        // What has no keys is told; of what is missing itself there is nothing to tell.
        return (!parent.is_undefined()).then(|| format!("`{parent_name}` is {}", kind_of(&parent)));
    };
    if let Some(other) = object.keys().find(|other| other.eq_ignore_ascii_case(key)) {
        return Some(format!("`{other}` is there: names are case sensitive"));
    }
    let near = nearest(key, object.keys().take(ATTRIBUTES_MAX).map(|other| other.as_str()));
    near.map(|near| format!("`{near}` is there")).or_else(|| elsewhere(subscription, path))
}

/// The same key in another part of the subscription.
fn elsewhere(subscription: &Subscription, path: &Path) -> Option<String> {
    let [key] = path.keys() else { return None };
    let other = Element::ALL.into_iter().find(|element| {
        let value = subscription.element(*element);
        *element != path.element() && value.as_object().is_some_and(|object| object.contains_key(key))
    })?;
    Some(format!("`{}.{key}` is there", other.as_str()))
}
