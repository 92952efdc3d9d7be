//! From what a provider says about a user to what counts of it here.

use std::collections::{BTreeMap, BTreeSet};

use durward_session::identity::user::AccountLink;
use durward_settings::UpstreamSettings;
use serde_json::{Map, Value};

/// How many methods of an authentication are repeated, and how long each may be.
const METHODS_MAX: usize = 8;
const METHOD_LENGTH_MAX: usize = 32;

/// The longest value of an attribute, in bytes, and how many values one has.
const VALUE_LENGTH_MAX: usize = 1024;
const VALUES_MAX: usize = 64;

/// What counts of what a provider says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// What never becomes another's.
    pub link: AccountLink,
    /// The name that the user has or would have here.
    pub name: Option<String>,
    /// The e-mail address, where the provider has verified it.
    pub email: Option<String>,
    /// Groups, by their names here.
    pub groups: BTreeSet<String>,
    /// The attributes that the provider settles, each with its values; none where it says nothing of one.
    pub attributes: BTreeMap<String, Vec<String>>,
    /// Whether the provider says that there was a second step.
    pub has_second_step: bool,
    /// When the user authenticated there, in seconds since 1970 began.
    pub auth_time_s: Option<u64>,
    /// How.
    pub methods: Vec<String>,
    /// The session there.
    pub sid: Option<String>,
}

/// What counts of these claims, which were verified.
///
/// # Errors
/// Why the user is not let in.
pub fn map(settings: &UpstreamSettings, claims: &Map<String, Value>) -> Result<Mapped, &'static str> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let is_verified = match claims.get("email_verified") {
        Some(Value::Bool(is_verified)) => *is_verified,
        // Some providers write it so.
        Some(Value::String(word)) => word == "true",
        Some(_) | None => false,
    };
    let email = text("email").filter(|email| is_verified && is_address(email)).map(str::to_owned);
    if settings.email_verified && email.is_none() {
        return Err("the provider has not verified an e-mail address");
    }
    let domain = email.as_deref().and_then(|email| email.rsplit_once('@')).map(|(_, domain)| domain);
    let is_of = |domain: &str| settings.email_domains.iter().any(|known| known.eq_ignore_ascii_case(domain));
    if !settings.email_domains.is_empty() && !domain.is_some_and(is_of) {
        return Err("there is no verified e-mail address of a domain that is let in");
    }
    let hosted = &settings.hosted_domains;
    let is_hosted = |domain: &str| hosted.iter().any(|known| known.eq_ignore_ascii_case(domain));
    if !hosted.is_empty() && !text("hd").is_some_and(is_hosted) {
        return Err("the account is of no domain that is let in (`hd`)");
    }
    let methods: Vec<String> = values(claims.get("amr")).filter(|word| is_method(word)).collect();
    let has_second_step = text("acr")
        .is_some_and(|acr| settings.second_step_acr.iter().any(|one| one == acr))
        || methods.iter().any(|method| settings.second_step_amr.contains(method));
    let subject = text("sub").ok_or("the provider says nothing about whom it is")?.to_owned();
    Ok(Mapped {
        link: AccountLink { issuer: settings.issuer.clone(), subject },
        name: claim(claims, &settings.user_claim).and_then(Value::as_str).map(str::to_owned),
        email,
        groups: groups(settings, claims),
        attributes: attributes(settings, claims),
        has_second_step,
        auth_time_s: claims.get("auth_time").and_then(Value::as_u64),
        methods: methods.into_iter().take(METHODS_MAX).collect(),
        sid: text("sid").map(str::to_owned),
    })
}

fn groups(settings: &UpstreamSettings, claims: &Map<String, Value>) -> BTreeSet<String> {
    let there = settings.groups_claim.as_deref().and_then(|name| claim(claims, name));
    values(there).filter_map(|group| settings.groups.get(&group).cloned()).collect()
}

fn attributes(settings: &UpstreamSettings, claims: &Map<String, Value>) -> BTreeMap<String, Vec<String>> {
    let of = |(attribute, name): (&String, &String)| {
        let values = values(claim(claims, name)).filter(|value| value.len() <= VALUE_LENGTH_MAX);
        let values: Vec<String> = values.take(VALUES_MAX).collect();
        (!values.is_empty()).then(|| (attribute.clone(), values))
    };
    settings.attributes.iter().filter_map(of).collect()
}

/// A claim: of this very name, or within others (`realm_access.roles`).
fn claim<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<&'c Value> {
    if let Some(claim) = claims.get(name) {
        return Some(claim);
    }
    let mut steps = name.split('.');
    let first = claims.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step))
}

