//! The kinds of sources: a service that speaks HTTP and JSON, an LDAP directory, a claim of a token.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use durward_pdp::ir::{DataType, json};
use durward_pdp::stream::Context;
use durward_pdp::{Request, SourceError, Value};
use durward_session::identity::IdentityError;
use durward_session::ldap::{
    LDAP_PLACE, LdapLookup, LdapPlace, LdapScope, LdapSearch, places_of_base, places_of_filter,
};
use durward_session::read_secret;
use hyper::Method;
use hyper::header::HeaderValue;

use super::input::{Input, address, json as json_of, strict};
use super::issuer::{Issuers, TokenIssuer};
use crate::Clock;
use crate::custom::{at, check_pointer, has_service, method};
use crate::http::{Client, Request as HttpRequest, scalar};
use crate::settings::{
    AttributeHttpSettings, AttributeJwtSettings, AttributeLdapSettings, AttributeSettings, LdapDepth,
    SettingError, SettingName, SourceSettings,
};
use crate::template::Template;

/// The longest question to a source, in bytes: a token fits, and values of requests must not fill the memory.
const QUESTION_BYTES_MAX: usize = 16 * 1024;

/// What sources share: connections, directories, keys.
pub(super) struct Parts {
    pub(super) client: Arc<Client>,
    pub(super) directories: BTreeMap<String, LdapLookup>,
    pub(super) issuers: Issuers,
    pub(super) clock: Clock,
    pub(super) answer_bytes_max: usize,
}

/// Where an attribute comes from.
#[derive(Clone)]
pub(super) enum Kind {
    Http(Arc<HttpSource>),
    Ldap(Arc<LdapSource>),
    Jwt(Arc<JwtSource>),
}

pub(super) struct HttpSource {
    client: Arc<Client>,
    method: Method,
    address: Template<Input>,
    body: Option<Template<Input>>,
    /// The settings that `http.get` has, for the header fields.
    settings: Value,
    credentials: Option<HeaderValue>,
    pointer: String,
    answer_bytes_max: usize,
}

pub(super) struct LdapSource {
    directory: LdapLookup,
    search: LdapSearch,
    base: Option<LdapTemplate>,
    filter: LdapTemplate,
}

/// Placeholders, each with the context that its value is inserted into.
type LdapTemplate = Template<(Input, LdapPlace)>;

pub(super) struct JwtSource {
    issuer: Arc<dyn TokenIssuer>,
    clock: Clock,
    token: Input,
    claim: String,
}

impl Kind {
    /// What is asked about a request, as texts that tell questions apart.
    ///
    /// # Errors
    /// The request does not have what it takes.
    pub(super) fn question(&self, request: &Request) -> Result<Box<[String]>, SourceError> {
        let texts: Box<[String]> = match self {
            Kind::Http(source) => {
                let body = source.body.as_ref().map(|body| json_of(body, request)).transpose()?;
                std::iter::once(address(&source.address, request)?).chain(body).collect()
            }
            Kind::Ldap(source) => {
                let filled = |template: &LdapTemplate| {
                    template.filled(|(input, place), out| {
                        let text = input.text(request)?;
                        // Before `*` it would mean everybody.
                        if text.is_empty() {
                            return Err(SourceError::new("an empty value cannot stand in a search"));
                        }
                        out.push_str(&place.escaped(&text));
                        Ok(())
                    })
                };
                let base = source.base.as_ref().map(filled).transpose()?;
                std::iter::once(filled(&source.filter)?).chain(base).collect()
            }
            Kind::Jwt(source) => [source.token.text(request)?].into(),
        };
        let length: usize = texts.iter().map(String::len).sum();
        if length > QUESTION_BYTES_MAX {
            return Err(SourceError::new(format!("the question is longer than {QUESTION_BYTES_MAX} bytes")));
        }
        Ok(texts)
    }

    /// The values.
    ///
    /// # Errors
    /// There is no answer, or one without values of this data type.
    pub(super) async fn ask(
        self,
        question: Box<[String]>,
        data_type: DataType,
    ) -> Result<Vec<Value>, SourceError> {
        let mut texts = question.into_iter();
        let first = texts.next().unwrap_or_default();
        match self {
            Kind::Http(source) => values_of(source.ask(&first, texts.next()).await?, data_type),
            Kind::Ldap(source) => {
                let search = LdapSearch { filter: first, base: texts.next(), ..source.search.clone() };
                let found = source.directory.values(search).await.map_err(failed)?;
                found.iter().map(|text| parsed(text, data_type)).collect()
            }
            Kind::Jwt(source) => values_of(source.ask(&first).await?, data_type),
        }
    }

