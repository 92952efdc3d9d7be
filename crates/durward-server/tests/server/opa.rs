//! OPA's data API, asked as Trino does, with the files of the manual.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Directory, Reply, TestServer, workspace};

/// The files of the manual, with more settings before them, and more of `[opa]`.
fn start(more: &str, opa: &str) -> TestServer {
    let page = fs::read_to_string(workspace("docs/opa-clients.md")).unwrap();
    let directory = Directory::new();
    let mut settings = String::new();
    for text in page.split("cat > ").skip(1) {
        let (name, text) = text.split_once(" <<'END'\n").unwrap();
        let text = text.split_once("END\n").unwrap().0;
        directory.write(name, text);
        if name == "durward.toml" {
            settings = text.replace("on = true\n", &format!("on = true\n{opa}"));
        }
    }
    TestServer::start_in(directory, &format!("{more}{settings}")).unwrap()
}

/// What stands behind the addresses of `access-control.properties`.
fn paths(server: &TestServer) -> Vec<String> {
    let text = fs::read_to_string(server.directory.path("access-control.properties")).unwrap();
    let address = "=http://127.0.0.1:8080";
    text.lines().filter_map(|line| Some(line.split_once(address)?.1.to_owned())).collect()
}

fn post(server: &TestServer, path: &str, body: &str) -> Reply {
    server.send("POST", path, &[("Content-Type", "application/json")], body.as_bytes())
}

fn input(user: &str, action: &Value) -> Value {
    let groups = if user == "ada" { json!(["analysts"]) } else { json!([]) };
    json!({
        "context": { "identity": { "user": user, "groups": groups }, "queryId": "q1", "softwareStack": { "trinoVersion": "434" } },
        "action": action,
    })
}

/// The whole answer but for its id.
fn ask(server: &TestServer, path: &str, input: &Value) -> Value {
    let reply = post(server, path, &json!({ "input": input }).to_string());
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"), "{}", reply.text());
    let mut answer = reply.json();
    let id = answer.as_object_mut().unwrap().remove("decision_id").unwrap();
    assert_eq!(id, reply.header("x-request-id"));
    answer
}

fn table(schema: &str, name: &str) -> Value {
    json!({ "table": { "catalogName": "hive", "schemaName": schema, "tableName": name } })
}

fn column(schema: &str, name: &str) -> Value {
    json!({ "column": { "catalogName": "hive", "schemaName": schema, "tableName": "cards", "columnName": name, "columnType": "varchar" } })
}