/// One value or several, as texts.
fn values(claim: Option<&Value>) -> impl Iterator<Item = String> {
    let several = match claim {
        Some(Value::Array(values)) => values.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    several.iter().filter_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(is_so) => Some(is_so.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    })
}

/// A word of RFC 8176, or one like them.
fn is_method(word: &str) -> bool {
    (1..=METHOD_LENGTH_MAX).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

fn is_address(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(name, domain)| !name.is_empty() && !domain.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(more: &str, claims: &Value) -> Result<Mapped, &'static str> {
        let text = format!("id = 'corp'\nissuer = 'https://idp'\nclient_id = 'd'\n{more}");
        let settings: UpstreamSettings = toml::from_str(&text).unwrap();
        let mut all = json!({ "sub": "4711", "preferred_username": "anna" });
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        map(&settings, all.as_object().unwrap())
    }

    #[test]
    fn groups_count_by_the_names_that_they_have_here_and_no_others() {
        let settings =
            "groups_claim = 'realm_access.roles'\ngroups = { 'it-staff' = 'staff', lead = 'leads' }";
        let roles = |roles: Value| json!({ "realm_access": { "roles": roles } });
        let groups = |claims: &Value| with(settings, claims).unwrap().groups.into_iter().collect::<Vec<_>>();
        assert_eq!(groups(&roles(json!(["it-staff", "administrators", "leads", 7]))), ["staff"]);
        assert_eq!(groups(&roles(json!("lead"))), ["leads"]);
        assert_eq!(groups(&json!({ "realm_access.roles": ["lead"] })), ["leads"]);
        assert_eq!(groups(&json!({ "groups": ["it-staff"] })), [""; 0]);
    }

    #[test]
    fn an_address_counts_where_it_is_verified() {
        let wanted = "email_domains = ['example.org']";
        let claims = |email: &str, verified: Value| json!({ "email": email, "email_verified": verified });
        assert!(with(wanted, &claims("a@example.org", json!(true))).is_ok());
        assert!(with(wanted, &claims("a@EXAMPLE.org", json!("true"))).is_ok());
        for claims in [
            claims("a@example.org", json!(false)),
            claims("a@example.org", Value::Null),
            claims("a@example.org", json!(1)),
            claims("a@evil-example.org", json!(true)),
            claims("a@example.org.evil", json!(true)),
            claims("a@example.org@evil", json!(true)),
            claims("example.org", json!(true)),
            claims("@example.org", json!(true)),
            json!({ "email_verified": true }),
        ] {
            assert!(with(wanted, &claims).is_err(), "{claims}");
        }
        assert!(with("email_verified = true", &claims("a@b", json!(false))).is_err());
        assert_eq!(with("", &claims("a@b", json!(false))).unwrap().email, None);
        assert!(with("hosted_domains = ['corp.example']", &json!({ "hd": "corp.example" })).is_ok());
        assert!(with("hosted_domains = ['corp.example']", &json!({})).is_err());
    }

    #[test]
    fn a_second_step_counts_where_the_settings_say_so() {
        let claims = json!({ "acr": "gold", "amr": ["pwd", "mfa", "a b", 1], "auth_time": 12, "sid": "s" });
        let mapped = with("", &claims).unwrap();
        assert!(!mapped.has_second_step);
        assert_eq!((mapped.methods.join(" "), mapped.auth_time_s), ("pwd mfa 1".to_owned(), Some(12)));
        assert!(with("second_step_acr = ['gold']", &claims).unwrap().has_second_step);
        assert!(with("second_step_amr = ['mfa']", &claims).unwrap().has_second_step);
        assert!(!with("second_step_acr = ['mfa']", &claims).unwrap().has_second_step);
    }

    #[test]
    fn attributes_are_taken_from_claims_of_other_names() {
        let settings = "attributes = { mail = 'email', level = 'grade', tag = 'tags' }";
        let claims = json!({ "email": "a@b", "grade": 3, "tags": ["x", {"y": 1}, "z"], "other": "o" });
        let attributes = with(settings, &claims).unwrap().attributes;
        let all: Vec<(String, String)> =
            attributes.into_iter().map(|(name, values)| (name, values.join(","))).collect();
        let all: Vec<(&str, &str)> =
            all.iter().map(|(name, values)| (name.as_str(), values.as_str())).collect();
        assert_eq!(all, [("level", "3"), ("mail", "a@b"), ("tag", "x,z")]);
    }
}
