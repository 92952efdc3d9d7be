//! Subscriptions of SAPL: all scenarios that decision points are measured with, and what real policies are made of.

use durward_bench::scenario::Scenario;
use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{IndexKind, Pdp, PdpBuilder};

use super::allocations;

const SCENARIOS: [&str; 8] =
    ["baseline", "rbac", "hospital-1", "hospital-5", "hospital-30", "github-10", "gdrive-10", "tinytodo-10"];

fn builder(scenario: &Scenario) -> PdpBuilder {
    let builder = Pdp::builder().policy("pdp.json", scenario.configuration());
    let policies = scenario.policies.iter().enumerate();
    policies.fold(builder, |builder, (number, policy)| {
        builder.policy(&format!("{number:06}.sapl"), policy.as_str())
    })
}

fn subscription(json: &str) -> Subscription {
    Subscription::from_json(json.as_bytes()).unwrap()
}

#[test]
fn no_scenario_allocates() {
    for name in SCENARIOS {
        let scenario = Scenario::named(name).unwrap();
        for index in IndexKind::ALL {
            let pdp = builder(&scenario).index(index).build().unwrap();
            let mut permits = 0;
            for asked in &scenario.subscriptions {
                let mut subscription = subscription(&asked.to_string());
                let decision = pdp.decide_once(&subscription);
                assert_eq!((decision.obligations().len(), decision.advice().len()), (0, 0), "{name}");
                permits += usize::from(decision.outcome == Outcome::Permit);
                let count = allocations(|| pdp.decide_once(&subscription));
                assert_eq!(count, 0, "{name} with {index}: {asked}");
                pdp.encode_subscription(&mut subscription);
                let count = allocations(|| pdp.decide_once(&subscription));
                assert_eq!(count, 0, "{name} with {index}, encoded: {asked}");
            }
            assert!(permits > 0 || name == "baseline", "{name} with {index}");
        }
    }
}

/// How often a policy with this body allocates, in the worst of a few subscriptions, among others that need an index.
fn of(body: &str) -> u64 {
    let variables = r#"{"variables": {"limit": 3, "names": ["ann", "bob", 7],
        "lists": {"l1": {"owner": "ann", "readers": ["bob", "cid"]}}, "graph": {"ann": ["bob"], "bob": []}}}"#;
    let worst = IndexKind::ALL.into_iter().map(|index| {
        let mut builder = Pdp::builder().index(index).policy("pdp.json", variables);
        builder = builder.policy("a.sapl", format!("policy \"a\" permit {body}"));
        for number in 0..12 {
            let other = format!("policy \"{number}\" deny subject.role == \"r{number}\";");
            builder = builder.policy(&format!("{number}.sapl"), other);
        }
        let pdp = builder.build().unwrap_or_else(|errors| panic!("{body}: {}", errors.first().unwrap()));
        let counts = SUBSCRIPTIONS.map(|json| {
            let asked = subscription(json);
            allocations(|| pdp.decide_once(&asked))
        });
        counts.into_iter().max().unwrap_or_default()
    });
    worst.max().unwrap_or_default()
}

const SUBSCRIPTIONS: [&str; 2] = [
    r#"{"subject": {"name": "ann", "role": "r9", "level": 4, "tags": ["x", "y"], "address": {"city": "Bonn"}},
        "action": "read", "resource": {"kind": "file", "owner": "ann", "list": "l1", "tags": ["y"], "readers": ["ann"]}}"#,
    r#"{"subject": {"name": "zoe", "role": "none", "level": 1, "tags": ["z"], "address": {"city": "Ulm"}},
        "action": "write", "resource": {"kind": "door", "owner": "bob", "list": "l2", "tags": ["y"], "readers": []}}"#,
];

#[test]
fn conditions_over_what_is_there_do_not_allocate() {
    for body in [
        "",
        "subject.role == \"r9\";",
        "resource.kind in [\"file\", \"folder\"];",
        "subject.name in names;",
        "subject.level >= limit;",
        "subject.level > 1 && subject.level <= 4;",
        "resource.owner == subject.name;",
        "resource.owner != subject.name;",
        "resource.list == \"l1\"; subject.name in lists[(resource.list)].readers;",
        "lists[(resource.list)].owner == subject.name;",
        "subject.name in resource.readers;",
        "subject.tags any in resource.tags;",
        "subject has \"role\";",
        "subject has any [\"role\", \"rank\"];",
        "subject.address.city == \"Bonn\";",
        "subject.role =~ \"r[0-9]\";",
        "!(subject.role == \"r1\") || action == \"read\";",
        "subject.name == \"ann\" && (action == \"read\" || resource.owner == subject.name);",
        "{\"a\": subject.name, \"b\": action} in [{\"a\": \"ann\", \"b\": \"read\"}];",
        "environment.zone == undefined;",
    ] {
        assert_eq!(of(body), 0, "{body}");
    }
}

/// Values that are put together need room; so does what an error says. Each may take this much, and no more.
#[test]
fn what_allocates_is_known() {
    for (body, most) in [
        ("string.startsWith(subject.name, \"a\");", 0),
        ("string.length(subject.name) > 2;", 0),
        ("subject.name in graph[(resource.owner)];", 0),
        ("(subject.name + \"x\") == \"annx\";", 2),
        ("[subject.name, action] == [\"ann\", \"read\"];", 2),
        ("graph.reachable(graph, subject.name) == [];", 3),
        ("subject.missing;", 3),
        ("subject.name in lists[(resource.list)].readers;", 9),
        ("true; obligation \"log\"", 2),
    ] {
        let count = of(body);
        assert!(count <= most, "{count} of {most}: {body}");
    }
}
