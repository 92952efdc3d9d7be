//! From a verdict to the answer. A permit lets a request pass only if the gateway can meet every obligation; what belongs to an answer (a redirect,
//! a status with a body) never lets one pass.

use durward_common::decider::Outcome;
use durward_common::question::{Duty, Verdict};
use durward_common::surfaces::http::links::leads_to;
use durward_settings::doors::passable;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};

use super::answer::{Allowed, Denied, DeniedBody, DoorAnswer, Reason};

/// What the long names of obligations begin with, as XACML has them.
const PREFIX: &str = "urn:durward:obligation:";

/// Longest body of an answer that an obligation brings.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Longest time that an answer may be used again: a day.
const CACHE_S_MAX: i64 = 86_400;

/// What the gateway can do, and what goes along with every request that passes.
pub(super) struct Carrier<'c> {
    /// Headers of the subject.
    pub(super) identity: Vec<(HeaderName, HeaderValue)>,
    /// Headers that obligations may set, where the gateway copies headers by their names.
    pub(super) listed: &'c [HeaderName],
    pub(super) copies_by_name: bool,
    /// The host that was asked for.
    pub(super) host: &'c str,
    pub(super) redirect_hosts: &'c [String],
}

/// An obligation that gateways know.
enum Known {
    Set(HeaderName, HeaderValue),
    Remove(HeaderName),
    Cache(u32),
    Redirect(HeaderValue),
    Answer(StatusCode, Option<DeniedBody>),
}

impl Carrier<'_> {
    pub(super) fn answer(self, verdict: &Verdict) -> DoorAnswer {
        match verdict.outcome {
            Outcome::Permit => self.permitted(verdict),
            Outcome::Deny => {
                let mut known = verdict.obligations.iter().filter_map(|duty| self.read(duty));
                known.find_map(Known::into_answer).unwrap_or_else(|| Reason::Policy.into())
            }
            Outcome::NotApplicable | Outcome::Indeterminate | Outcome::Suspend => Reason::Policy.into(),
        }
    }

    fn permitted(self, verdict: &Verdict) -> DoorAnswer {
        let Some(known) = verdict.obligations.iter().map(|duty| self.read(duty)).collect::<Option<Vec<_>>>()
        else {
            return Reason::Obligation.into();
        };
        let mut passing = Passing { set: Vec::new(), removed: Vec::new(), cache_s: None };
        for one in known {
            let is_met = match one {
                Known::Set(name, value) => self.can_change(&name) && passing.set(name, value),
                Known::Remove(name) => self.can_change(&name) && passing.remove(name),
                Known::Cache(seconds) => {
                    passing.cache_s = Some(passing.cache_s.map_or(seconds, |other| other.min(seconds)));
                    true
                }
                Known::Redirect(_) | Known::Answer(..) => {
                    return one.into_answer().unwrap_or_else(|| Reason::Obligation.into());
                }
            };
            if !is_met {
                return Reason::Obligation.into();
            }
        }
        DoorAnswer::Allow(self.allowed(passing))
    }

    /// Whether an obligation may change this header. Who the subject is, is no policy's affair.
    fn can_change(&self, name: &HeaderName) -> bool {
        let is_identity = self.identity.iter().any(|(own, _)| own == name);
        !is_identity && (!self.copies_by_name || self.listed.contains(name))
    }

    fn allowed(self, passing: Passing) -> Allowed {
        let Passing { set: own, removed, cache_s } = passing;
        let mut set = self.identity;
        // What a gateway copies by its name must be there, or a client's own would pass.
        let unset = self.listed.iter().filter(|name| !own.iter().any(|(other, _)| other == *name));
        set.extend(unset.map(|name| (name.clone(), HeaderValue::from_static(""))));
        set.extend(own);
        Allowed { set, removed, cache_s }
    }

    /// `None` for an obligation that is not understood to its last member.
    fn read(&self, duty: &Duty) -> Option<Known> {
        let members = duty.properties.as_object()?;
        let has_only = |names: &[&str]| members.iter().all(|(name, _)| names.contains(&name.as_str()));
        let text = |name: &str| members.get(name).and_then(|value| value.as_text());
        let number =
            |name: &str| members.get(name)?.as_number().filter(|number| number.is_integer())?.to_i64();
        let kind = duty.kind.strip_prefix(PREFIX).unwrap_or(&duty.kind);
        match kind {
            "http:set-header" if has_only(&["name", "value"]) => {
                Some(Known::Set(passable(text("name")?)?, header_value(text("value")?)?))
            }
            "http:remove-header" if has_only(&["name"]) => Some(Known::Remove(passable(text("name")?)?)),
            "http:cache" if has_only(&["seconds"]) => {
                let seconds = number("seconds").filter(|seconds| (0..=CACHE_S_MAX).contains(seconds))?;
                Some(Known::Cache(u32::try_from(seconds).ok()?))
            }
            "http:redirect" if has_only(&["location"]) => {
                let location = text("location").filter(|location| self.may_lead_to(location))?;
                Some(Known::Redirect(header_value(location)?))
            }
            "http:answer" if has_only(&["status", "body", "content_type"]) => {
                // Nothing that a gateway could take for a yes.
                let status = number("status").filter(|status| (400..=599).contains(status))?;
                let status = StatusCode::from_u16(u16::try_from(status).ok()?).ok()?;
                let content_type = text("content_type").unwrap_or("text/plain; charset=utf-8");
                let body = match members.get("body") {
                    None => None,
                    Some(body) => Some(DeniedBody {
                        content_type: header_value(content_type)?,
                        text: body.as_text().filter(|text| text.len() <= BODY_BYTES_MAX)?.to_owned(),
                    }),
                };
                Some(Known::Answer(status, body))
            }
            _ => None,
        }
    }

    fn may_lead_to(&self, location: &str) -> bool {
        leads_to(location, |host| host == self.host || self.redirect_hosts.iter().any(|named| named == host))
    }
}

