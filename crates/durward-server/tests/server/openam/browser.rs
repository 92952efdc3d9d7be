//! `UI/Login` and `UI/Logout`, as a browser asks for them: who is sent where, and what a page of another site can do.

use std::collections::BTreeMap;

use crate::oauth::world::encoded;
use crate::oidc::world::{FORM, Seen, send};
use crate::openam::world::{RECORDED, World, now};
use crate::support::TestServer;

const TOKEN: &str = "iPlanetDirectoryPro";
const SAME: (&str, &str) = ("Sec-Fetch-Site", "same-origin");
const CROSS: (&str, &str) = ("Sec-Fetch-Site", "cross-site");

/// Keeps cookies as browsers do.
pub(crate) struct Browser<'w> {
    server: &'w TestServer,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl<'w> Browser<'w> {
    fn new(world: &'w World) -> Browser<'w> {
        Browser::of(&world.server)
    }

    pub(crate) fn of(server: &'w TestServer) -> Browser<'w> {
        Browser { server, cookies: BTreeMap::new() }
    }

    fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Seen {
        let pairs = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        let cookies = pairs.collect::<Vec<_>>().join("; ");
        let mut headers = headers.to_vec();
        if !cookies.is_empty() {
            headers.push(("Cookie", &cookies));
        }
        let seen = send(self.server, method, path, &headers, body);
        for cookie in &seen.set_cookies {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if cookie.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        seen
    }

    pub(crate) fn get(&mut self, path: &str) -> Seen {
        self.send("GET", path, &[], "")
    }

    /// Fills in a form of this server.
    pub(crate) fn answer(&mut self, form: &Seen, path: &str, fields: &[(&str, &str)]) -> Seen {
        let csrf = form.csrf();
        let mut all = vec![("csrf", csrf.as_str())];
        all.extend(fields);
        self.send("POST", path, &[FORM, SAME], &encoded(&all))
    }

    pub(crate) fn log_in(&mut self, form: &Seen, user: &str, password: &str) -> Seen {
        self.answer(form, "/openam/UI/Login", &[("username", user), ("password", password)])
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.cookies.get(TOKEN).map(String::as_str)
    }

    /// A browser with a session of `demo`.
    fn logged_in(world: &'w World) -> Browser<'w> {
        let mut browser = Browser::new(world);
        let form = browser.get("/openam/UI/Login");
        assert_eq!(browser.log_in(&form, "demo", "changeit").status, 303);
        browser
    }
}

pub(crate) fn place(seen: &Seen) -> &str {
    assert_eq!(seen.status, 303, "{}", seen.text);
    seen.location.as_deref().unwrap()
}

#[test]
fn a_user_logs_in_and_is_sent_back() {
    let world = World::new(RECORDED);
    let mut browser = Browser::new(&world);
    let path = "/openam/UI/Login?goto=https%3A%2F%2Fapp.openam.local%2Frecords%3Fid%3D7&realm=/";
    let form = browser.get(path);
    assert_eq!(form.status, 200, "{}", form.text);
    assert!(!form.text.contains("<script") && form.text.contains("name=\"password\""), "{}", form.text);
    assert!(form.policy.contains("form-action 'self' https://app.openam.local;"), "{}", form.policy);
    assert!(form.policy.contains("default-src 'none'") && form.policy.contains("frame-ancestors 'none'"));
    let wrong = browser.log_in(&form, "demo", "wrong");
    assert_eq!((wrong.status, browser.token()), (200, None));
    assert!(wrong.text.contains("role=\"alert\"") && wrong.text.contains("value=\"demo\""), "{}", wrong.text);
    let back = browser.log_in(&wrong, "demo", "changeit");
    assert_eq!(place(&back), "https://app.openam.local/records?id=7");
    let cookie = back.set_cookies.iter().find(|cookie| cookie.starts_with(TOKEN)).unwrap();
    assert!(cookie.ends_with("; Domain=openam.local; Path=/; Secure; HttpOnly"), "{cookie}");
    assert!(browser.cookies.contains_key("durward_device"));
    let token = browser.token().unwrap().to_owned();
    assert!(world.is_valid(&token));
    // Whoever has a session is sent on at once, also from another site.
    assert_eq!(place(&browser.get(path)), "https://app.openam.local/records?id=7");
    let from_elsewhere = browser.send("GET", path, &[CROSS], "");
    assert_eq!(place(&from_elsewhere), "https://app.openam.local/records?id=7");
    assert_eq!(place(&browser.get("/openam/UI/Login")), "/openam/console");
    // A new session is asked for: the one before lives until there is another.
    for more in ["&arg=newsession", "&ForceAuth=true"] {
        let before = browser.token().unwrap().to_owned();
        let form = browser.get(&format!("{path}{more}"));
        assert_eq!(form.status, 200, "{more}");
        assert!(world.is_valid(&before), "{more}");
        assert_eq!(
            place(&browser.log_in(&form, "demo", "changeit")),
            "https://app.openam.local/records?id=7"
        );
        assert!(!world.is_valid(&before) && world.is_valid(browser.token().unwrap()), "{more}");
    }
}

#[test]
fn a_second_step_is_asked_for() {
    let world = World::new(RECORDED);
    let mut browser = Browser::new(&world);
    let form = browser.get("/openam/UI/Login?goto=/app");
    let form = browser.log_in(&form, "berta", "changeit");
    assert!(form.text.contains("name=\"code\"") && form.text.contains("berta"), "{}", form.text);
    assert_eq!(browser.token(), None);
    let wrong = browser.answer(&form, "/openam/UI/Login", &[("code", "000000")]);
    assert!(wrong.text.contains("name=\"code\"") && wrong.text.contains("role=\"alert\""), "{}", wrong.text);
    let code = world.totp.code(now());
    let back = browser.answer(&wrong, "/openam/UI/Login", &[("code", &code)]);
    assert_eq!(place(&back), "/app");
    assert!(world.is_valid(browser.token().unwrap()));
}

#[test]
fn nobody_is_sent_to_a_foreign_place() {
    let world = World::new(RECORDED);
    for goto in [
        "//evil.example/",
        "/\\evil.example/",
        "https://evil.example/",
        "https://openam.local.evil.example/",
        "https://openam.local@evil.example/",
        "https://evilopenam.local/",
        "http://app.openam.local/",
        "https://app.openam.local:8443/",
        "https://openam.local:8081/",
        "javascript:alert(1)",
        "data:text/html,x",
        "/app\r\nSet-Cookie: a=b",
        "/app\nx",
        "\thttps://evil.example",
        "",
        "app",
    ] {
        let query = encoded(&[("goto", goto), ("gotoOnFail", goto)]);
        let mut browser = Browser::new(&world);
        let form = browser.get(&format!("/openam/UI/Login?{query}"));
        assert!(form.policy.contains("form-action 'self';"), "{goto:?}: {}", form.policy);
        // Nor where the login fails.
        let wrong = browser.log_in(&form, "demo", "wrong");
        assert_eq!((wrong.status, &wrong.location), (200, &None), "{goto:?}");
        let back = browser.log_in(&form, "demo", "changeit");
        assert_eq!(place(&back), "/openam/console", "{goto:?}");
        assert!(!back.set_cookies.iter().any(|cookie| cookie.starts_with("a=")));
        assert_eq!(place(&browser.get(&format!("/openam/UI/Login?{query}"))), "/openam/console", "{goto:?}");
        let out = browser.get(&format!("/openam/UI/Logout?{query}"));
        assert_eq!((out.status, &out.location, browser.token()), (200, &None, None), "{goto:?}");
    }
}

#[test]
fn an_address_may_be_encoded_and_failures_have_one_of_their_own() {
    let world = World::new(RECORDED);
    let mut browser = Browser::new(&world);
    // `/app?a=b` and `https://evil.example/`.
    let form = browser
        .get("/openam/UI/Login?encoded=true&goto=L2FwcD9hPWI=&gotoOnFail=aHR0cHM6Ly9ldmlsLmV4YW1wbGUv");
    assert_eq!(browser.log_in(&form, "demo", "wrong").status, 200);
    assert_eq!(place(&browser.log_in(&form, "demo", "changeit")), "/app?a=b");
    let mut browser = Browser::new(&world);
    let form = browser.get("/openam/UI/Login?gotoOnFail=https://app.openam.local/failed");
    assert!(form.policy.contains("https://app.openam.local"), "{}", form.policy);
    let failed = browser.log_in(&form, "demo", "wrong");
    assert_eq!((place(&failed), browser.token()), ("https://app.openam.local/failed", None));
    // A browser would not follow a form to two origins.
    let form = browser
        .get("/openam/UI/Login?goto=https://app.openam.local/&gotoOnFail=https://other.openam.local/failed");
    assert_eq!(browser.log_in(&form, "demo", "wrong").status, 200);
}

#[test]
fn a_form_is_good_for_the_browser_that_it_was_given_to() {
    let world = World::new(RECORDED);
    let mut own = Browser::new(&world);
    let form = own.get("/openam/UI/Login?goto=/app");
    let fields = [("username", "demo"), ("password", "changeit")];
    let body = encoded(&[("csrf", form.csrf().as_str()), fields[0], fields[1]]);
    // Another browser, a page of another site, one of a neighbour, and no form at all.
    let mut other = Browser::new(&world);
    other.get("/openam/UI/Login");
    other.send("POST", "/openam/UI/Login", &[FORM, SAME], &body).stays();
    Browser::new(&world).send("POST", "/openam/UI/Login", &[FORM, SAME], &body).stays();
    for site in ["cross-site", "same-site"] {
        own.send("POST", "/openam/UI/Login", &[FORM, ("Sec-Fetch-Site", site)], &body).stays();
    }
    own.get(&format!("/openam/UI/Login?{body}")).stays();
    own.send("POST", "/openam/UI/Login", &[FORM, SAME], &body.replace("csrf=", "csrf=x")).stays();
    // One of OpenID Connect is another form.
    let sealed = world.service.seal("oidc interaction", b"{}").unwrap();
    let foreign = encoded(&[("csrf", sealed.as_str()), fields[0], fields[1]]);
    own.send("POST", "/openam/UI/Login", &[FORM, SAME], &foreign).stays();
    let json = own.send("POST", "/openam/UI/Login", &[("Content-Type", "application/json"), SAME], "{}");
    assert_eq!(json.status, 415);
    assert_eq!(own.token(), None);
    assert_eq!(place(&own.send("POST", "/openam/UI/Login", &[FORM, SAME], &body)), "/app");
}

#[test]
fn a_posted_password_counts_unless_a_page_of_another_site_sent_it() {
    let world = World::new(RECORDED);
    let body = encoded(&[("IDToken1", "demo"), ("IDToken2", "changeit"), ("goto", "/app")]);
    let post = |headers: &[(&str, &str)]| {
        let mut browser = Browser::new(&world);
        let mut all = vec![FORM];
        all.extend(headers);
        let seen = browser.send("POST", "/openam/UI/Login", &all, &body);
        (seen, browser.token().map(str::to_owned))
    };
    let same_site = [("Sec-Fetch-Site", "same-site"), ("Origin", "https://www.openam.local")];
    let own = [SAME, ("Origin", "null")];
    for headers in [&[][..], &[("Origin", "https://app.openam.local")], &same_site, &own] {
        let (seen, token) = post(headers);
        assert_eq!(place(&seen), "/app", "{headers:?}");
        assert!(world.is_valid(&token.unwrap()), "{headers:?}");
    }
    let neighbour = [("Sec-Fetch-Site", "same-site"), ("Origin", "https://evil.example")];
    let hidden = [CROSS, ("Origin", "null")];
    for headers in
        [&[CROSS][..], &[("Origin", "https://evil.example")], &[("Origin", "null")], &neighbour, &hidden]
    {
        let (seen, token) = post(headers);
        // Asked again, without the password, and without a new name for the browser.
        assert_eq!((place(&seen), token), ("/openam/UI/Login?goto=%2Fapp", None), "{headers:?}");
        assert!(seen.set_cookies.is_empty());
    }
    // A second step follows by a form of this server.
    let mut browser = Browser::new(&world);
    let berta = encoded(&[("IDToken1", "berta"), ("IDToken2", "changeit")]);
    let form = browser.send("POST", "/openam/UI/Login", &[FORM], &berta);
    assert!(form.text.contains("name=\"code\""), "{}", form.text);
    let code = world.totp.code(now());
    assert_eq!(place(&browser.answer(&form, "/openam/UI/Login", &[("code", &code)])), "/openam/console");
}

#[test]
fn a_login_is_of_a_realm_and_there_is_no_other_login_than_there_is() {
    let world = World::new(RECORDED);
    let mut browser = Browser::new(&world);
    for query in ["realm=/sales", "realm=sales", "org=/SALES", "domain=sales"] {
        let form = browser.get(&format!("/openam/UI/Login?ForceAuth=true&{query}"));
        assert_eq!(browser.log_in(&form, "demo", "changeit").status, 200, "{query}");
        assert_eq!(browser.log_in(&form, "demo", "salespassword").status, 303, "{query}");
    }
    // A session of one realm is none of another that is asked for.
    assert_eq!(place(&browser.get("/openam/UI/Login?realm=/sales")), "/openam/console");
    assert_eq!(browser.get("/openam/UI/Login?realm=/").status, 200);
    assert_eq!(place(&browser.get("/openam/UI/Login")), "/openam/console");
    for query in [
        "service=ldapService",
        "module=DataStore",
        "authlevel=0",
        "authIndexType=service&authIndexValue=ldapService",
    ] {
        assert_eq!(Browser::new(&world).get(&format!("/openam/UI/Login?{query}")).status, 200, "{query}");
    }
    for query in [
        "realm=/nope",
        "service=strong",
        "module=Cert",
        "authlevel=2",
        "authlevel=x",
        "role=x",
        "user=demo",
        "sunamcompositeadvice=%3CAdvices%2F%3E",
        "service=ldapService&module=DataStore",
        "authIndexType=service&authIndexValue=strong",
        "goto=/a&goto=/b",
        "goto=%zz",
    ] {
        Browser::new(&world).get(&format!("/openam/UI/Login?{query}")).stays();
    }
    // What the query says, the form cannot say again.
    let twice = Browser::new(&world).send("POST", "/openam/UI/Login?goto=/a", &[FORM, SAME], "goto=/b");
    twice.stays();
}

#[test]
fn a_logout_ends_the_session_and_sends_on() {
    let world = World::new(RECORDED);
    for (path, expected) in [
        ("/openam/UI/Logout?goto=https%3A%2F%2Fapp.openam.local%2Fbye", Some("https://app.openam.local/bye")),
        ("/UI/Logout?goto=/bye", Some("/bye")),
        ("/openam/UI/Logout?realm=/", None),
    ] {
        let mut browser = Browser::logged_in(&world);
        let token = browser.token().unwrap().to_owned();
        let head = browser.send("HEAD", path, &[], "");
        assert_eq!(head.status, 405);
        assert!(world.is_valid(&token));
        let out = browser.get(path);
        assert_eq!(out.location.as_deref(), expected, "{path}");
        assert_eq!(out.status, if expected.is_some() { 303 } else { 200 }, "{path}");
        assert!(!world.is_valid(&token) && browser.token().is_none(), "{path}");
        // Once more, without a session.
        assert_eq!(browser.get(path).location.as_deref(), expected, "{path}");
    }
}

#[test]
fn a_page_of_another_site_logs_nobody_out_without_their_word() {
    let world = World::new(RECORDED);
    let mut browser = Browser::logged_in(&world);
    let token = browser.token().unwrap().to_owned();
    let asked = browser.send("GET", "/openam/UI/Logout?goto=/bye", &[CROSS], "");
    assert_eq!((asked.status, &asked.location), (200, &None));
    let posted = browser.send("POST", "/openam/UI/Logout", &[FORM, CROSS], "goto=/bye");
    assert_eq!(posted.status, 200);
    assert!(world.is_valid(&token));
    // Browsers send their cookie with no form of another site: it must not be taken from them either.
    let mut without = Browser::new(&world);
    let posted = without.send("POST", "/openam/UI/Logout", &[FORM, CROSS], "goto=/bye");
    assert_eq!((posted.status, place(&posted)), (303, "/openam/UI/Logout?goto=%2Fbye"));
    assert!(posted.set_cookies.is_empty());
    assert!(without.send("GET", "/openam/UI/Logout?goto=/bye", &[CROSS], "").set_cookies.is_empty());
    // Nor with the form of another browser, or sent from elsewhere.
    let mut other = Browser::logged_in(&world);
    let foreign = other.send("GET", "/openam/UI/Logout", &[CROSS], "");
    browser.answer(&foreign, "/openam/UI/Logout", &[]).stays();
    let body = encoded(&[("csrf", asked.csrf().as_str())]);
    browser.send("POST", "/openam/UI/Logout", &[FORM, CROSS], &body).stays();
    browser.get(&format!("/openam/UI/Logout?{body}")).stays();
    assert!(world.is_valid(&token));
    assert_eq!(place(&browser.answer(&asked, "/openam/UI/Logout", &[])), "/bye");
    assert!(!world.is_valid(&token) && browser.token().is_none());
}

/// The cookie is for TLS: a browser that asks without it shows none, and has its session still.
#[test]
fn nobody_is_told_that_they_are_logged_out_where_their_cookie_is_not_sent() {
    let world = World::new(RECORDED);
    let mut browser = Browser::logged_in(&world);
    let token = browser.token().unwrap().to_owned();
    let agent = ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0");
    for path in ["/openam/UI/Logout", "/openam/UI/Logout?goto=/bye"] {
        let seen = Browser::new(&world).send("GET", path, &[agent], "");
        assert_eq!((seen.status, &seen.location, seen.set_cookies.len()), (400, &None, 0), "{path}");
        assert!(seen.text.contains("https"), "{}", seen.text);
        // On a safe address, or behind a proxy with TLS, there is none to be shown.
        for says in [SAME, ("X-Forwarded-Proto", "https")] {
            let seen = Browser::new(&world).send("GET", path, &[agent, says], "");
            assert_ne!(seen.status, 400, "{path}");
        }
    }
    assert!(world.is_valid(&token));
    browser.send("GET", "/openam/UI/Logout", &[agent], "");
    assert!(!world.is_valid(&token), "who shows the cookie is logged out");
}

#[test]
fn other_addresses_of_openam_lead_to_the_login() {
    let world = World::new(RECORDED);
    let mut browser = Browser::new(&world);
    for path in
        ["/openam", "/openam/", "/openam/XUI/", "/openam/XUI", "/openam/XUI/index.html", "/openam/console"]
    {
        assert_eq!(place(&browser.get(path)), "/openam/UI/Login", "{path}");
        assert_eq!(
            place(&browser.get(&format!("{path}?goto=/app&realm=/"))),
            "/openam/UI/Login?goto=/app&realm=/"
        );
    }
    assert_eq!(browser.get("/UI/Login?goto=/app").status, 200);
    for path in
        ["/openam/UI", "/openam/UI/login", "/openam/UI/Login/", "/openam/XUI/app.js", "/UI", "/openamx"]
    {
        assert_eq!(browser.get(path).status, 404, "{path}");
    }
    // Who has a session may end it where OpenAM has its console.
    let mut browser = Browser::logged_in(&world);
    let offered = browser.get("/openam/console");
    assert_eq!(offered.status, 200, "{}", offered.text);
    let token = browser.token().unwrap().to_owned();
    let out = browser.answer(&offered, "/openam/UI/Logout", &[]);
    assert_eq!((out.status, browser.token()), (200, None), "{}", out.text);
    assert!(!world.is_valid(&token));
}

#[test]
fn of_two_cookies_that_differ_neither_counts() {
    let world = World::new(RECORDED);
    let (one, other) = (world.token("demo"), world.token("demo"));
    let both = format!("{TOKEN}={one}; {TOKEN}={other}");
    let cookie = [("Cookie", both.as_str())];
    assert_eq!(send(&world.server, "GET", "/openam/UI/Login", &cookie, "").status, 200);
    assert_eq!(send(&world.server, "GET", "/openam/UI/Logout", &cookie, "").status, 200);
    assert!(world.is_valid(&one) && world.is_valid(&other));
}