    /// # Errors
    /// What is wrong with a setting, or a file that cannot be read.
    pub(super) fn http(
        setting: &SettingName,
        settings: &AttributeHttpSettings,
        parts: &Parts,
    ) -> Result<Kind, SettingError> {
        let (method, address) = check_http(setting, settings)?;
        let headers = settings.headers.iter().map(|(name, value)| (name.as_str(), Value::Text(value.into())));
        let credentials = settings.authorization_path.as_deref().map(|path| {
            let text = read_secret(path)
                .map_err(|error| setting.wrong(format!("has an `authorization_path`: {error}")))?;
            let mut value = HeaderValue::from_str(&text)
                .map_err(|_| setting.wrong("has an `authorization_path` with odd characters in the file"))?;
            value.set_sensitive(true);
            Ok::<HeaderValue, SettingError>(value)
        });
        Ok(Kind::Http(Arc::new(HttpSource {
            client: Arc::clone(&parts.client),
            method,
            address,
            body: body(settings),
            settings: Value::object([("headers", Value::object(headers))]),
            credentials: credentials.transpose()?,
            pointer: settings.pointer.clone(),
            answer_bytes_max: settings.answer_bytes_max.min(parts.answer_bytes_max),
        })))
    }

    /// # Errors
    /// What is wrong with a setting.
    pub(super) fn ldap(
        setting: &SettingName,
        settings: &AttributeLdapSettings,
        parts: &Parts,
    ) -> Result<Kind, SettingError> {
        let (search, base, filter) = check_ldap(setting, settings)?;
        let unknown = || unknown_directory(setting, settings);
        let directory = parts.directories.get(&settings.directory).ok_or_else(unknown)?;
        Ok(Kind::Ldap(Arc::new(LdapSource { directory: directory.clone(), search, base, filter })))
    }

    /// # Errors
    /// What is wrong with a setting.
    pub(super) fn jwt(
        setting: &SettingName,
        settings: &AttributeJwtSettings,
        parts: &Parts,
    ) -> Result<Kind, SettingError> {
        let token = check_jwt(setting, settings)?;
        let unknown = || unknown_issuer(setting, settings);
        let issuer = parts.issuers.get(&settings.issuer).ok_or_else(unknown)?;
        Ok(Kind::Jwt(Arc::new(JwtSource {
            issuer: Arc::clone(issuer),
            clock: Arc::clone(&parts.clock),
            token,
            claim: settings.claim.clone(),
        })))
    }
}

/// What can be said of a source without opening anything.
///
/// # Errors
/// What is wrong with a setting.
fn check_http(
    setting: &SettingName,
    settings: &AttributeHttpSettings,
) -> Result<(Method, Template<Input>), SettingError> {
    let method = method(setting, &settings.method, settings.body.is_some())?;
    let address = strict(setting, "url", &settings.url)?;
    if !has_service(address.beginning()) {
        return Err(setting
            .wrong("has an `url` without a fixed service; write it as `https://service/path/{subject-id}`"));
    }
    check_pointer(setting, "pointer", &settings.pointer)?;
    body(settings).map_or(Ok(()), |body| body.check_json(setting))?;
    Ok((method, address))
}

fn body(settings: &AttributeHttpSettings) -> Option<Template<Input>> {
    settings.body.as_deref().map(|body| Template::of(body, Input::read))
}

/// # Errors
/// As [`check_http`].
fn check_ldap(
    setting: &SettingName,
    settings: &AttributeLdapSettings,
) -> Result<(LdapSearch, Option<LdapTemplate>, LdapTemplate), SettingError> {
    let base = settings.base.as_deref().map(|base| ldap_template(setting, "base", base, places_of_base));
    let base = base.transpose()?;
    let filter = ldap_template(setting, "filter", &settings.filter, places_of_filter)?;
    let example = |template: &LdapTemplate| template.texts().collect::<Vec<_>>().join("x");
    let search = LdapSearch {
        base: base.as_ref().map(example),
        scope: match settings.scope {
            LdapDepth::Subtree => LdapScope::Subtree,
            LdapDepth::OneLevel => LdapScope::OneLevel,
        },
        filter: example(&filter),
        attribute: settings.attribute.clone(),
    };
    search.check().map_err(|error| setting.wrong(format!("cannot be searched for: {error}")))?;
    Ok((search, base, filter))
}

