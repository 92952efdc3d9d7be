//! Attributes that a file publishes.

use std::fs;
use std::path::PathBuf;

use durward_sources::SourceSettings;

use crate::world::{World, attribute, surroundings};

/// A file of its own for each test.
struct Published(PathBuf);

impl Published {
    fn new(name: &str, text: &str) -> Published {
        let file = format!("durward-published-{name}-{}.json", std::process::id());
        let published = Published(std::env::temp_dir().join(file));
        published.say(text);
        published
    }

    fn say(&self, text: &str) {
        fs::write(&self.0, text).unwrap();
    }

    fn settings(&self) -> SourceSettings {
        SourceSettings { published: Some(self.0.clone()), published_poll_ms: 20, ..SourceSettings::default() }
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const ONLINE: &str = r#"[{"name": "user.presence", "entity": "alice", "value": "online"},
    {"name": "site.level", "arguments": [1], "value": {"high": 1.50}}]"#;

#[tokio::test]
async fn subscribers_see_what_the_file_says_and_how_it_changes() {
    let file = Published::new("changes", ONLINE);
    let world = World::with(&file.settings(), surroundings("{}", "{}"));
    let mut presence = world.ask(attribute(Some(r#""alice""#), "user.presence", &[]));
    assert_eq!(presence.next().await, r#""online""#);
    assert_eq!(world.ask(attribute(None, "site.level", &["1"])).next().await, r#"{"high":1.50}"#);
    for other in [attribute(None, "site.level", &["2"]), attribute(Some("1"), "user.presence", &[])] {
        assert_eq!(world.ask(other).next().await, "undefined");
    }
    file.say(&ONLINE.replace("online", "away"));
    assert_eq!(presence.next().await, r#""away""#);
    file.say("[{");
    file.say("[]");
    assert_eq!(presence.next().await, "undefined");
}

#[tokio::test]
async fn values_end_when_the_file_says_so() {
    let file = Published::new("ends", ONLINE);
    let world = World::with(&file.settings(), surroundings("{}", "{}"));
    let mut presence = world.ask(attribute(Some(r#""alice""#), "user.presence", &[]));
    assert_eq!(presence.next().await, r#""online""#);
    let end = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(100);
    file.say(&ONLINE.replace(r#""online""#, &format!(r#""busy", "until": "{end}""#)));
    let mut said = presence.next().await;
    // A slow machine may read the file when the end has come already.
    if said == r#""busy""# {
        said = presence.next().await;
    }
    assert_eq!(said, "undefined");
}

#[test]
fn a_file_that_says_something_else_stops_the_start() {
    for (text, problem) in [
        ("", "error"),
        ("{}", "an array of attributes is needed"),
        ("[1]", "attribute 0 is no object"),
        (r#"[{"name": "a.b", "value": 1}, {"name": "a", "value": 1}]"#, "attribute 1: `name` must be"),
        (r#"[{"name": "a.b"}]"#, "attribute 0: `value` is missing"),
        (r#"[{"name": "a.b", "value": 1, "ttl": 3}]"#, "attribute 0: `ttl` is unknown"),
        (r#"[{"name": "a.b", "value": 1, "arguments": 3}]"#, "attribute 0: `arguments` must be an array"),
        (r#"[{"name": "a.b", "value": 1, "until": "tomorrow"}]"#, "attribute 0: `until` must be a time"),
    ] {
        let file = Published::new("wrong", text);
        let started = durward_sources::Sources::start(&file.settings(), &crate::world::clock());
        let message = started.unwrap_err().to_string();
        assert!(message.contains("sources.published"), "{message}");
        assert!(problem == "error" || message.contains(problem), "{text}: {message}");
    }
}
