//! Lists of tasks: an owner, a team that reads and one that edits.

use serde_json::{Map, Value as Json, json};

use super::random::JavaRandom;
use super::{GRAPH_SEED, ScenarioParts, some_of, subscription, subscriptions};

const APPLICATION: &str = "Application::TinyTodo";
const ACTIONS: [&str; 9] = [
    "CreateList",
    "GetList",
    "UpdateList",
    "DeleteList",
    "GetLists",
    "CreateTask",
    "UpdateTask",
    "DeleteTask",
    "EditShares",
];

const POLICIES: [&str; 4] = [
    r#"policy "create-and-get-lists"
permit
    action in ["CreateList", "GetLists"];
    resource == "Application::TinyTodo";
"#,
    r#"policy "owner-full-access"
permit
    subject == lists[(resource)].owner;
"#,
    r#"policy "reader-or-editor-get-list"
permit
    action == "GetList";
    var memberOf = graph.transitiveClosureSet(entityGraph);
    var list = lists[(resource)];
    memberOf[(subject)] has list.readers || memberOf[(subject)] has list.editors;
"#,
    r#"policy "editor-modify"
permit
    action in ["UpdateList", "CreateTask", "UpdateTask", "DeleteTask"];
    var memberOf = graph.transitiveClosureSet(entityGraph);
    memberOf[(subject)] has lists[(resource)].editors;
"#,
];

/// So many users, teams and lists.
pub(super) fn generate(size: usize) -> ScenarioParts {
    let first = subscription(format!("User::user_{size}"), "DeleteList", "List::list_0");
    let subscriptions = subscriptions(first, |random| {
        let user = format!("User::user_{}", random.below(size));
        let action = random.one_of(&ACTIONS);
        let resource = match action {
            "CreateList" | "GetLists" => APPLICATION.to_owned(),
            _ => format!("List::list_{}", random.below(size)),
        };
        subscription(user, action, resource)
    });
    ScenarioParts::of_sapl(POLICIES.map(str::to_owned).to_vec(), variables(size), subscriptions)
}

fn variables(size: usize) -> Map<String, Json> {
    let mut random = JavaRandom::new(GRAPH_SEED);
    let (mut graph, mut lists) = (Map::new(), Map::new());
    graph.insert(APPLICATION.to_owned(), json!([]));
    let member = |graph: &mut Map<String, Json>, name: String, mut parents: Vec<String>| {
        parents.push(APPLICATION.to_owned());
        graph.insert(name, json!(parents));
    };
    for number in 0..size {
        let teams = some_of(&mut random, size, "Team::team_");
        member(&mut graph, format!("User::user_{number}"), teams);
    }
    for number in 0..size {
        let teams = some_of(&mut random, number, "Team::team_");
        member(&mut graph, format!("Team::team_{number}"), teams);
    }
    for number in 0..size {
        let name = format!("List::list_{number}");
        member(&mut graph, name.clone(), Vec::new());
        let list = list(&mut random, &name, size);
        lists.insert(name, list);
    }
    Map::from_iter([
        ("entityGraph".to_owned(), Json::Object(graph)),
        ("lists".to_owned(), Json::Object(lists)),
    ])
}

fn list(random: &mut JavaRandom, name: &str, size: usize) -> Json {
    let owner = format!("User::user_{}", random.below(size));
    let readers = format!("Team::team_{}", random.below(size));
    let editors = format!("Team::team_{}", random.below(size));
    let tasks: Vec<Json> = (0..random.below(51)).map(|_| task(random)).collect();
    json!({ "name": name, "owner": owner, "readers": readers, "editors": editors, "tasks": tasks })
}

fn task(random: &mut JavaRandom) -> Json {
    let (name, id) = (random.below(1_000_000) + 1, random.below(1_000_000) + 1);
    let state = if random.below(2) == 0 { "Checked" } else { "Unchecked" };
    json!({ "id": id, "name": format!("task_{name}"), "state": state })
}
