//! What all schemes have to do with: what cannot be taken apart, how much may be made, and copies of a request.

use std::cell::Cell;
use std::fmt;

use durward_ir::Fault;

use crate::request::{Categories, CategoryView, Request};
use crate::response::Status;

/// How many individual requests one request may mean. Repeated categories multiply and hierarchies are as large as
/// their owner likes; each individual request costs memory and a decision.
pub const INDIVIDUAL_REQUESTS_MAX: usize = 1_000;

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

/// What the functions of every scheme return when they take a request apart.
pub(super) type Apart<T> = Result<T, Box<Fault>>;

pub(super) fn check_count(count: usize) -> Apart<()> {
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
pub(super) struct Copies(Cell<usize>);

impl Copies {
    /// Counts so many copies of these categories, before they are made.
    pub(super) fn count<'a>(
        &self,
        categories: impl Iterator<Item = CategoryView<'a>>,
        times: usize,
    ) -> Apart<()> {
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
pub(super) fn with_categories(request: &Request, categories: Categories) -> Request {
    Request {
        categories,
        multi_requests: Vec::new(),
        xpath_version: request.xpath_version.clone(),
        document: request.document.clone(),
        ..*request
    }
}
