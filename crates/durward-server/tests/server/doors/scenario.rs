//! One scenario, through every real gateway: who gets to the application, and what it learns of them.

use super::gateways::{Gateway, KINDS, Kind};
use super::world::{App, World, field, request, status};

/// The commands of the manual, and what they are to show.
#[test]
fn each_gateway_is_set_up_as_the_manual_says() {
    let world = World::start("login = 'https://id.example.org/login?goto={target}'", "");
    let app = App::start();
    for kind in KINDS {
        let Some(gateway) = Gateway::start(kind, world.server.address, &app) else { continue };
        who_gets_through(kind, &gateway, &world, &app);
        who_is_sent_elsewhere(kind, &gateway, &app);
    }
}

fn who_gets_through(kind: Kind, gateway: &Gateway, world: &World, app: &App) {
    let at = gateway.address;
    let (anna, berta) = (format!("Bearer {}", world.anna), format!("Bearer {}", world.berta));
    let cookie = format!("theme=dark; durward_session={}", world.anna);
    let before = app.seen().len();
    for (line, credentials, expected) in [
        ("GET /papers/7", None, 401),
        ("GET /papers/7", Some(("Authorization", berta.as_str())), 403),
        ("GET /papers/7", Some(("Authorization", "Bearer nonsense")), 401),
        ("GET /secret", Some(("Authorization", anna.as_str())), 403),
        ("DELETE /papers/7", Some(("Authorization", anna.as_str())), 403),
        ("GET /papers/7/", Some(("Cookie", "durward_session=over")), 401),
    ] {
        let answer = request(at, line, &credentials.into_iter().collect::<Vec<_>>());
        assert_eq!(status(&answer), expected, "{kind:?} {line}: {answer}");
        if expected == 401 {
            assert_eq!(field(&answer, "www-authenticate").as_deref(), Some("Bearer"), "{kind:?}: {answer}");
        }
    }
    assert_eq!(app.seen().len(), before, "{kind:?}: nothing came to the application");
    for credentials in [("Authorization", anna.as_str()), ("Cookie", cookie.as_str())] {
        let answer = request(at, "GET /papers/7?x=1&y=%2F", &[credentials]);
        assert_eq!(status(&answer), 200, "{kind:?}: {answer}");
        let told = answer.split_once("\r\n\r\n").unwrap().1;
        assert!(told.starts_with("GET /papers/7?x=1&y=%2F HTTP/1."), "{kind:?}: {told}");
        assert_eq!(field(told, "x-auth-user").as_deref(), Some("anna"), "{kind:?}: {told}");
        assert_eq!(field(told, "x-auth-groups").as_deref(), Some("staff"), "{kind:?}: {told}");
    }
    let answer = request(at, "GET /", &[]);
    assert_eq!(status(&answer), 200, "{kind:?}: {answer}");
}

fn who_is_sent_elsewhere(kind: Kind, gateway: &Gateway, app: &App) {
    let before = app.seen().len();
    let answer = request(gateway.address, "GET /papers/7?x=1", &[("Accept", "text/html")]);
    let location = field(&answer, "location").unwrap_or_default();
    assert_eq!(status(&answer), 302, "{kind:?}: {answer}");
    assert!(
        location.starts_with("https://id.example.org/login?goto=http%3A%2F%2Fpapers.example.org")
            && location.ends_with("%2Fpapers%2F7%3Fx%3D1"),
        "{kind:?}: {location}"
    );
    assert_eq!(app.seen().len(), before, "{kind:?}");
}
