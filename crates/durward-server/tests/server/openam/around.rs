//! The calls around the recorded ones: other methods, missing parameters, other realms, whose session it is.

use durward_server::Settings;
use durward_session::ServiceSettings;
use serde_json::{Value, json};

use super::world::{RECORDED, World};
use crate::support::{DOCTORS_READ, Directory, Reply, clock, settings};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const ONE: (&str, &str) = ("Accept-API-Version", "resource=1.2");
const TWO: (&str, &str) = ("Accept-API-Version", "resource=2.0");

fn message(reply: &Reply) -> (u16, String) {
    let body = reply.json();
    assert_eq!(body["code"], reply.status, "{body}");
    (reply.status, body["message"].as_str().unwrap().to_owned())
}

fn by(token: &str) -> (&str, &str) {
    ("iPlanetDirectoryPro", token)
}

#[test]
fn realms_have_users_and_sessions_of_their_own() {
    let world = World::new(RECORDED);
    let paths = [
        "/json/sales/authenticate",
        "/json/realms/root/realms/sales/authenticate",
        "/json/authenticate?realm=/sales",
        "/json/authenticate?realm=sales",
    ];
    for path in paths {
        let reply = world.login_at(path, "demo", "salespassword");
        assert_eq!((reply.status, &reply.json()["realm"]), (200, &"/sales".into()), "{path}");
        assert_eq!(world.login_at(path, "demo", "changeit").status, 401, "{path}");
        let token = reply.json()["tokenId"].as_str().unwrap().to_owned();
        let valid = world.post(&format!("/json/sessions/{token}?_action=validate"), &[ONE], "").json();
        assert_eq!(valid, json!({"valid": true, "uid": "demo", "realm": "/sales"}));
        let info = world.post("/json/sessions?_action=getSessionInfo", &[by(&token)], "").json();
        assert_eq!(info["universalId"], "id=demo,ou=user,o=sales,ou=services,dc=openam,dc=local");
    }
    assert_eq!(world.login_at("/json/authenticate", "demo", "salespassword").status, 401);
    let unknown = world.login_at("/json/authenticate?realm=/nope", "demo", "changeit");
    assert_eq!(message(&unknown), (400, "Invalid realm, /nope".to_owned()));
    let unknown = world.login_at("/json/realms/root/realms/nope/authenticate", "demo", "changeit");
    assert_eq!(message(&unknown), (404, "Realm &quot;/nope&quot; not found".to_owned()));
    let unknown = world.post("/json/nope/sessions?_action=validate", &[ONE], "");
    assert_eq!(message(&unknown), (404, "Resource &#39;nope/sessions&#39; not found".to_owned()));
    assert_eq!(world.post("/json/nope/authenticate", &[JSON], "{\"a\":1}").status, 404);
}

#[test]
fn administrators_of_a_realm_have_no_say_in_others() {
    let world = World::new(RECORDED);
    let chief = world.login_at("/json/sales/authenticate", "chief", "chiefpassword").json();
    let chief = chief["tokenId"].as_str().unwrap().to_owned();
    let demo = world.token("demo");
    for action in ["isActive", "getMaxTime", "getIdle", "getMaxSessionTime"] {
        let reply =
            world.post(&format!("/json/sessions?_action={action}&tokenId={demo}"), &[ONE, by(&chief)], "");
        assert_eq!(reply.status, 403, "{action}");
    }
    let listed =
        world.server.send("GET", "/openam/json/sessions?_queryId=all", &[ONE, by(&chief)], b"").json();
    assert_eq!(listed["resultCount"], 1, "{listed}");
    assert_eq!(listed["result"][0]["userid"], "chief");
}