/// # Errors
/// As [`check_http`].
fn ldap_template(
    setting: &SettingName,
    key: &'static str,
    text: &str,
    places: impl Fn(&str) -> Result<Vec<LdapPlace>, IdentityError>,
) -> Result<LdapTemplate, SettingError> {
    if text.contains(LDAP_PLACE) {
        return Err(setting.wrong(format!("has a character in `{key}` that cannot be asked for")));
    }
    let template = strict(setting, key, text)?;
    let marked = template.texts().collect::<Vec<_>>().join(&LDAP_PLACE.to_string());
    let wrong = |error| setting.wrong(format!("cannot be searched for: {error}"));
    let places = places(&marked).map_err(wrong)?;
    let mut places = places.into_iter();
    // Escaped for both, a value does no harm anywhere.
    Ok(template.map(|input| (input, places.next().unwrap_or(LdapPlace::DnInFilter))))
}

/// # Errors
/// As [`check_http`].
fn check_jwt(setting: &SettingName, settings: &AttributeJwtSettings) -> Result<Input, SettingError> {
    check_pointer(setting, "claim", &settings.claim)?;
    Input::read(&settings.token).ok_or_else(|| {
        setting.wrong(format!(
            "has the `token` `{}`; name an attribute, such as `subject/urn:example:token`",
            settings.token
        ))
    })
}

/// Looks at names and forms of an attribute's source; nothing is opened.
///
/// # Errors
/// As [`check_http`].
pub(crate) fn check(attribute: &AttributeSettings, sources: &SourceSettings) -> Result<(), SettingError> {
    let setting = &attribute.setting();
    if let Some(http) = &attribute.http {
        check_http(setting, http)?;
    }
    if let Some(ldap) = &attribute.ldap {
        check_ldap(setting, ldap)?;
        sources.ldap.get(&ldap.directory).ok_or_else(|| unknown_directory(setting, ldap))?;
    }
    if let Some(jwt) = &attribute.jwt {
        check_jwt(setting, jwt)?;
        sources.jwt.get(&jwt.issuer).ok_or_else(|| unknown_issuer(setting, jwt))?;
    }
    Ok(())
}

fn unknown_directory(setting: &SettingName, settings: &AttributeLdapSettings) -> SettingError {
    let directory = &settings.directory;
    setting.wrong(format!("names the directory `{directory}`, and there is no `[sources.ldap.{directory}]`"))
}

fn unknown_issuer(setting: &SettingName, settings: &AttributeJwtSettings) -> SettingError {
    let issuer = &settings.issuer;
    setting.wrong(format!("names the issuer `{issuer}`, and there is no `[sources.jwt.{issuer}]`"))
}

impl HttpSource {
    async fn ask(&self, address: &str, body: Option<String>) -> Result<Value, SourceError> {
        let empty = Arc::default();
        let settings = self.settings.as_object().unwrap_or(&empty);
        let context = Context::default();
        let method = self.method.clone();
        let request = HttpRequest::custom(method, address, settings, body, &context, self.answer_bytes_max)
            .map_err(failed)?;
        let answer = self.client.ask(request.authorized(self.credentials.as_ref())).await?;
        // A service that dies after the head of its answer must not take away what would deny.
        if answer.is_undefined() {
            return Err(SourceError::new("the answer is empty"));
        }
        Ok(at(answer, &self.pointer))
    }
}

impl JwtSource {
    async fn ask(&self, token: &str) -> Result<Value, SourceError> {
        let claims = self.issuer.claims(token, (self.clock)()).await.map_err(failed)?;
        let text = serde_json::Value::Object(claims).to_string();
        let claims = json::read(text.as_bytes()).map_err(failed)?;
        Ok(at(claims, &self.claim))
    }
}

/// The values that an answer of JSON has: none for `null` and what is not there, several for an array.
fn values_of(answer: Value, data_type: DataType) -> Result<Vec<Value>, SourceError> {
    if answer.is_undefined() || matches!(answer, Value::Null) {
        return Ok(Vec::new());
    }
    let one = std::slice::from_ref(&answer);
    let all = answer.as_array().map_or(one, |values| values);
    let no_value = || failed("the answer has an object, an array or `null` where a value is expected");
    let value = |value: &Value| {
        let text = scalar(value).ok_or_else(no_value)?;
        parsed(&text, data_type)
    };
    all.iter().map(value).collect()
}

fn parsed(text: &str, data_type: DataType) -> Result<Value, SourceError> {
    Value::parse(data_type, text).map_err(|error| failed(format_args!("the answer: {error}")))
}

fn failed(reason: impl Display) -> SourceError {
    SourceError::new(reason.to_string())
}
