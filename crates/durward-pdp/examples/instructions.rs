//! What `cargo xtask instructions` counts: `instructions CASE ROUNDS` puts the policies of a case in force and decides all
//! its questions so many times, within [`rounds`], and says how many questions that is.
//!
//! Built for itself so that it links nothing but what decides: the scenarios are the files of durward-bench.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

#[path = "../../durward-bench/src/scenario/mod.rs"]
#[allow(dead_code, unreachable_pub, unused_imports, reason = "more is there than is counted")]
mod scenario;

use std::cell::RefCell;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use durward_pdp::sapl::Subscription;
use durward_pdp::xacml::request::Limits;
use durward_pdp::{Pdp, PdpBuilder, PolicyChange, PolicyText, Request, Response};
use scenario::{Scenario, XacmlRequest, XacmlScenario};

const CONFERENCE: &str = include_str!("../../durward/policies/demo/conference.xml");
const HOSPITAL: &str = include_str!("../../durward/policies/demo/hospital.xml");
const REQUESTS: [&str; 3] = [
    include_str!("../../durward/policies/requests/reviewer-reads-paper.xml"),
    include_str!("../../durward/policies/requests/physician-writes.xml"),
    include_str!("../../durward/policies/requests/emergency.xml"),
];

type Failed = Box<dyn std::error::Error>;

