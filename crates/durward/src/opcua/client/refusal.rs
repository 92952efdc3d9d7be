//! `--explain`: what the client's own token says about a right that was refused, and what the server says of the node; so that somebody sees
//! whether the policies, the gate or the server refused.

use durward_opcua::client::{TokenClient, attribute_of};
use durward_opcua::permission::Permission;
use durward_opcua::token::{CLAIM_POLICY, GrantsSummary};
use opcua_types::{AttributeId, DataValue, NodeId, Variant};
use serde_json::{Value as Json, json};

use super::ConnectionArguments;
use crate::failure::{CommandError, complain};
use crate::opcua::question::action;
use crate::to_stdout;

/// What is known of a refused right.
#[derive(Debug, PartialEq)]
struct RefusedRight {
    permission: Permission,
    /// Of the token: how many nodes it grants the permission on, leaves it to the gate on, and has.
    grants: Option<(usize, usize, usize)>,
    /// Whether the server lets anybody; `None` where the node does not say.
    of_the_server: Option<bool>,
    /// Whether it lets this user, through the gate.
    effective: Option<bool>,
}

impl RefusedRight {
    fn why(&self) -> String {
        let what = action(self.permission);
        match (self.of_the_server, self.effective, self.grants) {
            (Some(false), _, _) => format!("the server lets nobody {what} this node, whatever a token says"),
            (_, Some(true), _) => format!(
                "the token grants {what} on this node: the server refuses it by itself, or the right has ended a moment ago"
            ),
            (_, _, Some((0, 0, _))) => {
                format!("the token grants {what} on no node: the policies do not give it to this subject")
            }
            (None, None, _) => {
                "the node is not there for this token: it may not be browsed, or is not in the gate's table of nodes, or does not exist"
                    .to_owned()
            }
            (_, _, Some((granted, asked, nodes))) => {
                let asked = match asked {
                    0 => String::new(),
                    asked => format!(", and leaves it to the gate on {asked}, which may refuse it at this moment"),
                };
                format!("the token grants {what} on {granted} of {nodes} nodes{asked}; not on this one, or the server does not let the gate")
            }
            (_, _, None) => "the token says nothing about single nodes: the server decides by its roles".to_owned(),
        }
    }
}

fn bit(value: Option<&DataValue>, bit: u8) -> Option<bool> {
    let value = value?.value.as_ref()?;
    if let Variant::Byte(mask) = value {
        return Some(mask >> bit & 1 == 1);
    }
    if let Variant::Boolean(is) = value { Some(*is) } else { None }
}

/// What the server says of a node, in general and to this user.
async fn asked(client: &TokenClient, node: &NodeId, permission: Permission) -> [Option<bool>; 2] {
    let levels = (AttributeId::AccessLevel, AttributeId::UserAccessLevel);
    let of_permission = [
        (Permission::Read, levels, 0),
        (Permission::Write, levels, 1),
        (Permission::Call, (AttributeId::Executable, AttributeId::UserExecutable), 0),
    ];
    let found = of_permission.into_iter().find(|(one, ..)| *one == permission);
    let Some((_, (general, own), place)) = found else { return [None; 2] };
    let read = client.read(vec![attribute_of(node, general), attribute_of(node, own)]).await;
    let values = read.unwrap_or_default();
    [bit(values.first(), place), bit(values.get(1), place)]
}

