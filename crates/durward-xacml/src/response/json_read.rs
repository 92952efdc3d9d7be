//! Reads responses written in JSON: for clients, and to compare with what was expected.

use durward_ir::attribute::AttributeName;
use durward_ir::{DataType, Value};
use serde::Deserialize;
use smol_str::SmolStr;

use super::Results;
use super::{
    Assignment, Decision, Duty, MissingAttribute, PolicyIdentifier, PolicyKind, Response, ResultOf, Status,
    StatusCode, StatusDetail,
};
use crate::json::{self, CategoryJson, GivenType, List, RawJson, Text, data_type_of, error_at, read_values};
use crate::request::identifiers::shared;
use crate::request::{Limits, RequestErrorKind, ResponseError};
use crate::xml::Read;

impl Response {
    /// Reads a response in JSON.
    ///
    /// # Errors
    /// The text is not UTF-8, not JSON, or not what the profile's schema asks for.
    pub fn from_json(bytes: &[u8]) -> Result<Response, ResponseError> {
        let read = || -> Read<Response> {
            let limits = Limits::default();
            let document: DocumentJson<'_> = json::read(bytes, &limits)?;
            let results = document.results.0.iter().enumerate();
            let results: Results =
                results.map(|(number, result)| read_result(result, number, &limits)).collect::<Read<_>>()?;
            if results.is_empty() {
                let message = "a response needs at least one result";
                return Err(error_at(RequestErrorKind::Structure, "Response".to_owned(), message));
            }
            Ok(Response { results })
        };
        read().map_err(|error| *error)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentJson<'a> {
    #[serde(rename = "Response", borrow)]
    results: List<ResultJson<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct ResultJson<'a> {
    #[serde(borrow)]
    decision: Text<'a>,
    status: Option<StatusJson<'a>>,
    #[serde(default)]
    obligations: List<DutyJson<'a>>,
    #[serde(default)]
    associated_advice: List<DutyJson<'a>>,
    #[serde(default)]
    category: List<CategoryJson<'a>>,
    policy_identifier_list: Option<PolicyListJson<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct StatusJson<'a> {
    #[serde(borrow)]
    status_code: Option<StatusCodeJson<'a>>,
    status_message: Option<Text<'a>>,
    status_detail: Option<DetailJson<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct StatusCodeJson<'a> {
    #[serde(borrow)]
    value: Text<'a>,
    status_code: Option<Box<StatusCodeJson<'a>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DetailJson<'a> {
    Text(String),
    #[serde(borrow)]
    Missing(Vec<MissingJson<'a>>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct MissingJson<'a> {
    #[serde(default)]
    attribute_value: Vec<serde_json::Value>,
    #[serde(borrow)]
    category: Text<'a>,
    attribute_id: Text<'a>,
    data_type: Text<'a>,
    issuer: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct DutyJson<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(default)]
    attribute_assignment: List<AssignmentJson<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct AssignmentJson<'a> {
    #[serde(borrow)]
    attribute_id: Text<'a>,
    category: Option<Text<'a>>,
    issuer: Option<Text<'a>>,
    data_type: Option<Text<'a>>,
    value: RawJson<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct PolicyListJson<'a> {
    #[serde(default, borrow)]
    policy_id_reference: List<ReferenceJson<'a>>,
    #[serde(default)]
    policy_set_id_reference: List<ReferenceJson<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct ReferenceJson<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    version: Option<Text<'a>>,
}

fn read_result(given: &ResultJson<'_>, number: usize, limits: &Limits) -> Read<ResultOf> {
    let path = format!("Response[{number}]");
    let Some(decision) = Decision::parse(&given.decision) else {
        let message = format!("`{}` is not a decision", &*given.decision);
        return Err(error_at(RequestErrorKind::Value, format!("{path}.Decision"), message));
    };
    let mut result = ResultOf::new(decision);
    if let Some(status) = &given.status {
        result.status = read_status(status);
    }
    result.obligations = read_duties(&given.obligations, &format!("{path}.Obligations"))?;
    result.advice = read_duties(&given.associated_advice, &format!("{path}.AssociatedAdvice"))?;
    for (number, category) in given.category.0.iter().enumerate() {
        let path = || format!("{path}.Category[{number}]");
        json::read_category(category, None, &path, &mut result.attributes, limits)?;
    }
    if let Some(list) = &given.policy_identifier_list {
        let policies = list.policy_id_reference.0.iter().map(|policy| (PolicyKind::Policy, policy));
        let sets = list.policy_set_id_reference.0.iter().map(|set| (PolicyKind::PolicySet, set));
        let owned = |(kind, policy): (PolicyKind, &ReferenceJson<'_>)| PolicyIdentifier {
            kind,
            id: SmolStr::new(&*policy.id),
            version: policy.version.as_deref().map(SmolStr::new),
        };
        result.policy_ids = Some(policies.chain(sets).map(owned).collect());
    }
    Ok(result)
}

fn read_status(given: &StatusJson<'_>) -> Status {
    let mut status = Status::ok();
    if let Some(code) = &given.status_code {
        status.code = read_status_code(code);
    }
    status.message = given.status_message.as_ref().map(|message| message.to_string());
    status.detail = given.status_detail.as_ref().map(|detail| match detail {
        DetailJson::Text(text) => StatusDetail::Raw(text.clone()),
        DetailJson::Missing(missing) => {
            StatusDetail::MissingAttributes(missing.iter().map(read_missing).collect())
        }
    });
    status
}

/// As deep as the JSON reader lets objects nest.
fn read_status_code(given: &StatusCodeJson<'_>) -> StatusCode {
    StatusCode {
        value: SmolStr::new(&*given.value),
        minor: given.status_code.as_ref().map(|minor| Box::new(read_status_code(minor))),
    }
}

fn read_missing(given: &MissingJson<'_>) -> MissingAttribute {
    let known = match data_type_of(&given.data_type) {
        Ok(GivenType::Known(known)) => Some(known),
        Ok(GivenType::Other(_)) | Err(_) => None,
    };
    let data_type = known.unwrap_or(DataType::Opaque);
    let name = AttributeName {
        category: shared(&given.category),
        id: shared(&given.attribute_id),
        data_type,
        issuer: given.issuer.as_deref().map(SmolStr::new),
    };
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values = given.attribute_value.iter().filter_map(|value| Value::parse(data_type, &text(value)).ok());
    let data_type_uri = known.is_none().then(|| SmolStr::new(&*given.data_type));
    MissingAttribute { name, data_type_uri, values: values.collect() }
}

fn read_duties(given: &List<DutyJson<'_>>, path: &str) -> Read<Vec<Duty>> {
    let mut duties = Vec::with_capacity(given.0.len());
    for (number, duty) in given.0.iter().enumerate() {
        let mut assignments = Vec::new();
        for (index, assignment) in duty.attribute_assignment.0.iter().enumerate() {
            read_assignment(assignment, &mut assignments).map_err(|error| {
                let path = format!("{path}[{number}].AttributeAssignment[{index}]");
                error_at(RequestErrorKind::Value, path, error.message)
            })?;
        }
        duties.push(Duty { id: SmolStr::new(&*duty.id), assignments });
    }
    Ok(duties)
}

/// An array of values means one assignment for each.
fn read_assignment(given: &AssignmentJson<'_>, assignments: &mut Vec<Assignment>) -> Read<()> {
    let data_type = given.data_type.as_deref().map(data_type_of).transpose()?;
    let id = shared(&given.attribute_id);
    let category = given.category.as_deref().map(shared);
    let issuer = given.issuer.as_deref().map(SmolStr::new);
    read_values(given.value, data_type.as_ref(), &mut |value, _| {
        assignments.push(Assignment {
            id: id.clone(),
            category: category.clone(),
            issuer: issuer.clone(),
            value,
        });
    })
}
