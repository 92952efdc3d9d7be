//! Requests of XACML, and subscriptions, whose subject is named by a token of a session or by a JWT.

use std::sync::Arc;

use durward_session::identity::SystemEntropy;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory as Users, HashCosts, Password, StoredPassword};
use serde_json::{Value, json};

use crate::dpop::key::ProofKey;
use crate::support::{Directory, Reply, TestServer, clock, settings};

const CHEAP: HashCosts = HashCosts { memory_kib: 8, passes: 1, lanes: 1 };

const SETTINGS: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n\
                        identity.hash_memory_kib = 8\nidentity.hash_passes = 1\n\
                        identity.settable_properties = ['desk']\n\
                        identity.subjects_asserted_by = 'danger-anybody'\n\
                        decision_log.to = 'file'\ndecision_log.redact = 'none'\n";

/// Argon2id of `s3cret`, with little memory.
const SECRET: &str =
    "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQxMjM0NTY$+QzL9T/y4vwK5yLwyPcXDCCH946RYwDKvHpQzCVMTnU";

const TOKEN: &str = "urn:durward:subject:session-token";
const JWT: &str = "urn:durward:subject:jwt";
const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const ROLE: &str = "urn:oasis:names:tc:xacml:2.0:subject:role";
const ID: &str = "urn:oasis:names:tc:xacml:1.0:subject:subject-id";
const TEXT: &str = "http://www.w3.org/2001/XMLSchema#string";

/// Permits where every condition holds, and denies else. A condition: attribute, type, function, value.
fn policy(conditions: &[(&str, &str, &str, &str)]) -> String {
    let matches: String = conditions
        .iter()
        .map(|(id, data_type, function, value)| {
            format!(
                r#"<Match MatchId="urn:oasis:names:tc:xacml:1.0:function:{function}">
                     <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#{data_type}">{value}</AttributeValue>
                     <AttributeDesignator Category="{SUBJECT}" AttributeId="{id}" Issuer="urn:durward:session"
                       DataType="http://www.w3.org/2001/XMLSchema#{data_type}" MustBePresent="false"/></Match>"#
            )
        })
        .collect();
    format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
             RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit"><Target/>
             <Rule RuleId="r" Effect="Permit"><Target><AnyOf><AllOf>{matches}</AllOf></AnyOf></Target></Rule></Policy>"#
    )
}

/// Permits everything to everybody.
pub(crate) fn anything() -> String {
    r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
         RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-unless-deny">
         <Target/></Policy>"#
        .to_owned()
}

struct World {
    server: TestServer,
}

impl World {
    fn new(policy: &str) -> World {
        World::with(policy, "staff.xml", "")
    }

    fn with(policy: &str, name: &str, more: &str) -> World {
        let directory = Directory::new();
        directory.write(&format!("policies/{name}"), policy);
        let users = Users::open(&directory.path("users"), CHEAP, Arc::new(SystemEntropy)).unwrap();
        let password =
            StoredPassword::hash(&Password::new("secret").unwrap(), CHEAP, &SystemEntropy).unwrap();
        for (name, group) in [("anna", "staff"), ("berta", "guests")] {
            let password = Some(password.clone());
            let mut account = Account { password, ..Account::new(&User::new("/", name).unwrap()) };
            account.groups = vec![group.to_owned(), "people".to_owned()];
            account.attributes.insert("mail".to_owned(), vec![format!("{name}@example.org")]);
            users.put(account).unwrap();
        }
        let usual: Vec<&str> =
            SETTINGS.lines().filter(|line| !more.contains(name_of_setting(line))).collect();
        let mut settings = settings(&directory, &format!("{}\n{more}", usual.join("\n")));
        settings.identity.users = Some(directory.path("users"));
        drop(users);
        let server = TestServer::start_at(directory, settings, clock(), |_| {}).unwrap();
        let world = World { server };
        world.server.eventually("a login", |_| world.log_in("anna").status == 200);
        world
    }

    fn post(&self, path: &str, token: Option<&str>, body: &Value) -> Reply {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        self.server.send("POST", path, &headers, body.to_string().as_bytes())
    }

    fn log_in(&self, user: &str) -> Reply {
        self.post("/v1/login", None, &json!({ "user": user, "password": "secret" }))
    }

