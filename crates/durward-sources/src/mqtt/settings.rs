//! Which broker, and with which login: the variable `mqttPipConfig`, the secrets, and the arguments.
//!
//! Logins are sent to brokers that the variable names. SAPL's engine also sends them to any broker that a policy writes
//! down as an argument, with the name of its choice; here only if address and port are those of a broker of the variable.

use std::sync::Arc;
use std::time::Duration;

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::value::Object;
use durward_pdp::stream::{Context, Invocation};

use super::topics;
use durward_net::connect::Endpoint;

/// The port of MQTT without TLS; the engine has no other default.
const PORT: u16 = 1883;

/// How long to wait for a first message before the default takes its place, in milliseconds.
const DEFAULT_AFTER_MS: u64 = 1_000;

/// A broker and who connects to it: what is equal shares a connection.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct BrokerKey {
    pub(super) endpoint: Endpoint,
    /// Empty: the broker chooses one.
    pub(super) client_id: String,
    pub(super) username: String,
    pub(super) password: String,
}

/// What one attribute wants to hear.
pub(super) struct Wanted {
    pub(super) broker: BrokerKey,
    pub(super) filters: Vec<String>,
    /// 0, 1 or 2.
    pub(super) qos: u8,
    /// What is true while nothing has been heard.
    pub(super) default: Evaluated<Value>,
    /// After this time; zero is never.
    pub(super) default_after: Duration,
    /// Whether a lost connection makes the attribute `undefined`.
    pub(super) is_undefined_when_lost: bool,
}

impl Wanted {
    /// # Errors
    /// Arguments or a configuration that are unfit; never with a password in the text.
    pub(super) fn of(invocation: &Invocation, context: &Context) -> Evaluated<Wanted> {
        let surroundings = context.surroundings.as_deref();
        let variables = surroundings.and_then(|surroundings| surroundings.variables.as_object());
        let empty = Arc::default();
        let config =
            variables.and_then(|variables| variables.get("mqttPipConfig")).and_then(Value::as_object);
        let config = config.unwrap_or(&empty);
        let entity = invocation.entity.as_ref().ok_or_else(|| Fault::processing("there is no topic"))?;
        let filters = topics::filters(entity)?;
        let mut arguments = invocation.arguments.iter();
        let qos = qos(arguments.next().or_else(|| config.get("defaultQos")))?;
        let wish = arguments.next().filter(|wish| !wish.is_undefined());
        let secrets = surroundings.and_then(|surroundings| surroundings.secrets.as_object());
        let broker = broker(config, wish, secrets.and_then(|secrets| secrets.get("mqtt")))?;
        let of_wish = wish.and_then(Value::as_object).unwrap_or(&empty);
        let setting = |key: &str| of_wish.get(key).or_else(|| config.get(key));
        let default = match setting("defaultResponse").and_then(Value::as_text) {
            Some("error") => Err(Fault::processing("no message has come")),
            Some(_) | None => Ok(Value::Undefined),
        };
        let default_after = match setting("defaultResponseTimeout") {
            None => DEFAULT_AFTER_MS,
            Some(value) => whole(value).ok_or_else(|| {
                Fault::processing("`defaultResponseTimeout` is not a whole number of milliseconds")
            })?,
        };
        Ok(Wanted {
            broker,
            filters,
            qos,
            default,
            default_after: Duration::from_millis(default_after),
            is_undefined_when_lost: truth(config, "emitAtRetry")?.unwrap_or(true),
        })
    }
}

fn qos(value: Option<&Value>) -> Evaluated<u8> {
    let Some(value) = value else { return Ok(0) };
    let number = whole(value).and_then(|number| u8::try_from(number).ok());
    let wrong = || Fault::processing("the quality of service is not 0, 1 or 2");
    number.filter(|number| *number <= 2).ok_or_else(wrong)
}

