//! Fragments: none in a circle, none for nothing (sections 5.5.1.4 and 5.5.2.2).

use std::collections::{HashMap, HashSet};

use super::QueryValidator;
use crate::graphql::analysis::spreads;

impl<'t> QueryValidator<'t> {
    /// For each fragment, whether it holds itself.
    pub(super) fn fragment_cycles(&self) -> Vec<bool> {
        let fragments = &self.document.fragments;
        let numbers: HashMap<&str, usize> =
            fragments.iter().enumerate().map(|(number, fragment)| (fragment.name, number)).collect();
        let inside: Vec<Vec<usize>> = fragments
            .iter()
            .map(|fragment| {
                let mut names = Vec::new();
                spreads(&fragment.selections, &mut names);
                names.iter().filter_map(|name| numbers.get(name).copied()).collect()
            })
            .collect();
        // For each fragment, the last from which a search came by.
        let mut seen = vec![None; fragments.len()];
        let mut cyclic = Vec::with_capacity(fragments.len());
        for number in 0..fragments.len() {
            let mut open = inside.get(number).cloned().unwrap_or_default();
            while let Some(next) = open.pop() {
                let Some(mark) = seen.get_mut(next).filter(|mark| **mark != Some(number)) else { continue };
                *mark = Some(number);
                open.extend(inside.get(next).into_iter().flatten());
            }
            cyclic.push(seen.get(number) == Some(&Some(number)));
        }
        cyclic
    }

    pub(super) fn unused_fragments(&mut self) {
        let mut names = Vec::new();
        for operation in &self.document.operations {
            spreads(&operation.selections, &mut names);
        }
        let used = self.reachable(names);
        for fragment in self.document.fragments.iter().filter(|fragment| !used.contains(fragment.name)) {
            self.path.push(fragment.name);
            self.error("UnusedFragment", format!("Unused fragment '{}'", fragment.name));
            self.path.pop();
        }
    }

    /// These fragments, and all that is spread in them.
    fn reachable(&self, mut open: Vec<&'t str>) -> HashSet<&'t str> {
        let mut found = HashSet::new();
        while let Some(name) = open.pop() {
            if !found.insert(name) {
                continue;
            }
            if let Some(fragment) = self.fragments.get(name) {
                spreads(&fragment.selections, &mut open);
            }
        }
        found
    }
}
