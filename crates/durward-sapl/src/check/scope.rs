//! The variables of a document: which are in scope, and which are used.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::kinds::Kinds;
use super::report::Report;
use crate::syntax::Span;
use crate::syntax::tree::Variable;

/// Names that are compared with an unknown one at most: each comparison takes time.
const CANDIDATES_MAX: usize = 1_000;

/// The variables of a document.
#[derive(Debug, Default)]
pub(super) struct Scope<'t> {
    all: Vec<DeclaredVariable<'t>>,
    of_set: HashMap<&'t str, usize, RandomState>,
    of_policy: HashMap<&'t str, usize, RandomState>,
    is_in_policy: bool,
    /// The variable whose value is being read.
    defining: Option<usize>,
}

#[derive(Debug)]
struct DeclaredVariable<'t> {
    name: &'t str,
    span: Span,
    kinds: Kinds,
    is_used: bool,
    /// The variables that its value names: all of them come before it.
    names: Vec<usize>,
}

impl<'t> Scope<'t> {
    /// From here on, variables are those of one more policy.
    pub(super) fn enter_policy(&mut self) {
        self.is_in_policy = true;
        // A map keeps its size when it is cleared, and there can be very many policies.
        if !self.of_policy.is_empty() {
            self.of_policy = HashMap::default();
        }
    }

    /// Notes a variable whose value is read next: it is in scope after [`Scope::define`].
    pub(super) fn begin(&mut self, variable: &'t Variable) {
        self.defining = Some(self.all.len());
        self.all.push(DeclaredVariable {
            name: &variable.name.text,
            span: variable.name.span,
            kinds: Kinds::ANY,
            is_used: false,
            names: Vec::new(),
        });
    }

    pub(super) fn define(&mut self, kinds: Kinds) {
        let Some(number) = self.defining.take() else { return };
        let Some(variable) = self.all.get_mut(number) else { return };
        variable.kinds = kinds;
        let names = if self.is_in_policy { &mut self.of_policy } else { &mut self.of_set };
        names.insert(variable.name, number);
    }

    /// The kinds of value of a variable in scope, which is used here.
    pub(super) fn use_of(&mut self, name: &str) -> Option<Kinds> {
        let number = *self.of_policy.get(name).or_else(|| self.of_set.get(name))?;
        match self.defining.and_then(|defining| self.all.get_mut(defining)) {
            Some(user) => user.names.push(number),
            None => self.all.get_mut(number)?.is_used = true,
        }
        self.all.get(number).map(|variable| variable.kinds)
    }

    /// The names in scope, some of them where there are very many.
    pub(super) fn names(&self) -> Vec<&'t str> {
        let all = self.of_policy.keys().chain(self.of_set.keys());
        let mut names: Vec<&str> = all.copied().take(CANDIDATES_MAX).collect();
        names.sort_unstable();
        names
    }

    /// Reports variables that nothing needs. One used only by unused ones is unused as well.
    pub(super) fn report_unused(&mut self, report: &mut Report) {
        let mut rest = self.all.as_mut_slice();
        // A variable names only those before it: from the last to the first, whoever uses one is known.
        while let Some((last, before)) = rest.split_last_mut() {
            if last.is_used {
                for name in &last.names {
                    before.get_mut(*name).into_iter().for_each(|named| named.is_used = true);
                }
            }
            rest = before;
        }
        if self.all.iter().all(|variable| variable.is_used) {
            return;
        }
        let mentioned: HashSet<usize> = self
            .all
            .iter()
            .filter(|variable| !variable.is_used)
            .flat_map(|variable| &variable.names)
            .copied()
            .collect();
        for (number, variable) in self.all.iter().enumerate().filter(|(_, variable)| !variable.is_used) {
            let how = if mentioned.contains(&number) { " but by unused variables" } else { "" };
            let message = format!("the variable `{}` is not used{how}", variable.name);
            report.warn("unused-variable", variable.span, message, "remove it, or use it".to_owned());
        }
    }
}
