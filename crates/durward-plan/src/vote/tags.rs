//! What goes along with a vote, by number.
//!
//! Two policies that ask for the same obligations ask for the same, in whatever order and however often: whoever enforces a
//! plan carries each out once. Only the algorithm `unanimous strict` looks at the order, so below such a set it counts.

use durward_ir::Value;
use durward_ir::combine::{Duties, Duty};

use crate::budget::{Budget, value_steps};

/// What goes along with a vote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Tag(u16);

impl Tag {
    /// Nothing.
    pub(crate) const NONE: Tag = Tag(0);
    /// Something that depends on the row; no resource.
    const VARIES: Tag = Tag(1);
    /// The same, and maybe a resource.
    pub(crate) const VARIES_WITH_RESOURCE: Tag = Tag(2);

    /// Something that depends on the row.
    pub(super) fn varying(has_resource: bool) -> Tag {
        if has_resource { Tag::VARIES_WITH_RESOURCE } else { Tag::VARIES }
    }

    /// Whether it depends on the row.
    pub(crate) fn varies(self) -> bool {
        self == Tag::VARIES || self == Tag::VARIES_WITH_RESOURCE
    }
}

/// So many different things may go along; what is more counts as depending on the row.
const TAGS_MAX: usize = 48;

/// So many different obligations and advice are told apart; what is more counts as depending on the row.
const DUTIES_MAX: usize = 1000;

/// An obligation or advice by its number.
type DutyId = u16;

/// What goes along, by the numbers of obligations and advice.
#[derive(Clone, Debug, Default)]
struct Attached {
    obligations: Vec<DutyId>,
    advice: Vec<DutyId>,
    resource: Option<Value>,
}

impl Attached {
    fn is_empty(&self) -> bool {
        self.obligations.is_empty() && self.advice.is_empty() && self.resource.is_none()
    }

    fn len(&self) -> usize {
        self.obligations.len() + self.advice.len()
    }

