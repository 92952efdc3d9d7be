//! What nobody should get a code or a token with.

use super::world::{CALLBACK, VERIFIER, World, exchange, request};

#[test]
fn a_browser_is_sent_to_no_address_that_the_client_does_not_have() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    let of_path = format!("{CALLBACK}/x");
    let of_query = format!("{CALLBACK}?x=1");
    for uri in [
        "https://evil.example/cb",
        "https://app.example.evil.example/cb",
        "https://app.example@evil.example/cb",
        "https://app.example/CB",
        "http://app.example/cb",
        "https://app.example:444/cb",
        "http://127.0.0.1:1/else",
        "http://localhost/cb",
        "javascript:alert(1)",
        "https://shop.example/cb",
        "",
        &of_path,
        &of_query,
    ] {
        browser.authorize(&[("redirect_uri", uri)]).stays();
        // Nor with an error.
        browser.authorize(&[("redirect_uri", uri), ("response_type", "token")]).stays();
    }
    browser.authorize(&[("client_id", "nobody")]).stays();
    browser.authorize(&[("client_id", "orders")]).stays();
    let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example%2F", request(&[]));
    browser.get(&format!("/oauth2/authorize?{twice}")).stays();
}

#[test]
fn what_is_wrong_otherwise_is_told_to_the_client() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    for (changes, error) in [
        (vec![("response_type", "token")], "unsupported_response_type"),
        (vec![("response_type", "code id_token")], "unsupported_response_type"),
        (vec![("response_type", "")], "invalid_request"),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("request", "e30.e30.")], "request_not_supported"),
        (vec![("code_challenge", ""), ("code_challenge_method", "")], "invalid_request"),
        (vec![("code_challenge_method", "plain")], "invalid_request"),
        (vec![("code_challenge_method", "")], "invalid_request"),
        (vec![("code_challenge", "short")], "invalid_request"),
        (vec![("prompt", "sometimes")], "invalid_request"),
    ] {
        let back = browser.authorize(&changes);
        assert_eq!(back.error(), error, "{changes:?}");
        assert_eq!(back.back().1["state"], "s&t=1");
    }
}

#[test]
fn a_code_is_worth_nothing_without_what_its_challenge_was_made_of() {
    let world = World::new();
    let (_, code) = world.logged_in();
    let with = |verifier: &str| {
        let mut form = exchange(&code);
        form[3] = ("code_verifier", verifier);
        world.token(&form)
    };
    let long = VERIFIER.repeat(3);
    for wrong in ["", "x", &VERIFIER[1..], "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl", &long] {
        with(wrong).is_refused(400, "invalid_grant");
    }
    // Whoever does not have it does not use up the code either.
    assert_eq!(with(VERIFIER).status, 200);
}

#[test]
fn one_client_gets_nothing_for_the_code_or_token_of_another() {
    let world = World::new();
    let (_, code) = world.logged_in();
    let mut form = exchange(&code);
    form[1] = ("client_id", "asks");
    world.token(&form).is_refused(400, "invalid_grant");
    let of_shop = [
        ("grant_type", "authorization_code"),
        ("redirect_uri", CALLBACK),
        ("code", code.as_str()),
        ("code_verifier", VERIFIER),
    ];
    world.ask("shop", "/oauth2/token", &of_shop).is_refused(400, "invalid_grant");
    let refresh = world.exchange(&code).member("refresh_token");
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
    world.ask("shop", "/oauth2/token", &form).is_refused(400, "invalid_grant");
    world.ask("orders", "/oauth2/token", &form).is_refused(400, "unauthorized_client");
    assert_eq!(world.refresh(&refresh).status, 200);
}