/// What a request that passes is passed with.
struct Passing {
    set: Vec<(HeaderName, HeaderValue)>,
    removed: Vec<HeaderName>,
    cache_s: Option<u32>,
}

impl Passing {
    fn has(&self, name: &HeaderName) -> bool {
        self.removed.contains(name) || self.set.iter().any(|(other, _)| other == name)
    }

    /// Two obligations that want different things of one header cannot both be met.
    fn set(&mut self, name: HeaderName, value: HeaderValue) -> bool {
        let is_first = !self.has(&name);
        self.set.push((name, value));
        is_first
    }

    fn remove(&mut self, name: HeaderName) -> bool {
        let is_first = !self.has(&name);
        self.removed.push(name);
        is_first
    }
}

impl Known {
    /// The answer that it brings, if it brings one.
    fn into_answer(self) -> Option<DoorAnswer> {
        match self {
            Known::Redirect(location) => Some(DoorAnswer::Redirect(location)),
            Known::Answer(status, body) => {
                Some(DoorAnswer::Deny(Denied { reason: Reason::Policy, status, body }))
            }
            Known::Set(..) | Known::Remove(_) | Known::Cache(_) => None,
        }
    }
}

/// A value that means the same to everybody: no control characters, no blanks at its ends.
fn header_value(text: &str) -> Option<HeaderValue> {
    if text.chars().any(char::is_control) || text.trim() != text {
        return None;
    }
    HeaderValue::from_bytes(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::decider::Decision;

    fn answer(copies_by_name: bool, decision: &str) -> String {
        let listed = [HeaderName::from_static("x-tier")];
        let user = (HeaderName::from_static("x-auth-user"), HeaderValue::from_static("ada"));
        let carrier = Carrier {
            identity: vec![user],
            listed: &listed,
            copies_by_name,
            host: "a.example",
            redirect_hosts: &["b.example".to_owned()],
        };
        let verdict = Verdict::of_sapl(&Decision::from_json(decision.as_bytes()).unwrap());
        match carrier.answer(&verdict) {
            DoorAnswer::Allow(allowed) => {
                let set =
                    allowed.set().iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap()));
                let removed = allowed.removed().iter().map(|name| format!("-{name}"));
                let cache = allowed.cache_s().map(|seconds| format!("cache={seconds}"));
                let all: Vec<String> = set.chain(removed).chain(cache).collect();
                format!("allow {}", all.join(" "))
            }
            DoorAnswer::Deny(denied) => {
                let body = denied.body.map_or(String::new(), |body| body.text);
                format!("deny {} {} {body}", denied.status.as_u16(), denied.reason.as_str()).trim().to_owned()
            }
            DoorAnswer::Redirect(location) => format!("redirect {}", location.to_str().unwrap()),
            DoorAnswer::Unauthenticated { .. } | DoorAnswer::Unavailable => unreachable!(),
        }
    }

    fn permit(obligations: &str) -> String {
        format!(r#"{{"decision":"PERMIT","obligations":[{obligations}]}}"#)
    }

    #[test]
    fn only_a_permit_passes() {
        assert_eq!(answer(true, r#"{"decision":"PERMIT"}"#), "allow x-auth-user=ada x-tier=");
        assert_eq!(answer(true, r#"{"decision":"PERMIT","advice":[7]}"#), "allow x-auth-user=ada x-tier=");
        for outcome in ["DENY", "INDETERMINATE", "NOT_APPLICABLE", "SUSPEND"] {
            assert_eq!(
                answer(true, &format!(r#"{{"decision":"{outcome}"}}"#)),
                "deny 403 policy",
                "{outcome}"
            );
        }
        assert_eq!(answer(true, r#"{"decision":"PERMIT","resource":{"x":1}}"#), "deny 403 obligation");
    }

    #[test]
    fn known_obligations_of_a_permit_are_met() {
        let set = r#"{"type":"http:set-header","name":"X-Tier","value":"gold"}"#;
        assert_eq!(answer(true, &permit(set)), "allow x-auth-user=ada x-tier=gold");
        let long = r#"{"id":"urn:durward:obligation:http:set-header","attributes":[{"id":"name","value":"X-Tier"},{"id":"value","value":"gold"}]}"#;
        assert_eq!(answer(true, &permit(long)), "allow x-auth-user=ada x-tier=gold");
        let all = r#"{"type":"http:set-header","name":"X-Other","value":"1"},{"type":"http:remove-header","name":"Cookie"},
            {"type":"http:cache","seconds":60},{"type":"http:cache","seconds":5}"#;
        assert_eq!(answer(false, &permit(all)), "allow x-auth-user=ada x-tier= x-other=1 -cookie cache=5");
        assert_eq!(
            answer(true, &permit(r#"{"type":"http:redirect","location":"/login"}"#)),
            "redirect /login",
            "it does not pass"
        );
        assert_eq!(
            answer(true, &permit(r#"{"type":"http:answer","status":451,"body":"no"}"#)),
            "deny 451 policy no"
        );
    }

    #[test]
    fn an_obligation_that_is_not_understood_is_a_deny() {
        for obligation in [
            r#""log""#,
            "7",
            r#"{"type":"log"}"#,
            r#"{"type":"http:set-header"}"#,
            r#"{"type":"http:set-header","name":"X-Other","value":"1"}"#,
            r#"{"type":"http:remove-header","name":"Cookie"}"#,
            r#"{"type":"http:set-header","name":"X-Tier","value":"1","unless":"sunday"}"#,
            r#"{"type":"http:set-header","name":"X-Tier","value":7}"#,
            r#"{"type":"http:set-header","name":"X-Tier","value":"a\r\nX-Auth-User: root"}"#,
            r#"{"type":"http:set-header","name":"X-Tier","value":"a "}"#,
            r#"{"type":"http:set-header","name":":path","value":"/"}"#,
            r#"{"type":"http:set-header","name":"Host","value":"b"}"#,
            r#"{"type":"http:set-header","name":"Transfer-Encoding","value":"chunked"}"#,
            r#"{"type":"http:set-header","name":"X-Durward-Set","value":"b"}"#,
            r#"{"type":"http:set-header","name":"X-Auth-User","value":"root"}"#,
            r#"{"type":"http:remove-header","name":"X-Auth-User"}"#,
            r#"{"type":"http:set-header","name":"X-Tier","value":"1"},{"type":"http:set-header","name":"x-tier","value":"2"}"#,
            r#"{"type":"http:set-header","name":"X-Tier","value":"1"},{"type":"http:remove-header","name":"x-tier"}"#,
            r#"{"type":"http:cache","seconds":-1}"#,
            r#"{"type":"http:cache","seconds":1.5}"#,
            r#"{"type":"http:redirect","location":"https://evil.example/"}"#,
            r#"{"type":"http:redirect","location":"//evil.example/"}"#,
            r#"{"type":"http:redirect","location":"javascript:alert(1)"}"#,
            r#"{"type":"http:answer","status":200,"body":"yes"}"#,
            r#"{"type":"http:answer","status":302}"#,
            r#"{"type":"http:answer","body":"no"}"#,
        ] {
            assert_eq!(answer(true, &permit(obligation)), "deny 403 obligation", "{obligation}");
        }
    }

    #[test]
    fn a_deny_may_say_what_the_client_is_told() {
        let deny = |obligations: &str| {
            answer(true, &format!(r#"{{"decision":"DENY","obligations":[{obligations}]}}"#))
        };
        assert_eq!(deny(r#""log""#), "deny 403 policy");
        assert_eq!(
            deny(r#""log",{"type":"http:answer","status":404,"body":"gone"}"#),
            "deny 404 policy gone"
        );
        assert_eq!(
            deny(r#"{"type":"http:redirect","location":"https://b.example/x"}"#),
            "redirect https://b.example/x"
        );
        assert_eq!(deny(r#"{"type":"http:redirect","location":"https://evil.example/"}"#), "deny 403 policy");
        assert_eq!(deny(r#"{"type":"http:set-header","name":"X-Tier","value":"1"}"#), "deny 403 policy");
    }
}
