//! Policies that know nothing of AuthZEN, in either language, and what of their decisions a caller is told.

use serde_json::json;

use super::world::{OPEN, SUBJECT_ID, entity, ok, sapl};
use crate::support::{Directory, TestServer, workspace};

#[test]
fn templates_make_the_subscription_that_policies_expect() {
    let policy = "policy \"p\" permit subject == \"ada\"; action.verb == \"read\"; resource == \"7\"; environment == \"::1\";";
    let settings = "[authzen.sapl]\nsubject = 'subject.id'\naction = { verb = 'action.name' }\nresource = 'resource.properties.number'\n\
                    environment = 'context.ip'\n";
    let server = sapl(policy, settings);
    let body = json!({
        "subject": entity("user", "ada"), "action": { "name": "read" },
        "resource": { "type": "paper", "id": "x", "properties": { "number": "7" } }, "context": { "ip": "::1" },
    });
    assert_eq!(ok(&server, "evaluation", &body)["decision"], true);
    let mut other = body.clone();
    other["resource"]["properties"]["number"] = json!(7);
    assert_eq!(ok(&server, "evaluation", &other)["decision"], false);
}

/// The conference of the demo, asked in AuthZEN: its policies are XACML's, beside one of SAPL, so the settings say the language.
#[test]
fn the_policies_of_the_demo_are_asked_with_names_from_the_settings() {
    let directory = Directory::new();
    for name in ["conference.xml", "hospital.xml", "pdp.json", "ward.sapl"] {
        let path = workspace(&format!("crates/durward/policies/demo/{name}"));
        directory.write(&format!("policies/{name}"), &std::fs::read_to_string(path).unwrap());
    }
    let settings = "authzen.language = 'xacml'\nauthzen.obligations = ['conference:watermark']\n\
                    authzen.xacml.names = { 'resource.type' = 'conference:kind', 'resource.properties.phase' = 'conference:phase', \
                    'resource.properties.reviewer' = 'conference:reviewer' }\n";
    let server = TestServer::start_in(directory, &format!("{OPEN}{settings}")).unwrap();
    let ask = |user: &str| {
        let properties = json!({ "phase": "reviewing", "reviewer": ["ada", "bob"] });
        let body = json!({
            "subject": entity("user", user), "action": { "name": "read" },
            "resource": { "type": "paper", "id": "p1", "properties": properties },
        });
        ok(&server, "evaluation", &body)
    };
    let answer = ask("ada");
    assert_eq!(answer["decision"], true, "{answer}");
    let obligation = &answer["context"]["obligations"][0];
    assert_eq!(obligation["type"], "conference:watermark");
    assert_eq!(obligation["properties"], json!({ "conference:for": "ada" }));
    assert_eq!(ask("eve")["decision"], false);
}

#[test]
fn an_obligation_that_the_caller_does_not_name_makes_no_permit() {
    let server = sapl("policy \"p\" permit obligation { \"type\": \"audit\", \"user\": subject.id }", "");
    let mut body =
        json!({ "subject": entity("u", "a"), "action": { "name": "r" }, "resource": entity("d", "1") });
    let refused = ok(&server, "evaluation", &body);
    assert_eq!(refused, json!({ "decision": false, "context": { "obligations_not_understood": ["audit"] } }));
    body["context"] = json!({ "supported_obligations": ["audit"] });
    let granted = ok(&server, "evaluation", &body);
    let obligation = json!({ "id": "1", "type": "audit", "properties": { "user": "a" } });
    assert_eq!(granted, json!({ "decision": true, "context": { "obligations": [obligation] } }));
    // In a batch, a refused permit ends what ends at the first deny.
    body["evaluations"] = json!([{ "context": {} }, {}]);
    body["options"] = json!({ "evaluations_semantic": "deny_on_first_deny" });
    let batch = ok(&server, "evaluations", &body);
    assert_eq!(batch["evaluations"].as_array().unwrap().len(), 1);
}

