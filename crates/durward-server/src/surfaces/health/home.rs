//! `GET /`: the home document of the REST profile (section 2.1), and a page for people.

use durward_common::policies::PolicyProblem;
use durward_common::surfaces::http::negotiate::{Offer, choose};
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Answer, Form, escape, text_answer, text_of};
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};

use super::{Health, Status, Surface};

/// REST profile 1.1, 2.1.1: the relation by which clients find the decision point.
const HOME_XML: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
    "<resources xmlns=\"http://ietf.org/ns/home-documents\" xmlns:atom=\"http://www.w3.org/2005/Atom\">\n",
    "  <resource rel=\"http://docs.oasis-open.org/ns/xacml/relation/pdp\">\n",
    "    <atom:link href=\"/pdp\"/>\n",
    "  </resource>\n",
    "</resources>\n"
);

const HOME_JSON: &str =
    "{\"resources\":{\"http://docs.oasis-open.org/ns/xacml/relation/pdp\":{\"href\":\"/pdp\"}}}\n";

const XML: Offer = Offer { main: "application", sub: "xml", version: None };
const TEXT_XML: Offer = Offer { main: "text", sub: "xml", version: None };
const JSON_HOME: Offer = Offer { main: "application", sub: "json-home", version: None };
const JSON: Offer = Offer { main: "application", sub: "json", version: None };
const HTML: Offer = Offer { main: "text", sub: "html", version: None };

impl Surface {
    /// `/`.
    pub(crate) fn home(&self, headers: &HeaderMap) -> Answer {
        let mut answer =
            match choose(text_of(headers, &header::ACCEPT), &[XML, TEXT_XML, JSON_HOME, JSON, HTML]) {
                Some(XML) => text_answer("application/xml", HOME_XML),
                Some(TEXT_XML) => text_answer("text/xml; charset=utf-8", HOME_XML),
                Some(JSON_HOME) => text_answer("application/json-home", HOME_JSON),
                Some(JSON) => text_answer("application/json", HOME_JSON),
                Some(_) => page(self, headers),
                None => {
                    let detail = "this can be `application/xml`, `application/json-home` or `text/html`";
                    Problem::new(StatusCode::NOT_ACCEPTABLE, detail).into_answer(Form::Json)
                }
            };
        answer.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
        answer
    }
}

/// Light and dark, one column, no script and nothing from elsewhere.
const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1d2330;--soft:#5c6577;--line:#dfe3ea;--card:#fff;--back:#f5f6f9;\
--good:#1f7a4d;--warn:#9a5b00;--bad:#a8232f}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e9f0;--soft:#9aa4b8;--line:#2c3342;--card:#1a1f2a;--back:#12151c;\
--good:#5fd39a;--warn:#f0b35a;--bad:#ff8089}}\
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);\
font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif}\
main{max-width:46rem;margin:0 auto;padding:3rem 1.25rem 4rem}\
h1{font-size:1.6rem;margin:0 0 .25rem;letter-spacing:-.01em}h2{font-size:1rem;margin:2rem 0 .5rem}\
p{margin:.25rem 0 .75rem}.soft{color:var(--soft)}a{color:inherit}\
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem 1.25rem;overflow-x:auto}\
.state{display:inline-block;font-weight:600}.state::before{content:'';display:inline-block;width:.6rem;height:.6rem;\
border-radius:50%;background:currentColor;margin-right:.5rem}\
.ready{color:var(--good)}.stale{color:var(--warn)}.waiting,.stopping{color:var(--bad)}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.5rem;margin:.75rem 0 0}dt{color:var(--soft)}\
dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\
pre{margin:0;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace;white-space:pre}\
code{font:.9em ui-monospace,SFMono-Regular,Menlo,monospace}ul{margin:.25rem 0;padding-left:1.2rem}";

/// A question to try; short enough to be read. The policies of the demo and that of the README permit it.
const EXAMPLE: &str = r#"curl -H 'Content-Type: application/xacml+json' \
     --data-binary @- http://ADDRESS/pdp <<'END'
{"Request": {
  "AccessSubject": {"Attribute": [
    {"AttributeId": "urn:oasis:names:tc:xacml:1.0:subject:subject-id", "Value": "bob"},
    {"AttributeId": "role", "Value": "doctor"}]},
  "Resource": {"Attribute": [
    {"AttributeId": "hospital:kind", "Value": "record"},
    {"AttributeId": "hospital:patient", "Value": "bob"}]},
  "Action": {"Attribute": [
    {"AttributeId": "urn:oasis:names:tc:xacml:1.0:action:action-id", "Value": "read"},
    {"AttributeId": "action", "Value": "read"}]}
}}
END"#;

/// The same where a subject is named by a token.
const SESSION_EXAMPLE: &str = r#"curl -H 'Content-Type: application/xacml+json' \
     --data-binary @- http://ADDRESS/pdp <<'END'
{"Request": {
  "AccessSubject": {"Attribute": [
    {"AttributeId": "urn:durward:subject:session-token", "Value": "TOKEN of /v1/login"}]},
  "Action": {"Attribute": [
    {"AttributeId": "urn:oasis:names:tc:xacml:1.0:action:action-id", "Value": "read"}]}
}}
END"#;