    fn token(&self, user: &str) -> String {
        self.log_in(user).json()["token"].as_str().unwrap().to_owned()
    }

    fn log_out(&self, token: &str) {
        assert_eq!(self.post("/v1/sessions/logout", Some(token), &json!({})).status, 200);
    }

    fn ask(&self, request: &Value) -> Reply {
        let headers = [("Content-Type", "application/xacml+json")];
        self.server.post(&headers, json!({ "Request": request }).to_string())
    }

    fn ask_xml(&self, request: &str) -> Reply {
        self.server.post(&[("Content-Type", "application/xml")], request)
    }

    fn decisions(&self, request: &Value) -> Vec<String> {
        let reply = self.ask(request);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let results = reply.json()["Response"].as_array().unwrap().clone();
        results.iter().map(|result| result["Decision"].as_str().unwrap().to_owned()).collect()
    }

    fn decide(&self, token: &str) -> String {
        self.decisions(&one(&[(TOKEN, token)])).concat()
    }

    /// A JWT for a session's user, or for the client itself.
    fn jwt(&self, session: Option<&str>, audience: &str) -> String {
        self.jwt_with(session, audience, &[])
    }

    /// The same, bound to a key.
    fn bound(&self, session: &str) -> String {
        self.jwt_with(Some(session), "orders", &[("DPoP", &ProofKey::new().proof())])
    }

    fn jwt_with(&self, session: Option<&str>, audience: &str, more: &[(&str, &str)]) -> String {
        let mut form = format!("client_id=shop&client_secret=s3cret&audience={audience}&grant_type=");
        match session {
            None => form.push_str("client_credentials"),
            Some(session) => {
                form.push_str("urn:ietf:params:oauth:grant-type:token-exchange&subject_token=");
                form.push_str(session);
                form.push_str("&subject_token_type=urn:durward:params:oauth:token-type:session");
            }
        }
        let mut headers = vec![("Content-Type", "application/x-www-form-urlencoded")];
        headers.extend(more);
        let reply = self.server.send("POST", "/oauth2/token", &headers, form.as_bytes());
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["access_token"].as_str().unwrap().to_owned()
    }
}

fn name_of_setting(line: &str) -> &str {
    line.split_once(" = ").unwrap().0
}

/// One subject with these attributes.
fn subject(attributes: &[(&str, &str)]) -> Value {
    let attribute = |(id, value): &(&str, &str)| json!({ "AttributeId": id, "Value": value });
    json!({ "Attribute": attributes.iter().map(attribute).collect::<Vec<_>>() })
}

fn one(attributes: &[(&str, &str)]) -> Value {
    json!({ "AccessSubject": subject(attributes) })
}

fn staff() -> String {
    policy(&[(ROLE, "string", "string-equal", "staff")])
}

#[test]
fn a_request_names_its_subject_by_a_token_in_json_and_xml() {
    let world = World::new(&staff());
    let (anna, berta) = (world.token("anna"), world.token("berta"));
    assert_eq!((world.decide(&anna), world.decide(&berta)), ("Permit".to_owned(), "Deny".to_owned()));
    let xml = |token: &str| {
        format!(
            r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
                 ReturnPolicyIdList="false"><Attributes Category="{SUBJECT}"><Attribute AttributeId="{TOKEN}"
                 IncludeInResult="true"><AttributeValue DataType="{TEXT}">{token}</AttributeValue></Attribute>
                 </Attributes></Request>"#
        )
    };
    let old = |token: &str| {
        format!(
            r#"<Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os"><Subject>
                 <Attribute AttributeId="{TOKEN}" DataType="{TEXT}"><AttributeValue>{token}</AttributeValue></Attribute>
               </Subject><Resource/><Action/><Environment/></Request>"#
        )
    };
    for (request, said) in
        [(xml(&anna), "Permit"), (xml(&berta), "Deny"), (old(&anna), "Permit"), (old("x"), "Deny")]
    {
        let reply = world.ask_xml(&request);
        assert!(reply.text().contains(&format!("<Decision>{said}</Decision>")), "{}", reply.text());
        assert!(!reply.text().contains(&anna), "a token does not come back: {}", reply.text());
    }
    world.log_out(&anna);
    assert_eq!(world.decide(&anna), "Deny");
}

