//! `sessionservice`: the XML by which older agents look after sessions (`RequestSet`, `SessionRequest`), as far as they fall over
//! without it: reading a session, ending it, and asking to be told of its end. That is always accepted; who is told is for
//! [`super::notifications`] to say. All others look again by themselves.

use std::fmt::Write as _;

use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, escape};
use durward_session::Failed;
use durward_session::identity::session::{Purpose, Session};
use durward_session::{Service, Who};
use hyper::{Method, StatusCode};

use super::answers::text_of_type;
use super::session_actions::universal_id;
use super::{Call, empty};

/// How many requests a set may have.
const REQUESTS_MAX: usize = 16;

/// What is asked of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Get(Purpose),
    /// `Logout` and `DestroySession`: the latter ends the session that is named in it.
    End,
    Listen,
}

/// One request of a set.
#[derive(Debug, PartialEq, Eq)]
struct SessionCall {
    id: String,
    /// Nothing where it is something else.
    asked: Option<Asked>,
    name: String,
    token: String,
    /// Where an agent wants to be told.
    url: String,
}

/// Answers one set of requests.
pub(super) async fn answer(call: &Call<'_>, body: Incoming) -> Answer {
    if call.head.method != Method::POST {
        return empty(StatusCode::METHOD_NOT_ALLOWED);
    }
    let body = match call.body(body).await {
        Ok(body) => body,
        Err(refusal) => return empty(refusal.status),
    };
    let Some((set, calls)) = std::str::from_utf8(&body).ok().and_then(read) else {
        return empty(StatusCode::BAD_REQUEST);
    };
    let mut responses = String::new();
    for one in &calls {
        let said = said(call, one).await;
        let id = escape(&one.id);
        // What stands in CDATA cannot hold its end: everything in it is escaped.
        let _ = write!(
            responses,
            "<Response><![CDATA[<SessionResponse vers=\"1.0\" reqid=\"{id}\">{said}</SessionResponse>]]></Response>"
        );
    }
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<ResponseSet vers=\"1.0\" svcid=\"Session\" reqid=\"{}\">\n{responses}\n</ResponseSet>",
        escape(&set)
    );
    text_of_type("text/xml;charset=UTF-8", text)
}

async fn said(call: &Call<'_>, one: &SessionCall) -> String {
    let done = match one.asked {
        Some(Asked::Get(purpose)) => {
            session(call.service, &one.token, purpose, &call.settings.root_suffix).await
        }
        Some(Asked::End) => {
            call.service.logout(&one.token, Some(call.client)).await.map(|_| "<OK></OK>".to_owned())
        }
        Some(Asked::Listen) => {
            let who = call.service.validate(&one.token, Purpose::Use).await;
            let listened = |who: Who| {
                // Of a session that this node has not heard of yet, it would say that it has ended.
                let lives_here = call.service.lives_here(&who.user, who.id);
                let notifications = call.surface.notifications.as_ref().filter(|_| lives_here);
                let is_told = notifications.is_some_and(|all| all.listen(&who, &one.token, &one.url));
                tracing::debug!(is_told, url = one.url, "an agent asks to be told when a session ends");
                "<OK></OK>".to_owned()
            };
            who.map(listened).map_err(Failed::from)
        }
        None => return format!("<Exception>{} is not supported</Exception>", escape(&one.name)),
    };
    let name = &one.name;
    match done {
        Ok(said) => format!("<{name}>{said}</{name}>"),
        Err(failed @ Failed::Token(_)) if !is_passing(&failed) => {
            let token = escape(&one.token);
            format!("<{name}><Exception>Invalid session ID {token}</Exception></{name}>")
        }
        Err(failed) => format!("<{name}><Exception>{}</Exception></{name}>", escape(&failed.to_string())),
    }
}

fn is_passing(failed: &Failed) -> bool {
    matches!(failed, Failed::Token(durward_session::identity::session::Refusal::Unavailable))
}

async fn session(service: &Service, token: &str, purpose: Purpose, suffix: &str) -> Result<String, Failed> {
    let (who, session) = service.session(token, purpose).await?;
    Ok(described(service, token, &who, &session, suffix))
}

/// A session in the words of agents: times in minutes for the limits, in seconds for what is left.
fn described(service: &Service, token: &str, who: &Who, session: &Session, suffix: &str) -> String {
    let (now, token) = (service.now(), escape(token));
    let minutes = |seconds: u64| seconds.div_ceil(60);
    let lifetime = session.ends.since(session.stamp.moment()).as_secs();
    let (left, idle) = (session.ends.since(now).as_secs(), now.since(session.used).as_secs());
    let universal = universal_id(&who.user, suffix);
    let mut text = format!(
        "<Session sid=\"{token}\" stype=\"user\" cid=\"{}\" cdomain=\"{}\" maxtime=\"{}\" maxidle=\"{}\" maxcaching=\"3\" timeidle=\"{idle}\" timeleft=\"{left}\" state=\"valid\">",
        escape(&universal),
        escape(suffix),
        minutes(lifetime),
        minutes(session.idle.as_secs()),
    );
    let own = [
        ("UserId", who.user.subject()),
        ("UserToken", who.user.subject()),
        ("Organization", suffix),
        ("sun.am.UniversalIdentifier", universal.as_str()),
    ];
    // Agents take the last of a name: no property stands for who it is.
    let is_own = |name: &str| own.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let others = session.properties.iter().filter(|(name, _)| !is_own(name));
    for (name, value) in own.into_iter().chain(others) {
        let _ = write!(text, "<Property name=\"{}\" value=\"{}\"></Property>", escape(name), escape(value));
    }
    text + "</Session>"
}

