//! Reads requests of XACML 2.0, 1.1 and 1.0 into the model of 3.0.
//!
//! `<Subject>`, `<Resource>`, `<Action>` and `<Environment>` become categories. Several subjects of one category
//! are one (XACML 2.0, section 6.2); several `<Resource>` elements stay several and mean several decisions.

use std::sync::Arc;

use smol_str::SmolStr;

use super::identifiers::{self, shared};
use super::xml::{check_count, check_has_values, read_value};
use super::{Categories, Format, Limits, RawContent, Request, Version};
use crate::xml::{Element, Read, Space, XmlReader};

/// The children of `<Request>`, in the order the schema asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Subject,
    Resource,
    Action,
    Environment,
}

/// Reads the request in the element just started, which is `<Request>` in the context namespace of `version`.
pub(super) fn read_request(
    xml: &mut XmlReader<'_>,
    root: &Element<'_>,
    limits: &Limits,
    version: Version,
    text: &str,
) -> Read<Request> {
    let [] = xml.take(root, [])?;
    let mut request = Request::new(version, Format::Xml);
    request.document = Some(Arc::from(text));
    request.categories = Categories::with_capacity(4, (text.len() / 200).clamp(4, 64));
    let mut last = None;
    while let Some(child) = xml.child()? {
        let part = part_of(&child).filter(|_| child.space == root.space);
        let Some(part) = part.filter(|part| fits(last, *part)) else {
            return Err(xml.unexpected(&child, root));
        };
        read_part(xml, &child, part, &mut request.categories, limits)?;
        last = Some(part);
    }
    // XACML 1.0 lets the environment be missing; 2.0 does not, but an empty one means the same.
    if !matches!(last, Some(Part::Action | Part::Environment)) {
        let message =
            format!("`<{}>` needs `<Subject>`, `<Resource>` and `<Action>`, in this order", root.name);
        return Err(xml.structure(message));
    }
    merge_subjects(&mut request.categories);
    Ok(request)
}

fn part_of(element: &Element<'_>) -> Option<Part> {
    match element.local {
        "Subject" => Some(Part::Subject),
        "Resource" => Some(Part::Resource),
        "Action" => Some(Part::Action),
        "Environment" => Some(Part::Environment),
        _ => None,
    }
}

/// Whether `part` may follow `last`: none is left out, only subjects and resources are repeated.
fn fits(last: Option<Part>, part: Part) -> bool {
    match part {
        Part::Subject => matches!(last, None | Some(Part::Subject)),
        Part::Resource => matches!(last, Some(Part::Subject | Part::Resource)),
        Part::Action => last == Some(Part::Resource),
        Part::Environment => last == Some(Part::Action),
    }
}

fn read_part(
    xml: &mut XmlReader<'_>,
    element: &Element<'_>,
    part: Part,
    categories: &mut Categories,
    limits: &Limits,
) -> Read<()> {
    let category = match part {
        Part::Subject => {
            let [category] = xml.take(element, ["SubjectCategory"])?;
            let category = xml.optional(category)?;
            category.map_or(SmolStr::new_static(identifiers::ACCESS_SUBJECT), |name| shared(&name))
        }
        Part::Resource => without_attributes(xml, element, identifiers::RESOURCE)?,
        Part::Action => without_attributes(xml, element, identifiers::ACTION)?,
        Part::Environment => without_attributes(xml, element, identifiers::ENVIRONMENT)?,
    };
    categories.begin_category(category, None);
    check_count(xml, "categories", categories.len(), limits.categories_max)?;
    let mut content_may_follow = part == Part::Resource;
    while let Some(child) = xml.child()? {
        match child.local {
            "Attribute" if child.space == element.space => read_attribute(xml, &child, categories, limits)?,
            "ResourceContent" if child.space == element.space && content_may_follow => {
                let namespaces = xml.namespaces();
                let (inner, _) = xml.raw()?;
                categories.set_content(Arc::new(RawContent { xml: SmolStr::new(inner), namespaces }));
            }
            _ => return Err(xml.unexpected(&child, element)),
        }
        content_may_follow = false;
    }
    Ok(())
}

fn without_attributes(xml: &XmlReader<'_>, element: &Element<'_>, category: &'static str) -> Read<SmolStr> {
    let [] = xml.take(element, [])?;
    Ok(SmolStr::new_static(category))
}

/// XACML 2.0, section 6.6: one `<Attribute>`; its values share one data type.
fn read_attribute(
    xml: &mut XmlReader<'_>,
    element: &Element<'_>,
    categories: &mut Categories,
    limits: &Limits,
) -> Read<()> {
    // `IssueInstant` is XACML 1.x; nothing refers to it.
    let [id, data_type, issuer, _] =
        xml.take(element, ["AttributeId", "DataType", "Issuer", "IssueInstant"])?;
    let issuer = xml.optional(issuer)?.map(SmolStr::new);
    let data_type = xml.required(element, "DataType", data_type)?;
    categories.begin_attribute(shared(&xml.required(element, "AttributeId", id)?), issuer, false);
    check_count(xml, "attributes", categories.attribute_count(), limits.attributes_max)?;
    let values_before = categories.value_count();
    while let Some(child) = xml.child()? {
        if child.local != "AttributeValue" || child.space == Space::None || child.space != element.space {
            return Err(xml.unexpected(&child, element));
        }
        categories.push_value(read_value(xml, &child, &data_type)?);
        check_count(xml, "values", categories.value_count(), limits.values_max)?;
    }
    check_has_values(xml, element, categories.value_count() - values_before)
}

/// Makes subjects of one category one. The other categories cannot repeat, except resources, which may.
fn merge_subjects(categories: &mut Categories) {
    let subjects: Vec<SmolStr> = categories
        .iter()
        .map(|category| category.category.clone())
        .filter(|name| name != identifiers::RESOURCE)
        .collect();
    let mut sorted = subjects.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == subjects.len() {
        return;
    }
    for name in sorted {
        *categories = categories.merged(&name);
    }
}
