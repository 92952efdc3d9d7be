//! Shared documents: who owns a document or folder may do more than who may see it, and some are public.

use serde_json::{Map, Value as Json, json};

use super::random::JavaRandom;
use super::{GRAPH_SEED, ScenarioParts, some_of, subscription, subscriptions};

const ACTIONS: [&str; 5] = ["read", "write", "share", "changeOwner", "createDocument"];
const USER_VIEW: &str = "View::User user_";
const GROUP_VIEW: &str = "View::Group group_";

/// What is in a folder lies below it, and below whoever may see it; everything also lies below itself.
const POLICIES: [&str; 5] = [
    r#"policy "read-what-one-may-see"
permit
    action == "read";
    var above = graph.transitiveClosureSet(entityGraph);
    above[(resource)] has users[(subject)].documentsAndFoldersWithViewAccess;
"#,
    r#"policy "read-what-is-public"
permit
    action == "read";
    docs[(resource)].isPublic == true;
"#,
    r#"policy "use-what-one-owns"
permit
    action in ["read", "write", "share"];
    var user = users[(subject)];
    var above = graph.transitiveClosureSet(entityGraph);
    var aboveThis = above[(resource)];
    aboveThis has any user.ownedFolders || aboveThis has any user.ownedDocuments;
"#,
    r#"policy "give-away-what-one-owns"
permit
    action == "changeOwner";
    var above = graph.transitiveClosureSet(entityGraph);
    var aboveThis = above[(resource)];
    aboveThis has any users[(subject)].ownedDocuments;
"#,
    r#"policy "create-in-folders-one-owns"
permit
    action == "createDocument";
    var above = graph.transitiveClosureSet(entityGraph);
    var aboveThis = above[(resource)];
    aboveThis has any users[(subject)].ownedFolders;
"#,
];

/// So many users, groups, documents and folders.
pub(super) fn generate(size: usize) -> ScenarioParts {
    let first = subscription("User::user_0", "changeOwner", "nonexistent");
    let subscriptions = subscriptions(first, |random| {
        let user = format!("User::user_{}", random.below(size));
        let action = random.one_of(&ACTIONS);
        let kind = if random.coin() { "Document::doc_" } else { "Folder::folder_" };
        subscription(user, action, format!("{kind}{}", random.below(size)))
    });
    ScenarioParts::of_sapl(POLICIES.map(str::to_owned).to_vec(), variables(size), subscriptions)
}

fn variables(size: usize) -> Map<String, Json> {
    let mut random = JavaRandom::new(GRAPH_SEED);
    let (mut graph, mut users, mut documents) = (Map::new(), Map::new(), Map::new());
    let mut members = vec![Vec::new(); size];
    for number in 0..size {
        let groups: Vec<usize> = (0..size).filter(|_| random.is_edge()).collect();
        for group in &groups {
            members.get_mut(*group).into_iter().for_each(|views| views.push(format!("{USER_VIEW}{number}")));
        }
        let groups: Vec<String> = groups.iter().map(|group| format!("Group::group_{group}")).collect();
        let name = format!("User::user_{number}");
        graph.insert(name.clone(), json!(groups));
        users.insert(name, user(&mut random, size, number));
        graph.insert(format!("{USER_VIEW}{number}"), json!([]));
    }
    for (number, members) in members.into_iter().enumerate() {
        graph.insert(format!("Group::group_{number}"), json!([]));
        graph.insert(format!("{GROUP_VIEW}{number}"), json!(members));
    }
    for number in 0..size {
        let is_public = random.below(2) == 0;
        let name = format!("Document::doc_{number}");
        graph.insert(name.clone(), json!(parents(&mut random, size, size)));
        documents.insert(name, json!({ "isPublic": is_public }));
    }
    for number in 0..size {
        graph.insert(format!("Folder::folder_{number}"), json!(parents(&mut random, number, size)));
    }
    Map::from_iter([
        ("entityGraph".to_owned(), Json::Object(graph)),
        ("users".to_owned(), Json::Object(users)),
        ("docs".to_owned(), Json::Object(documents)),
    ])
}

/// What a user may see, and owns.
fn user(random: &mut JavaRandom, size: usize, number: usize) -> Json {
    let documents = some_of(random, size, "Document::doc_");
    let folders = some_of(random, size, "Folder::folder_");
    json!({
        "documentsAndFoldersWithViewAccess": format!("{USER_VIEW}{number}"),
        "ownedDocuments": documents,
        "ownedFolders": folders,
    })
}

/// The folders, of the first so many, that something lies in, and who may see it.
fn parents(random: &mut JavaRandom, folders: usize, size: usize) -> Vec<String> {
    let mut parents = some_of(random, folders, "Folder::folder_");
    parents.extend(some_of(random, size, USER_VIEW));
    parents.extend(some_of(random, size, GROUP_VIEW));
    parents
}