    fn has_same_resource(&self, other: &Attached) -> bool {
        match (&self.resource, &other.resource) {
            (Some(one), Some(other)) => one.equals(other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Each obligation and each advice once.
    fn each_once(mut self) -> Attached {
        once(&mut self.obligations);
        once(&mut self.advice);
        self
    }
}

/// All that goes along with votes.
#[derive(Debug)]
pub(crate) struct Tags {
    budget: Budget,
    /// Every obligation and advice once, with how large it is.
    duties: Vec<(Duty, u64)>,
    all: Vec<Attached>,
    /// How many sets around here look at the order of obligations.
    in_order: u32,
}

impl Tags {
    pub(super) fn new(budget: Budget) -> Tags {
        // Nothing, and room for the two that depend on the row.
        Tags { budget, duties: Vec::new(), all: vec![Attached::default(); 3], in_order: 0 }
    }

    /// From here on, the order of obligations counts.
    pub(super) fn enter_order(&mut self) {
        self.in_order += 1;
    }

    /// The opposite.
    pub(super) fn leave_order(&mut self) {
        self.in_order -= 1;
    }

    /// Whether obligations in another order are others.
    pub(super) fn is_in_order(&self) -> bool {
        self.in_order > 0
    }

    fn attached(&self, tag: Tag) -> Option<&Attached> {
        if tag.varies() { None } else { self.all.get(usize::from(tag.0)) }
    }

    /// The duties of a tag that does not depend on the row.
    pub(crate) fn duties(&self, tag: Tag) -> Option<Duties> {
        let attached = self.attached(tag)?;
        self.budget.spend_each(attached.len());
        let named = |ids: &[DutyId]| -> Vec<Duty> {
            let known = ids.iter().filter_map(|id| self.duties.get(usize::from(*id)));
            known.map(|(duty, _)| duty.clone()).collect()
        };
        Some(Duties {
            obligations: named(&attached.obligations),
            advice: named(&attached.advice),
            resource: attached.resource.clone(),
        })
    }

    /// Whether a resource may be among them.
    pub(super) fn has_resource(&self, tag: Tag) -> bool {
        match self.attached(tag) {
            Some(attached) => attached.resource.is_some(),
            None => tag == Tag::VARIES_WITH_RESOURCE,
        }
    }

    /// Whether whoever enforces the one has to do what the other one asks for.
    pub(crate) fn bind_alike(&self, one: Tag, other: Tag) -> bool {
        let (Some(one), Some(other)) = (self.attached(one), self.attached(other)) else { return false };
        are_same_set(&one.obligations, &other.obligations) && one.has_same_resource(other)
    }

    /// Whether both have the same advice.
    pub(crate) fn advise_alike(&self, one: Tag, other: Tag) -> bool {
        let (Some(one), Some(other)) = (self.attached(one), self.attached(other)) else { return false };
        are_same_set(&one.advice, &other.advice)
    }

    /// The tag of these.
    pub(super) fn of(&mut self, duties: &Duties) -> Tag {
        if let Some(resource) = &duties.resource {
            self.budget.spend_on(resource);
        }
        let obligations: Option<Vec<DutyId>> = duties.obligations.iter().map(|duty| self.id(duty)).collect();
        let advice: Option<Vec<DutyId>> = duties.advice.iter().map(|duty| self.id(duty)).collect();
        match (obligations, advice) {
            (Some(obligations), Some(advice)) => {
                self.tag(Attached { obligations, advice, resource: duties.resource.clone() })
            }
            (None, _) | (_, None) => Tag::varying(duties.resource.is_some()),
        }
    }

    /// One behind the other.
    pub(super) fn appended(&mut self, first: Tag, second: Tag) -> Tag {
        if second == Tag::NONE || first == second && !self.is_in_order() {
            return first;
        }
        if first == Tag::NONE {
            return second;
        }
        let (Some(one), Some(other)) = (self.attached(first), self.attached(second)) else {
            return Tag::varying(self.has_resource(first) || self.has_resource(second));
        };
        let mut both = one.clone();
        both.obligations.extend_from_slice(&other.obligations);
        both.advice.extend_from_slice(&other.advice);
        if both.resource.is_none() {
            both.resource.clone_from(&other.resource);
        }
        self.tag(both)
    }

    /// The tag with each obligation once, where the order does not count.
    pub(super) fn each_once(&mut self, tag: Tag) -> Tag {
        match self.attached(tag).cloned() {
            Some(attached) if !self.is_in_order() => self.tag(attached),
            Some(_) | None => tag,
        }
    }

    fn tag(&mut self, attached: Attached) -> Tag {
        let attached = if self.is_in_order() { attached } else { attached.each_once() };
        if attached.is_empty() || !self.budget.spend_each(self.all.len() * (1 + attached.len())) {
            return Tag::NONE;
        }
        // The first three are not what they look like.
        let known = self.all.iter().skip(3).position(|other| self.is_same(&attached, other));
        if let Some(known) = known {
            return Tag(known as u16 + 3);
        }
        if self.all.len() >= TAGS_MAX {
            return Tag::varying(attached.resource.is_some());
        }
        self.all.push(attached);
        Tag(self.all.len() as u16 - 1)
    }

    fn is_same(&self, one: &Attached, other: &Attached) -> bool {
        let are_same = match self.is_in_order() {
            true => one.obligations == other.obligations && one.advice == other.advice,
            false => {
                are_same_set(&one.obligations, &other.obligations) && are_same_set(&one.advice, &other.advice)
            }
        };
        are_same && one.has_same_resource(other)
    }

    /// The number of an obligation or advice; `None` where there are too many.
    fn id(&mut self, duty: &Duty) -> Option<DutyId> {
        let size = size_of_duty(duty);
        self.budget.spend(size);
        // What is equal is as large.
        for (id, (known, known_size)) in self.duties.iter().enumerate() {
            if *known_size == size && self.budget.spend(size) && known.equals(duty) {
                return Some(id as DutyId);
            }
        }
        if self.duties.len() >= DUTIES_MAX {
            return None;
        }
        self.duties.push((duty.clone(), size));
        Some(self.duties.len() as DutyId - 1)
    }
}

fn size_of_duty(duty: &Duty) -> u64 {
    match duty {
        Duty::Plain(value) => value_steps(value),
        Duty::Named(named) => {
            named.assignments.iter().fold(1, |sum, assignment| sum + 1 + value_steps(&assignment.value))
        }
    }
}

/// Leaves the first of those that are the same.
fn once(ids: &mut Vec<DutyId>) {
    let mut seen = std::collections::HashSet::with_capacity(ids.len());
    ids.retain(|id| seen.insert(*id));
}

fn are_same_set(some: &[DutyId], others: &[DutyId]) -> bool {
    if some == others {
        return true;
    }
    let sorted = |ids: &[DutyId]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    sorted(some) == sorted(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duties(obligations: &[i64]) -> Duties {
        let obligations = obligations.iter().map(|number| Duty::Plain(Value::number(*number))).collect();
        Duties { obligations, ..Duties::default() }
    }

    #[test]
    fn the_same_obligations_are_one_tag_in_whatever_order_and_however_often() {
        let mut tags = Tags::new(Budget::new());
        let tag = tags.of(&duties(&[1, 2]));
        for same in [&[1, 2][..], &[2, 1], &[1, 2, 1]] {
            assert_eq!(tags.of(&duties(same)), tag, "{same:?}");
        }
        assert_ne!(tags.of(&duties(&[1])), tag);
        let (one, two) = (tags.of(&duties(&[1])), tags.of(&duties(&[2])));
        assert_eq!((tags.appended(two, one), tags.appended(tag, one)), (tag, tag));
        assert_eq!(tags.duties(tag).map(|duties| duties.obligations.len()), Some(2));
    }

    /// `unanimous strict` takes votes for different ones that ask for the same in another order.
    #[test]
    fn where_the_order_counts_another_order_is_another_tag() {
        let mut tags = Tags::new(Budget::new());
        tags.enter_order();
        let tag = tags.of(&duties(&[1, 2]));
        let (other, twice) = (tags.of(&duties(&[2, 1])), tags.of(&duties(&[1, 2, 2])));
        assert!(other != tag && twice != tag && twice != other);
        tags.leave_order();
        assert!(tags.bind_alike(tag, other) && tags.bind_alike(tag, twice));
        assert_eq!(tags.each_once(twice), tags.each_once(tag));
    }
}
