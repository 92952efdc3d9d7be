//! Individual requests by the scope of a resource in a hierarchy (section 2.1; XACML 2.0 and 1.x alike).

use std::collections::VecDeque;

use durward_ir::{Fault, Value};

use super::apart::{Apart, Copies, check_count, with_categories};
use crate::request::{AttributeView, Categories, CategoryView, Request, identifiers};

/// Knows the hierarchy resources stand in; given by the program that embeds the decision point.
pub trait ResourceHierarchy {
    /// The resources directly below `resource`, by their `resource-id`.
    ///
    /// # Errors
    /// The hierarchy cannot be asked; the decision is then Indeterminate.
    fn children(&self, resource: &Value) -> Result<Vec<Value>, Box<Fault>>;

    /// All resources below `resource`, nearer ones first. Unless overridden, found by asking for children; a
    /// resource met twice counts once.
    ///
    /// # Errors
    /// As [`ResourceHierarchy::children`]; more than
    /// [`INDIVIDUAL_REQUESTS_MAX`](super::INDIVIDUAL_REQUESTS_MAX) resources.
    fn descendants(&self, resource: &Value) -> Result<Vec<Value>, Box<Fault>> {
        let mut found: Vec<Value> = Vec::new();
        let mut open = VecDeque::from([resource.clone()]);
        while let Some(next) = open.pop_front() {
            for child in self.children(&next)? {
                if child.equals(resource) || found.iter().any(|known| known.equals(&child)) {
                    continue;
                }
                check_count(found.len() + 1)?;
                open.push_back(child.clone());
                found.push(child);
            }
        }
        Ok(found)
    }
}

/// Which resources a scope means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The resource alone.
    Immediate,
    /// The resource and what is directly below it.
    Children,
    /// The resource and all below it.
    Descendants,
    /// The same, answered with one result (Multiple Resource Profile of XACML 2.0, section 3.1).
    EntireHierarchy,
}

/// The scope a request asks for; `None` where it does not say.
pub(super) fn scope_of(request: &Request) -> Apart<Option<Scope>> {
    let Some(resource) = request.categories.find(identifiers::RESOURCE) else { return Ok(None) };
    let mut scopes = resource.attributes().filter(is_scope).flat_map(AttributeView::values);
    let Some(first) = scopes.next() else { return Ok(None) };
    if scopes.next().is_some() {
        return Err(Fault::syntax("the resource has more than one `scope`"));
    }
    match &*first.lexical() {
        "Immediate" => Ok(Some(Scope::Immediate)),
        "Children" => Ok(Some(Scope::Children)),
        "Descendants" => Ok(Some(Scope::Descendants)),
        "EntireHierarchy" => Ok(Some(Scope::EntireHierarchy)),
        other => Err(Fault::syntax(format!(
            "`{other}` is not a scope: write `Immediate`, `Children`, `Descendants` or `EntireHierarchy`"
        ))),
    }
}

/// One individual request for each resource in scope, the one named first.
pub(super) fn by_scope(
    request: Request,
    hierarchy: Option<&dyn ResourceHierarchy>,
    copies: &Copies,
    out: &mut Vec<Request>,
) -> Apart<()> {
    let Some(scope) = scope_of(&request)? else {
        out.push(request);
        return Ok(());
    };
    let resource = resource_of(&request.categories)?;
    let ask = || {
        hierarchy.ok_or_else(|| {
            Fault::processing("the scope of a resource needs a resource hierarchy; none is set up")
        })
    };
    let below = match (&resource, scope) {
        (_, Scope::Immediate) => Vec::new(),
        (None, _) => return Err(Fault::syntax("the scope of a resource needs exactly one `resource-id`")),
        (Some(resource), Scope::Children) => ask()?.children(resource)?,
        (Some(resource), Scope::Descendants | Scope::EntireHierarchy) => ask()?.descendants(resource)?,
    };
    check_count(below.len().saturating_add(1))?;
    copies.count(request.categories.iter(), below.len() + 1)?;
    out.push(with_categories(&request, without_scope(&request.categories, None)));
    for resource in &below {
        check_count(out.len() + 1)?;
        out.push(with_categories(&request, without_scope(&request.categories, Some(resource))));
    }
    Ok(())
}

fn is_scope(attribute: &AttributeView<'_>) -> bool {
    attribute.id == identifiers::SCOPE || attribute.id == identifiers::SCOPE_1_0
}

/// The only value of `resource-id`.
fn resource_of(categories: &Categories) -> Apart<Option<Value>> {
    let resource = categories.find(identifiers::RESOURCE);
    let ids = resource.into_iter().flat_map(|resource| resource.named(identifiers::RESOURCE_ID));
    let mut values = ids.flat_map(AttributeView::values);
    match (values.next(), values.next()) {
        (Some(only), None) => Ok(Some(only.clone())),
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(Fault::syntax("the scope of a resource needs exactly one `resource-id`")),
    }
}

/// The attributes of an individual request: the scope is gone, `resource-id` is the resource it is about.
fn without_scope(categories: &Categories, resource: Option<&Value>) -> Categories {
    let mut copy = Categories::with_capacity(categories.len(), categories.attribute_count());
    for category in categories.iter() {
        if category.category != identifiers::RESOURCE {
            copy.copy_category(category);
            continue;
        }
        copy_head(&mut copy, category);
        for attribute in category.attributes().filter(|attribute| !is_scope(attribute)) {
            match resource {
                Some(resource) if attribute.id == identifiers::RESOURCE_ID => {
                    copy.begin_attribute(
                        attribute.id.clone(),
                        attribute.issuer.clone(),
                        attribute.include_in_result,
                    );
                    copy.push_value(resource.clone());
                }
                _ => copy.copy_attribute(attribute),
            }
        }
    }
    copy
}

/// Copies a category without its attributes.
pub(super) fn copy_head(copy: &mut Categories, category: CategoryView<'_>) {
    copy.begin_category(category.category.clone(), category.xml_id.clone());
    if let Some(content) = &category.content {
        copy.set_content(content.clone());
    }
}