/// `xacml` for one tenant and `sapl` for the others, whatever their policies are.
#[test]
fn the_language_is_the_tenants() {
    let directory = Directory::new();
    directory.write("policies/p.sapl", "policy \"p\" permit subject.id == \"ada\";");
    let settings = format!("{OPEN}authzen.tenant_languages = {{ default = 'xacml' }}\n");
    let server = TestServer::start_in(directory, &settings).unwrap();
    let body =
        json!({ "subject": entity("u", "ada"), "action": { "name": "r" }, "resource": entity("d", "1") });
    // SAPL sees nothing of an XACML request.
    assert_eq!(ok(&server, "evaluation", &body)["decision"], false);
    assert!(SUBJECT_ID.ends_with("subject-id"));
}

/// The example of docs/authzen.md: tools that an agent calls for somebody (COAZ-MCP, a draft).
#[test]
fn calls_of_tools_are_decided_by_the_example_policy() {
    let directory = Directory::new();
    let path = workspace("crates/durward/policies/mcp/tools.sapl");
    directory.write("policies/tools.sapl", &std::fs::read_to_string(path).unwrap());
    directory.write(
        "entities.jsonl",
        &std::fs::read_to_string(workspace("crates/durward/policies/mcp/entities.jsonl")).unwrap(),
    );
    let entities = directory.path("entities.jsonl").display().to_string();
    let server = TestServer::start_in(
        directory,
        &format!(
            "{OPEN}authzen.entities = [{{ path = '{entities}' }}]\nauthzen.types_elsewhere = ['identity']\nauthzen.stored_properties = 'override'\n"
        ),
    )
    .unwrap();
    let call = |user: &str, tool: &str, agent: &str| {
        let body = json!({
            "subject": entity("identity", user), "action": { "name": "tools/call" }, "resource": entity("tool", tool),
            "context": { "agent": agent },
        });
        ok(&server, "evaluation", &body)["decision"].as_bool().unwrap()
    };
    assert!(call("ada", "search_papers", "assistant"));
    assert!(!call("ada", "delete_paper", "assistant"), "this agent may not change anything");
    assert!(call("ada", "delete_paper", "editor"));
    assert!(!call("eve", "delete_paper", "editor"), "nor may she");
    assert!(!call("ada", "search_papers", "unknown") && !call("ada", "unknown_tool", "assistant"));
    let lying = json!({
        "subject": entity("identity", "eve"), "action": { "name": "tools/call" },
        "resource": { "type": "tool", "id": "delete_paper", "properties": { "effect": "read" } }, "context": { "agent": "assistant" },
    });
    assert_eq!(ok(&server, "evaluation", &lying)["decision"], false);
    let list = json!({
        "subject": entity("identity", "eve"), "action": { "name": "tools/list" },
        "resource": entity("mcp_server", "https://papers.example.org/mcp"), "context": { "agent": "assistant" },
    });
    assert_eq!(ok(&server, "evaluation", &list)["decision"], true);
    let found = json!({
        "subject": entity("identity", "ada"), "action": { "name": "tools/call" }, "resource": { "type": "tool" },
        "context": { "agent": "assistant" },
    });
    assert_eq!(ok(&server, "search/resource", &found)["results"], json!([entity("tool", "search_papers")]));
}

/// Attributes that a request lacks come from where `/pdp` has them.
#[test]
fn attributes_of_the_settings_are_seen_by_policies_of_xacml() {
    let attribute = "[[attributes]]\nid = 'role'\ncategory = 'urn:oasis:names:tc:xacml:1.0:subject-category:access-subject'\n\
                     values = ['doctor']\n";
    for (settings, expected) in [(attribute, true), ("", false)] {
        let server = TestServer::start(&format!("{OPEN}{settings}"));
        let body =
            json!({ "subject": entity("u", "ada"), "action": { "name": "r" }, "resource": entity("d", "1") });
        assert_eq!(ok(&server, "evaluation", &body)["decision"], expected);
    }
}
