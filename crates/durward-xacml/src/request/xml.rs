//! Reads requests written in XML: the version is told by the namespace of the root element.

use std::borrow::Cow;
use std::sync::Arc;

use durward_ir::datatype::{Opaque, XPathExpression};
use durward_ir::{DataType, Value};
use smol_str::SmolStr;

use super::identifiers::shared;
use super::{
    Categories, Form, Format, Limits, RawContent, Request, RequestError, RequestErrorKind, RequestReference,
    Version, Written, plain, xml2,
};
use crate::content::{OTHER_VERSION_HELP, check_version};
use crate::encoding::Utf16;
use crate::xml::{CONTEXT1, CONTEXT2, CORE3, Element, RawAttribute, Read, Space, XmlReader, write};

impl Request {
    /// Reads a request of XACML 3.0, 2.0, 1.1 or 1.0, within the usual [`Limits`].
    ///
    /// # Errors
    /// See [`Request::from_xml_within`].
    pub fn from_xml(bytes: &[u8]) -> Result<Request, RequestError> {
        Request::from_xml_within(bytes, &Limits::default())
    }

    /// Reads a request of XACML 3.0, 2.0, 1.1 or 1.0.
    ///
    /// # Errors
    /// The text is neither UTF-8 nor UTF-16, not well-formed XML, has a document type declaration, is not what the schema of its
    /// version asks for, holds a value that is not of its data type, or goes beyond the limits.
    pub fn from_xml_within(bytes: &[u8], limits: &Limits) -> Result<Request, RequestError> {
        read(bytes, limits).map_err(|error| *error)
    }
}

impl Version {
    /// The version a text most likely is of, so that even a request that cannot be read is answered in the form its
    /// sender understands. Looks for the namespaces' names only; XACML 3.0 where it finds none.
    pub fn of_xml(bytes: &[u8]) -> Version {
        let recoded = Utf16::of_document(bytes).and_then(|encoding| encoding.decode(bytes).ok());
        let bytes = recoded.as_ref().map_or(bytes, |text| text.as_bytes());
        let names = |namespace: &str| memchr::memmem::find(bytes, namespace.as_bytes()).is_some();
        match () {
            () if names(CORE3) => Version::V3,
            () if names(CONTEXT2) => Version::V2,
            () if names(CONTEXT1) => Version::V1,
            () => Version::V3,
        }
    }
}

impl Categories {
    /// Reads the argument of the function `access-permitted` (XACML 3.0, A.3.16): the content of an `<Attributes>`
    /// element of `category`, that is `<Content>` and `<Attribute>` elements, which need no namespace of their own;
    /// or the whole element, since both readings of the standard are in use.
    ///
    /// # Errors
    /// See [`Request::from_xml_within`].
    pub fn from_xml_attributes(category: &str, xml: &str) -> Result<Categories, RequestError> {
        let limits = Limits::default();
        let read = || -> Read<Categories> {
            if begins_with_attributes(xml, &limits) {
                return read_attributes(xml, &limits);
            }
            let mut whole = format!("<Attributes xmlns=\"{CORE3}\" Category=\"");
            write::value(&mut whole, category);
            whole.push_str("\">");
            whole.push_str(xml);
            whole.push_str("</Attributes>");
            read_attributes(&whole, &limits)
        };
        read().map_err(|error| *error)
    }
}

/// Whether the first element is `<Attributes>`.
fn begins_with_attributes(xml: &str, limits: &Limits) -> bool {
    let first = || -> Read<bool> {
        Ok(XmlReader::new(limits.text(xml.as_bytes())?, limits.depth_max)?.root()?.local == "Attributes")
    };
    first().unwrap_or(false)
}

/// A document that is one `<Attributes>` element.
fn read_attributes(xml: &str, limits: &Limits) -> Read<Categories> {
    let mut xml = XmlReader::new(limits.text(xml.as_bytes())?, limits.depth_max)?;
    let root = xml.root()?;
    if root.space != Space::Core3 || root.local != "Attributes" {
        return Err(xml.structure_at(root.name, format!("expected `<Attributes>`, not `<{}>`", root.name)));
    }
    let mut categories = Categories::default();
    read_category(&mut xml, &root, &mut categories, limits)?;
    xml.finish()?;
    Ok(categories)
}