#[test]
fn the_session_of_another_is_nobodys_business_but_an_administrators() {
    let world = World::new(RECORDED);
    let (demo, admin) = (world.token("demo"), world.token("amadmin"));
    let of_admin = format!("tokenId={admin}");
    for action in ["getTimeLeft", "getMaxIdle", "getProperty", "getPropertyNames", "setProperty"] {
        let own = world.post(&format!("/json/sessions?_action={action}"), &[ONE, by(&demo)], "{}");
        assert!(own.status == 200 || action == "setProperty", "{action}: {}", own.text());
        let named =
            world.post(&format!("/json/sessions?_action={action}&{of_admin}"), &[ONE, by(&demo)], "{}");
        assert_eq!(named.status, 403, "{action}");
        let in_path =
            world.post(&format!("/json/sessions/{admin}?_action={action}"), &[ONE, by(&demo)], "{}");
        assert_eq!(in_path.status, 403, "{action} by path");
        let garbage =
            world.post(&format!("/json/sessions?_action={action}&tokenId=x"), &[ONE, by(&demo)], "{}");
        assert_eq!(garbage.status, 403, "{action}");
    }
    let numbers =
        [("getMaxTime", "maxtime"), ("getIdle", "idletime"), ("getMaxSessionTime", "maxsessiontime")];
    for (action, name) in numbers {
        let dead = world.post(&format!("/json/sessions?_action={action}&tokenId=x"), &[ONE, by(&admin)], "");
        assert_eq!((dead.status, dead.json()), (200, json!({name: -1})));
    }
    let longest = world.post("/json/sessions?_action=getMaxSessionTime", &[ONE, by(&admin)], "");
    assert_eq!(longest.json(), json!({"maxsessiontime": 120}));
}

#[test]
fn tokens_are_taken_from_the_parameter_then_the_cookie_then_the_header() {
    let world = World::new(RECORDED);
    let (demo, admin) = (world.token("demo"), world.token("amadmin"));
    let cookie = format!("other=1; iPlanetDirectoryPro=\"{demo}\"; last=2");
    let uid = |path: &str, headers: &[(&str, &str)]| {
        world.post(path, headers, "").json()["uid"].as_str().map(str::to_owned)
    };
    let validate = "/json/sessions?_action=validate";
    assert_eq!(uid(validate, &[ONE, ("Cookie", &cookie), by(&admin)]), Some("demo".to_owned()));
    assert_eq!(uid(validate, &[ONE, by(&admin)]), Some("amadmin".to_owned()));
    let named = format!("{validate}&tokenId={admin}");
    assert_eq!(uid(&named, &[ONE, ("Cookie", &cookie)]), Some("amadmin".to_owned()));
    assert_eq!(uid("/json/sessions?_action=VALIDATE", &[ONE, by(&admin)]), Some("amadmin".to_owned()));
    assert_eq!(
        uid(&format!("/json/sessions/?_action=validate&tokenId={demo}"), &[ONE]),
        Some("demo".to_owned())
    );
}

#[test]
fn what_is_no_action_is_refused_as_openam_does() {
    let world = World::new(RECORDED);
    let (demo, admin) = (world.token("demo"), world.token("amadmin"));
    let send = |method: &str, path: &str, headers: &[(&str, &str)]| {
        world.server.send(method, &format!("/openam{path}"), headers, b"").status
    };
    for (method, path) in [("GET", "/json/sessions?_queryFilter=true"), ("DELETE", "/json/sessions/x")] {
        assert_eq!(send(method, path, &[ONE]), 401, "{method} {path}");
        assert_eq!(send(method, path, &[ONE, by("garbage")]), 401, "{method} {path}");
        assert_eq!(send(method, path, &[ONE, by(&demo)]), 403, "{method} {path}");
        let status = send(method, path, &[ONE, by(&admin)]);
        assert!(matches!(status, 200 | 501), "{method} {path}: {status}");
    }
    assert_eq!(send("TRACE", "/json/sessions", &[]), 405);
    for method in ["GET", "PUT", "DELETE", "PATCH", "HEAD"] {
        assert_eq!(send(method, "/json/authenticate", &[]), 405, "{method}");
    }
    for path in ["/json", "/json/", "/json/users", "/json/groups", "/json/realms/x/sessions"] {
        assert_eq!(send("GET", path, &[]), 404, "{path}");
    }
    assert_eq!(send("GET", "/xui", &[]), 404);
    for version in ["nonsense", "resource=", "resource=1.2;protocol=1.0"] {
        let header = ("Accept-API-Version", version);
        assert_eq!(send("POST", "/json/authenticate", &[header]), 400, "{version}");
        assert_eq!(send("POST", "/json/sessions?_action=logout", &[header, by(&demo)]), 400, "{version}");
    }
    assert!(world.is_valid(&demo));
}

