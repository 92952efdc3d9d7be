//! Repositories: five permissions on each, three on the organization that owns it, and teams that inherit them.

use serde_json::{Map, Value as Json, json};

use super::random::JavaRandom;
use super::{GRAPH_SEED, ScenarioParts, some_of, some_roles, subscription, subscriptions};

const ORGANIZATION_ROLES: [&str; 3] = ["readers", "writers", "admins"];
const REPOSITORY_ROLES: [&str; 5] = ["readers", "triagers", "writers", "maintainers", "admins"];
const ACTIONS: [&str; 5] = ["read", "triage", "write", "maintain", "admin"];

/// A policy's name, what it is about, and whose members may do it.
const POLICIES: [(&str, &str, &str); 8] = [
    ("repo-read", "action == \"read\"", "repo.readers"),
    ("repo-triage", "action in [\"triage\", \"read\"]", "repo.triagers"),
    ("repo-write", "action in [\"write\", \"triage\", \"read\"]", "repo.writers"),
    ("repo-maintain", "action in [\"maintain\", \"write\", \"triage\", \"read\"]", "repo.maintainers"),
    ("repo-admin", "action in [\"admin\", \"maintain\", \"write\", \"triage\", \"read\"]", "repo.admins"),
    ("org-read", "action == \"read\"", "orgs[(repo.owner)].readers"),
    ("org-write", "action in [\"write\", \"triage\", \"read\"]", "orgs[(repo.owner)].writers"),
    (
        "org-admin",
        "action in [\"admin\", \"maintain\", \"write\", \"triage\", \"read\"]",
        "orgs[(repo.owner)].admins",
    ),
];

/// So many organizations, repositories, teams and users.
pub(super) fn generate(size: usize) -> ScenarioParts {
    let first = subscription("User::user_0", "read", "nonexistent");
    let subscriptions = subscriptions(first, |random| {
        let user = format!("User::user_{}", random.below(size));
        let action = random.one_of(&ACTIONS);
        subscription(user, action, format!("Repository::repo_{}", random.below(size)))
    });
    ScenarioParts::of_sapl(POLICIES.map(policy).to_vec(), variables(size), subscriptions)
}

fn policy((name, action, members): (&str, &str, &str)) -> String {
    format!(
        "policy \"{name}\"\npermit\n    {action};\n    var repo = repos[(resource)];\n    repo != undefined;\n    \
         var memberOf = graph.transitiveClosureSet(entityGraph);\n    memberOf[(subject)] has {members};\n"
    )
}

fn variables(size: usize) -> Map<String, Json> {
    let mut random = JavaRandom::new(GRAPH_SEED);
    let (mut graph, mut organizations, mut repositories) = (Map::new(), Map::new(), Map::new());
    for number in 0..size {
        let name = format!("Organization::org_{number}");
        let parents = some_roles(&mut random, size, "OrgPermission::org_", &ORGANIZATION_ROLES);
        graph.insert(name.clone(), json!(parents));
        let permissions =
            permissions(&mut graph, &format!("OrgPermission::org_{number}"), &ORGANIZATION_ROLES);
        organizations.insert(name, Json::Object(permissions));
    }
    for number in 0..size {
        let name = format!("Repository::repo_{number}");
        let owner = format!("Organization::org_{}", random.below(size));
        graph.insert(name.clone(), json!([]));
        let mut repository =
            permissions(&mut graph, &format!("RepoPermission::repo_{number}"), &REPOSITORY_ROLES);
        repository.insert("owner".to_owned(), owner.into());
        repositories.insert(name, Json::Object(repository));
    }
    for number in 0..size {
        let mut parents = some_of(&mut random, number, "Team::team_");
        parents.extend(some_roles(&mut random, size, "RepoPermission::repo_", &REPOSITORY_ROLES));
        graph.insert(format!("Team::team_{number}"), json!(parents));
    }
    for number in 0..size {
        graph.insert(format!("User::user_{number}"), json!(user(&mut random, size)));
    }
    Map::from_iter([
        ("entityGraph".to_owned(), Json::Object(graph)),
        ("orgs".to_owned(), Json::Object(organizations)),
        ("repos".to_owned(), Json::Object(repositories)),
    ])
}

/// The permissions on a thing by role, each of them a node of the graph.
fn permissions(graph: &mut Map<String, Json>, prefix: &str, roles: &[&str]) -> Map<String, Json> {
    let mut permissions = Map::new();
    for role in roles {
        graph.insert(format!("{prefix}_{role}"), json!([]));
        permissions.insert((*role).to_owned(), format!("{prefix}_{role}").into());
    }
    permissions
}

/// What a user belongs to.
fn user(random: &mut JavaRandom, size: usize) -> Vec<String> {
    let mut parents = some_roles(random, size, "RepoPermission::repo_", &REPOSITORY_ROLES);
    parents.extend(some_of(random, size, "Team::team_"));
    for number in 0..size {
        if random.is_edge() {
            parents.push(format!("Organization::org_{number}"));
        }
        if random.is_edge() {
            parents.push(format!("OrgPermission::org_{number}_{}", random.one_of(&ORGANIZATION_ROLES)));
        }
    }
    parents
}