#[test]
fn no_text_passes_for_another_or_for_one_that_was_changed() {
    let world = World::new();
    let (browser, code) = world.logged_in();
    for place in (0..code.len()).step_by(7) {
        let mut other = code.clone().into_bytes();
        other[place] = if other[place] == b'A' { b'B' } else { b'A' };
        world.exchange(&String::from_utf8(other).unwrap()).is_refused(400, "invalid_grant");
    }
    let session = browser.session().unwrap().to_owned();
    for wrong in ["", "AAAA", &code[1..], &session, &format!("{code}A")] {
        let refused = world.exchange(wrong);
        assert_eq!(refused.status, 400, "{}", refused.text);
    }
    let tokens = world.exchange(&code);
    let (access, refresh, id) =
        (tokens.member("access_token"), tokens.member("refresh_token"), tokens.member("id_token"));
    world.refresh(&code).is_refused(400, "invalid_grant");
    world.exchange(&refresh).is_refused(400, "invalid_grant");
    for wrong in [&id, &refresh, &session, &code] {
        assert_eq!(world.userinfo(wrong).status, 401);
    }
    assert_eq!(world.userinfo(&access).status, 200);
    let told = world.ask("orders", "/oauth2/introspect", &[("token", &id)]);
    assert_eq!(told.json()["active"], false);
    // A client that keeps no secret is nobody who may ask.
    let form = [("client_id", "app"), ("token", access.as_str())];
    let body = crate::oauth::world::encoded(&form);
    let reply = super::world::send(&world.server, "POST", "/oauth2/introspect", &[super::world::FORM], &body);
    reply.is_refused(401, "invalid_client");
}

/// RFC 6750, 2: a request shows a token in one way.
#[test]
fn userinfo_takes_a_token_once_and_from_a_form_as_from_the_header() {
    let world = World::new();
    let (_, code) = world.logged_in();
    let access = world.exchange(&code).member("access_token");
    let ask = |method: &str, path: &str, headers: &[(&str, &str)], form: &[(&str, &str)]| {
        let body = crate::oauth::world::encoded(form);
        super::world::send(&world.server, method, path, headers, &body).status
    };
    let bearer = format!("Bearer {access}");
    let (form, shown) = (super::world::FORM, ("Authorization", bearer.as_str()));
    let token = ("access_token", access.as_str());
    assert_eq!(ask("POST", "/oauth2/userinfo", &[form], &[token]), 200);
    assert_eq!(ask("POST", "/oauth2/userinfo", &[form, shown], &[("x", "y")]), 200);
    assert_eq!(ask("POST", "/oauth2/userinfo", &[form, shown], &[token]), 400);
    assert_eq!(ask("POST", "/oauth2/userinfo", &[form], &[token, token]), 400);
    assert_eq!(ask("POST", "/oauth2/userinfo", &[form], &[("access_token", "a\nb")]), 400);
    for wrong in ["x", &access[1..], code.as_str()] {
        assert_eq!(ask("POST", "/oauth2/userinfo", &[form], &[("access_token", wrong)]), 401);
    }
    // Nowhere else: addresses end in logs, and other bodies are no forms.
    let query = format!("/oauth2/userinfo?access_token={access}");
    assert_eq!(ask("GET", &query, &[], &[]), 401);
    assert_eq!(ask("POST", &query, &[form], &[]), 401);
    assert_eq!(ask("POST", "/oauth2/userinfo", &[("Content-Type", "text/plain")], &[token]), 401);
}

#[test]
fn a_form_is_good_in_its_browser_alone_and_for_its_time() {
    let world = World::new();
    let fields = [("username", "anna"), ("password", "secret")];
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    browser.post("/oauth2/login", &fields).stays();
    browser.post("/oauth2/login", &[&fields[..], &[("csrf", "x")]].concat()).stays();
    let csrf = form.csrf();
    let whole = [&fields[..], &[("csrf", csrf.as_str())]].concat();
    // Somebody who gives their own form to another browser, so that it works under their name from then on.
    let mut other = world.browser();
    other.post("/oauth2/login", &whole).stays();
    let _ = other.authorize(&[]);
    other.post("/oauth2/login", &whole).stays();
    assert_eq!(other.session(), None);
    let body = crate::oauth::world::encoded(&whole);
    for site in ["cross-site", "same-site"] {
        let headers = [super::world::FORM, ("Sec-Fetch-Site", site)];
        browser.send("POST", "/oauth2/login", &headers, &body).stays();
    }
    // The form of a logout is none of a login.
    assert_eq!(browser.get(&format!("/oauth2/login?{body}")).status, 405);
    world.pass(16 * 60);
    browser.post("/oauth2/login", &whole).stays();
    let fresh = browser.authorize(&[]);
    assert!(!browser.login(&fresh, "anna").code().is_empty());
}

