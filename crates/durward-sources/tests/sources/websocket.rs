//! `http.websocket`.

use futures_util::{SinkExt, StreamExt};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use durward_sources::SourceSettings;

use crate::world::{World, attribute, surroundings};

/// What came to a service, in order.
type Notes = Arc<Mutex<Vec<String>>>;

/// A service that says these, and then what it hears until the other side closes; or closes itself.
async fn service(says: &'static [&'static str], is_brief: bool) -> (String, Notes, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let notes = Notes::default();
    let own = Arc::clone(&notes);
    let task = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let notes = Arc::clone(&own);
            connections.spawn(async move {
                #[expect(clippy::result_large_err, reason = "as the crate wants it")]
                let note = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
                    let key =
                        request.headers().get("x-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
                    notes.lock().unwrap().push(format!("{} {key}", request.uri()));
                    Ok(response)
                };
                let Ok(mut socket) = accept_hdr_async(stream, note).await else { return };
                for text in says {
                    let _ = socket.send(Message::text(*text)).await;
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
                if is_brief {
                    let _ = socket.close(None).await;
                }
                while let Some(Ok(message)) = socket.next().await {
                    notes.lock().unwrap().push(format!("{message:?}"));
                    if let Message::Text(text) = message {
                        let _ = socket.send(Message::Text(text)).await;
                    }
                }
            });
        }
    });
    (format!("ws://{address}"), notes, task)
}

#[tokio::test]
async fn messages_are_values_and_the_body_is_sent() {
    let (url, notes, _) = service(&["1", "no json"], false).await;
    let world = World::new();
    let settings = format!(r#"{{"baseUrl": "{url}", "path": "/status", "body": {{"a": 1}}}}"#);
    let mut asked = world.ask(attribute(None, "http.websocket", &[&settings]));
    assert_eq!(asked.next().await, "1");
    assert!(asked.next().await.contains("no JSON"));
    assert_eq!(asked.next().await, r#"{"a":1}"#);
    assert!(asked.is_quiet(100).await);
    drop(asked);
    for _ in 0..100 {
        if notes.lock().unwrap().iter().any(|note| note.starts_with("Close")) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let notes = notes.lock().unwrap().clone();
    assert_eq!(notes[0], "/status ");
    assert!(notes.last().is_some_and(|last| last.starts_with("Close")), "it takes its leave: {notes:?}");
}

#[tokio::test]
async fn a_closed_socket_is_opened_again() {
    let (url, notes, _) = service(&["1", "2"], true).await;
    let world = World::new();
    let url = format!("\"{url}\"");
    let mut asked = world.ask(attribute(Some(&url), "http.websocket", &[]));
    for expected in ["1", "2", "1", "2"] {
        assert_eq!(asked.next().await, expected);
    }
    assert!(notes.lock().unwrap().len() >= 2);
}

#[tokio::test]
async fn messages_that_are_too_large_are_errors() {
    let (url, _, _) = service(&["1", "123456789"], false).await;
    let settings = format!(r#"{{"baseUrl": "{url}", "maxResponseBytes": 8}}"#);
    let world = World::new();
    let mut invocation = attribute(None, "http.websocket", &[&settings]);
    invocation.options.poll_interval_ms = 60_000;
    let mut asked = world.ask(invocation);
    assert_eq!(asked.next().await, "1");
    let message = asked.next().await;
    assert!(message.contains("more than 8 bytes"), "{message}");
}

#[tokio::test]
async fn credentials_are_bound_to_addresses_here_too() {
    let (url, notes, _) = service(&["1"], false).await;
    let secrets = format!(
        r#"{{"http": {{"ok": {{"allowedBaseUrls": ["{url}"], "headers": {{"X-Key": "SECRET"}}}},
             "no": {{"allowedBaseUrls": ["{}"], "headers": {{"X-Key": "SECRET"}}}}}}}}"#,
        url.replace("ws://", "wss://")
    );
    let world = World::with(&SourceSettings::default(), surroundings("{}", &secrets));
    let ask = |key: &str| {
        let settings = format!(r#"{{"baseUrl": "{url}", "secretsKey": "{key}"}}"#);
        world.ask(attribute(None, "http.websocket", &[&settings]))
    };
    assert!(ask("no").next().await.contains("`allowedBaseUrls`"));
    assert!(notes.lock().unwrap().is_empty());
    assert_eq!(ask("ok").next().await, "1");
    assert_eq!(notes.lock().unwrap()[0], "/ SECRET");
}

#[tokio::test]
async fn what_speaks_no_websocket_is_an_error() {
    let service = crate::service::Service::saying(403, "text/plain", "no").await;
    let url = format!("\"{}\"", service.url());
    let message = World::new().ask(attribute(Some(&url), "http.websocket", &[])).next().await;
    assert!(message.contains("HTTP 403"), "{message}");
}