/// How many questions there are, and what decides one of them, by its number.
type Case = (usize, Box<dyn Fn(usize)>);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [case, times] = words.as_slice() else {
        eprintln!("instructions CASE ROUNDS");
        return ExitCode::from(2);
    };
    match count(case, times) {
        Ok(questions) => {
            println!("{questions}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn count(case: &str, times: &str) -> Result<usize, Failed> {
    let times: usize = times.parse()?;
    let (questions, decide) = prepare(case)?;
    // What a thread does on its first decision only is not counted.
    (0..questions).for_each(&decide);
    rounds(times, questions, &decide);
    Ok(questions)
}

/// All that is counted.
#[inline(never)]
fn rounds(times: usize, questions: usize, decide: &dyn Fn(usize)) {
    for _ in 0..times {
        (0..questions).for_each(decide);
    }
}

fn prepare(case: &str) -> Result<Case, Failed> {
    let (policies, mode) = case.rsplit_once(' ').ok_or("a case is policies and a mode: `rbac decide`")?;
    match (policies, mode) {
        ("conference", "decide") => requests(),
        ("conference", "text") => request_texts(),
        (policies, "decide") => subscriptions(&Scenario::named(policies)?, of_scenario),
        (policies, "changed") => subscriptions(&Scenario::named(policies)?, of_scenario_changed),
        (policies, "text") => subscription_texts(&Scenario::named(policies)?),
        (policies, "requests") => of_requests(policies, one_by_one),
        (policies, "together") => of_requests(policies, together),
        (policies, "xml") => of_requests(policies, from_xml),
        (policies, "json") => of_requests(policies, from_json),
        (_, mode) => {
            let modes = "`decide`, `changed`, `text`, `requests`, `together`, `xml` and `json`";
            Err(format!("`{mode}` is no mode: there are {modes}").into())
        }
    }
}

fn built(builder: PdpBuilder) -> Result<Pdp, Failed> {
    let clock = || SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let built = builder.clock(clock).build();
    built.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").into())
}

fn of_scenario(scenario: &Scenario) -> Result<Pdp, Failed> {
    built(builder_of(scenario))
}

fn builder_of(scenario: &Scenario) -> PdpBuilder {
    let builder = Pdp::builder().policy("pdp.json", scenario.configuration());
    let policies = scenario.policies.iter().enumerate();
    policies.fold(builder, |builder, (number, policy)| builder.policy(&name_of(number), policy.as_str()))
}

fn name_of(number: usize) -> String {
    format!("{number:06}.sapl")
}

/// Of the scenario's policies one is changed, one taken away, and one there twice.
fn of_scenario_changed(scenario: &Scenario) -> Result<Pdp, Failed> {
    let pdp = built(builder_of(scenario).changing())?;
    let text =
        |number: usize| scenario.policies.get(number).map(|policy| policy.as_str()).unwrap_or_default();
    let put = |name: String, text: String| PolicyChange::Put(PolicyText { name, text: text.into() });
    let changes = [
        put(name_of(7), format!("{}\n", text(7))),
        PolicyChange::Remove(name_of(9)),
        put("again.sapl".into(), text(8).replacen("policy \"", "policy \"again ", 1)),
    ];
    for change in changes {
        pdp.change(&[change]).map_err(|errors| errors.iter().map(ToString::to_string).collect::<String>())?;
    }
    if pdp.change_count() == 0 {
        return Err("the policies were built anew instead of being changed".into());
    }
    Ok(pdp)
}

fn subscriptions(
    scenario: &Scenario,
    build: impl Fn(&Scenario) -> Result<Pdp, Failed>,
) -> Result<Case, Failed> {
    let pdp = build(scenario)?;
    let read = |json: &serde_json::Value| Subscription::from_json(json.to_string().as_bytes());
    let asked: Vec<Subscription> = scenario.subscriptions.iter().map(read).collect::<Result<_, _>>()?;
    let decide = move |number: usize| {
        if let Some(asked) = asked.get(number) {
            drop(black_box(pdp.decide_once(black_box(asked))));
        }
    };
    Ok((scenario.subscriptions.len(), Box::new(decide)))
}

fn subscription_texts(scenario: &Scenario) -> Result<Case, Failed> {
    let pdp = of_scenario(scenario)?;
    let texts: Vec<String> = scenario.subscriptions.iter().map(ToString::to_string).collect();
    let decide = move |number: usize| {
        let decision = texts.get(number).map(|text| pdp.decide_json(black_box(text).as_bytes()));
        if let Some(Ok(decision)) = decision {
            drop(black_box(decision.to_json()));
        }
    };
    Ok((scenario.subscriptions.len(), Box::new(decide)))
}

fn conference() -> Result<Pdp, Failed> {
    built(Pdp::builder().policy("conference.xml", CONFERENCE).policy("hospital.xml", HOSPITAL))
}

/// Every role, action, kind and phase once.
fn requests() -> Result<Case, Failed> {
    let pdp = conference()?;
    let mut asked = Vec::new();
    for role in ["chair", "author", "reviewer", "nurse"] {
        for action in ["read", "write"] {
            for kind in ["paper", "review"] {
                for phase in ["submission", "reviewing", "decided"] {
                    asked.push(request(role, action, kind, phase));
                }
            }
        }
    }
    let questions = asked.len();
    let decide = move |number: usize| {
        if let Some(asked) = asked.get(number) {
            drop(black_box(pdp.decide(black_box(asked))));
        }
    };
    Ok((questions, Box::new(decide)))
}

fn request(role: &str, action: &str, kind: &str, phase: &str) -> Request {
    Request::builder()
        .subject("urn:oasis:names:tc:xacml:1.0:subject:subject-id", "ada")
        .subject("urn:oasis:names:tc:xacml:2.0:subject:role", role)
        .action("urn:oasis:names:tc:xacml:1.0:action:action-id", action)
        .resource("conference:kind", kind)
        .resource("conference:phase", phase)
        .resource("conference:author", "grace")
        .resource("conference:reviewer", "ada")
        .build()
}

fn request_texts() -> Result<Case, Failed> {
    let pdp = conference()?;
    let decide = move |number: usize| {
        let Some(text) = REQUESTS.get(number) else { return };
        if let Ok((response, version)) = pdp.decide_xml(black_box(*text).as_bytes(), &Limits::default()) {
            drop(black_box(response.to_xml(version)));
        }
    };
    Ok((REQUESTS.len(), Box::new(decide)))
}

/// The requests of a scenario in XACML.
fn of_requests(
    policies: &str,
    case: impl Fn(Pdp, Vec<XacmlRequest>) -> Result<Case, Failed>,
) -> Result<Case, Failed> {
    let scenario = XacmlScenario::of(&policies.parse()?).ok_or("the scenario has no form in XACML")?;
    let documents = scenario.documents.iter().enumerate();
    let builder = documents.fold(Pdp::builder(), |builder, (number, document)| {
        builder.policy(&format!("{number}.xml"), document.as_str())
    });
    case(built(builder)?, scenario.requests)
}

fn read(requests: &[XacmlRequest]) -> Result<Vec<Request>, Failed> {
    Ok(requests.iter().map(|asked| Request::from_xml(asked.xml.as_bytes())).collect::<Result<_, _>>()?)
}

fn one_by_one(pdp: Pdp, requests: Vec<XacmlRequest>) -> Result<Case, Failed> {
    let asked = read(&requests)?;
    let decide = move |number: usize| {
        if let Some(asked) = asked.get(number) {
            drop(black_box(pdp.decide(black_box(asked))));
        }
    };
    Ok((requests.len(), Box::new(decide)))
}

/// All at once, which count as so many.
fn together(pdp: Pdp, requests: Vec<XacmlRequest>) -> Result<Case, Failed> {
    let asked = read(&requests)?;
    let responses = RefCell::new(vec![Response { results: Default::default() }; asked.len()]);
    let decide = move |number: usize| {
        if number == 0 {
            pdp.decide_requests(black_box(&asked), &mut responses.borrow_mut());
            black_box(&responses);
        }
    };
    Ok((requests.len(), Box::new(decide)))
}

fn from_xml(pdp: Pdp, requests: Vec<XacmlRequest>) -> Result<Case, Failed> {
    let count = requests.len();
    let decide = move |number: usize| {
        let Some(asked) = requests.get(number) else { return };
        if let Ok((response, version)) = pdp.decide_xml(black_box(asked).xml.as_bytes(), &Limits::default()) {
            drop(black_box(response.to_xml(version)));
        }
    };
    Ok((count, Box::new(decide)))
}

fn from_json(pdp: Pdp, requests: Vec<XacmlRequest>) -> Result<Case, Failed> {
    let texts: Vec<String> = requests.iter().map(|asked| asked.json.to_string()).collect();
    let decide = move |number: usize| {
        let Some(text) = texts.get(number) else { return };
        if let Ok(response) = pdp.decide_request_json(black_box(text).as_bytes(), &Limits::default()) {
            drop(black_box(response.to_json()));
        }
    };
    Ok((requests.len(), Box::new(decide)))
}