#[test]
fn everything_a_session_says_is_an_attribute() {
    let session_says = [
        (ID, "string", "string-equal", "anna"),
        ("urn:oasis:names:tc:xacml:1.0:subject:subject-id-qualifier", "string", "string-equal", "/"),
        (ROLE, "string", "string-equal", "people"),
        ("urn:durward:subject:level", "integer", "integer-equal", "0"),
        ("urn:durward:subject:attribute:mail", "string", "string-equal", "anna@example.org"),
        ("urn:durward:subject:property:desk", "string", "string-equal", "7"),
        (
            "urn:oasis:names:tc:xacml:1.0:subject:session-start-time",
            "dateTime",
            "dateTime-less-than",
            "2020-01-01T00:00:00Z",
        ),
    ];
    let world = World::new(&policy(&session_says));
    let anna = world.token("anna");
    assert_eq!(world.decide(&anna), "Deny", "the property is not set yet");
    let set = world.post("/v1/sessions/properties", Some(&anna), &json!({ "properties": { "desk": "7" } }));
    assert_eq!(set.status, 200, "{}", set.text());
    assert_eq!(world.decide(&anna), "Permit");
}

#[test]
fn whoever_shows_a_token_that_is_not_accepted_is_denied_whatever_policies_say() {
    let world = World::new(&anything());
    let anna = world.token("anna");
    assert_eq!(world.decide(&anna), "Permit");
    let other = {
        let last = &anna[anna.len() - 1..];
        format!("{}{}", &anna[..anna.len() - 1], if last == "A" { "B" } else { "A" })
    };
    for token in ["", "forged", &anna[1..], &other, &"A".repeat(100_000)] {
        assert_eq!(world.decide(token), "Deny");
    }
    world.log_out(&anna);
    let reply = world.ask(&one(&[(TOKEN, &anna)])).json();
    assert_eq!(reply["Response"][0]["Decision"], "Deny");
    assert!(reply["Response"][0].get("Category").is_none(), "{reply}");
}

#[test]
fn what_a_session_says_nobody_else_can_say() {
    let world = World::new(&anything());
    let berta = world.token("berta");
    let issued = |id: &str| json!({ "AttributeId": id, "Value": "staff", "Issuer": "urn:durward:session" });
    for request in [
        one(&[(TOKEN, &berta), (ID, "anna")]),
        one(&[(TOKEN, &berta), (ROLE, "staff")]),
        one(&[(TOKEN, &berta), (TOKEN, &berta)]),
        one(&[(TOKEN, &berta), (JWT, "a.b.c")]),
        one(&[(JWT, "a.b.c")]),
        one(&[("urn:durward:subject:level", "9")]),
        one(&[("urn:durward:subject:refused", "Permit")]),
        json!({ "AccessSubject": { "Attribute": [issued(ROLE)] } }),
        json!({ "Resource": { "Attribute": [issued("any")] } }),
        json!({ "Resource": subject(&[(TOKEN, &berta)]) }),
        one(&[(TOKEN, &berta), ("clearance", "9")]),
        json!({ "AccessSubject": [subject(&[("plain", "1")]), subject(&[("clearance", "9"), (TOKEN, &berta)])] }),
        json!({ "AccessSubject": { "Attribute": subject(&[(TOKEN, &berta)])["Attribute"], "Content": "<a/>" } }),
        json!({ "AccessSubject": [subject(&[(TOKEN, &berta)]), subject(&[(ID, "anna")])] }),
        json!({ "AccessSubject": { "Attribute": [{ "AttributeId": TOKEN, "Value": [berta, berta] }] } }),
        json!({ "AccessSubject": { "Attribute": [{ "AttributeId": TOKEN, "Value": 7 }] } }),
        json!({ "AccessSubject": { "Attribute":
            [{ "AttributeId": TOKEN, "Value": berta }, { "AttributeId": ID, "Value": 7 }] } }),
    ] {
        let reply = world.ask(&request);
        assert_eq!(reply.status, 400, "{request} {}", reply.text());
        assert!(!reply.text().contains(&berta), "{}", reply.text());
    }
    let many: Vec<Value> = (0..65).map(|number| subject(&[(TOKEN, &format!("{number}"))])).collect();
    assert_eq!(world.ask(&json!({ "AccessSubject": many })).status, 400);
    // Subjects of XACML 2.0 with one category are one subject.
    let twice = format!(
        r#"<Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os">
             <Subject><Attribute AttributeId="{TOKEN}" DataType="{TEXT}"><AttributeValue>{berta}</AttributeValue></Attribute></Subject>
             <Subject><Attribute AttributeId="{ROLE}" DataType="{TEXT}"><AttributeValue>staff</AttributeValue></Attribute></Subject>
             <Resource/><Action/><Environment/></Request>"#
    );
    assert_eq!(world.ask_xml(&twice).status, 400);
    assert_eq!(
        world.decisions(&one(&[(ID, "anna"), (ROLE, "staff")])),
        ["Permit"],
        "as ever without a token"
    );
}

