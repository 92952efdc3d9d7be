//! One request that asks several things: taken apart into individual requests, their results put together again.
//!
//! The schemes of the Multiple Decision Profile 1.0: references (section 2.4), repeated attribute categories (2.3),
//! the scope of a resource in a hierarchy (2.1), nodes of a resource's content (2.2), and the combined decision (3).
//! They compose, and are applied in this order. A request without any of them is given back as it is; that there is
//! none was noted while it was read.

mod combine;
mod content;
mod hierarchy;
mod repeated;

use std::cell::Cell;
use std::fmt;

use durward_ir::Fault;

use crate::request::{AttributeView, Categories, CategoryView, Request, identifiers};
use crate::response::Status;

pub use combine::combine_if_asked;
pub use content::CONTENT_SELECTORS_MAX;
pub use hierarchy::ResourceHierarchy;

/// How many individual requests one request may mean. Repeated categories multiply and hierarchies are as large as
/// their owner likes; each individual request costs memory and a decision.
pub const INDIVIDUAL_REQUESTS_MAX: usize = 1_000;

/// How many individual requests one scheme may fail to make before the whole request fails: finding out may have
/// cost as much as making [`INDIVIDUAL_REQUESTS_MAX`].
const FAILURES_MAX: usize = 16;

/// The individual requests a request means.
#[derive(Debug)]
pub enum Individual<'a> {
    /// The request means just itself.
    One(&'a Request),
    /// It means these, in the order of their results. One that cannot be made, such as one that refers to no
    /// category, is Indeterminate by itself; the others are answered all the same.
    Many(Vec<Result<Request, MultipleError>>),
}

/// A request that cannot be taken apart, or an individual request that cannot be made.
#[derive(Clone, Debug)]
pub struct MultipleError {
    fault: Fault,
}

impl MultipleError {
    /// What the response says: a syntax error where the request is wrong, else a processing error.
    pub fn status(&self) -> Status {
        Status::from(&self.fault)
    }
}

impl fmt::Display for MultipleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for MultipleError {}

impl From<Box<Fault>> for MultipleError {
    fn from(fault: Box<Fault>) -> MultipleError {
        MultipleError { fault: *fault }
    }
}

/// The result of taking apart, within this module.
type Apart<T> = Result<T, Box<Fault>>;

/// Takes a request apart. `hierarchy` knows what lies below a resource; without one, scopes that ask for it fail.
///
/// # Errors
/// More than [`INDIVIDUAL_REQUESTS_MAX`] individual requests, or 16 that cannot be made. What else is wrong, a reference to nothing, a scope that
/// is unknown or cannot be answered, content that cannot be searched, is an error of the individual request.
pub fn individual_requests<'a>(
    request: &'a Request,
    hierarchy: Option<&dyn ResourceHierarchy>,
) -> Result<Individual<'a>, MultipleError> {
    if is_one(request) {
        return Ok(Individual::One(request));
    }
    let copies = Copies::default();
    let mut requests = repeated::by_reference(request, &copies)?;
    requests = each(requests, |request, out| repeated::by_category(request, &copies, out))?;
    requests = each(requests, |request, out| hierarchy::by_scope(request, hierarchy, &copies, out))?;
    requests = each(requests, |request, out| content::by_content(request, &copies, out))?;
    Ok(Individual::Many(requests))
}

/// Whether nothing in the request asks for several decisions.
fn is_one(request: &Request) -> bool {
    let categories = &request.categories;
    let asks = |attribute: AttributeView<'_>| identifiers::asks_for_several(&attribute.id);
    request.multi_requests.is_empty()
        && (!categories.may_mean_several()
            || (!repeated::has_repeated(categories) && !categories.attributes().any(asks)))
}

/// Applies one scheme to every request that could be made so far.
fn each(
    requests: Vec<Result<Request, MultipleError>>,
    scheme: impl Fn(Request, &mut Vec<Request>) -> Apart<()>,
) -> Apart<Vec<Result<Request, MultipleError>>> {
    let mut out = Vec::with_capacity(requests.len());
    let mut split = Vec::new();
    let mut failures = 0;
    for request in requests {
        match request.map(|request| scheme(request, &mut split)) {
            Ok(Ok(())) => out.extend(split.drain(..).map(Ok)),
            Ok(Err(fault)) => {
                failures += 1;
                if failures > FAILURES_MAX {
                    return Err(fault);
                }
                split.clear();
                out.push(Err(fault.into()));
            }
            Err(error) => out.push(Err(error)),
        }
        check_count(out.len())?;
    }
    Ok(out)
}

fn check_count(count: usize) -> Apart<()> {
    if count <= INDIVIDUAL_REQUESTS_MAX {
        return Ok(());
    }
    Err(Fault::processing(format!(
        "the request means more than {INDIVIDUAL_REQUESTS_MAX} individual requests"
    )))
}

/// How many attributes and values all individual requests together may copy.
pub const COPIED_MAX: usize = 1_000_000;

/// Counts what was copied while a request is taken apart: a thousand individual requests may each have all that one request has room for.
#[derive(Default)]
struct Copies(Cell<usize>);

impl Copies {
    /// Counts so many copies of these categories, before they are made.
    fn count<'a>(&self, categories: impl Iterator<Item = CategoryView<'a>>, times: usize) -> Apart<()> {
        let attributes = categories.flat_map(CategoryView::attributes);
        let size: usize = attributes.map(|attribute| 1 + attribute.values().len()).sum();
        let copied = self.0.get().saturating_add(size.saturating_mul(times));
        self.0.set(copied);
        if copied <= COPIED_MAX {
            return Ok(());
        }
        Err(Fault::processing(format!(
            "the individual requests have more than {COPIED_MAX} attributes and values together"
        )))
    }
}

/// A copy with other attributes; what made it multiple by reference is gone.
fn with_categories(request: &Request, categories: Categories) -> Request {
    Request {
        categories,
        multi_requests: Vec::new(),
        xpath_version: request.xpath_version.clone(),
        document: request.document.clone(),
        ..*request
    }
}
