//! Individual requests by the nodes of a resource's content (section 2.2).

use std::sync::Arc;

use durward_ir::datatype::XPathExpression;
use durward_ir::{Fault, Value};
use smol_str::SmolStr;

use super::apart::{Apart, Copies, check_count, with_categories};
use super::hierarchy::copy_head;
use crate::content::Contents;
use crate::request::{AttributeView, Categories, Request, identifiers};

/// How many attributes of one request may each select nodes; one in a category, and there are eight categories.
pub const CONTENT_SELECTORS_MAX: usize = 8;

/// One individual request for each node that `multiple:content-selector` selects; it has a `content-selector` for
/// just this node instead. Several such attributes multiply, the first slowest.
pub(super) fn by_content(request: Request, copies: &Copies, out: &mut Vec<Request>) -> Apart<()> {
    let selectors = request.categories.attributes().filter(is_selector).count();
    if selectors > CONTENT_SELECTORS_MAX {
        return Err(Fault::syntax(format!("more than {CONTENT_SELECTORS_MAX} `multiple:content-selector`s")));
    }
    let contents = Contents::default();
    let mut requests = vec![request];
    for _ in 0..selectors {
        let mut split = Vec::new();
        for request in &requests {
            for node in contents.split(request, first_path(&request.categories)?)? {
                copies.count(request.categories.iter(), 1)?;
                split.push(with_categories(request, with_selector(&request.categories, node)));
                check_count(split.len().saturating_add(out.len()))?;
            }
        }
        requests = split;
    }
    if requests.is_empty() {
        return Err(Fault::processing("`multiple:content-selector` selects no node"));
    }
    out.append(&mut requests);
    Ok(())
}

fn is_selector(attribute: &AttributeView<'_>) -> bool {
    identifiers::selects_content(&attribute.id)
}

/// The path of the first selector.
fn first_path(categories: &Categories) -> Apart<&XPathExpression> {
    let values = categories.attributes().find(is_selector).map(AttributeView::values);
    match values {
        Some([Value::XPathExpression(path)]) => Ok(path),
        _ => Err(Fault::syntax("`multiple:content-selector` must have one value, an xpathExpression")),
    }
}

/// The attributes with the first selector replaced by the path to one node.
fn with_selector(categories: &Categories, node: XPathExpression) -> Categories {
    let mut node = Some(Value::XPathExpression(Arc::new(node)));
    let mut copy = Categories::with_capacity(categories.len(), categories.attribute_count());
    for category in categories.iter() {
        copy_head(&mut copy, category);
        for attribute in category.attributes() {
            match if is_selector(&attribute) { node.take() } else { None } {
                Some(node) => {
                    let id = SmolStr::new_static(identifiers::CONTENT_SELECTOR);
                    copy.begin_attribute(id, attribute.issuer.clone(), attribute.include_in_result);
                    copy.push_value(node);
                }
                None => copy.copy_attribute(attribute),
            }
        }
    }
    copy
}
