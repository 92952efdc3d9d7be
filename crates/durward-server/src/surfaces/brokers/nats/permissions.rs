//! Which subjects a client may publish and subscribe to, by obligations.
//!
//! To NATS a list that is absent or empty allows everything. Here nothing that is not listed is allowed: where a list is empty, everything
//! is denied.

use durward_common::question::Verdict;
use durward_pdp::ir::Value;
use serde_json::{Value as Json, json};

use super::super::NotLetIn;
use crate::surfaces::callers::is_of;

/// The obligation to hold a client to lists of subjects.
pub(super) const PERMISSIONS: &str = "nats:permissions";

/// All subjects.
const ALL: &str = ">";

/// Most answers to one request, and for how long, where a client may answer those who ask it.
const RESPONSES: (u32, u64) = (1, 5_000_000_000);

/// What a client may do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Permissions {
    publish: Subjects,
    subscribe: Subjects,
    may_respond: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Subjects {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Permissions {
    /// Those of all obligations together.
    ///
    /// # Errors
    /// An obligation that cannot be understood.
    pub(super) fn of(verdict: &Verdict) -> Result<Permissions, NotLetIn> {
        let mut permissions = Permissions::default();
        for duty in verdict.obligations.iter().filter(|duty| is_of(duty, PERMISSIONS)) {
            let properties = duty.properties.as_object().ok_or_else(|| wrong("no properties"))?;
            for (name, value) in properties.iter() {
                match (name.as_str(), value) {
                    ("publish", lists) => permissions.publish.add(lists)?,
                    ("subscribe", lists) => permissions.subscribe.add(lists)?,
                    ("respond", Value::Boolean(may)) => permissions.may_respond |= *may,
                    (other, _) => return Err(wrong(&format!("`{other}`"))),
                }
            }
        }
        Ok(permissions)
    }

    /// As they stand in the token of a user.
    pub(super) fn to_claims(&self) -> Json {
        let mut claims = json!({
            "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
            "pub": self.publish.to_claims(), "sub": self.subscribe.to_claims(),
        });
        if let (true, Some(claims)) = (self.may_respond, claims.as_object_mut()) {
            let (max, ttl) = RESPONSES;
            claims.insert("resp".to_owned(), json!({ "max": max, "ttl": ttl }));
        }
        claims
    }
}

impl Subjects {
    /// A list of what is allowed, or `allow` and `deny`.
    fn add(&mut self, lists: &Value) -> Result<(), NotLetIn> {
        let Some(lists) = lists.as_object() else {
            self.allow.extend(subjects(lists)?);
            return Ok(());
        };
        for (name, list) in lists.iter() {
            match name.as_str() {
                "allow" => self.allow.extend(subjects(list)?),
                "deny" => self.deny.extend(subjects(list)?),
                other => return Err(wrong(&format!("`{other}`"))),
            }
        }
        Ok(())
    }

    fn to_claims(&self) -> Json {
        let mut deny = self.deny.clone();
        if self.allow.is_empty() {
            deny = vec![ALL.to_owned()];
        }
        json!({ "allow": self.allow, "deny": deny })
    }
}

fn subjects(list: &Value) -> Result<Vec<String>, NotLetIn> {
    let elements = list.as_array().map_or(std::slice::from_ref(list), |elements| elements);
    let subject = |value: &Value| {
        let text = value.as_text().filter(|text| is_subject(text));
        text.map(str::to_owned).ok_or_else(|| wrong("a subject that is none"))
    };
    elements.iter().map(subject).collect()
}

/// Parts between dots, none of them empty; `>` stands last, and wildcards by themselves.
fn is_subject(text: &str) -> bool {
    let mut parts = text.split('.').peekable();
    let mut is_one = !text.is_empty();
    while let Some(part) = parts.next() {
        let is_plain =
            part.chars().all(|it| !it.is_whitespace() && !it.is_control() && !matches!(it, '*' | '>'));
        is_one &= match part {
            "" => false,
            "*" => true,
            ">" => parts.peek().is_none(),
            _ => is_plain,
        };
    }
    is_one
}

fn wrong(what: &str) -> NotLetIn {
    NotLetIn::new(format!("`{PERMISSIONS}` has {what}; it has `publish`, `subscribe` and `respond`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::decider::Decision;

    fn claims(obligations: &str) -> Result<String, NotLetIn> {
        let decision = format!(r#"{{"decision":"PERMIT","obligations":[{obligations}]}}"#);
        let verdict = Verdict::of_sapl(&Decision::from_json(decision.as_bytes()).unwrap());
        let claims = Permissions::of(&verdict)?.to_claims();
        Ok(format!("{} {}", claims["pub"], claims["sub"]))
    }

    #[test]
    fn what_is_not_listed_is_denied() {
        let nothing = r#"{"allow":[],"deny":[">"]}"#;
        assert_eq!(claims("").unwrap(), format!("{nothing} {nothing}"));
        let publish = r#"{"type":"nats:permissions","publish":["plant.>"]}"#;
        let told = r#"{"allow":["plant.>"],"deny":[]}"#;
        assert_eq!(claims(publish).unwrap(), format!("{told} {nothing}"));
        let denied_alone = r#"{"type":"nats:permissions","subscribe":{"deny":["x"]}}"#;
        assert_eq!(claims(denied_alone).unwrap(), format!("{nothing} {nothing}"));
        let both = r#"{"type":"nats:permissions","subscribe":{"allow":"a.*","deny":["a.b"]}}"#;
        assert_eq!(
            claims(&format!("{publish},{both}")).unwrap(),
            format!(r#"{told} {{"allow":["a.*"],"deny":["a.b"]}}"#)
        );
    }

    #[test]
    fn a_list_that_is_not_understood_is_no_permit() {
        for list in
            [r#"["a b"]"#, r#"[""]"#, r#"["a..b"]"#, r#"[">.a"]"#, r#"["a>"]"#, "[7]", "7", r#"{"only":[]}"#]
        {
            let obligation = format!(r#"{{"type":"nats:permissions","publish":{list}}}"#);
            assert!(claims(&obligation).is_err(), "{list}");
        }
        assert!(claims(r#"{"type":"nats:permissions","respond":"yes"}"#).is_err());
        assert!(claims(r#"{"type":"nats:permissions","pub":["a"]}"#).is_err());
    }
}
