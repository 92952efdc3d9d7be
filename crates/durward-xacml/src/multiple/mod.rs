//! One request that asks several things: taken apart into individual requests, their results put together again.
//!
//! The schemes of the Multiple Decision Profile 1.0: references (section 2.4), repeated attribute categories (2.3),
//! the scope of a resource in a hierarchy (2.1), nodes of a resource's content (2.2), and the combined decision (3).
//! They compose, and are applied in this order. A request without any of them is given back as it is; that there is
//! none was noted while it was read.

mod apart;
mod combine;
mod content;
mod hierarchy;
mod repeated;

use crate::request::{AttributeView, Request, identifiers};
use apart::{Apart, Copies, check_count};

pub use apart::{COPIED_MAX, INDIVIDUAL_REQUESTS_MAX, MultipleError};
pub use combine::combine_if_asked;
pub use content::CONTENT_SELECTORS_MAX;
pub use hierarchy::ResourceHierarchy;

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