#[test]
fn trino_is_answered_by_the_policies_of_the_manual() {
    let server = start("decision_log.to = 'file'\n", "");
    let paths = paths(&server);
    let [allow, batch, filters, mask, masks] = [0, 1, 2, 3, 4].map(|at| paths[at].as_str());
    let asked = |path: &str, user: &str, action: Value| ask(&server, path, &input(user, &action));
    let select =
        |schema: &str| json!({ "operation": "SelectFromColumns", "resource": table(schema, "cards") });
    assert_eq!(asked(allow, "eve", json!({ "operation": "ExecuteQuery" })), json!({ "result": true }));
    assert_eq!(asked(allow, "ada", select("sales")), json!({ "result": true }));
    assert_eq!(asked(allow, "ada", select("staff")), json!({ "result": false }));
    assert_eq!(asked(allow, "eve", select("sales")), json!({ "result": false }));
    let tables = json!({ "operation": "FilterTables", "filterResources": [table("staff", "a"), table("sales", "b"), table("sales", "c")] });
    assert_eq!(asked(batch, "ada", tables.clone()), json!({ "result": [1, 2] }));
    assert_eq!(asked(batch, "eve", tables), json!({ "result": [] }));
    let mut cards = table("sales", "cards");
    cards["table"]["columns"] = json!(["card", "region"]);
    let columns = json!({ "operation": "FilterColumns", "filterResources": [cards] });
    assert_eq!(asked(batch, "ada", columns), json!({ "result": [0, 1] }));
    let rows = |schema: &str| json!({ "operation": "GetRowFilters", "resource": table(schema, "cards") });
    assert_eq!(
        asked(filters, "ada", rows("sales")),
        json!({ "result": [{ "expression": "region = 'north'" }] })
    );
    assert_eq!(asked(filters, "ada", rows("staff")), json!({ "result": [{ "expression": "false" }] }));
    let shown =
        |schema: &str, name: &str| json!({ "operation": "GetColumnMask", "resource": column(schema, name) });
    assert_eq!(
        asked(mask, "ada", shown("sales", "card")),
        json!({ "result": { "expression": "substr(card, -4)" } })
    );
    assert_eq!(asked(mask, "ada", shown("sales", "region")), json!({}), "undefined: the column itself");
    assert_eq!(asked(mask, "eve", shown("sales", "region")), json!({ "result": { "expression": "NULL" } }));
    let several = json!({ "operation": "GetColumnMask", "filterResources": [column("sales", "region"), column("sales", "card"), column("staff", "name")] });
    assert_eq!(
        asked(masks, "ada", several),
        json!({ "result": [
            { "index": 1, "viewExpression": { "expression": "substr(card, -4)" } },
            { "index": 2, "viewExpression": { "expression": "NULL" } },
        ] })
    );
    server.eventually("decisions are in the log", |server| {
        let log = fs::read_to_string(server.directory.path("decisions.jsonl")).unwrap_or_default();
        ["trino-allow", "trino-batch", "trino-row-filters", "trino-column-mask", "trino-batch-column-masks"]
            .iter()
            .all(|route| log.contains(&format!(r#""surface":"opa","route":"{route}""#)))
    });
}

#[test]
fn what_cannot_be_read_shows_nothing() {
    let server = start("", "");
    let at = |path: &str| format!("/opa/v1/data/trino/{path}");
    let no_row = json!({ "result": [{ "expression": "false" }] });
    for wrong in [
        json!(null),
        json!(7),
        json!({}),
        input("", &json!({ "operation": "GetRowFilters", "resource": table("sales", "t") })),
        json!({ "context": { "identity": { "user": "ada", "groups": "analysts" } }, "action": { "operation": "GetRowFilters" } }),
        input("ada", &json!({ "operation": "GetRowFilters", "resource": [] })),
        input("ada", &json!({ "operation": "GetRowFilters", "resource": { "table": {}, "schema": {} } })),
    ] {
        assert_eq!(ask(&server, &at("allow"), &wrong), json!({ "result": false }), "{wrong}");
        assert_eq!(ask(&server, &at("batch"), &wrong), json!({ "result": [] }), "{wrong}");
        assert_eq!(ask(&server, &at("rowFilters"), &wrong), no_row, "{wrong}");
        assert_eq!(ask(&server, &at("columnMask"), &wrong)["result"]["expression"], "NULL", "{wrong}");
        assert_eq!(
            post(&server, &at("batchColumnMasks"), &json!({ "input": wrong }).to_string()).status,
            400,
            "{wrong}"
        );
    }
}

#[test]
fn both_versions_answer_as_opa_does() {
    let server = start("", "");
    let question = json!({ "subject": { "type": "user", "id": "eve" }, "action": { "name": "ExecuteQuery" },
                           "resource": { "type": "trino", "id": "" } });
    let (v1, v0) = ("/opa/v1/data/authzen/allow", "/opa/v0/data/authzen/allow");
    assert_eq!(ask(&server, v1, &question), json!({ "result": true }));
    assert_eq!(post(&server, v0, &question.to_string()).json(), json!(true));
    let other = question.to_string().replace("ExecuteQuery", "DropTable");
    assert_eq!(post(&server, v0, &other).json(), json!(false));
    assert_eq!(ask(&server, "/opa/v1/data/nothing", &question), json!({}));
    let undefined = post(&server, "/opa/v0/data/nothing", &question.to_string());
    assert_eq!((undefined.status, undefined.json()["code"].as_str()), (404, Some("undefined_document")));
    for (path, body) in [(v1, "{"), (v1, "[]"), (v0, "{"), (v1, "{\"input\":1,\"input\":2}")] {
        let reply = post(&server, path, body);
        assert_eq!((reply.status, reply.json()["code"].as_str()), (400, Some("invalid_parameter")), "{body}");
    }
    assert_eq!(server.get("/opa/health").json(), json!({}));
    assert_eq!(server.get(v1).status, 405);
    let proxied =
        server.send("POST", v1, &[("X-Forwarded-For", "127.0.0.1")], question.to_string().as_bytes());
    assert_eq!(proxied.status, 401);
    assert_eq!(TestServer::start("").send("POST", v1, &[], b"{}").status, 404);
}

#[test]
fn documents_and_the_path_can_be_set_and_batches_are_bounded() {
    let more =
        "path = ''\nbatch_max = 2\ndocuments = { 'system/main' = 'authzen-object', 'b' = 'trino-batch' }\n";
    let server = start("", more);
    let question = json!({ "subject": { "type": "user", "id": "eve" }, "action": { "name": "ExecuteQuery" },
                           "resource": { "type": "trino", "id": "" } });
    assert_eq!(ask(&server, "/v1/data/system/main", &question), json!({ "result": { "allow": true } }));
    assert_eq!(ask(&server, "/v1/data/authzen/allow", &question), json!({}), "only those that are set");
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.get("/health/live").status, 200);
    let tables = json!({ "operation": "FilterTables", "filterResources": [table("a", "a"), table("a", "b"), table("a", "c")] });
    let reply = post(&server, "/v1/data/b", &json!({ "input": input("ada", &tables) }).to_string());
    assert_eq!(reply.status, 413);
}