/// The number of a set, and the requests in it. Requests are XML in CDATA, or escaped; each is small and flat, and is read as such.
fn read(text: &str) -> Option<(String, Vec<SessionCall>)> {
    let set = attribute(element(text, "RequestSet")?.0, "reqid")?;
    let mut calls = Vec::new();
    let mut rest = text;
    while let Some((_, content, behind)) = whole(rest, "Request") {
        let inner = match content.trim().strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>")) {
            Some(inner) => inner.to_owned(),
            None => unescaped(content),
        };
        calls.push(one(&inner)?);
        rest = behind;
        if calls.len() > REQUESTS_MAX {
            return None;
        }
    }
    (!calls.is_empty()).then_some((set, calls))
}

fn one(text: &str) -> Option<SessionCall> {
    let (head, content) = element(text, "SessionRequest")?;
    let id = attribute(head, "reqid")?;
    let name = content.trim_start().strip_prefix('<')?;
    let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
    let (head, inner, _) = whole(content, &name)?;
    let reset = attribute(head, "reset").is_some_and(|reset| reset.eq_ignore_ascii_case("true"));
    let (asked, holder) = match name.as_str() {
        "GetSession" => (Some(Asked::Get(if reset { Purpose::Use } else { Purpose::Look })), "SessionID"),
        "Logout" => (Some(Asked::End), "SessionID"),
        "DestroySession" => (Some(Asked::End), "DestroySessionID"),
        "AddSessionListener" => (Some(Asked::Listen), "SessionID"),
        _ => (None, "SessionID"),
    };
    let text = |name: &str| whole(inner, name).map(|(_, text, _)| unescaped(text.trim())).unwrap_or_default();
    let (token, url) = (text(holder), text("URL"));
    Some(SessionCall { id, asked, name, token, url })
}

/// The first element of a name: what stands in its tag, and what comes after the tag.
fn element<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let mut rest = text;
    loop {
        let (_, behind) = rest.split_once(&format!("<{name}"))?;
        // Not one whose name only begins so.
        if behind.starts_with(|next: char| next == '>' || next == '/' || next.is_ascii_whitespace()) {
            return behind.split_once('>');
        }
        rest = behind;
    }
}

/// The first element of a name: what stands in its tag, its content, and what comes behind it.
fn whole<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str, &'t str)> {
    let (head, rest) = element(text, name)?;
    let (content, behind) = rest.split_once(&format!("</{name}>"))?;
    Some((head, content, behind))
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let (_, rest) = head.split_once(&format!("{name}="))?;
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (value, _) = rest.get(1..)?.split_once(quote)?;
    Some(unescaped(value))
}

fn unescaped(text: &str) -> String {
    let named =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(inner: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<RequestSet vers=\"1.0\" svcid=\"Session\" reqid=\"3\">\n\
             <Request><![CDATA[<SessionRequest vers=\"1.0\" reqid=\"0\">{inner}</SessionRequest>]]></Request></RequestSet>"
        )
    }

    #[test]
    fn requests_are_read_as_agents_write_them() {
        let asked = |inner: &str| {
            let (id, calls) = read(&set(inner))?;
            let [SessionCall { asked, token, .. }] = calls.as_slice() else { return None };
            Some((id, *asked, token.clone()))
        };
        for (inner, expected) in [
            (
                "<GetSession reset=\"true\">\n<SessionID>a*b</SessionID></GetSession>",
                Some(Asked::Get(Purpose::Use)),
            ),
            (
                "<GetSession reset='false'><SessionID>a*b</SessionID></GetSession>",
                Some(Asked::Get(Purpose::Look)),
            ),
            ("<Logout><SessionID>a*b</SessionID></Logout>", Some(Asked::End)),
            (
                "<DestroySession><SessionID>x</SessionID><DestroySessionID>a*b</DestroySessionID></DestroySession>",
                Some(Asked::End),
            ),
            (
                "<AddSessionListener><URL>http://agent/</URL><SessionID>a*b</SessionID></AddSessionListener>",
                Some(Asked::Listen),
            ),
            ("<SetProperty><SessionID>a*b</SessionID></SetProperty>", None),
        ] {
            assert_eq!(asked(inner), Some(("3".to_owned(), expected, "a*b".to_owned())), "{inner}");
        }
    }

    #[test]
    fn an_agent_says_where_it_wants_to_be_told() {
        let text = set(
            "<AddSessionListener><URL>http://agent/n?a=1&amp;b</URL><SessionID>t</SessionID></AddSessionListener>",
        );
        let (_, calls) = read(&text).unwrap();
        assert_eq!((calls[0].url.as_str(), calls[0].token.as_str()), ("http://agent/n?a=1&b", "t"));
    }

    #[test]
    fn what_is_no_set_of_requests_is_refused() {
        for text in [
            "",
            "<RequestSet reqid=\"1\"></RequestSet>",
            "<RequestSet><Request><![CDATA[<SessionRequest reqid=\"0\"><Logout></Logout></SessionRequest>]]></Request></RequestSet>",
            &set("nothing"),
            &set("<Logout><SessionID>a"),
            &set("<>"),
            &format!("<RequestSet reqid=\"1\">{}", "<Request>".repeat(100_000)),
        ] {
            assert_eq!(read(text), None, "{}", &text[..text.len().min(80)]);
        }
    }
}