#[test]
fn bodies_that_are_no_login_are_refused() {
    let world = World::new(RECORDED);
    let post = |body: &str| world.post("/json/authenticate", &[JSON], body);
    for body in ["{\"authId\":1}", "{\"authId\":\"a.b.c\",\"callbacks\":[]}", "{", "{\"callbacks\":[]}"] {
        assert_eq!(message(&post(body)).0, 400, "{body}");
    }
    // OpenAM looks into objects alone, and for a login in what is there.
    assert_eq!(message(&post("{\"a\":1}")).0, 401);
    for body in ["[1]", "\"x\"", "1"] {
        assert_ne!(post(body).json()["authId"], Value::Null, "{body}");
    }
    let mut unfilled = post("{}").json();
    unfilled["callbacks"] = Value::Null;
    assert_eq!(message(&post(&unfilled.to_string())).0, 401, "no callbacks");
    let asked = post("{}").json();
    let mut typed = asked.clone();
    typed["callbacks"][0]["input"][0]["value"] = 7.into();
    assert_eq!(message(&post(&typed.to_string())).0, 400, "a number for a name");
    let mut filled = asked;
    filled["callbacks"][0]["input"][0]["value"] = "demo".into();
    filled["callbacks"][1]["input"][0]["value"] = "changeit".into();
    let done = post(&filled.to_string());
    assert_eq!(done.status, 200, "what was refused for its form may be sent again: {}", done.text());
    // Callbacks may be filled in without having been asked for.
    let mut at_once = filled;
    at_once.as_object_mut().unwrap().remove("authId");
    assert_eq!(post(&at_once.to_string()).status, 200);
}

#[test]
fn kinds_of_login_that_are_not_there_are_refused() {
    let world = World::new(RECORDED);
    let at = |query: &str| world.login_at(&format!("/json/authenticate?{query}"), "demo", "changeit").status;
    assert_eq!(at("authIndexType=service&authIndexValue=ldapService"), 200);
    assert_eq!(at("authIndexType=level&authIndexValue=0"), 200);
    assert_eq!(at("authIndexType=level&authIndexValue=5"), 400);
    assert_eq!(at("authIndexType=module&authIndexValue=HOTP"), 404);
    assert_eq!(at("authIndexType=nonsense&authIndexValue=x"), 400);
    assert_eq!(at("authIndexType=service"), 400);
    // Of name and password, one alone is asked for with the other.
    let half = world.post("/json/authenticate", &[("X-OpenAM-Username", "demo")], "");
    assert_ne!(half.json()["authId"], Value::Null);
    assert_eq!(half.json()["callbacks"][0]["input"][0]["value"], "demo");
}

