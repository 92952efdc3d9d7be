//! Whether fields that answer under one key ask for the same (section 5.3.2).
//!
//! Without interfaces and unions all fields that meet are of one type, so that names and arguments say everything.

use std::collections::{BTreeMap, HashSet};

use super::QueryValidator;
use crate::graphql::ast::{GraphqlField, Selection};

/// How many fields are visited to find those that overlap: fragments in fragments can multiply them without end.
const STEPS_MAX: usize = 500_000;

impl<'t> QueryValidator<'t> {
    pub(super) fn overlaps(&mut self) {
        let mut merger = FieldMerger { seen: HashSet::new(), steps: 0, is_exhausted: false };
        // A fragment that no operation spreads is an error already.
        for operation in &self.document.operations {
            let mut open = vec![(vec![operation.selections.as_slice()], Vec::new())];
            while let Some((selections, path)) = open.pop() {
                for (key, fields) in merger.by_key(self, &selections) {
                    let path: Vec<&'t str> = path.iter().copied().chain([key]).collect();
                    self.same(key, &fields, &path);
                    let below: Vec<_> = fields
                        .iter()
                        .map(|field| field.selections.as_slice())
                        .filter(|below| !below.is_empty())
                        .collect();
                    if !below.is_empty() && merger.is_new(&fields) {
                        open.push((below, path));
                    }
                }
            }
        }
        if merger.is_exhausted {
            self.error("FieldsConflict", "the query brings too many fields together to compare them");
        }
    }

    fn same(&mut self, key: &str, fields: &[&'t GraphqlField<'t>], path: &[&'t str]) {
        let Some((first, others)) = fields.split_first() else { return };
        let Some(other) =
            others.iter().find(|other| other.name != first.name || !have_same_arguments(first, other))
        else {
            return;
        };
        let message = if first.name == other.name {
            format!("'{key}' : fields have different arguments")
        } else {
            format!("'{key}' : '{}' and '{}' are different fields", first.name, other.name)
        };
        let place = std::mem::replace(&mut self.path, path.to_vec());
        self.error("FieldsConflict", message);
        self.path = place;
    }
}

fn have_same_arguments(a: &GraphqlField<'_>, b: &GraphqlField<'_>) -> bool {
    a.arguments.len() == b.arguments.len()
        && a.arguments
            .iter()
            .all(|one| b.arguments.iter().any(|other| one.name == other.name && one.value == other.value))
}

struct FieldMerger {
    /// Sets of fields whose selections were merged already.
    seen: HashSet<Vec<u32>>,
    steps: usize,
    is_exhausted: bool,
}

impl FieldMerger {
    /// The fields of these selections together, fragments included, by their keys.
    fn by_key<'t>(
        &mut self,
        validator: &QueryValidator<'t>,
        selections: &[&'t [Selection<'t>]],
    ) -> BTreeMap<&'t str, Vec<&'t GraphqlField<'t>>> {
        let mut fields: BTreeMap<&'t str, Vec<&'t GraphqlField<'t>>> = BTreeMap::new();
        let mut visited = HashSet::new();
        let mut open: Vec<&'t [Selection<'t>]> = selections.to_vec();
        while let Some(selections) = open.pop() {
            for selection in selections {
                self.steps += 1;
                if self.steps > STEPS_MAX {
                    self.is_exhausted = true;
                    return BTreeMap::new();
                }
                match selection {
                    Selection::Field(field) => fields.entry(field.key()).or_default().push(field),
                    Selection::Inline { selections, .. } => open.push(selections),
                    Selection::Spread { name, .. } => {
                        if let Some(fragment) =
                            validator.fragments.get(name).filter(|_| visited.insert(*name))
                        {
                            open.push(&fragment.selections);
                        }
                    }
                }
            }
        }
        for met in fields.values_mut() {
            met.sort_unstable_by_key(|field| field.id);
            met.dedup_by_key(|field| field.id);
        }
        fields
    }

    fn is_new(&mut self, fields: &[&GraphqlField<'_>]) -> bool {
        self.seen.insert(fields.iter().map(|field| field.id).collect())
    }
}