fn read(bytes: &[u8], limits: &Limits) -> Read<Request> {
    if let Some(request) = plain::read(bytes, limits) {
        return Ok(request);
    }
    let text = limits.xml_text(bytes)?;
    read_any(&text, limits).map_err(|error| match begins_as_json(&text) {
        true => RequestError::whole(RequestErrorKind::IllFormed, IS_JSON),
        false => error,
    })
}

/// What is said to whoever sends JSON as XML.
const IS_JSON: &str =
    "the text is JSON, and was sent as XML; the content type of JSON is `application/xacml+json`";

fn begins_as_json(text: &str) -> bool {
    text.trim_start_matches('\u{FEFF}').trim_start().starts_with(['{', '['])
}

/// The general reader: every document there is.
pub(super) fn read_any(text: &str, limits: &Limits) -> Read<Request> {
    let mut xml = XmlReader::new(text, limits.depth_max)?;
    let root = xml.root()?;
    let request = match (root.space, root.local) {
        (Space::Core3, "Request") => read_request(&mut xml, &root, limits, text.len())?,
        (Space::Context2, "Request") => xml2::read_request(&mut xml, &root, limits, Version::V2, text)?,
        (Space::Context1, "Request") => xml2::read_request(&mut xml, &root, limits, Version::V1, text)?,
        (_, "Request") => {
            let message = "`<Request>` is in no XACML namespace; write `xmlns=\"urn:oasis:names:tc:xacml:3.0:core:\
                           schema:wd-17\"`";
            return Err(xml.structure_at(root.name, message.to_owned()));
        }
        _ => return Err(xml.structure_at(root.name, format!("expected `<Request>`, not `<{}>`", root.name))),
    };
    xml.finish()?;
    Ok(request)
}

/// XACML 3.0, section 5.42.
fn read_request(
    xml: &mut XmlReader<'_>,
    root: &Element<'_>,
    limits: &Limits,
    length: usize,
) -> Read<Request> {
    let [combined, policy_ids] = xml.take(root, ["CombinedDecision", "ReturnPolicyIdList"])?;
    let mut request = Request::new(Version::V3, Format::Xml);
    request.combined_decision = xml.boolean(root, "CombinedDecision", combined)?;
    request.return_policy_ids = xml.boolean(root, "ReturnPolicyIdList", policy_ids)?;
    request.categories = Categories::with_capacity(4, (length / 200).clamp(4, 64));
    let mut step = Step::Defaults;
    while let Some(child) = xml.child()? {
        let here = match (child.space, child.local) {
            (Space::Core3, "RequestDefaults") => Step::Defaults,
            (Space::Core3, "Attributes") => Step::Attributes,
            (Space::Core3, "MultiRequests") => Step::MultiRequests,
            _ => return Err(xml.unexpected(&child, root)),
        };
        // `<Attributes>` may be repeated, the others may not; the order is fixed.
        if here < step {
            return Err(xml.unexpected(&child, root));
        }
        match here {
            Step::Defaults => {
                request.xpath_version = Some(read_defaults(xml, &child)?);
                step = Step::Attributes;
            }
            Step::Attributes => {
                read_category(xml, &child, &mut request.categories, limits)?;
                step = Step::Attributes;
            }
            Step::MultiRequests => {
                request.multi_requests = read_multi_requests(xml, &child, limits)?;
                step = Step::End;
            }
            Step::End => {}
        }
    }
    if request.categories.is_empty() {
        return Err(xml.structure(format!("`<{}>` needs at least one `<Attributes>`", root.name)));
    }
    check_ids(xml, &request.categories)?;
    Ok(request)
}

/// How far the children of `<Request>` have been read.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Defaults,
    Attributes,
    MultiRequests,
    End,
}

/// Section 5.43: the XPath version.
fn read_defaults(xml: &mut XmlReader<'_>, element: &Element<'_>) -> Read<SmolStr> {
    let [] = xml.take(element, [])?;
    let version = match xml.child()? {
        Some(child) if child.space == Space::Core3 && child.local == "XPathVersion" => {
            let [] = xml.take(&child, [])?;
            let at = xml.offset();
            let declared = SmolStr::new(xml.text(&child)?.trim());
            check_version(&declared).map_err(|other| {
                xml.error(RequestErrorKind::Value, at, format!("{other}; {OTHER_VERSION_HELP}"))
            })?;
            declared
        }
        Some(child) => return Err(xml.unexpected(&child, element)),
        None => return Err(xml.structure(format!("`<{}>` needs `<XPathVersion>`", element.name))),
    };
    xml.nothing(element)?;
    Ok(version)
}