#[test]
fn properties_are_those_that_the_operator_lists() {
    let world = World::with(RECORDED, |settings| ServiceSettings {
        settable_properties: vec!["color".to_owned(), "shape".to_owned()],
        ..settings
    });
    let (demo, admin) = (world.token("demo"), world.token("amadmin"));
    let act = |action: &str, token: &str, version, body: Value| {
        world.post(&format!("/json/sessions?_action={action}"), &[JSON, version, by(token)], body.to_string())
    };
    assert_eq!(
        act("getPropertyNames", &demo, ONE, json!({})).json(),
        json!({"properties": ["color", "shape"]})
    );
    assert_eq!(act("setProperty", &demo, ONE, json!({"color": "blue"})).json(), json!({"success": true}));
    assert_eq!(act("getProperty", &demo, ONE, json!({})).json(), json!({"color": "blue", "shape": ""}));
    let one = json!({"properties": ["color"]});
    assert_eq!(act("getProperty", &demo, ONE, one.clone()).json(), json!({"color": "blue"}));
    for (action, body) in [
        ("setProperty", json!({"level": "9"})),
        ("setProperty", json!({"color": "red", "am.protected.x": "1"})),
        ("getProperty", json!({"properties": ["level"]})),
        ("deleteProperty", json!({"properties": ["level"]})),
    ] {
        assert_eq!(act(action, &demo, ONE, body).status, 403, "{action}");
    }
    for (action, body) in [
        ("setProperty", json!({})),
        ("setProperty", json!({"color": 1})),
        ("setProperty", json!([])),
        ("deleteProperty", json!({})),
        ("getProperty", json!({"properties": "color"})),
    ] {
        assert_eq!(act(action, &demo, ONE, body.clone()).status, 400, "{action} {body}");
    }
    let both = json!({"color": "red", "shape": "round"});
    assert_eq!(act("updateSessionProperties", &demo, TWO, both.clone()).json(), both);
    assert_eq!(
        act("updateSessionProperties", &demo, TWO, json!({"color": "red"})).status,
        403,
        "not all of them"
    );
    assert_eq!(act("getSessionProperties", &demo, TWO, json!({})).json(), both);
    assert_eq!(act("getSessionInfo", &demo, TWO, json!({})).json()["properties"], both);
    let by_admin = format!("setProperty&tokenId={demo}");
    assert_eq!(act(&by_admin, &admin, ONE, json!({"shape": "flat"})).json(), json!({"success": true}));
    assert_eq!(act("deleteProperty", &demo, ONE, one).json(), json!({"success": true}));
    assert_eq!(act("getProperty", &demo, ONE, json!({})).json(), json!({"color": "", "shape": "flat"}));
    assert!(world.is_valid(&demo), "the token is the same");
}

#[test]
fn administrators_end_sessions_by_their_handles() {
    let world = World::new(RECORDED);
    let (demo, admin) = (world.token("demo"), world.token("amadmin"));
    let info = world.post("/json/sessions?_action=getSessionInfo", &[by(&demo)], "").json();
    let handle = info["sessionHandle"].as_str().unwrap();
    let body = json!({"sessionHandles": [handle, "shandle:nobody"]}).to_string();
    let path = "/json/sessions?_action=logoutByHandle";
    assert_eq!(world.post(path, &[JSON, by(&demo)], &body).status, 403);
    let valid = world.post(&format!("/json/sessions/{handle}?_action=validate"), &[ONE], "").json();
    assert_eq!(valid, json!({"valid": false}), "a handle opens nothing");
    let done = world.post(path, &[JSON, by(&admin)], &body).json();
    assert_eq!(done, json!({"result": {handle: true, "shandle:nobody": true}}));
    assert!(!world.is_valid(&demo));
    assert_eq!(world.post(path, &[JSON, by(&admin)], "{}").status, 400);
    assert_eq!(world.post(path, &[JSON, by(&admin)], "{\"sessionHandles\":[1]}").status, 400);
}

