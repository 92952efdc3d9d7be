//! RabbitMQ's HTTP backend (`rabbitmq_auth_backend_http`): forms to four paths, answered with `allow`, `allow TAGS` or `deny`.
//!
//! A login brings a password; all other questions are about a user who logged in before, and are answered on the broker's word.

use durward_common::base::parameters::{ParameterNames, Parameters};
use durward_common::decision_log::Surface as Way;
use durward_common::question::{Entity, Verdict};
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, Call, Form, text_answer};
use durward_pdp::ir::Value;
use durward_pdp::ir::value::ObjectBuilder;

use super::{Ask, Asking, NotLetIn, Surface, add, broker, is_of_stranger, resource};
use crate::surfaces::callers::{REASON, Received, is_kind, is_of};

/// The obligation to give a user these tags, at the login.
const TAGS: &str = "rabbitmq:tags";

/// What names of variables begin with that the broker knows of a connection.
const VARIABLES: &str = "variable_map.";

pub(super) async fn answer(
    surface: &Surface,
    call: &Call,
    ask: Ask,
    request: hyper::Request<Incoming>,
) -> Answer {
    let Received { caller, body, .. } = match surface.callers.receive(call, request).await {
        Ok(received) => received,
        // The broker logs it; to its user it is a refusal like others.
        Err(problem) if is_of_stranger(problem.status()) => return problem.into_answer(Form::Json),
        Err(_) => return told("deny".to_owned()),
    };
    let Ok(body) = body else { return told("deny".to_owned()) };
    let asking = surface.asking(call, &caller, (Way::Rabbitmq, route(ask)), body.len());
    let answered = match form(&body) {
        Ok(form) => answered(surface, &asking, ask, &form).await,
        Err(why) => Err(why),
    };
    told(answered.unwrap_or_else(|why| {
        asking.note(&why);
        "deny".to_owned()
    }))
}

fn told(text: String) -> Answer {
    text_answer("text/plain; charset=utf-8", text)
}

const fn route(ask: Ask) -> &'static str {
    match ask {
        Ask::RabbitmqUser | Ask::EmqxAuthentication => "user",
        Ask::RabbitmqVhost => "vhost",
        Ask::RabbitmqResource => "resource",
        Ask::RabbitmqTopic | Ask::EmqxAuthorization => "topic",
    }
}

fn form(body: &[u8]) -> Result<Parameters, NotLetIn> {
    let text = std::str::from_utf8(body).map_err(|error| NotLetIn::new(error.to_string()))?;
    Parameters::of_query(text, ParameterNames::Exact).map_err(|error| NotLetIn::new(error.to_string()))
}

async fn answered(
    surface: &Surface,
    asking: &Asking<'_>,
    ask: Ask,
    form: &Parameters,
) -> Result<String, NotLetIn> {
    let name = needed(form, "username")?;
    if ask == Ask::RabbitmqUser {
        // A login without a password is one by a certificate: RabbitMQ takes no name of a client without one.
        let user = match form.given("password") {
            Some(password) => surface.users.logged_in(name, password, None).await?,
            None => surface.users.vouched(name).await?,
        };
        let mut context = ObjectBuilder::new();
        add(&mut context, "vhost", form.given("vhost"));
        add(&mut context, "client_id", form.given("client_id"));
        let verdict = asking.decide(&user, "login", broker("rabbitmq"), context).await?;
        return login_answer(&verdict);
    }
    let user = surface.users.known(name).await?;
    let (action, resource) = match ask {
        Ask::RabbitmqUser | Ask::EmqxAuthentication | Ask::EmqxAuthorization | Ask::RabbitmqVhost => {
            ("connect", resource("vhost", needed(form, "vhost")?, []))
        }
        Ask::RabbitmqResource => of_resource(form)?,
        Ask::RabbitmqTopic => of_topic(form)?,
    };
    let verdict = asking.decide(&user, action, resource, context(form)).await?;
    Ok(if verdict.is_permit_for(|kind| is_kind(kind, REASON)) { "allow" } else { "deny" }.to_owned())
}

/// A queue or an exchange.
fn of_resource(form: &Parameters) -> Result<(&'static str, Entity), NotLetIn> {
    let action = one_of(form, "permission", &["configure", "write", "read"])?;
    let kind = one_of(form, "resource", &["exchange", "queue"])?;
    let vhost = Value::text(needed(form, "vhost")?);
    Ok((action, resource(kind, given(form, "name")?, [("vhost", vhost)])))
}

/// A topic: the routing key of a message, or of a binding, which may have wildcards.
fn of_topic(form: &Parameters) -> Result<(&'static str, Entity), NotLetIn> {
    let action = one_of(form, "permission", &["write", "read"])?;
    one_of(form, "resource", &["topic"])?;
    let key = given(form, "routing_key")?;
    let properties = [
        ("vhost", Value::text(needed(form, "vhost")?)),
        ("exchange", Value::text(given(form, "name")?)),
        ("mqtt", Value::text(mqtt(key))),
        ("wildcard", Value::Boolean(key.split('.').any(|level| matches!(level, "*" | "#")))),
    ];
    Ok((action, resource("topic", key, properties)))
}

/// The topic of MQTT that RabbitMQ made a routing key of: it writes `.` for `/`, and `*` for `+`.
fn mqtt(key: &str) -> String {
    let back = |character| match character {
        '.' => '/',
        '/' => '.',
        '*' => '+',
        other => other,
    };
    key.chars().map(back).collect()
}

