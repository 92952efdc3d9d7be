//! `http.get` and its like.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use durward_pdp::stream::Surroundings;
use durward_sources::SourceSettings;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use tokio::net::TcpListener;

use crate::service::{Service, response};
use crate::world::{World, attribute, surroundings};

/// `<http.get({baseUrl, ...})>` of a service.
async fn get(service: &Service, more: &str) -> String {
    let settings = format!(r#"{{"baseUrl": "{}"{more}}}"#, service.url());
    World::new().ask(attribute(None, "http.get", &[&settings])).next().await
}

#[tokio::test]
async fn an_answer_is_a_value() {
    let service = Service::saying(200, "application/json", r#"{"a": 1.50}"#).await;
    assert_eq!(get(&service, "").await, r#"{"a":1.50}"#);
    let url = format!(r#""{}/x""#, service.url());
    assert_eq!(World::new().ask(attribute(Some(&url), "http.get", &[])).next().await, r#"{"a":1.50}"#);
    let seen = &service.seen()[1];
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("GET", "/x"));
    assert_eq!(seen.header("accept"), ["application/json"]);
    assert_eq!(seen.header("content-type"), [""; 0]);
}

#[tokio::test]
async fn every_verb_sends_what_it_may() {
    let service = Service::saying(200, "application/json", "1").await;
    for (verb, body) in
        [("get", ""), ("post", r#"{"a":1}"#), ("put", r#"{"a":1}"#), ("patch", r#"{"a":1}"#), ("delete", "")]
    {
        let settings = format!(
            r#"{{"baseUrl": "{}", "path": "/rainbow?x=1", "urlParameters": {{"hänschen": "klein er", "n": 7}},
                "headers": {{"X-A": "einmal", "X-B": ["a", "b"]}}, "body": {{"a": 1}}, "contentType": "text/x"}}"#,
            service.url()
        );
        let answer = World::new().ask(attribute(None, &format!("http.{verb}"), &[&settings])).next().await;
        assert_eq!(answer, "1");
        let seen = service.seen().pop().unwrap();
        assert_eq!(seen.method.to_lowercase(), verb);
        assert_eq!(seen.target, "/rainbow?x=1&h%C3%A4nschen=klein+er&n=7");
        assert_eq!(seen.body, body, "{verb}");
        assert_eq!((seen.header("x-a"), seen.header("x-b")), (vec!["einmal"], vec!["a", "b"]));
        assert_eq!(seen.header("content-type").is_empty(), body.is_empty(), "{verb}");
    }
}

#[tokio::test]
async fn other_media_are_texts_and_nothing_is_undefined() {
    let service = Service::saying(200, "application/xml", "<a/>").await;
    assert_eq!(get(&service, r#", "accept": "application/xml""#).await, r#""<a/>""#);
    let message = get(&service, "").await;
    assert!(message.starts_with("ERROR: `http.get`") && message.contains("no JSON"), "{message}");
    let service = Service::saying(204, "application/json", "").await;
    assert_eq!(get(&service, "").await, "undefined");
}

#[tokio::test]
async fn statuses_of_failure_and_redirects_are_errors() {
    for status in [400, 404, 500, 503] {
        let service = Service::saying(status, "application/json", "{}").await;
        let message = get(&service, "").await;
        assert!(message.contains(&format!("HTTP {status}")), "{message}");
    }
    let elsewhere = Service::saying(200, "application/json", "1").await;
    let target = elsewhere.url();
    let service = Service::start(move |_| {
        let mut answer = response(302, "text/plain", "");
        answer.headers_mut().insert("location", target.parse().unwrap());
        Box::pin(async move { answer })
    })
    .await;
    let message = get(&service, "").await;
    assert!(message.contains("HTTP 302: redirects are not followed"), "{message}");
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_service_is_asked_again_after_the_poll_interval() {
    let count = Arc::new(AtomicUsize::new(0));
    let service = Service::start(move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed) / 2;
        Box::pin(async move { response(200, "application/json", number.to_string()) })
    })
    .await;
    let settings = format!(r#"{{"baseUrl": "{}"}}"#, service.url());
    let world = World::new();
    let mut asked = world.ask(attribute(None, "http.get", &[&settings]));
    for expected in ["0", "1", "2"] {
        assert_eq!(asked.next().await, expected);
    }
    drop(asked);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let seen = service.seen().len();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(service.seen().len(), seen, "nobody asks for a value that nobody needs");
}

#[tokio::test]
async fn equal_questions_are_asked_once() {
    let service = Service::saying(200, "application/json", "1").await;
    let settings = format!(r#"{{"baseUrl": "{}"}}"#, service.url());
    let world = World::new();
    let mut invocation = attribute(None, "http.get", &[&settings]);
    invocation.options.poll_interval_ms = 60_000;
    let mut all: Vec<_> = (0..50).map(|_| world.ask(invocation.clone())).collect();
    for asked in &mut all {
        assert_eq!(asked.next().await, "1");
    }
    assert_eq!(service.seen().len(), 1);
}

#[tokio::test]
async fn huge_answers_are_refused_before_they_are_held() {
    let service = Service::saying(200, "application/json", "[1, 2, 3, 4, 5]").await;
    let message = get(&service, r#", "maxResponseBytes": 14"#).await;
    assert!(message.contains("more than 14 bytes"), "{message}");
    assert_eq!(get(&service, r#", "maxResponseBytes": 15"#).await, "[1,2,3,4,5]");
    assert_eq!(get(&service, r#", "maxResponseBytes": 1e30"#).await, "[1,2,3,4,5]");
    for odd in ["0", "-1", "1.5", "null", r#""9""#] {
        let message = get(&service, &format!(r#", "maxResponseBytes": {odd}"#)).await;
        assert!(message.contains("maxResponseBytes"), "{message}");
    }
    // Without a length, and without an end.
    let endless = Service::start(|_| {
        let chunk = Bytes::from_static(&[b' '; 65_536]);
        let frames =
            futures_util::stream::repeat_with(move || Ok::<_, Infallible>(Frame::data(chunk.clone())));
        Box::pin(async { Response::new(StreamBody::new(frames).boxed()) })
    })
    .await;
    let message = get(&endless, "").await;
    assert!(message.contains("more than 1048576 bytes"), "{message}");
    let settings = SourceSettings { answer_bytes_max: 10, ..SourceSettings::default() };
    let question = format!(r#"{{"baseUrl": "{}", "maxResponseBytes": 15}}"#, service.url());
    let world = World::with(&settings, Surroundings::default());
    let message = world.ask(attribute(None, "http.get", &[&question])).next().await;
    assert!(message.contains("more than 10 bytes"), "{message}");
}

#[tokio::test]
async fn slow_and_absent_services_are_errors() {
    let settings =
        SourceSettings { answer_time_ms_max: 200, connect_time_ms_max: 200, ..SourceSettings::default() };
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let world = World::with(&settings, Surroundings::default());
    let question = format!(r#"{{"baseUrl": "http://{}"}}"#, silent.local_addr().unwrap());
    let message = world.ask(attribute(None, "http.get", &[&question])).next().await;
    assert!(message.contains("no answer within the time allowed"), "{message}");
    let address = silent.local_addr().unwrap();
    drop(silent);
    let question = format!(r#"{{"baseUrl": "http://{address}/SECRET?token=SECRET"}}"#);
    let message = world.ask(attribute(None, "http.get", &[&question])).next().await;
    assert!(message.contains(&address.to_string()) && message.contains("refused"), "{message}");
    assert!(!message.contains("SECRET"), "{message}");
}

#[tokio::test]
async fn broken_answers_are_errors() {
    use tokio::io::AsyncWriteExt;
    for broken in [
        "",
        "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
                let _ = stream.write_all(broken.as_bytes()).await;
            }
        });
        let question = format!(r#"{{"baseUrl": "http://{address}"}}"#);
        let message = World::new().ask(attribute(None, "http.get", &[&question])).next().await;
        assert!(message.starts_with("ERROR: "), "{broken:?}: {message}");
        task.abort();
    }
}

#[tokio::test]
async fn unfit_settings_are_errors_that_say_what_is_wrong() {
    let world = World::new();
    for (entity, argument, reason) in [
        (None, "1", "no object"),
        (None, "{}", "`baseUrl`"),
        (None, r#"{"baseUrl": 1}"#, "`baseUrl`"),
        (None, r#"{"baseUrl": "http://bad host/SECRET"}"#, "the address holds"),
        (None, r#"{"baseUrl": "http://u:SECRET@host/"}"#, "the address holds a user"),
        (None, r#"{"baseUrl": "http://host", "path": 1}"#, "`path`"),
        (None, r#"{"baseUrl": "http://host", "urlParameters": {"a": {}}}"#, "`urlParameters`"),
        (None, r#"{"baseUrl": "http://host", "headers": {"a b": "SECRET"}}"#, "the header field `a b`"),
        (None, r#"{"baseUrl": "http://host", "headers": {"a": "SECRET\n"}}"#, "the header field `a`"),
        (None, r#"{"baseUrl": "http://host", "headers": {"HOST": "x"}}"#, "the header field `host`"),
        (None, r#"{"baseUrl": "http://host", "headers": {"AUTHORIZATION": "SECRET"}}"#, "holds credentials"),
        (None, r#"{"baseUrl": "http://host", "secretsKey": 1}"#, "`secretsKey`"),
        (Some("1"), "{}", "the entity"),
    ] {
        let message = world.ask(attribute(entity, "http.get", &[argument])).next().await;
        assert!(
            message.starts_with("ERROR: `http.get`") && message.contains(reason),
            "{argument}: {message}"
        );
        assert!(!message.contains("SECRET"), "{message}");
    }
    for (entity, name, arguments) in [
        (None, "http.get", &[][..]),
        (None, "http.head", &["{}"][..]),
        (Some(r#""x""#), "http.get", &["{}", "{}"][..]),
    ] {
        assert_eq!(world.ask(attribute(entity, name, arguments)).next().await, "undefined");
    }
}

/// The secrets `api` for a service, with further members.
fn secret(urls: &str) -> String {
    format!(
        r#"{{"http": {{"api": {{"allowedBaseUrls": [{urls}], "headers": {{"X-Key": "SECRET-KEY", "X-A": "operator"}}}}}}}}"#
    )
}

#[tokio::test]
async fn credentials_come_from_secrets_and_override_one_another() {
    let service = Service::saying(200, "application/json", "1").await;
    let url = service.url();
    let world =
        World::with(&SourceSettings::default(), surroundings("{}", &secret(&format!(r#""{url}/v1""#))));
    let own = format!(
        r#"{{"http": {{"api": {{"allowedBaseUrls": ["{url}"], "headers": {{"x-a": "subscriber", "x-b": "subscriber",
            "Authorization": "Bearer SECRET-OWN"}}}}}}}}"#
    );
    let settings = format!(
        r#"{{"baseUrl": "{url}/v1", "path": "/x", "secretsKey": "api", "headers": {{"X-a": "policy", "X-B": "policy"}}}}"#
    );
    assert_eq!(world.ask_with(attribute(None, "http.get", &[&settings]), &own).next().await, "1");
    let seen = &service.seen()[0];
    assert_eq!(seen.header("x-key"), ["SECRET-KEY"]);
    assert_eq!(seen.header("x-a"), ["operator"]);
    assert_eq!(seen.header("x-b"), ["policy"]);
    assert_eq!(seen.header("authorization"), ["Bearer SECRET-OWN"]);
    assert!(!seen.target.contains("SECRET"));
    // Without the name of a secret, none is sent.
    let settings = format!(r#"{{"baseUrl": "{url}/v1"}}"#);
    assert_eq!(world.ask_with(attribute(None, "http.get", &[&settings]), &own).next().await, "1");
    assert_eq!(service.seen()[1].header("x-key"), [""; 0]);
    assert_eq!(service.seen()[1].header("authorization"), [""; 0]);
}

#[tokio::test]
async fn credentials_go_nowhere_else() {
    let service = Service::saying(200, "application/json", "1").await;
    let port = service.address.port();
    let allowed =
        format!(r#""http://127.0.0.1:{port}/v1", "https://127.0.0.1:{port}", "http://127.0.0.1:1""#);
    let world = World::with(&SourceSettings::default(), surroundings("{}", &secret(&allowed)));
    for (base, path) in [
        (format!("http://127.0.0.1:{port}"), ""),
        (format!("http://127.0.0.1:{port}/v10"), ""),
        (format!("http://127.0.0.1:{port}"), "/v1/x"),
        (format!("http://127.0.0.1:{port}/v1"), "0"),
        (format!("http://127.0.0.1:{port}/v1"), "/../admin"),
        (format!("http://127.0.0.1:{port}/v1"), "/%2e%2E/admin"),
        (format!("http://localhost:{port}/v1"), ""),
        ("http://127.0.0.1:1".into(), "@example.com/"),
        ("http://127.0.0.1".into(), ":1/"),
    ] {
        let settings = format!(r#"{{"baseUrl": "{base}", "path": "{path}", "secretsKey": "api"}}"#);
        let message = world.ask(attribute(None, "http.get", &[&settings])).next().await;
        assert!(message.starts_with("ERROR: "), "{base} {path}: {message}");
        assert!(!message.contains("SECRET"), "{message}");
    }
    assert!(service.seen().is_empty());
    // A secret that says no address goes nowhere.
    let world = World::with(&SourceSettings::default(), surroundings("{}", &secret("")));
    let settings = format!(r#"{{"baseUrl": "{}", "secretsKey": "api"}}"#, service.url());
    let message = world.ask(attribute(None, "http.get", &[&settings])).next().await;
    assert!(message.contains("`allowedBaseUrls`"), "{message}");
    assert!(service.seen().is_empty());
}

#[tokio::test]
async fn credentials_do_not_follow_redirects() {
    let elsewhere = Service::saying(200, "application/json", "1").await;
    let target = elsewhere.url();
    let service = Service::start(move |_| {
        let mut answer = response(307, "text/plain", "");
        answer.headers_mut().insert("location", target.parse().unwrap());
        Box::pin(async move { answer })
    })
    .await;
    let secrets = secret(&format!(r#""{}""#, service.url()));
    let world = World::with(&SourceSettings::default(), surroundings("{}", &secrets));
    let settings = format!(r#"{{"baseUrl": "{}", "secretsKey": "api"}}"#, service.url());
    let message = world.ask(attribute(None, "http.get", &[&settings])).next().await;
    assert!(message.contains("HTTP 307"), "{message}");
    assert_eq!(service.seen()[0].header("x-key"), ["SECRET-KEY"]);
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn subscribers_with_other_secrets_do_not_share_an_answer() {
    let service = Service::start(|seen| {
        let who = format!("{:?}", seen.header("x-who").first().copied().unwrap_or_default());
        Box::pin(async move { response(200, "application/json", who) })
    })
    .await;
    let world = World::new();
    let settings = format!(r#"{{"baseUrl": "{}", "secretsKey": "me"}}"#, service.url());
    let invocation = attribute(None, "http.get", &[&settings]);
    let of = |name: &str| {
        format!(
            r#"{{"http": {{"me": {{"allowedBaseUrls": ["{}"], "headers": {{"X-Who": "{name}"}}}}}}}}"#,
            service.url()
        )
    };
    let mut alice = world.ask_with(invocation.clone(), &of("alice"));
    let mut bob = world.ask_with(invocation, &of("bob"));
    assert_eq!((alice.next().await, bob.next().await), (r#""alice""#.into(), r#""bob""#.into()));
}

/// A stream of events that says these pieces with pauses between, and then ends or not.
async fn events(pieces: &'static [&'static str], is_endless: bool) -> Service {
    Service::start(move |_| {
        let frames = futures_util::stream::unfold(0, move |number| async move {
            tokio::time::sleep(Duration::from_millis(if number == 0 { 0 } else { 100 })).await;
            if number >= pieces.len() && is_endless {
                std::future::pending::<()>().await;
            }
            let piece = pieces.get(number)?;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(piece.as_bytes()))), number + 1))
        });
        let response = Response::builder().header("content-type", "text/event-stream");
        Box::pin(async move { response.body(StreamBody::new(Box::pin(frames)).boxed()).unwrap() })
    })
    .await
}

#[tokio::test]
async fn events_are_values_as_they_come() {
    let service =
        events(&[": hello\n\ndata: 1\n\n", "data: {\"a\":\n", "data: 2}\r\n\r\n", "data: x\n\n"], true).await;
    let settings = format!(r#"{{"baseUrl": "{}", "accept": "text/event-stream"}}"#, service.url());
    let world = World::new();
    let mut asked = world.ask(attribute(None, "http.get", &[&settings]));
    assert_eq!(asked.next().await, "1");
    assert_eq!(asked.next().await, r#"{"a":2}"#);
    assert!(asked.next().await.contains("no JSON"));
    assert!(asked.is_quiet(200).await);
    assert_eq!(service.seen()[0].header("accept"), ["text/event-stream"]);
    assert_eq!(service.seen().len(), 1);
}

#[tokio::test]
async fn an_event_stream_that_ends_is_opened_again() {
    let service = events(&["data: 1\n\n", "data: 2\n\n"], false).await;
    let settings = format!(r#"{{"baseUrl": "{}", "accept": "text/event-stream"}}"#, service.url());
    let world = World::new();
    let mut asked = world.ask(attribute(None, "http.get", &[&settings]));
    for expected in ["1", "2", "1", "2", "1"] {
        assert_eq!(asked.next().await, expected);
    }
}

#[tokio::test]
async fn an_event_that_is_too_large_is_an_error() {
    let service = events(&["data: 1\n\n", "data: 123456789"], true).await;
    let settings = format!(
        r#"{{"baseUrl": "{}", "accept": "text/event-stream", "maxResponseBytes": 8}}"#,
        service.url()
    );
    let world = World::new();
    let mut invocation = attribute(None, "http.get", &[&settings]);
    invocation.options.poll_interval_ms = 60_000;
    let mut asked = world.ask(invocation);
    assert_eq!(asked.next().await, "1");
    assert!(asked.next().await.contains("more than 8 bytes"));
}

#[tokio::test]
async fn too_many_event_streams_are_refused() {
    let service = events(&["data: 1\n\n"], true).await;
    let settings = SourceSettings { streams_max: 2, ..SourceSettings::default() };
    let world = World::with(&settings, Surroundings::default());
    let ask = |number: usize| {
        let settings = format!(
            r#"{{"baseUrl": "{}", "path": "/{number}", "accept": "text/event-stream"}}"#,
            service.url()
        );
        world.ask(attribute(None, "http.get", &[&settings]))
    };
    let (mut first, mut second, mut third) = (ask(1), ask(2), ask(3));
    assert_eq!((first.next().await.as_str(), second.next().await.as_str()), ("1", "1"));
    assert!(third.next().await.contains("`sources.streams_max`"));
    drop(first);
    assert_eq!(third.next().await, "1", "a place that was left is free");
}
