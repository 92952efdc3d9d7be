//! Individual requests by reference (`<MultiRequests>`) and by repeated attribute categories.

use std::collections::HashSet;

use durward_ir::Fault;
use smol_str::SmolStr;

use super::apart::{Apart, Copies, MultipleError, check_count, with_categories};
use crate::request::{Categories, CategoryView, Request, RequestReference};

/// Up to here, comparing each with each beats building a set.
const FEW: usize = 16;

/// Whether a category stands in the request more than once.
pub(super) fn has_repeated(categories: &Categories) -> bool {
    if categories.len() > FEW {
        let mut seen = HashSet::with_capacity(categories.len());
        return !categories.iter().all(|category| seen.insert(category.category.clone()));
    }
    let mut rest = categories.iter();
    while let Some(category) = rest.next() {
        if rest.clone().any(|other| other.category == category.category) {
            return true;
        }
    }
    false
}

/// Section 2.4: each reference names the categories of one individual request.
pub(super) fn by_reference(request: &Request, copies: &Copies) -> Apart<Vec<Result<Request, MultipleError>>> {
    if request.multi_requests.is_empty() {
        return Ok(vec![Ok(request.clone())]);
    }
    check_count(request.multi_requests.len())?;
    for reference in &request.multi_requests {
        copies.count(reference.ids.iter().filter_map(|id| request.categories.find_by_id(id)), 1)?;
    }
    let referred = request.multi_requests.iter().map(|reference| Ok(referred(request, reference)?));
    Ok(referred.collect())
}

fn referred(request: &Request, reference: &RequestReference) -> Apart<Request> {
    let mut categories = Categories::with_capacity(reference.ids.len(), 8);
    let mut taken: Vec<&SmolStr> = Vec::new();
    for id in &reference.ids {
        let Some(category) = request.categories.find_by_id(id) else {
            return Err(Fault::syntax(format!(
                "`MultiRequests` refers to `{id}`, which no category is called"
            )));
        };
        // Named twice, it is still one.
        if !taken.contains(&id) {
            categories.copy_category(category);
            taken.push(id);
        }
    }
    Ok(with_categories(request, categories))
}

/// Section 2.3: where categories are repeated, one individual request for each combination.
pub(super) fn by_category(request: Request, copies: &Copies, out: &mut Vec<Request>) -> Apart<()> {
    if !has_repeated(&request.categories) {
        out.push(request);
        return Ok(());
    }
    let groups = groups(&request.categories);
    let combinations = groups.iter().try_fold(1_usize, |count, group| count.checked_mul(group.len()));
    check_count(combinations.unwrap_or(usize::MAX).saturating_add(out.len()))?;
    let combinations = combinations.unwrap_or(0);
    for group in &groups {
        copies.count(group.iter().copied(), combinations / group.len().max(1))?;
    }
    // The first category changes slowest: results come in the order in which a reader counts them.
    for number in 0..combinations {
        let mut rest = number;
        let mut chosen: Vec<CategoryView<'_>> = Vec::with_capacity(groups.len());
        for group in groups.iter().rev() {
            chosen.extend(group.get(rest % group.len()).copied());
            rest /= group.len();
        }
        let attributes = chosen.iter().map(|category| category.attributes().len()).sum();
        let mut categories = Categories::with_capacity(groups.len(), attributes);
        chosen.into_iter().rev().for_each(|category| categories.copy_category(category));
        out.push(with_categories(&request, categories));
    }
    Ok(())
}

/// The categories by name, in the order in which each name first comes.
fn groups(categories: &Categories) -> Vec<Vec<CategoryView<'_>>> {
    let mut groups: Vec<Vec<CategoryView<'_>>> = Vec::new();
    for category in categories.iter() {
        let same = |group: &&mut Vec<CategoryView<'_>>| {
            group.first().is_some_and(|first| first.category == category.category)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(category),
            None => groups.push(vec![category]),
        }
    }
    groups
}