#[test]
fn a_request_of_another_site_ends_no_login_that_is_under_way() {
    let world = World::new();
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    // Browsers send no cookies with it.
    let asked = request(&[("state", "a b&c=%")]);
    let post = |body: &str| {
        let headers = [super::world::FORM, ("Sec-Fetch-Site", "cross-site")];
        super::world::send(&world.server, "POST", "/oauth2/authorize", &headers, body)
    };
    let seen = post(&asked);
    seen.sets_no_cookie();
    let (place, parameters) = seen.back();
    assert_eq!((place.as_str(), parameters["state"].as_str()), ("/oauth2/authorize", "a b&c=%"));
    let other = browser.get(seen.location.as_deref().unwrap());
    assert!(!browser.login(&form, "anna").code().is_empty());
    assert_eq!(browser.login(&other, "anna").back().1["state"], "a b&c=%");
    // With its cookies, a POST is answered at once.
    let headers = [super::world::FORM, ("Sec-Fetch-Site", "same-origin")];
    assert!(!browser.send("POST", "/oauth2/authorize", &headers, &asked).code().is_empty());
    let long = "x".repeat(8 * 1024);
    post(&request(&[("login_hint", &long)])).stays();
}

/// Each grant that is ended is remembered on all nodes, and a session may have any number of them.
#[test]
fn a_session_of_which_too_many_grants_were_ended_ends() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    for number in 0..=100 {
        let back = browser.authorize(&[("prompt", "none")]);
        let code = back.code();
        assert_eq!(world.exchange(&code).status, 200, "{number}");
        world.exchange(&code).is_refused(400, "invalid_grant");
    }
    assert_eq!(browser.authorize(&[("prompt", "none")]).error(), "login_required");
}

#[test]
fn a_consent_counts_for_the_session_that_was_asked() {
    let world = World::new();
    let (mut browser, _) = world.logged_in();
    let asks = [("client_id", "asks"), ("redirect_uri", "https://asks.example/cb"), ("scope", "openid")];
    let form = browser.authorize(&asks);
    let login = browser.authorize(&[("prompt", "login")]);
    browser.login(&login, "carl");
    browser.answer(&form, &[("consent", "yes")]).stays();
}

#[test]
fn a_password_is_not_passed_over_by_the_form_of_a_step_behind_it() {
    let world = World::new();
    let mut browser = world.browser();
    let form = browser.authorize(&[]);
    let code = world.totp.code(world.now());
    for fields in [
        vec![("code", code.as_str())],
        vec![("consent", "yes")],
        vec![("username", "berta"), ("code", &code)],
    ] {
        let again = browser.answer(&form, &fields);
        assert!(again.text.contains("name=\"password\""), "{}", again.text);
    }
    assert_eq!(browser.session(), None);
}

#[test]
fn tokens_of_a_session_end_with_it() {
    let world = World::new();
    let (browser, code) = world.logged_in();
    let tokens = world.exchange(&code);
    let bearer = format!("Bearer {}", browser.session().unwrap());
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    assert_eq!(world.server.send("POST", "/v1/sessions/logout", &headers, b"{}").status, 200);
    assert_eq!(world.userinfo(&tokens.member("access_token")).status, 401);
    world.refresh(&tokens.member("refresh_token")).is_refused(400, "invalid_grant");
    let mut browser = browser;
    assert_eq!(browser.authorize(&[("prompt", "none")]).error(), "login_required");
}