/// What the broker says beside the question: tags that the login gave, the address, and variables of the connection.
fn context(form: &Parameters) -> ObjectBuilder {
    let mut context = ObjectBuilder::new();
    add(&mut context, "ip", form.given("ip"));
    add(&mut context, "client_id", form.given("client_id"));
    let tags = form.given("tags").unwrap_or_default().split([' ', ',']).filter(|tag| !tag.is_empty());
    context.insert("tags", Value::array(tags.map(Value::text)));
    let variables = form.pairs().filter_map(|(name, value)| Some((name.strip_prefix(VARIABLES)?, value)));
    context.insert("variables", Value::object(variables.map(|(name, value)| (name, Value::text(value)))));
    context
}

/// `allow` with the tags of obligations; `deny` where one cannot be fulfilled.
fn login_answer(verdict: &Verdict) -> Result<String, NotLetIn> {
    if !verdict.is_permit_for(|kind| is_kind(kind, REASON) || is_kind(kind, TAGS)) {
        return Ok("deny".to_owned());
    }
    let mut answer = "allow".to_owned();
    for duty in verdict.obligations.iter().filter(|duty| is_of(duty, TAGS)) {
        let tags = duty.properties.as_object().and_then(|properties| properties.get("tags"));
        let tags = match tags {
            Some(Value::Array(tags)) => tags.to_vec(),
            Some(tag @ Value::Text(_)) => vec![tag.clone()],
            Some(_) | None => return Err(NotLetIn::new(format!("`{TAGS}` needs `tags`"))),
        };
        for tag in &tags {
            let tag = tag.as_text().filter(|tag| is_tag(tag));
            let tag = tag.ok_or_else(|| NotLetIn::new(format!("`{TAGS}` has a tag that is no word")))?;
            answer.push(' ');
            answer.push_str(tag);
        }
    }
    Ok(answer)
}

fn is_tag(tag: &str) -> bool {
    !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn needed<'f>(form: &'f Parameters, name: &str) -> Result<&'f str, NotLetIn> {
    form.get(name).ok_or_else(|| NotLetIn::new(format!("`{name}` is missing")))
}

/// A value that may be empty, as the name of the default exchange is.
fn given<'f>(form: &'f Parameters, name: &str) -> Result<&'f str, NotLetIn> {
    form.given(name).ok_or_else(|| NotLetIn::new(format!("`{name}` is missing")))
}

fn one_of(form: &Parameters, name: &str, known: &[&'static str]) -> Result<&'static str, NotLetIn> {
    let value = needed(form, name)?;
    let found = known.iter().find(|known| **known == value).copied();
    found.ok_or_else(|| NotLetIn::new(format!("`{name}` is `{value}`, which is not known")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::decider::Decision;

    fn login(decision: &str) -> Result<String, NotLetIn> {
        login_answer(&Verdict::of_sapl(&Decision::from_json(decision.as_bytes()).unwrap()))
    }

    #[test]
    fn tags_are_words_of_an_obligation() {
        let with =
            |obligation: &str| login(&format!(r#"{{"decision":"PERMIT","obligations":[{obligation}]}}"#));
        assert_eq!(login(r#"{"decision":"PERMIT"}"#).unwrap(), "allow");
        assert_eq!(
            with(r#"{"type":"rabbitmq:tags","tags":["management","monitoring"]}"#).unwrap(),
            "allow management monitoring"
        );
        assert_eq!(with(r#"{"type":"urn:durward:obligation:rabbitmq:tags","tags":"a"}"#).unwrap(), "allow a");
        assert!(with(r#"{"type":"rabbitmq:tags","tags":["a b"]}"#).is_err());
        assert!(with(r#"{"type":"rabbitmq:tags"}"#).is_err());
        assert_eq!(with(r#""log""#).unwrap(), "deny");
        for decision in ["DENY", "INDETERMINATE", "NOT_APPLICABLE", "SUSPEND"] {
            let tags = r#"{"type":"rabbitmq:tags","tags":["administrator"]}"#;
            let decision = format!(r#"{{"decision":"{decision}","obligations":[{tags}]}}"#);
            assert_eq!(login(&decision).unwrap(), "deny", "{decision}");
        }
    }

    #[test]
    fn a_routing_key_is_also_a_topic_of_mqtt() {
        let form = |key: &str| {
            form(
                format!(
                    "username=a&vhost=%2F&resource=topic&name=amq.topic&permission=read&routing_key={key}"
                )
                .as_bytes(),
            )
            .unwrap()
        };
        let properties = |key: &str| {
            let form = form(key);
            let (_, resource) = of_topic(&form).unwrap();
            Value::Object(resource.properties.unwrap()).to_json()
        };
        assert_eq!(
            properties("plant.*.%23"),
            r##"{"vhost":"/","exchange":"amq.topic","mqtt":"plant/+/#","wildcard":true}"##
        );
        assert!(properties("plant.line1").contains(r#""mqtt":"plant/line1","wildcard":false"#));
        assert!(
            of_topic(
                &self::form(b"username=a&vhost=v&resource=topic&name=n&permission=configure&routing_key=k")
                    .unwrap()
            )
            .is_err()
        );
    }
}
