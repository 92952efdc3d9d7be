//! The HTTP answer around a page: what a browser may do with it, which is to show it and send its form.

use bytes::Bytes;
use durward_common::surfaces::http::text_answer;
use http_body_util::Full;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::page::{Page, PageError, Step};
use super::script;
use super::style::Style;

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What is the same in all answers of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerSettings {
    /// Whether a window that opened the page may go on holding it.
    pub(super) popups: bool,
}

/// The answer that shows this page.
pub(super) fn answer(
    html: String,
    page: &Page,
    language: &str,
    style: &Style,
    settings: AnswerSettings,
) -> Response<Full<Bytes>> {
    let mut answer = text_answer("text/html; charset=utf-8", html);
    *answer.status_mut() = status(page);
    let headers = answer.headers_mut();
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::VARY, "Accept-Language"),
        (RESOURCE_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !settings.popups {
        headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    }
    // Both are made of characters that a field can have: see `form_target` and `accept::is_tag`.
    let policy = content_policy(style, page.passkey.is_some(), page.redirect_uri.as_deref());
    if let (Ok(policy), Ok(language)) = (HeaderValue::from_str(&policy), HeaderValue::from_str(language)) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        headers.insert(header::CONTENT_LANGUAGE, language);
    }
    if let Some(PageError::TooMany { wait_s }) = page.error {
        headers.insert(header::RETRY_AFTER, wait_s.max(1).into());
    }
    answer
}

fn status(page: &Page) -> StatusCode {
    match (&page.step, page.error) {
        (Step::Failed { what, .. }, _) => what.status(),
        (Step::UpstreamFailed { why, .. }, _) => why.status(),
        (_, Some(error)) => error.status(),
        (_, None) => StatusCode::OK,
    }
}

/// Nothing from elsewhere, one style sheet by its hash, and where a passkey is offered one script so; pictures that are in the page, forms to
/// this server.
fn content_policy(style: &Style, has_script: bool, redirect_uri: Option<&str>) -> String {
    let target = redirect_uri.and_then(form_target).map(|target| format!(" {target}")).unwrap_or_default();
    let script = if has_script { format!("script-src {}; ", *script::SOURCE) } else { String::new() };
    format!(
        "default-src 'none'; {script}style-src {}; img-src data:; form-action 'self'{target}; frame-ancestors 'none'; \
         base-uri 'none'",
        style.source
    )
}

/// Where a form may lead to by way of a redirect, as a source of Content Security Policy: the origin of an address of the web, the scheme
/// of another one. `None` for what is neither, which then stays refused.
///
/// Source lists have no addresses of IPv6 (CSP 3, 2.3.1): for these it is the scheme too.
fn form_target(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme {
        return None;
    }
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    if !is_web {
        return Some(format!("{scheme}:"));
    }
    let authority = rest.strip_prefix("//")?.split(['/', '?', '#']).next()?;
    if authority.starts_with('[') {
        return Some(format!("{scheme}:"));
    }
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_host =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let is_port = port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    (is_host && is_port).then(|| format!("{scheme}://{authority}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_to_the_origin_of_the_application_and_nowhere_else() {
        for (uri, expected) in [
            ("https://app.example.org/callback?x=1", Some("https://app.example.org")),
            ("https://app.example.org:8443", Some("https://app.example.org:8443")),
            ("http://127.0.0.1:41000/cb", Some("http://127.0.0.1:41000")),
            ("http://[::1]:41000/cb", Some("http:")),
            ("com.example.app:/cb", Some("com.example.app:")),
            ("https://user@app.example.org/", None),
            ("https://a.example; script-src *", None),
            ("https://*.example.org/", None),
            ("https:///cb", None),
            ("https:app", None),
            ("java script:x", None),
            ("*", None),
            ("'unsafe-inline'", None),
            ("", None),
        ] {
            assert_eq!(form_target(uri).as_deref(), expected, "{uri}");
        }
    }
}
