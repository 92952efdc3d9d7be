//! EMQX 5: authentication and authorization over HTTP, as JSON by the templates of the manual.
//!
//! Whatever happens, the answer is 200 with a `result` that is `allow` or `deny`: EMQX takes any other status for `ignore`, goes on to its
//! next authenticator or source, and may let in by default where there is none.

use std::net::IpAddr;
use std::sync::Arc;

use durward_common::decision_log::Surface as Way;
use durward_common::question::Verdict;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, Call, text_answer, text_of};
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_pdp::ir::{Value, json};
use durward_session::identity::Moment;
use hyper::header;
use serde_json::{Map, Value as Json, json};

use super::expiry::{self, EXPIRES};
use super::{Ask, Asking, NotLetIn, Surface, add, broker, resource};
use crate::surfaces::callers::{REASON, Received, is_json, is_kind, is_of};

/// The obligation to hold a user to a list of topics, at the login.
const ACL: &str = "emqx:acl";

pub(super) async fn answer(
    surface: &Surface,
    call: &Call,
    ask: Ask,
    request: hyper::Request<Incoming>,
) -> Answer {
    let told = |answer: Json| text_answer("application/json", answer.to_string());
    let denied = || told(json!({ "result": "deny" }));
    let Received { caller, head, body } = match surface.callers.receive(call, request).await {
        Ok(received) => received,
        Err(problem) => {
            tracing::warn!(client = %call.client, why = %problem.told(), "EMQX was denied, as nobody who may ask did");
            return denied();
        }
    };
    let Ok(body) = body else { return denied() };
    let route = if ask == Ask::EmqxAuthentication { "authentication" } else { "authorization" };
    let asking = surface.asking(call, &caller, (Way::Emqx, route), body.len());
    let is_json = is_json(text_of(&head.headers, &header::CONTENT_TYPE));
    let answered = match read(&body).filter(|_| is_json) {
        None => Err(NotLetIn::new("the body is no object of JSON")),
        Some(body) if ask == Ask::EmqxAuthentication => authenticated(surface, &asking, &body).await,
        Some(body) => authorized(surface, &asking, &body).await,
    };
    match answered {
        Ok(answer) => told(answer),
        Err(why) => {
            asking.note(&why);
            denied()
        }
    }
}

fn read(body: &[u8]) -> Option<Arc<Object>> {
    json::read_unique(body).ok()?.as_object().cloned()
}

async fn authenticated(surface: &Surface, asking: &Asking<'_>, body: &Object) -> Result<Json, NotLetIn> {
    let name = text(body, "username")?.ok_or_else(|| NotLetIn::new("there is no user name"))?;
    let peer = text(body, "peerhost")?;
    let address: Option<IpAddr> = peer.and_then(|peer| peer.parse().ok());
    // The name is what the client chose: without a password it is nobody's.
    let password = text(body, "password")?.ok_or_else(|| NotLetIn::new("there is no password"))?;
    let user = surface.users.logged_in(name, password, address).await?;
    let verdict = asking.decide(&user, "login", broker("emqx"), context(body)?).await?;
    if !verdict.is_permit_for(|kind| [REASON, EXPIRES, ACL].iter().any(|known| is_kind(kind, known))) {
        return Ok(json!({ "result": "deny" }));
    }
    let now = Moment::of((surface.clock)());
    let mut answer = Map::new();
    answer.insert("result".to_owned(), "allow".into());
    answer.insert("is_superuser".to_owned(), false.into());
    if let Some(until) = expiry::of(&verdict, &user, now)? {
        answer.insert("expire_at".to_owned(), (until.ms() / 1000).into());
    }
    if let Some(rules) = rules(&verdict)? {
        answer.insert("acl".to_owned(), rules.into());
    }
    Ok(Json::Object(answer))
}

async fn authorized(surface: &Surface, asking: &Asking<'_>, body: &Object) -> Result<Json, NotLetIn> {
    let needed = |name: &str| text(body, name)?.ok_or_else(|| NotLetIn::new(format!("`{name}` is missing")));
    let action = match needed("action")? {
        "publish" => "publish",
        "subscribe" => "subscribe",
        other => return Err(NotLetIn::new(format!("`action` is `{other}`, which is not known"))),
    };
    let topic = needed("topic")?;
    let user = surface.users.known(needed("username")?).await?;
    let has_wildcard = topic.split('/').any(|level| matches!(level, "+" | "#"));
    let resource = resource("topic", topic, [("wildcard", Value::Boolean(has_wildcard))]);
    let verdict = asking.decide(&user, action, resource, context(body)?).await?;
    let is_permit = verdict.is_permit_for(|kind| is_kind(kind, REASON));
    Ok(json!({ "result": if is_permit { "allow" } else { "deny" } }))
}