fn whole(value: &Value) -> Option<u64> {
    value.as_number().and_then(|number| number.to_i64()).and_then(|number| u64::try_from(number).ok())
}

/// The broker that a policy wishes, or the default one.
fn broker(config: &Object, wish: Option<&Value>, secrets: Option<&Value>) -> Evaluated<BrokerKey> {
    let known = config.get("brokerConfig");
    let default = match config.get("defaultBrokerConfigName") {
        None => "default",
        Some(name) => {
            name.as_text().ok_or_else(|| Fault::processing("`defaultBrokerConfigName` is not a text"))?
        }
    };
    let missing = |name: &str| {
        Fault::processing(format!("there is no broker `{name}` in the variable `mqttPipConfig`"))
    };
    let neither = || Fault::processing("the argument is neither a broker nor the name of one");
    let (broker, is_written) = match wish {
        None => match known {
            Some(Value::Object(broker)) => (broker, false),
            other => (named(other, default).ok_or_else(|| missing(default))?, false),
        },
        Some(Value::Text(name)) => (named(known, name).ok_or_else(|| missing(name))?, false),
        Some(Value::Object(broker)) => (broker, true),
        Some(brokers) => (named(Some(brokers), default).ok_or_else(neither)?, true),
    };
    let endpoint = endpoint(broker, config)?;
    let is_known =
        !is_written || all(known).any(|known| self::endpoint(known, config).as_ref() == Ok(&endpoint));
    let login = if is_known { login(secrets, text(broker, "name")?) } else { None };
    let part = |key: &str| {
        let part = login.and_then(|login| login.get(key)).and_then(Value::as_text);
        part.unwrap_or_default().to_owned()
    };
    let client_id = text(broker, "clientId")?.or(text(config, "clientId")?).unwrap_or_default().to_owned();
    Ok(BrokerKey { endpoint, client_id, username: part("username"), password: part("password") })
}

/// The brokers of a configuration: one, or an array of them.
fn all(known: Option<&Value>) -> impl Iterator<Item = &Arc<Object>> {
    let one = known.map_or(&[][..], std::slice::from_ref);
    let brokers = known.and_then(Value::as_array).map_or(one, |brokers| brokers);
    brokers.iter().filter_map(Value::as_object)
}

fn named<'c>(known: Option<&'c Value>, name: &str) -> Option<&'c Arc<Object>> {
    all(known).find(|broker| broker.get("name").and_then(Value::as_text) == Some(name))
}

fn endpoint(broker: &Object, config: &Object) -> Evaluated<Endpoint> {
    let host = text(broker, "brokerAddress")?.or(text(config, "brokerAddress")?).unwrap_or("localhost");
    let port = match broker.get("brokerPort").or_else(|| config.get("brokerPort")) {
        None => PORT,
        Some(port) => {
            let port = whole(port).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
            port.ok_or_else(|| Fault::processing("`brokerPort` is no port"))?
        }
    };
    if broker.contains_key("tlsTrustStore") || config.contains_key("tlsTrustStore") {
        let message = "`tlsTrustStore` is a file of Java; name the authorities in `sources.authorities`";
        return Err(Fault::processing(message));
    }
    let is_encrypted = truth(broker, "tls")?.or(truth(config, "tls")?).unwrap_or(false);
    Ok(Endpoint { is_encrypted, host: host.to_owned(), port })
}

/// The login of a broker of this name, or the one for all.
fn login<'s>(secrets: Option<&'s Value>, name: Option<&str>) -> Option<&'s Arc<Object>> {
    let secrets = secrets?.as_object()?;
    let own = name.and_then(|name| secrets.get(name)).and_then(Value::as_object);
    let is_login = secrets.contains_key("username") || secrets.contains_key("password");
    own.or_else(|| is_login.then_some(secrets))
}

fn text<'o>(object: &'o Object, key: &str) -> Evaluated<Option<&'o str>> {
    let wrong = || Fault::processing(format!("`{key}` is not a text"));
    object.get(key).map(|value| value.as_text().ok_or_else(wrong)).transpose()
}