#[test]
fn each_of_several_subjects_is_decided_for_itself() {
    let world = World::new(&anything());
    let (anna, berta) = (world.token("anna"), world.token("berta"));
    world.log_out(&berta);
    let echoed = json!([{ "AttributeId": "n", "Value": "1", "IncludeInResult": true }]);
    let mut request = json!({
        "AccessSubject": [subject(&[(TOKEN, &anna)]), subject(&[(TOKEN, &berta)]), subject(&[("plain", "1")])],
        "Resource": { "Attribute": echoed },
    });
    assert_eq!(world.decisions(&request), ["Permit", "Deny", "Permit"]);
    let reply = world.ask(&request).json();
    assert_eq!(
        reply["Response"][1]["Category"][0]["Attribute"][0]["Value"], "1",
        "the rest is echoed: {reply}"
    );
    assert!(!reply.to_string().contains("refused"), "{reply}");
    request["CombinedDecision"] = json!(true);
    assert_eq!(world.decisions(&request), ["Indeterminate"], "they differ");
    request["AccessSubject"] = json!([subject(&[(TOKEN, &berta)]), subject(&[(TOKEN, "x")])]);
    assert_eq!(world.decisions(&request), ["Deny"]);
    let by_reference = json!({
        "AccessSubject": [
            { "Id": "a", "Attribute": subject(&[(TOKEN, &anna)])["Attribute"] },
            { "Id": "b", "Attribute": subject(&[(TOKEN, &berta)])["Attribute"] },
        ],
        "MultiRequests": { "RequestReference": [
            { "ReferenceId": ["b"] }, { "ReferenceId": ["a"] }, { "ReferenceId": ["c"] }
        ] },
    });
    assert_eq!(world.decisions(&by_reference), ["Deny", "Permit", "Indeterminate"]);
}

#[test]
fn no_token_is_written_into_the_decision_log() {
    let world = World::new(&staff());
    let anna = world.token("anna");
    assert_eq!(world.decide(&anna), "Permit");
    let path = world.server.directory.path("decisions.jsonl");
    world
        .server
        .eventually("a line", |_| std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("people") && !text.contains(&anna), "{text}");
}

#[test]
fn without_users_there_are_no_sessions_to_name() {
    let server = TestServer::start("");
    let body = json!({ "Request": one(&[(TOKEN, "x")]) }).to_string();
    let reply = server.post(&[("Content-Type", "application/xacml+json")], body);
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("[identity]"), "{}", reply.text());
}

/// `shop` gets tokens for `orders`, which may name subjects here, for the issuer, and for `else`, which may not.
fn with_tokens(policy: &str, name: &str) -> World {
    with_tokens_and(policy, name, "", "")
}

/// With other settings, of all and of `[oauth]`.
fn with_tokens_and(policy: &str, name: &str, all: &str, oauth: &str) -> World {
    let more = format!(
        "{all}\n[oauth]\nissuer = 'https://id.example.org'\ndecision_audiences = ['orders']\n{oauth}\n\
         [[oauth.clients]]\nid = 'shop'\nsecret = '{SECRET}'\ngrants = ['client-credentials', 'token-exchange']\n\
         audiences = ['orders', 'else', 'https://id.example.org']\nscopes = ['read', 'write']\n"
    );
    World::with(policy, name, &more)
}

