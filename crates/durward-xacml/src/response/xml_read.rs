//! Reads responses written in XML, of 3.0, 2.0 and 1.x: for clients, and to compare with what was expected.

use durward_ir::attribute::AttributeName;
use durward_ir::{DataType, Value};
use smol_str::SmolStr;

use super::Results;
use super::{
    Assignment, Decision, Duty, MissingAttribute, PolicyIdentifier, PolicyKind, Response, ResultOf, Status,
    StatusCode, StatusDetail, StatusParts,
};
use crate::request::identifiers::shared;
use crate::request::{Limits, RequestErrorKind, ResponseError, read_category, read_value};
use crate::xml::{Element, Read, Space, XmlReader, excerpt};

/// Status codes nest no deeper in practice than two.
const STATUS_CODE_DEPTH_MAX: usize = 8;

impl Response {
    /// Reads a response of XACML 3.0, 2.0 or 1.x.
    ///
    /// # Errors
    /// The text is neither UTF-8 nor UTF-16, not well-formed XML, or not what the schema of its version asks for.
    pub fn from_xml(bytes: &[u8]) -> Result<Response, ResponseError> {
        read(bytes).map_err(|error| *error)
    }
}

fn read(bytes: &[u8]) -> Read<Response> {
    let limits = Limits::default();
    let text = limits.xml_text(bytes)?;
    let mut xml = XmlReader::new(&text, limits.depth_max)?;
    let root = xml.root()?;
    let is_context = matches!(root.space, Space::Core3 | Space::Context2 | Space::Context1);
    if !is_context || root.local != "Response" {
        return Err(xml.structure_at(root.name, format!("expected `<Response>`, not `<{}>`", root.name)));
    }
    let [] = xml.take(&root, [])?;
    let mut results = Results::new();
    while let Some(child) = xml.child()? {
        if child.space != root.space || child.local != "Result" {
            return Err(xml.unexpected(&child, &root));
        }
        results.push(read_result(&mut xml, &child, &limits)?);
    }
    if results.is_empty() {
        return Err(xml.structure("a response needs at least one `<Result>`".to_owned()));
    }
    xml.finish()?;
    Ok(Response { results })
}

/// The children of `<Result>`, in the order the schema asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Decision,
    Status,
    Obligations,
    Advice,
    Attributes,
    PolicyIds,
}

fn part_of(result: &Element<'_>, child: &Element<'_>) -> Option<Part> {
    let is_3 = result.space == Space::Core3;
    let part = match child.local {
        "Decision" => Part::Decision,
        "Status" => Part::Status,
        "Obligations" => Part::Obligations,
        "AssociatedAdvice" if is_3 => Part::Advice,
        "Attributes" if is_3 => Part::Attributes,
        "PolicyIdentifierList" if is_3 => Part::PolicyIds,
        _ => return None,
    };
    // Before 3.0, obligations are written in the policy namespace.
    let space = match (part, result.space) {
        (Part::Obligations, Space::Context2) => Space::Policy2,
        (Part::Obligations, Space::Context1) => Space::Policy1,
        (_, space) => space,
    };
    (child.space == space).then_some(part)
}

fn read_result(xml: &mut XmlReader<'_>, element: &Element<'_>, limits: &Limits) -> Read<ResultOf> {
    let mut result = ResultOf::new(Decision::Indeterminate);
    if element.space == Space::Core3 {
        let [] = xml.take(element, [])?;
    } else {
        let [resource] = xml.take(element, ["ResourceId"])?;
        result.resource_id = xml.optional(resource)?.map(Into::into);
    }
    let mut last = None;
    while let Some(child) = xml.child()? {
        let Some(part) = part_of(element, &child) else { return Err(xml.unexpected(&child, element)) };
        let repeats = last == Some(part) && part != Part::Attributes;
        if repeats || last > Some(part) || (last.is_none() && part != Part::Decision) {
            return Err(xml.unexpected(&child, element));
        }
        last = Some(part);
        match part {
            Part::Decision => result.decision = read_decision(xml, &child)?,
            Part::Status => result.status = read_status(xml, &child)?,
            Part::Obligations => {
                result.obligations = read_duties(xml, &child, "Obligation", "ObligationId")?;
            }
            Part::Advice => result.advice = read_duties(xml, &child, "Advice", "AdviceId")?,
            Part::Attributes => read_category(xml, &child, &mut result.attributes, limits)?,
            Part::PolicyIds => result.policy_ids = Some(read_policy_ids(xml, &child)?),
        }
    }
    if last.is_none() {
        return Err(xml.structure(format!("`<{}>` needs `<Decision>`", element.name)));
    }
    Ok(result)
}

fn read_decision(xml: &mut XmlReader<'_>, element: &Element<'_>) -> Read<Decision> {
    let [] = xml.take(element, [])?;
    let at = xml.offset();
    let text = xml.text(element)?;
    Decision::parse(text.trim()).ok_or_else(|| {
        let message = format!("`{}` is not a decision", excerpt(text.trim()));
        xml.error(RequestErrorKind::Value, at, message)
    })
}

fn read_status(xml: &mut XmlReader<'_>, element: &Element<'_>) -> Read<Status> {
    let [] = xml.take(element, [])?;
    let code = StatusCode { value: SmolStr::default(), minor: None };
    let mut status = Status::from(StatusParts { code, message: None, detail: None });
    let mut step = 0;
    while let Some(child) = xml.child()? {
        let here = match child.local {
            "StatusCode" if child.space == element.space => 1,
            "StatusMessage" if child.space == element.space => 2,
            "StatusDetail" if child.space == element.space => 3,
            _ => return Err(xml.unexpected(&child, element)),
        };
        if here <= step || (step == 0 && here != 1) {
            return Err(xml.unexpected(&child, element));
        }
        step = here;
        match here {
            1 => status.code = read_status_code(xml, &child, 1)?,
            2 => status.message = Some(xml.text(&child)?.into_owned()),
            _ => status.detail = read_detail(xml, &child)?,
        }
    }
    if step == 0 {
        return Err(xml.structure(format!("`<{}>` needs `<StatusCode>`", element.name)));
    }
    Ok(status)
}

