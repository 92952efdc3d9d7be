//! What is supported, and what resources look like (RFC 7643, 5 to 7).

use serde_json::{Value, json};

use super::{BASE, groups, users};

/// `/ServiceProviderConfig`.
pub(super) fn config(page_max: usize) -> Value {
    let none = json!({ "supported": false });
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "patch": { "supported": true },
        "bulk": { "supported": false, "maxOperations": 0, "maxPayloadSize": 0 },
        "filter": { "supported": true, "maxResults": page_max },
        "changePassword": { "supported": true },
        "sort": none,
        "etag": none,
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "API key",
                "description": "the API key of one of `[[auth.users]]` with `may_administer`, as a bearer token",
                "primary": true,
            },
            {
                "type": "httpbasic",
                "name": "HTTP Basic",
                "description": "name and password of one of `[[auth.users]]` with `may_administer`",
            },
        ],
        "meta": { "resourceType": "ServiceProviderConfig", "location": format!("{BASE}/ServiceProviderConfig") },
    })
}

/// `/ResourceTypes`.
pub(super) fn types() -> Vec<Value> {
    [("User", "Users", users::SCHEMA), ("Group", "Groups", groups::SCHEMA)]
        .into_iter()
        .map(|(name, folder, schema)| {
            json!({
                "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
                "id": name,
                "name": name,
                "endpoint": format!("/{folder}"),
                "schema": schema,
                "meta": { "resourceType": "ResourceType", "location": format!("{BASE}/ResourceTypes/{name}") },
            })
        })
        .collect()
}

/// `/Schemas`: what is kept, and no more.
pub(super) fn schemas() -> Vec<Value> {
    let user = json!([
        attribute("userName", "string", &[("required", json!(true)), ("uniqueness", json!("server"))]),
        complex(
            "name",
            false,
            &[
                attribute("formatted", "string", &[]),
                attribute("familyName", "string", &[]),
                attribute("givenName", "string", &[]),
            ]
        ),
        attribute("displayName", "string", &[]),
        complex(
            "emails",
            true,
            &[
                attribute("value", "string", &[]),
                attribute(
                    "type",
                    "string",
                    &[("canonicalValues", json!(["work"])), ("mutability", json!("readOnly"))]
                ),
                attribute("primary", "boolean", &[]),
            ]
        ),
        attribute("active", "boolean", &[]),
        attribute("password", "string", &[("mutability", json!("writeOnly")), ("returned", json!("never"))]),
        read_only(complex(
            "groups",
            true,
            &[
                attribute("value", "string", &[("mutability", json!("readOnly"))]),
                attribute(
                    "$ref",
                    "reference",
                    &[("mutability", json!("readOnly")), ("referenceTypes", json!(["Group"]))]
                ),
                attribute("display", "string", &[("mutability", json!("readOnly"))]),
            ]
        )),
    ]);
    let group = json!([
        attribute(
            "displayName",
            "string",
            &[
                ("required", json!(true)),
                ("caseExact", json!(true)),
                ("uniqueness", json!("server")),
                ("mutability", json!("immutable")),
            ]
        ),
        complex(
            "members",
            true,
            &[
                attribute(
                    "value",
                    "string",
                    &[("caseExact", json!(true)), ("mutability", json!("immutable"))]
                ),
                attribute(
                    "$ref",
                    "reference",
                    &[("mutability", json!("immutable")), ("referenceTypes", json!(["User"]))]
                ),
                attribute("display", "string", &[("mutability", json!("readOnly"))]),
            ]
        ),
    ]);
    vec![schema(users::SCHEMA, "User", user), schema(groups::SCHEMA, "Group", group)]
}

fn schema(id: &str, name: &str, attributes: Value) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
        "id": id,
        "name": name,
        "attributes": attributes,
        "meta": { "resourceType": "Schema", "location": format!("{BASE}/Schemas/{id}") },
    })
}

/// With what differs from the usual (RFC 7643, 2.2).
fn attribute(name: &str, kind: &str, more: &[(&str, Value)]) -> Value {
    let mut attribute = json!({
        "name": name,
        "type": kind,
        "multiValued": false,
        "required": false,
        "caseExact": false,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": "none",
    });
    if let Some(members) = attribute.as_object_mut() {
        members.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    }
    attribute
}

fn complex(name: &str, is_list: bool, parts: &[Value]) -> Value {
    attribute(name, "complex", &[("multiValued", json!(is_list)), ("subAttributes", json!(parts))])
}

fn read_only(mut attribute: Value) -> Value {
    if let Some(members) = attribute.as_object_mut() {
        members.insert("mutability".to_owned(), json!("readOnly"));
    }
    attribute
}