#[test]
fn a_jwt_names_the_subject_of_a_request() {
    let world = with_tokens(&staff(), "staff.xml");
    let (anna, berta) = (world.token("anna"), world.token("berta"));
    let decide = |jwt: &str| world.decisions(&one(&[(JWT, jwt)])).concat();
    let of_anna = world.jwt(Some(&anna), "orders");
    assert_eq!(decide(&of_anna), "Permit");
    assert_eq!(decide(&world.jwt(Some(&anna), "https%3A%2F%2Fid.example.org")), "Permit");
    assert_eq!(decide(&world.jwt(Some(&anna), "else")), "Deny", "it is for another service alone");
    assert_eq!(decide(&world.jwt(Some(&berta), "orders")), "Deny");
    assert_eq!(decide(&world.jwt(None, "orders")), "Deny", "a client has no groups");
    assert_eq!(decide(&of_anna[..of_anna.len() - 2]), "Deny");
    assert_eq!(decide(&anna), "Deny", "a session's token is no JWT");
    assert_eq!(world.decide(&of_anna), "Deny", "and a JWT is no session's token");
    world.log_out(&anna);
    assert_eq!(decide(&of_anna), "Deny");
}

#[test]
fn a_recalled_jwt_names_nobody_and_a_clients_own_names_the_client() {
    let client_alone = policy(&[
        ("urn:durward:subject:client", "string", "string-equal", "shop"),
        ("urn:durward:subject:scope", "string", "string-equal", "read"),
        ("urn:durward:subject:audience", "string", "string-equal", "orders"),
    ]);
    let world = with_tokens(&client_alone, "staff.xml");
    let decide = |jwt: &str| world.decisions(&one(&[(JWT, jwt)])).concat();
    let jwt = world.jwt(None, "orders");
    assert_eq!(decide(&jwt), "Permit");
    let form = format!("client_id=shop&client_secret=s3cret&token={jwt}");
    let headers = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(world.server.send("POST", "/oauth2/revoke", &headers, form.as_bytes()).status, 200);
    assert_eq!(decide(&jwt), "Deny");
}

fn once(world: &World, subject: Value) -> String {
    let question = json!({ "subject": subject, "action": "read", "resource": "records" });
    let reply = world.post("/api/pdp/decide-once", None, &question);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["decision"].as_str().unwrap().to_owned()
}

#[test]
fn a_jwt_names_the_subject_of_a_subscription() {
    let staff = "policy \"p\" permit \"staff\" in subject.groups; subject.user == \"anna\"; subject.client == \"shop\"; \
                 \"read\" in subject.scopes; subject.level == 0;\n";
    let world = with_tokens(staff, "staff.sapl");
    let (anna, berta) = (world.token("anna"), world.token("berta"));
    let of_anna = world.jwt(Some(&anna), "orders");
    assert_eq!(once(&world, json!({ "jwt": of_anna })), "PERMIT");
    assert_eq!(once(&world, json!({ "jwt": world.jwt(Some(&berta), "orders") })), "DENY");
    assert_eq!(once(&world, json!({ "jwt": world.jwt(Some(&anna), "else") })), "DENY");
    assert_eq!(once(&world, json!({ "jwt": world.jwt(None, "orders") })), "DENY");
    assert_eq!(once(&world, json!({ "session": of_anna })), "DENY");
    world.log_out(&anna);
    assert_eq!(once(&world, json!({ "jwt": of_anna })), "DENY");
}

#[test]
fn a_policy_asks_whose_a_token_is() {
    let policies = "policy \"p\" permit subject.token.<session.valid>; \
                    \"staff\" in (subject.token.<session.subject>).groups;\n";
    let world = with_tokens(policies, "staff.sapl");
    let (anna, berta) = (world.token("anna"), world.token("berta"));
    let ask = |token: &str| once(&world, json!({ "token": token, "desk": 7 }));
    assert_eq!((ask(&anna), ask(&berta), ask("x")), ("PERMIT".into(), "DENY".into(), "DENY".into()));
    assert_eq!(ask(&world.jwt(Some(&anna), "orders")), "PERMIT");
    world.log_out(&anna);
    assert_eq!(ask(&anna), "DENY");
    assert_eq!(once(&world, json!({ "token": 7 })), "INDETERMINATE");
}

const STAFF: &str = "policy \"p\" permit \"staff\" in subject.groups;\n";