fn read_status_code(xml: &mut XmlReader<'_>, element: &Element<'_>, depth: usize) -> Read<StatusCode> {
    let [value] = xml.take(element, ["Value"])?;
    let value = SmolStr::new(xml.required(element, "Value", value)?.trim());
    let mut minor = None;
    while let Some(child) = xml.child()? {
        let fits = child.space == element.space && child.local == "StatusCode";
        if !fits || minor.is_some() || depth == STATUS_CODE_DEPTH_MAX {
            return Err(xml.unexpected(&child, element));
        }
        minor = Some(Box::new(read_status_code(xml, &child, depth + 1)?));
    }
    Ok(StatusCode { value, minor })
}

/// The detail: missing attributes where it holds nothing else, any other XML as text.
fn read_detail(xml: &mut XmlReader<'_>, element: &Element<'_>) -> Read<Option<StatusDetail>> {
    let start = xml.mark();
    let mut missing = Vec::new();
    let mut is_other = false;
    while let Some(child) = xml.child()? {
        if !is_other && child.space == element.space && child.local == "MissingAttributeDetail" {
            missing.push(read_missing(xml, &child)?);
        } else {
            is_other = true;
            xml.raw()?;
        }
    }
    if is_other {
        return Ok(Some(StatusDetail::Raw(xml.since(start).to_owned())));
    }
    Ok((!missing.is_empty()).then_some(StatusDetail::MissingAttributes(missing)))
}

fn read_missing(xml: &mut XmlReader<'_>, element: &Element<'_>) -> Read<MissingAttribute> {
    let [category, id, data_type, issuer] =
        xml.take(element, ["Category", "AttributeId", "DataType", "Issuer"])?;
    let category = match category {
        None if element.space != Space::Core3 => SmolStr::default(),
        category => shared(&xml.required(element, "Category", category)?),
    };
    let data_type = xml.required(element, "DataType", data_type)?;
    let known = DataType::from_uri(&data_type);
    let name = AttributeName {
        category,
        id: shared(&xml.required(element, "AttributeId", id)?),
        data_type: known.unwrap_or(DataType::Opaque),
        issuer: xml.optional(issuer)?.map(SmolStr::new),
    };
    let data_type_uri = known.is_none().then(|| SmolStr::new(&data_type));
    let mut values: Vec<Value> = Vec::new();
    while let Some(child) = xml.child()? {
        if child.space != element.space || child.local != "AttributeValue" {
            return Err(xml.unexpected(&child, element));
        }
        let [own] = xml.pick(["DataType"]);
        let own = xml.optional(own)?.unwrap_or(data_type.clone());
        values.push(read_value(xml, &child, &own)?);
    }
    Ok(MissingAttribute { name, data_type_uri, values })
}

/// Obligations or advice; `name` is that of one, `id` that of its identifier.
fn read_duties(xml: &mut XmlReader<'_>, element: &Element<'_>, name: &str, id: &str) -> Read<Vec<Duty>> {
    let [] = xml.take(element, [])?;
    let mut duties = Vec::new();
    while let Some(child) = xml.child()? {
        if child.space != element.space || child.local != name {
            return Err(xml.unexpected(&child, element));
        }
        duties.push(read_duty(xml, &child, id)?);
    }
    Ok(duties)
}

fn read_duty(xml: &mut XmlReader<'_>, element: &Element<'_>, id_name: &str) -> Read<Duty> {
    let id = if element.space == Space::Core3 {
        let [id] = xml.take(element, [id_name])?;
        id
    } else {
        let [id, _fulfill_on] = xml.take(element, [id_name, "FulfillOn"])?;
        id
    };
    let id = SmolStr::new(xml.required(element, id_name, id)?);
    let mut assignments = Vec::new();
    while let Some(child) = xml.child()? {
        if child.space != element.space || child.local != "AttributeAssignment" {
            return Err(xml.unexpected(&child, element));
        }
        let [id, category, issuer, data_type] = xml.pick(["AttributeId", "Category", "Issuer", "DataType"]);
        let id = shared(&xml.required(&child, "AttributeId", id)?);
        let category = xml.optional(category)?.map(|category| shared(&category));
        let issuer = xml.optional(issuer)?.map(Into::into);
        let data_type = xml.required(&child, "DataType", data_type)?;
        let value = read_value(xml, &child, &data_type)?;
        assignments.push(Assignment { id, category, issuer, value });
    }
    Ok(Duty { id, assignments })
}

fn read_policy_ids(xml: &mut XmlReader<'_>, element: &Element<'_>) -> Read<Vec<PolicyIdentifier>> {
    let [] = xml.take(element, [])?;
    let mut policies = Vec::new();
    while let Some(child) = xml.child()? {
        let kind = match child.local {
            "PolicyIdReference" if child.space == element.space => PolicyKind::Policy,
            "PolicySetIdReference" if child.space == element.space => PolicyKind::PolicySet,
            _ => return Err(xml.unexpected(&child, element)),
        };
        let [version, _, _] = xml.take(&child, ["Version", "EarliestVersion", "LatestVersion"])?;
        let version = xml.optional(version)?.map(Into::into);
        let id = SmolStr::new(xml.text(&child)?.trim());
        policies.push(PolicyIdentifier { kind, id, version });
    }
    Ok(policies)
}
