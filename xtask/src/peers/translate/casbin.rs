//! A scenario for Casbin: a model, a line for each policy and thing it is about, and the graph as roles.

use super::hospital::{Policy, policies};
use super::source::{Kind, Source, array, member, object, strings, text};
use super::{Files, json_lines};
use serde_json::{Value, json};
use std::fmt::Write;

/// `model.conf`, `policy.csv`, `requests.jsonl`.
pub(super) fn files(source: &Source) -> Result<Files, String> {
    let (model, lines) = match source.kind {
        Kind::Rbac => (include_str!("../../../peers/casbin/policies/rbac.conf"), rbac(source)?),
        Kind::Hospital => (include_str!("../../../peers/casbin/policies/hospital.conf"), hospital(source)?),
        Kind::Github => (include_str!("../../../peers/casbin/policies/github.conf"), github(source)?),
        Kind::Gdrive => (include_str!("../../../peers/casbin/policies/gdrive.conf"), gdrive(source)?),
        Kind::Tinytodo => (include_str!("../../../peers/casbin/policies/tinytodo.conf"), tinytodo(source)?),
    };
    let mut policy = lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "p, {}", line.join(", "));
        text
    });
    if source.kind != Kind::Rbac {
        for (node, above) in source.graph()? {
            above.iter().for_each(|above| policy.push_str(&format!("g, {node}, {above}\n")));
        }
    }
    let requests = source.subscriptions.iter().map(|asked| request(source.kind, asked));
    Ok(vec![
        ("model.conf", model.to_owned()),
        ("policy.csv", policy),
        ("requests.jsonl", json_lines(requests)?),
    ])
}

/// The values of a line, after the `p`.
type Line = Vec<String>;

fn line<const N: usize>(values: [&str; N]) -> Line {
    values.map(str::to_owned).to_vec()
}

fn request(kind: Kind, asked: &Value) -> Result<Value, String> {
    let (subject, resource) = (member(asked, "subject")?, member(asked, "resource")?);
    let action = text(asked, "action")?;
    Ok(match kind {
        Kind::Rbac => json!([text(subject, "role")?, text(resource, "type")?, action]),
        Kind::Hospital => json!([
            text(subject, "id")?,
            text(subject, "role")?,
            member(subject, "clearance")?,
            action,
            text(resource, "type")?,
            text(resource, "department")?,
            member(resource, "sensitivity")?,
        ]),
        Kind::Github | Kind::Gdrive | Kind::Tinytodo => json!([subject, resource, action]),
    })
}

fn rbac(source: &Source) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (role, permissions) in object(member(&source.variables, "permissions")?)? {
        for permission in array(permissions)? {
            lines.push(line([role, text(permission, "type")?, text(permission, "action")?]));
        }
    }
    Ok(lines)
}

/// Denials first: the first line that applies decides.
fn hospital(source: &Source) -> Result<Vec<Line>, String> {
    let (mut denials, mut permissions) = (Vec::new(), Vec::new());
    for policy in policies(source)? {
        match policy {
            Policy::Permission { department, role, kind, actions } => {
                permissions.push(line([department, role, kind, &actions.join("/"), "allow"]));
            }
            Policy::Sensitivity { department } => denials.push(line([department, "-", "-", "-", "deny"])),
            Policy::Emergency { role, kind, actions } => {
                permissions.push(line(["*", role, kind, &actions.join("/"), "allow"]));
            }
        }
    }
    denials.append(&mut permissions);
    Ok(denials)
}

const WRITE: &str = "write/triage/read";
const ADMIN: &str = "admin/maintain/write/triage/read";
/// What each permission of a repository, and of the organization that owns it, allows.
const REPOSITORY: [(&str, &str); 5] = [
    ("readers", "read"),
    ("triagers", "triage/read"),
    ("writers", WRITE),
    ("maintainers", "maintain/write/triage/read"),
    ("admins", ADMIN),
];
const ORGANIZATION: [(&str, &str); 3] = [("readers", "read"), ("writers", WRITE), ("admins", ADMIN)];

fn github(source: &Source) -> Result<Vec<Line>, String> {
    let organizations = member(&source.variables, "orgs")?;
    let mut lines = Vec::new();
    for (name, repository) in object(member(&source.variables, "repos")?)? {
        let owner = member(organizations, text(repository, "owner")?)?;
        let own = REPOSITORY.iter().map(|permission| (repository, permission));
        for (table, (members, actions)) in own.chain(ORGANIZATION.iter().map(|it| (owner, it))) {
            lines.push(line([text(table, members)?, name, actions]));
        }
    }
    Ok(lines)
}

fn gdrive(source: &Source) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (name, user) in object(member(&source.variables, "users")?)? {
        lines.push(line([name, text(user, "documentsAndFoldersWithViewAccess")?, "read"]));
        for document in strings(member(user, "ownedDocuments")?)? {
            lines.push(line([name, document, "read/write/share/changeOwner"]));
        }
        for folder in strings(member(user, "ownedFolders")?)? {
            lines.push(line([name, folder, "read/write/share/createDocument"]));
        }
    }
    for (name, document) in object(member(&source.variables, "docs")?)? {
        if member(document, "isPublic")?.as_bool() == Some(true) {
            lines.push(line(["*", name, "read"]));
        }
    }
    Ok(lines)
}

fn tinytodo(source: &Source) -> Result<Vec<Line>, String> {
    let mut lines = vec![line(["*", "Application::TinyTodo", "CreateList/GetLists"])];
    for (name, list) in object(member(&source.variables, "lists")?)? {
        lines.push(line([text(list, "owner")?, name, "*"]));
        lines.push(line([text(list, "readers")?, name, "GetList"]));
        lines.push(line([
            text(list, "editors")?,
            name,
            "GetList/UpdateList/CreateTask/UpdateTask/DeleteTask",
        ]));
    }
    Ok(lines)
}
