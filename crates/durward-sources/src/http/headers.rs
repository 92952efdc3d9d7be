//! Header fields of a request, and the credentials among them.
//!
//! Credentials come only from secrets, under a name that the policy gives, and go only to addresses that the secret
//! itself lists. In SAPL's engine the base address is what is checked; here the whole address is, too, as the path that is
//! added may lead elsewhere.

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::value::Object;
use durward_pdp::stream::Context;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::HeaderValue;
use hyper::http::header::AUTHORIZATION;

use super::request::scalar;
use durward_net::url::Url;

/// What policies must not write themselves.
const CREDENTIALS: [HeaderName; 2] = [AUTHORIZATION, PROXY_AUTHORIZATION];

/// What belongs to the connection, not to whoever asks; with a `Host` of its choice a policy would reach another service
/// behind the same address.
const RESERVED: [HeaderName; 8] =
    [CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// The header fields of a request: those of the subscription's secrets, over them those of the policy, over them those of
/// the operator's secrets.
///
/// # Errors
/// Fields that are none or not allowed, and credentials that must not be sent there.
pub(super) fn merged(settings: &Object, context: &Context, base: &Url, url: &Url) -> Evaluated<HeaderMap> {
    let own = match settings.get("headers") {
        None => None,
        Some(headers) => {
            Some(headers.as_object().ok_or_else(|| Fault::processing("`headers` is not an object"))?)
        }
    };
    let own = own.map(|own| read(own, "the request")).transpose()?.unwrap_or_default();
    if let Some(name) = CREDENTIALS.iter().find(|name| own.contains_key(*name)) {
        return Err(Fault::processing(format!(
            "the header field `{name}` holds credentials; put them into the secrets, and name them with `secretsKey`"
        )));
    }
    let Some(name) = settings.get("secretsKey") else { return Ok(own) };
    let name = name.as_text().ok_or_else(|| Fault::processing("`secretsKey` is not a text"))?;
    let operator = context.surroundings.as_deref().map(|surroundings| &surroundings.secrets);
    let mut headers = HeaderMap::new();
    put_over(&mut headers, secret(context.secrets.as_deref(), name, base, url)?);
    put_over(&mut headers, own);
    put_over(&mut headers, secret(operator, name, base, url)?);
    Ok(headers)
}

/// Fields over those there are: of equal names the new ones stay.
fn put_over(headers: &mut HeaderMap, new: HeaderMap) {
    for name in new.keys() {
        headers.remove(name);
    }
    let mut last = None;
    for (name, value) in new {
        // Of several values of one name, only the first brings the name along.
        last = name.or(last);
        if let Some(name) = &last {
            headers.append(name.clone(), value);
        }
    }
}

/// The header fields of one secret.
fn secret(secrets: Option<&Value>, name: &str, base: &Url, url: &Url) -> Evaluated<HeaderMap> {
    let entry = |value: Option<&Value>, key: &str| value.and_then(Value::as_object)?.get(key).cloned();
    let http = entry(secrets, "http");
    let secret = entry(http.as_ref(), name);
    let headers = entry(secret.as_ref(), "headers");
    let Some(headers) = headers.as_ref().and_then(Value::as_object).filter(|headers| !headers.is_empty())
    else {
        return Ok(HeaderMap::new());
    };
    let allowed = entry(secret.as_ref(), "allowedBaseUrls");
    let allowed = allowed.as_ref().and_then(Value::as_array).map_or(&[][..], |allowed| allowed);
    let is_allowed = allowed
        .iter()
        .filter_map(|text| Url::read(text.as_text()?).ok())
        .any(|allowed| base.is_within(&allowed) && url.is_within(&allowed));
    if !is_allowed {
        return Err(Fault::processing(format!(
            "the secret `{name}` may not be sent to {}; add the address to its `allowedBaseUrls`, or correct the request",
            url.endpoint
        )));
    }
    let mut headers = read(headers, "a secret")?;
    headers.values_mut().for_each(|value| value.set_sensitive(true));
    Ok(headers)
}

/// Fields out of an object of texts, of arrays of them, or of other values.
fn read(object: &Object, whose: &str) -> Evaluated<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(object.len());
    for (name, value) in object.iter() {
        let wrong = || Fault::processing(format!("the header field `{name}` of {whose} cannot be one"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        if RESERVED.contains(&name) {
            return Err(Fault::processing(format!(
                "the header field `{name}` of {whose} is durward's own affair; leave it out"
            )));
        }
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, |values| values) {
            let text = scalar(value).unwrap_or_else(|| value.to_json());
            headers.append(name.clone(), HeaderValue::from_str(&text).map_err(|_| wrong())?);
        }
    }
    Ok(headers)
}
