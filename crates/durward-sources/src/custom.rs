//! Attributes from services that speak HTTP and JSON, without a line of code: `[sources.attributes."hr.department"]`.

use std::sync::Arc;
use std::time::Duration;

use durward_pdp::Value;
use durward_pdp::check::Attribute;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::stream::{AttributeFinder, Context, Invocation, Publisher, Reads};
use hyper::Method;
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::http::{Client, Request};
use super::task::Task;
use super::template::Template;
use crate::settings::{AttributeSourceSettings, SettingError, SettingName};

/// Names that belong to the libraries that are there anyway.
const LIBRARIES: [&str; 5] = ["http.", "jwt.", "mqtt.", "time.", "x509."];

/// The shortest time between two questions.
const POLL_MS_MIN: u64 = 10;

/// # Errors
/// What is wrong with a setting of one attribute.
pub(crate) fn check(name: &str, settings: &AttributeSourceSettings) -> Result<(), SettingError> {
    let setting = setting(name);
    let words = name.split('.');
    let is_word = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !name.contains('.') || !words.into_iter().all(is_word) {
        return Err(
            setting.wrong("is no name of an attribute; write a library and a name, such as `hr.department`")
        );
    }
    if LIBRARIES.iter().any(|library| name.starts_with(library)) {
        return Err(setting.wrong("belongs to a library that durward has; choose another name"));
    }
    parts(&setting, settings).map(drop)
}

/// How messages call an attribute.
fn setting(name: &str) -> SettingName {
    SettingName(format!("sources.attributes.{name}"))
}

/// What the check of policies knows of an attribute; `None` where its settings are wrong.
pub(super) fn known(name: &str, settings: &AttributeSourceSettings) -> Option<Attribute> {
    let parts = parts(&setting(name), settings).ok()?;
    let count = parts.argument_count();
    Some(Attribute { name: name.into(), of_value: parts.has_entity(), arguments: count..=count })
}

/// One attribute, ready to be asked for.
pub(super) struct CustomFinder {
    name: String,
    parts: Parts,
    settings: AttributeSourceSettings,
    client: Arc<Client>,
    runtime: Handle,
    answer_bytes_max: usize,
}

struct Parts {
    method: Method,
    address: Template,
    body: Option<Template>,
    /// The settings that `http.get` has, for the header fields.
    request: Value,
}

/// The method of a request.
///
/// # Errors
/// One that is not sent, or not with a body.
pub(super) fn method(setting: &SettingName, name: &str, has_body: bool) -> Result<Method, SettingError> {
    let method = match name.to_ascii_uppercase().as_str() {
        "GET" => Method::GET,
        "POST" => Method::POST,
        "PUT" => Method::PUT,
        other => return Err(setting.wrong(format!("has the method `{other}`; use GET, POST or PUT"))),
    };
    if method == Method::GET && has_body {
        return Err(setting.wrong("has a body; use the method POST"));
    }
    Ok(method)
}

/// Whether the fixed beginning of an address names a service.
pub(super) fn has_service(address: &str) -> bool {
    address.split_once("://").is_some_and(|(scheme, rest)| {
        matches!(scheme, "http" | "https") && rest.find('/').is_some_and(|length| length > 0)
    })
}

/// Checks what `key` of a setting says.
///
/// # Errors
/// It is no pointer.
pub(super) fn check_pointer(
    setting: &SettingName,
    key: &'static str,
    pointer: &str,
) -> Result<(), SettingError> {
    if pointer.is_empty() || pointer.starts_with('/') {
        return Ok(());
    }
    Err(setting.wrong(format!("has a `{key}` that is none; write it as `/a/b`, or leave it out")))
}

fn parts(setting: &SettingName, settings: &AttributeSourceSettings) -> Result<Parts, SettingError> {
    let method = method(setting, &settings.method, settings.body.is_some())?;
    let address = Template::read(&settings.url);
    if !has_service(address.beginning()) {
        return Err(setting
            .wrong("has an `url` without a fixed service; write it as `https://service/path/{entity}`"));
    }
    check_pointer(setting, "pointer", &settings.pointer)?;
    if settings.poll_ms < POLL_MS_MIN {
        return Err(setting.wrong(format!("has a `poll_ms` below {POLL_MS_MIN}")));
    }
    let body = settings.body.as_deref().map(Template::read);
    body.as_ref().map_or(Ok(()), |body| body.check_json(setting))?;
    let headers = settings.headers.iter().map(|(name, value)| (name.as_str(), Value::Text(value.into())));
    let mut request = vec![("headers", Value::object(headers))];
    if let Some(secret) = &settings.secret {
        request.push(("secretsKey", Value::Text(secret.into())));
    }
    Ok(Parts { method, address, body, request: Value::object(request) })
}

impl CustomFinder {
    /// # Errors
    /// As [`check`].
    pub(super) fn new(
        name: &str,
        settings: &AttributeSourceSettings,
        client: Arc<Client>,
        runtime: Handle,
        answer_bytes_max: usize,
    ) -> Result<CustomFinder, SettingError> {
        check(name, settings)?;
        let parts = parts(&setting(name), settings)?;
        let answer_bytes_max = settings.answer_bytes_max.min(answer_bytes_max);
        Ok(CustomFinder {
            name: name.into(),
            parts,
            settings: settings.clone(),
            client,
            runtime,
            answer_bytes_max,
        })
    }
}

impl Parts {
    fn has_entity(&self) -> bool {
        self.address.has_entity() || self.body.as_ref().is_some_and(Template::has_entity)
    }

