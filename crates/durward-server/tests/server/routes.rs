//! The table of routes in `docs/routes.md` is the router's own list, and the router keeps to it.

use std::collections::BTreeSet;
use std::fs;

use durward_server::{OPA_ROUTES, OPENAM_ROUTES, ROUTES};

use crate::scim::OKTA;
use crate::support::{Directory, TestServer, workspace};

/// The rows of a Markdown table: path, methods, who, what.
fn rows() -> BTreeSet<Vec<String>> {
    let text = fs::read_to_string(workspace("docs/routes.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `/"));
    rows.map(|row| {
        let row = format!("/{}", row.trim_end().trim_end_matches('|'));
        row.split('|').map(|cell| cell.trim().trim_matches('`').to_string()).collect()
    })
    .collect()
}

#[test]
fn every_route_has_a_row_and_every_row_a_route() {
    let routes: BTreeSet<Vec<String>> = ROUTES
        .iter()
        .map(|route| {
            vec![
                route.path.into(),
                route.methods.join(", "),
                route.who.replace('`', ""),
                route.what.replace('`', ""),
            ]
        })
        .chain(OPENAM_ROUTES.iter().chain(OPA_ROUTES).map(|(path, methods, who, what)| {
            [path, methods, who, what].map(|cell| cell.replace('`', "")).to_vec()
        }))
        .collect();
    let rows = rows().into_iter().map(|row| row.iter().map(|cell| cell.replace('`', "")).collect()).collect();
    assert_eq!(routes, rows, "docs/routes.md differs from the router");
}

#[test]
fn methods_that_are_not_in_the_table_are_refused_with_those_that_are() {
    let users = Directory::new();
    let server = TestServer::start(&format!(
        "plan.columns.rows = {{}}\ndoors.on = true\nxacml.wso2_paths = true\nxacml.authzforce_domain = 'd'\nsapl.http = true\nauthzen.on = true\nauth.danger_allow_no_auth = true\noauth.issuer = 'http://localhost'\nkubernetes = {{ on = true, callers.from = ['127.0.0.1'] }}\n\
         brokers = {{ rabbitmq = true, emqx = true, callers.from = ['127.0.0.1'] }}\nidentity.scim.on = true\nidentity.users = '{}'\n{}\n\
         [[identity.upstreams]]\nid = 'corp'\nissuer = 'https://idp.invalid'\nclient_id = 'd'",
        users.path("users").display(),
        OKTA
    ));
    for route in ROUTES {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
            let path = route.path.split(['{', '}']);
            let path: String =
                path.enumerate().map(|(at, part)| if at % 2 == 1 { "d" } else { part }).collect();
            let reply = server.send(method, &path, &[], b"");
            let is_allowed = route.methods.contains(&method);
            assert_eq!(reply.status != 405, is_allowed, "{method} {}: {}", route.path, reply.status);
            let is_asked = method == "OPTIONS" && !route.path.starts_with("/doors/envoy/");
            if !is_allowed || is_asked {
                assert_eq!(reply.header("allow"), route.methods.join(", "));
            }
        }
    }
}

#[test]
fn a_path_that_is_not_in_the_table_is_not_there() {
    let server = TestServer::start("");
    for path in [
        "/pdp/",
        "/PDP",
        "//pdp",
        "/health",
        "/pdp%00",
        "/metrics/x",
        "/domains/d/pdp",
        "/domains/{domain}/pdp",
        "/api/identity/entitlement/decision/pdp",
    ] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.get("/health/live?verbose=1").status, 200);
}

#[test]
fn what_is_not_there_says_where_to_go_or_what_to_set() {
    let server = TestServer::start("sapl.http = false");
    let domain = TestServer::start("xacml.authzforce_domain = 'secret'");
    for (server, path, words) in [
        (&server, "/nowhere", "decisions are made at /pdp, and / lists"),
        (&domain, "/nowhere", "/api/pdp/decide-once (SAPL)"),
        (&server, "/api/pdp/decide", "`sapl.http`"),
        (&server, "/v1/login", "`identity.users` or `[[identity.ldap]]` opens it"),
        (&server, "/v1/users/anna", "`identity.users` or `[[identity.ldap]]` opens it"),
        (&server, "/scim/v2/Users/7", "`identity.scim.on` opens it"),
        (&server, "/oauth2/token", "`oauth.issuer` opens it"),
        (&server, "/.well-known/jwks.json", "`oauth.issuer` opens it"),
        (&server, "/api/identity/entitlement/decision/pdp", "`xacml.wso2_paths` opens it"),
        (&server, "/domains/d/pdp", "`xacml.authzforce_domain` opens it"),
        (&server, "/authzforce-ce/domains/d/pdp", "`xacml.authzforce_domain` opens it"),
        (&domain, "/domains/d/pdp", "there is nothing here"),
        (&server, "/doors/kubernetes/authorize", "`kubernetes.on` opens it"),
        (&server, "/doors/rabbitmq/user", "`brokers.rabbitmq` opens it"),
        (&server, "/doors/emqx/authorization", "`brokers.emqx` opens it"),
        (&server, "/opa/v1/data/trino/allow", "`opa.on` opens it"),
        (&server, "/openam/json/authenticate", "`openam.on` opens it"),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 404, "{path}");
        let form =
            if path.starts_with("/api/pdp/") { "application/json" } else { "application/problem+json" };
        assert_eq!(reply.header("content-type"), form, "{path}");
        let text = reply.text();
        assert!(text.contains(words) && text.len() < 300, "{path}: {text}");
        assert!(!text.contains("secret"), "{text}");
    }
    let reply = server.send("GET", "/nowhere", &[("Accept", "application/xml")], b"");
    assert_eq!(reply.header("content-type"), "application/problem+xml");
}