/// Section 5.44: one `<Attributes>`.
pub(crate) fn read_category(
    xml: &mut XmlReader<'_>,
    element: &Element<'_>,
    categories: &mut Categories,
    limits: &Limits,
) -> Read<()> {
    // The schema has only `xml:id`; requests written for Balana say `id`.
    let [category, id, plain_id] = xml.take(element, ["Category", "xml:id", "id"])?;
    let category = shared(&xml.required(element, "Category", category)?);
    let id = xml.optional(id.or(plain_id))?.map(|id| SmolStr::new(id.trim()));
    categories.begin_category(category, id);
    check_count(xml, "categories", categories.len(), limits.categories_max)?;
    let mut content_may_follow = true;
    while let Some(child) = xml.child()? {
        match (child.space, child.local) {
            (Space::Core3, "Attribute") => read_attribute(xml, &child, categories, limits)?,
            (Space::Core3, "Content") if content_may_follow => {
                let [] = xml.take(&child, [])?;
                categories.set_content(read_content(xml, &child)?);
            }
            _ => return Err(xml.unexpected(&child, element)),
        }
        content_may_follow = false;
    }
    Ok(())
}

/// Section 5.45: `<Content>` holds one element, kept as text.
fn read_content(xml: &mut XmlReader<'_>, element: &Element<'_>) -> Read<Arc<RawContent>> {
    let namespaces = xml.namespaces();
    let (inner, children) = xml.raw()?;
    if children != 1 {
        let message = format!("`<{}>` must hold exactly one element, not {children}", element.name);
        return Err(xml.structure_at(element.name, message));
    }
    Ok(Arc::new(RawContent { xml: SmolStr::new(inner), namespaces }))
}

/// Section 5.46: one `<Attribute>`.
fn read_attribute(
    xml: &mut XmlReader<'_>,
    element: &Element<'_>,
    categories: &mut Categories,
    limits: &Limits,
) -> Read<()> {
    let [id, issuer, include] = xml.take(element, ["AttributeId", "Issuer", "IncludeInResult"])?;
    let include_in_result = xml.boolean(element, "IncludeInResult", include)?;
    let issuer = xml.optional(issuer)?.map(SmolStr::new);
    categories.begin_attribute(shared(&xml.required(element, "AttributeId", id)?), issuer, include_in_result);
    check_count(xml, "attributes", categories.attribute_count(), limits.attributes_max)?;
    let values_before = categories.value_count();
    while let Some(child) = xml.child()? {
        match (child.space, child.local) {
            (Space::Core3, "AttributeValue") => {
                let [data_type] = xml.pick(["DataType"]);
                let data_type = xml.required(&child, "DataType", data_type)?;
                read_echoed(xml, &child, &data_type, categories)?;
                check_count(xml, "values", categories.value_count(), limits.values_max)?;
            }
            _ => return Err(xml.unexpected(&child, element)),
        }
    }
    check_has_values(xml, element, categories.value_count() - values_before)
}

/// An attribute without any value is refused: the schema asks for one.
pub(super) fn check_has_values(xml: &XmlReader<'_>, element: &Element<'_>, values: usize) -> Read<()> {
    if values > 0 {
        return Ok(());
    }
    Err(xml.structure_at(element.name, format!("`<{}>` needs at least one `<AttributeValue>`", element.name)))
}

/// The value in the element just started, which may carry any XML attribute (section 7.3.1). Used for
/// `<AttributeValue>` and `<AttributeAssignment>` of every version.
pub(crate) fn read_value(xml: &mut XmlReader<'_>, element: &Element<'_>, data_type: &str) -> Read<Value> {
    read_written(xml, element, data_type).map(|(value, _)| value)
}

/// The same, into the attribute begun last, which may be one that is echoed.
fn read_echoed(
    xml: &mut XmlReader<'_>,
    element: &Element<'_>,
    data_type: &str,
    categories: &mut Categories,
) -> Read<()> {
    let (value, written) = read_written(xml, element, data_type)?;
    categories.push_as_written(value, |value| match written {
        WrittenText::Text(text) => Written::of(value, &text, data_type),
        WrittenText::Markup(namespaces) => Some(Written { form: Form::Markup(namespaces), data_type: None }),
    });
    Ok(())
}