/// Says what is known of a right that was refused, where that is asked for.
///
/// # Errors
/// Nothing can be written.
pub(super) async fn explain(
    connection: &ConnectionArguments,
    client: &TokenClient,
    text: &str,
    node: Option<&NodeId>,
    permission: Permission,
) -> Result<(), CommandError> {
    if !connection.explain {
        return Ok(());
    }
    let token = client.token();
    let summary = token.as_ref().and_then(|token| token.grants_summary());
    let grants = summary.as_ref().map(|summary| {
        let (granted, asked) = summary.of(permission);
        (granted, asked, summary.rows)
    });
    let [of_the_server, effective] = match node {
        Some(node) => asked(client, node, permission).await,
        None => [None; 2],
    };
    let refusal = RefusedRight { permission, grants, of_the_server, effective };
    let claims = token.as_ref().map_or(&Json::Null, |token| token.unverified_claims());
    if connection.json {
        to_stdout(&format!("{}\n", json_of(text, &refusal, claims, summary.as_ref())))?;
        return Ok(());
    }
    complain(format_args!("{text}: {}", refusal.why()));
    complain(format_args!("{text}: {}", token_line(claims, summary.as_ref())));
    Ok(())
}

fn json_of(text: &str, refusal: &RefusedRight, claims: &Json, summary: Option<&GrantsSummary>) -> Json {
    json!({
        "node": text,
        "permission": action(refusal.permission),
        "why": refusal.why(),
        "granted": refusal.grants.map(|(granted, _, _)| granted),
        "left_to_the_gate": refusal.grants.map(|(_, asked, _)| asked),
        "nodes": refusal.grants.map(|(_, _, nodes)| nodes),
        "server": {"anybody": refusal.of_the_server, "this_user": refusal.effective},
        "token": {
            "subject": claims.get("sub"),
            "roles": claims.get("roles"),
            "expires": claims.get("exp"),
            "policies": claims.get(CLAIM_POLICY),
            "table": summary.map(|summary| summary.version.to_string()),
        },
    })
}

/// The token in one line.
fn token_line(claims: &Json, summary: Option<&GrantsSummary>) -> String {
    let text = |name: &str| claims.get(name).and_then(Json::as_str).unwrap_or("nobody");
    let roles = claims.get("roles").and_then(Json::as_array);
    let roles: Vec<&str> = roles.into_iter().flatten().filter_map(Json::as_str).collect();
    let roles = if roles.is_empty() { "no roles".to_owned() } else { roles.join(", ") };
    let table = summary.map_or("no table".to_owned(), |summary| format!("table {}", summary.version));
    let policy = claims.get(CLAIM_POLICY).and_then(Json::as_str).unwrap_or("unknown");
    let ends = claims.get("exp").and_then(Json::as_u64).unwrap_or_default();
    let ends =
        durward_opcua::wire::datetime(durward_session::identity::Moment::from_ms(ends.saturating_mul(1_000)));
    format!(
        "the token is of {} ({roles}), until {}, by policies {policy}, over {table}",
        text("sub"),
        ends.to_rfc3339()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(
        grants: Option<(usize, usize, usize)>,
        of_the_server: Option<bool>,
        effective: Option<bool>,
    ) -> String {
        RefusedRight { permission: Permission::Write, grants, of_the_server, effective }.why()
    }

    #[test]
    fn it_is_told_whether_server_policies_or_gate_refused() {
        let some = Some((2, 0, 9));
        for (told, expected) in [
            (why(some, Some(false), Some(false)), "the server lets nobody write"),
            (why(some, Some(true), Some(true)), "the server refuses it by itself"),
            (why(Some((0, 0, 9)), Some(true), Some(false)), "write on no node"),
            (why(some, Some(true), Some(false)), "on 2 of 9 nodes; not on this one"),
            (why(Some((2, 1, 9)), Some(true), Some(false)), "leaves it to the gate on 1,"),
            (why(some, None, None), "is not there for this token"),
            (why(None, Some(true), Some(false)), "decides by its roles"),
        ] {
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn the_token_is_told_in_one_line() {
        let claims =
            json!({"sub": "anna", "roles": ["operator"], "exp": 1_780_272_000_u64, CLAIM_POLICY: "1-a"});
        let line = token_line(&claims, None);
        let expected =
            "the token is of anna (operator), until 2026-06-01T00:00:00.000Z, by policies 1-a, over no table";
        assert_eq!(line, expected);
    }
}