/// A truth value, which the documentation of SAPL writes as a text.
fn truth(object: &Object, key: &str) -> Evaluated<Option<bool>> {
    let Some(value) = object.get(key) else { return Ok(None) };
    let truth = value.as_boolean().or_else(|| match value.as_text() {
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) | None => None,
    });
    truth.map(Some).ok_or_else(|| Fault::processing(format!("`{key}` is neither true nor false")))
}

#[cfg(test)]
mod tests {
    use durward_pdp::ir::json;
    use durward_pdp::stream::Surroundings;

    use super::*;

    const CONFIG: &str = r#"{"mqttPipConfig": {"defaultBrokerConfigName": "a", "brokerConfig": [
        {"name": "a", "brokerAddress": "one", "brokerPort": 1, "clientId": "me"},
        {"name": "b", "brokerAddress": "two", "tls": true}]}}"#;
    const SECRETS: &str =
        r#"{"mqtt": {"a": {"username": "u", "password": "p"}, "username": "all", "password": "q"}}"#;

    /// Host and port, client and login of the broker that comes of a variable, secrets and an argument.
    fn resolved(variables: &str, argument: &str) -> Evaluated<String> {
        let read = |text: &str| json::read(text).unwrap();
        let surroundings = Surroundings { variables: read(variables), secrets: read(SECRETS) };
        let context = Context { secrets: None, surroundings: Some(Arc::new(surroundings)) };
        let arguments = json::read(argument).unwrap().as_array().unwrap().to_vec();
        let invocation = Invocation::entity(Value::Text("t".into()), "mqtt.messages", arguments);
        Wanted::of(&invocation, &context).map(|wanted| {
            let BrokerKey { endpoint, client_id, username, password } = wanted.broker;
            format!("{endpoint} {} {client_id} {username} {password} {}", endpoint.is_encrypted, wanted.qos)
        })
    }

    #[test]
    fn the_broker_is_the_default_the_named_or_the_written_one() {
        for (variables, argument, expected) in [
            (CONFIG, "[]", "one:1 false me u p 0"),
            (CONFIG, "[1]", "one:1 false me u p 1"),
            (CONFIG, r#"[2, "b"]"#, "two:1883 true  all q 2"),
            (CONFIG, r#"[0, {"brokerAddress": "three"}]"#, "three:1883 false    0"),
            (CONFIG, r#"[0, {"name": "a", "brokerAddress": "three"}]"#, "three:1883 false    0"),
            (CONFIG, r#"[0, {"name": "a", "brokerAddress": "one", "brokerPort": 1}]"#, "one:1 false  u p 0"),
            (CONFIG, r#"[0, [{"name": "a", "brokerAddress": "four"}]]"#, "four:1883 false    0"),
            (r#"{"mqttPipConfig": {"brokerConfig": {}}}"#, "[]", "localhost:1883 false  all q 0"),
        ] {
            assert_eq!(resolved(variables, argument).unwrap(), expected, "{argument}");
        }
    }

    #[test]
    fn unfit_configurations_and_arguments_say_what_is_wrong() {
        for (variables, argument, reason) in [
            ("{}", "[]", "no broker `default`"),
            (CONFIG, r#"[0, "c"]"#, "no broker `c`"),
            (CONFIG, "[3]", "quality of service"),
            (CONFIG, "[1.5]", "quality of service"),
            (CONFIG, "[0, 7]", "neither a broker"),
            (CONFIG, r#"[0, {"brokerPort": 70000}]"#, "`brokerPort`"),
            (CONFIG, r#"[0, {"tls": "maybe"}]"#, "`tls`"),
            (CONFIG, r#"[0, {"tlsTrustStore": "x.jks"}]"#, "`sources.authorities`"),
        ] {
            let message = resolved(variables, argument).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
    }
}
