//! What docs/gateways.md says beside the configurations that run.

use durward_server::Settings;

use super::world::{World, blocks, fields, page};

#[test]
fn the_settings_of_the_page_are_read() {
    let page = page();
    let all = blocks(&page, "toml");
    assert!(all.len() >= 4);
    for block in all {
        let around = if block.contains("[openam]") { "[identity]\nusers = 'users'\n" } else { "" };
        Settings::from_toml(&format!("{around}{block}"), "gateways.md").unwrap();
    }
}

/// The policy of the page that sets a header, with the setting beside it.
#[test]
fn a_policy_of_the_page_sets_a_header() {
    let policy = blocks(&page(), "sapl").swap_remove(2);
    let world = World::start_with("headers = [\"X-Tier\"]", "", |directory| {
        directory.write("policies/slow.sapl", &policy)
    });
    let berta = format!("Bearer {}", world.berta);
    let mut asked = fields("nginx", "GET", "/papers/7");
    asked.push(("Authorization", &berta));
    let reply = world.ask("nginx", &asked);
    assert_eq!((reply.status, reply.header("x-tier")), (200, "slow"), "{}", reply.text());
}

/// Traefik does not run here. Its configuration says what durward relies on, and what it sends then is what it replays: its own fields in the place
/// of the client's, and all others of the client's.
#[test]
fn traefik_is_answered_as_it_asks() {
    let yaml = blocks(&page(), "yaml").swap_remove(0);
    for line in [
        "address: \"http://127.0.0.1:8080/doors/traefik\"",
        "trustForwardHeader: false",
        "- X-Auth-User",
        "- X-Auth-Groups",
    ] {
        assert!(yaml.contains(line), "{line}");
    }
    assert!(!yaml.contains("preserveRequestMethod"));
    let world = World::start("", "");
    let bearer = format!("Bearer {}", world.anna);
    let mut asked = fields("traefik", "GET", "/papers/7?x=1");
    let of_client = [
        ("Authorization", bearer.as_str()),
        ("Accept", "*/*"),
        ("User-Agent", "curl/8.5.0"),
        ("X-Forwarded-Port", "443"),
        ("X-Original-URI", "/"),
        ("X-Auth-User", "root"),
    ];
    asked.extend(of_client);
    let reply = world.ask("traefik", &asked);
    assert_eq!(
        (reply.status, reply.all("x-auth-user"), reply.all("x-auth-groups")),
        (200, vec!["anna"], vec!["staff"])
    );
    for name in ["X_Auth_User", "X-Auth_Groups", "x_auth_groups"] {
        let looks_alike: Vec<_> = asked.iter().copied().chain([(name, "root")]).collect();
        let reply = world.ask("traefik", &looks_alike);
        assert_eq!((reply.status, reply.header("x-durward-reason")), (403, "identity"), "{name}");
    }
    // With `preserveRequestMethod` it asks by the client's method: no answer to that is a yes.
    for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let reply = world.server.send(method, "/doors/traefik", &asked, b"");
        assert_eq!(reply.status, 405, "{method}");
    }
    // With `trustForwardHeader` a client's own fields would stand beside Traefik's, or in their place.
    asked.push(("X-Forwarded-Uri", "/"));
    assert_eq!(world.ask("traefik", &asked).status, 403);
}

/// The tables of what is let through and of reasons are whole.
#[test]
fn the_page_names_what_the_server_says() {
    let page = page();
    for name in
        ["semicolon", "double-slash", "encoded-slash", "encoded-percent", "backslash", "override-headers"]
    {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
        assert!(Settings::from_toml(&format!("doors.allow = ['{name}']"), "t").is_ok(), "{name}");
    }
    for reason in [
        "proxy",
        "fields",
        "target",
        "route",
        "tenant",
        "unauthenticated",
        "identity",
        "policy",
        "obligation",
        "question",
        "unavailable",
    ] {
        assert!(page.contains(&format!("`{reason}`")), "{reason}");
    }
}