/// What EMQX says beside the question.
fn context(body: &Object) -> Result<ObjectBuilder, NotLetIn> {
    let mut context = ObjectBuilder::new();
    for name in ["clientid", "peerhost"] {
        add(&mut context, name, text(body, name)?);
    }
    for name in ["qos", "retain"] {
        match body.get(name) {
            None | Some(Value::Null) => {}
            Some(value @ (Value::Text(_) | Value::Boolean(_) | Value::Number(_))) => {
                context.insert(name, value.clone());
            }
            Some(_) => return Err(NotLetIn::new(format!("`{name}` is neither a word nor a number"))),
        }
    }
    Ok(context)
}

/// A text; `None` where there is none, or where the client gave none: EMQX writes `undefined` in templates, or leaves it empty. An empty
/// password is one all the same.
fn text<'b>(body: &'b Object, name: &str) -> Result<Option<&'b str>, NotLetIn> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Text(text)) if text.as_str() == "undefined" => Ok(None),
        Some(Value::Text(text)) if text.is_empty() && name != "password" => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(NotLetIn::new(format!("`{name}` must be a string"))),
    }
}

/// The rules of all lists of a verdict, and behind them one that denies everything else. `None` where there is no list: EMQX then asks about
/// each topic.
fn rules(verdict: &Verdict) -> Result<Option<Vec<Json>>, NotLetIn> {
    let mut rules = Vec::new();
    let mut is_there = false;
    for duty in verdict.obligations.iter().filter(|duty| is_of(duty, ACL)) {
        is_there = true;
        let listed = duty.properties.as_object().and_then(|properties| properties.get("rules")?.as_array());
        let listed = listed.ok_or_else(|| NotLetIn::new(format!("`{ACL}` needs `rules`, an array")))?;
        for listed in listed.iter() {
            rules
                .push(rule(listed).ok_or_else(|| NotLetIn::new(format!("`{ACL}` has a rule that is none")))?);
        }
    }
    if !is_there {
        return Ok(None);
    }
    rules.push(json!({ "permission": "deny", "action": "all", "topic": "#" }));
    Ok(Some(rules))
}

/// A rule of `permission`, `action` and `topic`, and nothing else.
fn rule(value: &Value) -> Option<Json> {
    let rule = value.as_object().filter(|rule| rule.len() == 3)?;
    let text = |name: &str| rule.get(name).and_then(Value::as_text);
    let permission = text("permission").filter(|it| matches!(*it, "allow" | "deny"))?;
    let action = text("action").filter(|it| matches!(*it, "publish" | "subscribe" | "all"))?;
    let topic = text("topic").filter(|topic| !topic.is_empty() && !topic.contains('\0'))?;
    Some(json!({ "permission": permission, "action": action, "topic": topic }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::decider::Decision;

    #[test]
    fn a_list_of_topics_is_whole_or_is_none() {
        let rules = |obligations: &str| {
            let decision = format!(r#"{{"decision":"PERMIT","obligations":[{obligations}]}}"#);
            rules(&Verdict::of_sapl(&Decision::from_json(decision.as_bytes()).unwrap()))
        };
        assert_eq!(rules(""), Ok(None));
        let all = r##"{"permission":"deny","action":"all","topic":"#"}"##;
        let rule = r#"{"permission":"allow","action":"publish","topic":"plant/line1"}"#;
        let list = |rules: &str| format!(r#"{{"type":"emqx:acl","rules":[{rules}]}}"#);
        let told = |obligations: &str| Json::from(rules(obligations).unwrap().unwrap()).to_string();
        assert_eq!(told(&list(rule)), format!("[{rule},{all}]"));
        assert_eq!(told(&list("")), format!("[{all}]"));
        for wrong in [
            rule.replace("allow", "maybe"),
            rule.replace("publish", "delete"),
            rule.replace("plant/line1", ""),
            rule.replace('}', r#","qos":1}"#),
            "7".to_owned(),
        ] {
            assert!(rules(&list(&wrong)).is_err(), "{wrong}");
        }
        assert!(rules(r#"{"type":"emqx:acl"}"#).is_err());
    }
}