/// What stood in an element that holds a value.
enum WrittenText<'a> {
    Text(Cow<'a, str>),
    Markup(Vec<(SmolStr, SmolStr)>),
}

fn read_written<'a>(
    xml: &mut XmlReader<'a>,
    element: &Element<'_>,
    data_type: &str,
) -> Read<(Value, WrittenText<'a>)> {
    let known = DataType::from_uri(data_type);
    let [xpath_category] = xml.pick(["XPathCategory"]);
    match known {
        None | Some(DataType::Opaque) => read_opaque(xml, data_type),
        Some(DataType::XPathExpression) => read_xpath(xml, element, xpath_category),
        Some(known) => {
            let at = xml.offset();
            let text = xml.text(element)?;
            let value = Value::parse(known, &text)
                .map_err(|error| xml.error(RequestErrorKind::Value, at, error.to_string()))?;
            Ok((value, WrittenText::Text(text)))
        }
    }
}

/// A value of a data type durward does not know: its text, or its XML where it holds elements.
fn read_opaque<'a>(xml: &mut XmlReader<'a>, data_type: &str) -> Read<(Value, WrittenText<'a>)> {
    let namespaces = xml.namespaces();
    let (text, has_elements) = xml.mixed()?;
    let value =
        Value::Opaque(Arc::new(Opaque { data_type: SmolStr::new(data_type), text: SmolStr::new(&text) }));
    let written = if has_elements { WrittenText::Markup(namespaces) } else { WrittenText::Text(text) };
    Ok((value, written))
}

/// Section B.3 of XACML 3.0: an XPath expression knows the category it looks into and the namespaces around it.
fn read_xpath<'a>(
    xml: &mut XmlReader<'a>,
    element: &Element<'_>,
    category: Option<RawAttribute<'_>>,
) -> Read<(Value, WrittenText<'a>)> {
    let category = match category {
        Some(category) => shared(&xml.value(category)?),
        None => {
            return Err(xml.structure_at(element.name, "an xpathExpression needs `XPathCategory`".to_owned()));
        }
    };
    let namespaces = xml.namespaces().into();
    let text = xml.text(element)?;
    let path = SmolStr::new(text.trim());
    let value = Value::XPathExpression(Arc::new(XPathExpression { path, category, namespaces }));
    Ok((value, WrittenText::Text(text)))
}

/// Section 5.50: the individual requests by reference.
fn read_multi_requests(
    xml: &mut XmlReader<'_>,
    element: &Element<'_>,
    limits: &Limits,
) -> Read<Vec<RequestReference>> {
    let [] = xml.take(element, [])?;
    let mut references = Vec::new();
    let mut count = 0;
    while let Some(child) = xml.child()? {
        if child.space != Space::Core3 || child.local != "RequestReference" {
            return Err(xml.unexpected(&child, element));
        }
        let [] = xml.take(&child, [])?;
        let mut ids = Vec::new();
        while let Some(reference) = xml.child()? {
            if reference.space != Space::Core3 || reference.local != "AttributesReference" {
                return Err(xml.unexpected(&reference, &child));
            }
            let [id] = xml.take(&reference, ["ReferenceId"])?;
            ids.push(SmolStr::new(xml.required(&reference, "ReferenceId", id)?.trim()));
            xml.nothing(&reference)?;
            count += 1;
            check_count(xml, "references", count, limits.values_max)?;
        }
        if ids.is_empty() {
            return Err(xml.structure(format!("`<{}>` needs `<AttributesReference>`", child.name)));
        }
        references.push(RequestReference { ids });
    }
    if references.is_empty() {
        return Err(xml.structure(format!("`<{}>` needs `<RequestReference>`", element.name)));
    }
    Ok(references)
}

/// `xml:id`s name one element each.
fn check_ids(xml: &XmlReader<'_>, categories: &Categories) -> Read<()> {
    match categories.repeated_id() {
        None => Ok(()),
        Some(id) => Err(xml.structure(format!("the `xml:id` `{id}` stands twice"))),
    }
}

pub(super) fn check_count(xml: &XmlReader<'_>, what: &str, count: usize, max: usize) -> Read<()> {
    if count <= max {
        return Ok(());
    }
    Err(xml.error(RequestErrorKind::Limit, xml.offset(), format!("more than {max} {what} in one request")))
}