    fn argument_count(&self) -> usize {
        let in_body = self.body.as_ref().map_or(0, Template::argument_count);
        self.address.argument_count().max(in_body)
    }
}

impl AttributeQuery {
    fn request(&self) -> Evaluated<Request> {
        let AttributeQuery { finder, invocation, context } = self;
        let address = finder.parts.address.address(invocation)?;
        let body = finder.parts.body.as_ref().map(|body| body.json(invocation)).transpose()?;
        let empty = Arc::default();
        let settings = finder.parts.request.as_object().unwrap_or(&empty);
        let method = finder.parts.method.clone();
        Request::custom(method, &address, settings, body, context, finder.answer_bytes_max)
    }

    /// Asks again and again; a failure is the broker's affair, which tries again before it becomes an error.
    async fn poll(self, publisher: Publisher) {
        let finder = &self.finder;
        loop {
            let answer = match self.request() {
                Ok(request) => finder.client.ask(request).await,
                Err(fault) => {
                    let message = format!("the attribute `{}` cannot be asked for: {fault}", finder.name);
                    publisher.publish(Err(Fault::processing(message)));
                    return;
                }
            };
            match answer {
                Ok(value) => publisher.publish(Ok(at(value, &finder.settings.pointer))),
                Err(error) => {
                    let reason = error.message;
                    tracing::debug!(attribute = finder.name, reason, "an attribute could not be had");
                    return publisher.fail(reason);
                }
            }
            sleep(Duration::from_millis(finder.settings.poll_ms)).await;
        }
    }
}

/// One query of one attribute finder.
struct AttributeQuery {
    finder: Arc<CustomFinder>,
    invocation: Invocation,
    context: Context,
}

/// [`CustomFinder`], as tasks can hold it.
pub(super) struct Shared(pub(super) Arc<CustomFinder>);

impl AttributeFinder for Shared {
    fn serves(&self, invocation: &Invocation) -> bool {
        let finder = &self.0;
        invocation.name == finder.name
            && invocation.entity.is_some() == finder.parts.has_entity()
            && invocation.arguments.len() == finder.parts.argument_count()
    }

    fn reads(&self, _: &Invocation) -> Reads {
        Reads { secrets: false, surroundings: self.0.settings.secret.is_some() }
    }

    fn open(&self, invocation: &Invocation, context: &Context, publisher: Publisher) -> Box<dyn Send> {
        let query = AttributeQuery {
            finder: Arc::clone(&self.0),
            invocation: invocation.clone(),
            context: context.clone(),
        };
        Box::new(Task::spawn(&self.0.runtime, query.poll(publisher)))
    }
}

/// The part of a value that a JSON pointer names (RFC 6901); `undefined` where there is none.
pub(super) fn at(value: Value, pointer: &str) -> Value {
    let mut value = value;
    for word in pointer.split('/').skip(1) {
        let word = word.replace("~1", "/").replace("~0", "~");
        let part = match (value.as_object(), value.as_array()) {
            (Some(object), _) => object.get(&word).cloned(),
            (None, Some(array)) => {
                let index = word.parse::<usize>().ok().filter(|index| index.to_string() == word);
                index.and_then(|index| array.get(index).cloned())
            }
            (None, None) => None,
        };
        value = part.unwrap_or(Value::Undefined);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_names_a_part() {
        let value = durward_pdp::ir::json::read(r#"{"a": [{"b/c": 1}, 2], "": 3}"#).unwrap();
        for (pointer, part) in [
            ("/a/0/b~1c", "1"),
            ("/a/1", "2"),
            ("/", "3"),
            ("/a/01", "undefined"),
            ("/a/2", "undefined"),
            ("/x/y", "undefined"),
            ("/a/1/x", "undefined"),
        ] {
            assert_eq!(at(value.clone(), pointer).lexical(), part, "{pointer}");
        }
    }

    fn problem(name: &str, toml: &str) -> Option<String> {
        check(name, &toml::from_str(toml).unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn settings_that_cannot_work_are_refused_at_the_start() {
        for (name, toml, reason) in [
            ("department", "url = 'https://hr/{entity}'", "no name of an attribute"),
            ("hr.de-partment", "url = 'https://hr/{entity}'", "no name of an attribute"),
            ("http.head", "url = 'https://hr/{entity}'", "belongs to a library"),
            ("hr.department", "url = 'https://{entity}/'", "without a fixed service"),
            ("hr.department", "url = 'https://hr{entity}/'", "without a fixed service"),
            ("hr.department", "url = 'ftp://hr/{entity}'", "without a fixed service"),
            ("hr.department", "url = 'https://hr/'\nmethod = 'HEAD'", "the method `HEAD`"),
            ("hr.department", "url = 'https://hr/'\nbody = '{}'", "has a body"),
            (
                "hr.department",
                "url = 'https://hr/'\nmethod = 'POST'\nbody = '{\"a\": \"{entity}\"}'",
                "`body` that is no JSON",
            ),
            ("hr.department", "url = 'https://hr/'\npointer = 'a'", "`pointer`"),
            ("hr.department", "url = 'https://hr/'\npoll_ms = 0", "`poll_ms`"),
        ] {
            let message = problem(name, toml).unwrap_or_else(|| panic!("{name} {toml}"));
            assert!(message.contains(reason), "{message}");
        }
        assert_eq!(problem("hr.department", "url = 'https://hr/{entity}'"), None);
    }
}