#[test]
fn the_calls_of_openam_11_are_answered_where_that_is_set() {
    let world = World::new("[openam]\non = true\ndanger_legacy_identity = true");
    let login = world.get("/identity/authenticate?username=demo&password=changeit");
    assert_eq!(login.header("content-type"), "text/plain;charset=UTF-8");
    let token = login.text().strip_prefix("token.id=").unwrap().strip_suffix('\n').unwrap().to_owned();
    assert_eq!(world.get(&format!("/identity/isTokenValid?tokenid={token}")).text(), "boolean=true\n");
    assert_eq!(world.get("/identity/isTokenValid?tokenid=garbage").text(), "boolean=false\n");
    assert_eq!(
        world.get(&format!("/identity/json/isTokenValid?tokenid={token}")).json(),
        json!({"boolean": true})
    );
    // From the source of OpenAM: MarshallerFactory, XMLBooleanMarshaller.
    let in_xml = world.get(&format!("/identity/xml/isTokenValid?tokenid={token}"));
    assert!(in_xml.text().ends_with("?><result boolean=\"true\"/>"), "{}", in_xml.text());
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let posted = world.post("/identity/isTokenValid", &form, format!("tokenid={token}"));
    assert_eq!(posted.text(), "boolean=true\n");
    let wrong = world.get("/identity/authenticate?username=demo&password=wrong");
    let name = "exception.name=com.sun.identity.idsvcs.InvalidCredentials Authentication Failed\n";
    assert_eq!((wrong.status, wrong.text().as_str()), (401, name));
    assert_eq!(world.get("/identity/authenticate?username=demo").status, 401);
    assert_eq!(
        world.get("/identity/authenticate?username=berta&password=changeit").status,
        401,
        "second step"
    );
    let of_sales = "/identity/authenticate?username=demo&password=salespassword&uri=realm%3D/sales";
    assert_eq!(world.get(of_sales).status, 200);
    let details = world.get(&format!("/identity/attributes?subjectid={token}"));
    assert!(details.text().contains("userdetails.attribute.name=uid\nuserdetails.attribute.value=demo\n"));
    assert!(!details.text().to_lowercase().contains("password"), "{}", details.text());
    assert_eq!(world.get(&format!("/identity/logout?subjectid={token}")).text(), "");
    assert!(!world.is_valid(&token));
    assert_eq!(world.get(&format!("/identity/logout?subjectid={token}")).status, 401);
    assert_eq!(world.get("/identity/logout").status, 401);
    assert_eq!(world.get("/identity/nonsense").status, 501);
}

#[test]
fn without_the_setting_nothing_is_there_and_without_users_no_server_starts() {
    let off = World::new("");
    assert_eq!(off.login_at("/json/authenticate", "demo", "changeit").status, 404);
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    let settings = settings(&directory, "[openam]\non = true");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let served = runtime.block_on(async {
        let server = durward_server::Server::bind(settings, clock()).unwrap();
        server.serve(std::future::ready(())).await
    });
    let refused = served.unwrap_err().to_string();
    assert!(refused.contains("`openam.on`") && refused.contains("`identity.users`"), "{refused}");
}

#[test]
fn cookies_are_kept_from_scripts_and_from_the_open_unless_settings_say_otherwise() {
    let cookie = |text: &str| {
        let world = World::new(text);
        let reply = world.login_at("/json/authenticate", "demo", "changeit");
        reply.all("set-cookie")[0].split_once("; ").unwrap().1.to_owned()
    };
    assert_eq!(cookie("[openam]\non = true"), "Path=/; Secure; HttpOnly; SameSite=Lax");
    for (word, said) in [("strict", "; SameSite=Strict"), ("none", "; SameSite=None"), ("unset", "")] {
        let text = format!("[openam]\non = true\ncookie_same_site = \"{word}\"");
        assert_eq!(cookie(&text), format!("Path=/; Secure; HttpOnly{said}"));
    }
    let open =
        "[openam]\non = true\ncookie_secure = false\ncookie_http_only = false\ncookie_domain = \"a.example\"";
    assert_eq!(cookie(open), "Domain=a.example; Path=/; SameSite=Lax");
    let refused = Settings::from_toml("[openam]\ncookie_secure = false\ncookie_same_site = 'none'", "t");
    assert!(refused.unwrap_err().to_string().contains("openam.cookie_same_site"));
}