/// Where the browser found us, if that is a name or address and nothing else: it is shown as part of a command.
fn address(surface: &Surface, headers: &HeaderMap) -> String {
    let is_plain = |host: &&str| {
        host.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'-' | b'[' | b']'))
    };
    let host = text_of(headers, &header::HOST).filter(is_plain);
    host.map_or_else(|| surface.listen.to_string(), String::from)
}

fn page(surface: &Surface, headers: &HeaderMap) -> Answer {
    let health = surface.health();
    let mut html = String::with_capacity(6 * 1024);
    html.push_str("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width\"><title>durward</title><style>");
    html.push_str(STYLE);
    html.push_str("</style></head><body><main><h1>durward</h1>");
    html.push_str(
        "<p class=\"soft\">A policy decision point: ask it, in XACML or SAPL, and it says whether access is ",
    );
    html.push_str("granted.</p><h2>Policies</h2><div class=\"card\">");
    html.push_str(&state(&health));
    html.push_str("</div>");
    html.push_str(&list("What is wrong with the newest policies", problems(&health)));
    html.push_str(&list("Weak settings", health.warnings.iter().map(|warning| escape(warning)).collect()));
    html.push_str("<h2>Try it</h2><div class=\"card\"><pre>");
    let example = if surface.asks_for_tokens { SESSION_EXAMPLE } else { EXAMPLE };
    html.push_str(&escape(&example.replace("ADDRESS", &address(surface, headers))));
    html.push_str("</pre></div><h2>What there is</h2><ul>");
    html.push_str("<li><code>POST /pdp</code> takes and gives XML or JSON (<code>Content-Type</code>, ");
    html.push_str("<code>Accept</code>)</li>");
    if surface.answers_sapl {
        html.push_str("<li><code>POST /api/pdp/decide-once</code> takes a SAPL subscription, ");
        html.push_str("<code>POST /api/pdp/decide</code> sends each new decision</li>");
    }
    html.push_str(
        "<li><a href=\"/health/ready\">/health/ready</a>, <a href=\"/health/live\">/health/live</a></li>",
    );
    html.push_str("<li><a href=\"/metrics\">/metrics</a> for Prometheus</li></ul><p class=\"soft\">Version ");
    html.push_str(health.version);
    html.push_str("</p></main></body></html>\n");
    let mut answer = text_answer("text/html; charset=utf-8", html);
    let policy =
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

fn state(health: &Health) -> String {
    let (class, words) = match health.status {
        Status::Ready => ("ready", "in force"),
        Status::Stale => ("stale", "older ones in force: the newest are broken"),
        Status::Waiting => ("waiting", "none yet"),
        Status::Stopping => ("stopping", "stopping"),
    };
    let mut html = format!("<span class=\"state {class}\">{words}</span>");
    let Some(snapshot) = &health.snapshot else { return html };
    let rows = [
        ("snapshot", snapshot.id.to_string()),
        ("documents", snapshot.documents.to_string()),
        ("policies", snapshot.policies.to_string()),
        ("rules", snapshot.rules.to_string()),
        ("index", snapshot.index.clone()),
        ("loaded", snapshot.loaded.clone()),
    ];
    html.push_str("<dl>");
    for (name, value) in rows {
        html.push_str(&format!("<dt>{name}</dt><dd>{}</dd>", escape(&value)));
    }
    html.push_str("</dl>");
    html
}

/// The problems, each with its place.
fn problems(health: &Health) -> Vec<String> {
    let text = |problem: &PolicyProblem| {
        let place = match problem.file.as_str() {
            "" => String::new(),
            file if problem.line == 0 => format!("<code>{}</code>: ", escape(file)),
            file => format!("<code>{}:{}:{}</code>: ", escape(file), problem.line, problem.column),
        };
        let help = problem.help.as_ref().map_or_else(String::new, |help| format!("; {}", escape(help)));
        format!("{place}{}{help}", escape(&problem.reason))
    };
    health.problems.iter().map(text).collect()
}

/// A heading with a list, if there is anything to list. The entries are HTML.
fn list(heading: &str, entries: Vec<String>) -> String {
    if entries.is_empty() {
        return String::new();
    }
    format!("<h2>{heading}</h2><div class=\"card\"><ul><li>{}</li></ul></div>", entries.join("</li><li>"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_pdp::{Decision, Pdp, PolicyText, Request};

    fn decision(policies: Vec<PolicyText>) -> Decision {
        let (_, body) = EXAMPLE.split_once("<<'END'\n").unwrap();
        let request = Request::from_json(body.trim_end_matches("END").as_bytes()).unwrap();
        let builder = Pdp::builder().policies(policies).clock(|| std::time::UNIX_EPOCH);
        builder.build().unwrap().decide(&request).results.remove(0).decision
    }

    /// Whoever tries what the page shows gets an answer to it, and not that no policy applies.
    #[test]
    fn the_example_is_permitted_by_the_policies_that_people_begin_with() {
        let root = durward_testdata::workspace();
        let demo = durward_pdp::read_policies(&root.join("crates/durward/policies/demo")).unwrap();
        assert_eq!(decision(demo), Decision::Permit);
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        let (_, policy) = readme.split_once("records.xml <<'POLICY'\n").unwrap();
        let (policy, _) = policy.split_once("POLICY\n").unwrap();
        let text = PolicyText { name: "records.xml".into(), text: policy.as_bytes().to_vec() };
        assert_eq!(decision(vec![text]), Decision::Permit);
    }
}
