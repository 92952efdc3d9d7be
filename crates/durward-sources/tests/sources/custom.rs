//! Attributes of one's own services.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use durward_sources::SourceSettings;

use crate::service::{Service, response};
use crate::world::{World, attribute, surroundings};

fn settings(toml: &str) -> SourceSettings {
    toml::from_str(toml).unwrap()
}

#[tokio::test]
async fn an_attribute_of_a_service_is_a_part_of_its_answer() {
    let service = Service::saying(200, "application/json", r#"{"data": [{"department": "R&D"}]}"#).await;
    let settings = settings(&format!(
        r#"
        [attributes."hr.department"]
        url = "{}/people/{{entity}}/at/{{0}}?active=true"
        headers = {{ x-caller = "durward" }}
        secret = "hr"
        pointer = "/data/0/department"
        "#,
        service.url()
    ));
    let secrets = format!(
        r#"{{"http": {{"hr": {{"allowedBaseUrls": ["{}/people"], "headers": {{"Authorization": "Bearer SECRET"}}}}}}}}"#,
        service.url()
    );
    let world = World::with(&settings, surroundings("{}", &secrets));
    let mut asked = world.ask(attribute(Some(r#""alice/bob?""#), "hr.department", &["7"]));
    assert_eq!(asked.next().await, r#""R&D""#);
    let seen = &service.seen()[0];
    assert_eq!(seen.target, "/people/alice%2Fbob%3F/at/7?active=true");
    assert_eq!(
        (seen.header("authorization"), seen.header("x-caller")),
        (vec!["Bearer SECRET"], vec!["durward"])
    );
    // What a server could take for a way up is not sent along with credentials.
    let message = world.ask(attribute(Some(r#""alice/../bob""#), "hr.department", &["7"])).next().await;
    assert!(message.contains("the secret `hr` may not be sent"), "{message}");
    // With another number of arguments, or of nobody, it is another attribute.
    for (entity, arguments) in [(Some(r#""a""#), &[][..]), (None, &["7"][..])] {
        assert_eq!(world.ask(attribute(entity, "hr.department", arguments)).next().await, "undefined");
    }
}

#[tokio::test]
async fn a_body_is_filled_with_values() {
    let service =
        Service::start(|seen| Box::pin(async move { response(200, "application/json", seen.body) })).await;
    let settings = settings(&format!(
        r#"
        [attributes."risk.score"]
        url = "{}/score"
        method = "post"
        body = '{{"who": {{entity}}, "how": [{{0}}]}}'
        "#,
        service.url()
    ));
    let world = World::with(&settings, surroundings("{}", "{}"));
    let mut asked = world.ask(attribute(Some(r#"{"name": "alice"}"#), "risk.score", &[r#""\"}""#]));
    assert_eq!(asked.next().await, r#"{"who":{"name":"alice"},"how":["\"}"]}"#);
    assert_eq!(service.seen()[0].header("content-type"), ["application/json"]);
}

#[tokio::test]
async fn a_service_is_polled_and_its_value_outlives_a_failure() {
    let count = Arc::new(AtomicUsize::new(0));
    let service = Service::start(move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let (status, body) = if number == 1 { (503, "{}".into()) } else { (200, number.to_string()) };
        Box::pin(async move { response(status, "application/json", body) })
    })
    .await;
    let settings = settings(&format!("[attributes.\"x.y\"]\nurl = \"{}/\"\npoll_ms = 50\n", service.url()));
    let world = World::with(&settings, surroundings("{}", "{}"));
    let mut invocation = attribute(None, "x.y", &[]);
    invocation.options.retries = 3;
    let mut asked = world.ask(invocation);
    assert_eq!(asked.next().await, "0");
    assert_eq!(asked.next().await, "2");
    assert_eq!(asked.next().await, "3");
}

#[tokio::test]
async fn a_service_that_stays_away_is_an_error() {
    let service = Service::saying(500, "application/json", "{}").await;
    let settings = settings(&format!("[attributes.\"x.y\"]\nurl = \"{}/\"\n", service.url()));
    let world = World::with(&settings, surroundings("{}", "{}"));
    let mut invocation = attribute(None, "x.y", &[]);
    invocation.options.retries = 2;
    let message = world.ask(invocation).next().await;
    assert!(message.contains("after 2 retries") && message.contains("HTTP 500"), "{message}");
    assert_eq!(service.seen().len(), 3);
}