/// Whoever asks for a decision cannot show the proof that was made for a request to them.
#[test]
fn a_jwt_that_is_bound_to_a_key_names_nobody() {
    let world = with_tokens(&staff(), "staff.xml");
    let anna = world.token("anna");
    let decide = |jwt: &str| world.decisions(&one(&[(JWT, jwt)])).concat();
    assert_eq!(decide(&world.jwt(Some(&anna), "orders")), "Permit");
    assert_eq!(decide(&world.bound(&anna)), "Deny");
    let world = with_tokens(STAFF, "staff.sapl");
    let anna = world.token("anna");
    assert_eq!(once(&world, json!({ "jwt": world.jwt(Some(&anna), "orders") })), "PERMIT");
    assert_eq!(once(&world, json!({ "jwt": world.bound(&anna) })), "DENY");
}

#[test]
fn it_names_its_user_where_callers_vouch_for_the_proof() {
    let vouched = "bound_subjects = 'vouched'";
    let world = with_tokens_and(&staff(), "staff.xml", "", vouched);
    let (anna, berta) = (world.token("anna"), world.token("berta"));
    let decide = |jwt: &str| world.decisions(&one(&[(JWT, jwt)])).concat();
    let of_anna = world.bound(&anna);
    assert_eq!((decide(&of_anna), decide(&world.bound(&berta))), ("Permit".to_owned(), "Deny".to_owned()));
    world.log_out(&anna);
    assert_eq!(decide(&of_anna), "Deny");
    let world = with_tokens_and(STAFF, "staff.sapl", "", vouched);
    let anna = world.token("anna");
    assert_eq!(once(&world, json!({ "jwt": world.bound(&anna) })), "PERMIT");
}

#[test]
fn a_caller_who_may_assert_nobody_vouches_for_nothing() {
    let vouched = "bound_subjects = 'vouched'";
    let marked = "identity.subjects_asserted_by = 'marked-users'\nauthzen.on = true\n";
    let evaluation = |jwt: &str| {
        json!({
            "subject": { "type": "jwt", "id": jwt }, "action": { "name": "read" },
            "resource": { "type": "record", "id": "7" },
        })
    };
    let world = with_tokens_and(&staff(), "staff.xml", marked, vouched);
    let anna = world.token("anna");
    let bound = world.bound(&anna);
    for reply in
        [world.ask(&one(&[(JWT, &bound)])), world.post("/access/v1/evaluation", None, &evaluation(&bound))]
    {
        assert!(reply.status == 400 && reply.text().contains("oauth.bound_subjects"), "{}", reply.text());
    }
    assert_eq!(world.decisions(&one(&[(JWT, &world.jwt(Some(&anna), "orders"))])), ["Permit"]);
    let world = with_tokens_and(STAFF, "staff.sapl", marked, vouched);
    let anna = world.token("anna");
    let bound = world.bound(&anna);
    let ask = |path: &str, question: &Value| world.post(path, None, question);
    let question = json!({ "subject": { "jwt": bound }, "action": "read", "resource": "records" });
    for (path, question) in [
        ("/api/pdp/decide-once", question.clone()),
        ("/api/pdp/decide", question.clone()),
        ("/api/pdp/multi-decide-all-once", json!({ "one": question })),
        ("/access/v1/evaluation", evaluation(&bound)),
    ] {
        let reply = ask(path, &question);
        assert!(
            reply.status == 400 && reply.text().contains("oauth.bound_subjects"),
            "{path}: {}",
            reply.text()
        );
    }
    assert_eq!(once(&world, json!({ "jwt": world.jwt(Some(&anna), "orders") })), "PERMIT");
}

/// A policy that finds a token somewhere in a question does not know who brought it.
#[test]
fn a_policy_that_finds_a_bound_jwt_finds_nobody() {
    for condition in ["subject.token.<session.valid>", "(subject.token.<session.subject>) != undefined"] {
        let policy = format!("policy \"p\" permit {condition};\n");
        let world = with_tokens_and(&policy, "staff.sapl", "", "bound_subjects = 'vouched'");
        let anna = world.token("anna");
        let ask = |token: &str| once(&world, json!({ "token": token }));
        assert_eq!(ask(&world.jwt(Some(&anna), "orders")), "PERMIT", "{condition}");
        assert_ne!(ask(&world.bound(&anna)), "PERMIT", "{condition}");
    }
}
