//! What was lowered before: an expression that stands word for word in thousands of documents is lowered once.
//!
//! What an expression comes to depends on its text, the variables in scope, the imports of its document and the
//! configuration. The configuration is the same for all documents; those with imports remember nothing.

use std::collections::HashMap;

use durward_ir::program::ExprId;
use foldhash::fast::RandomState;

/// Expressions by scope and text.
#[derive(Debug, Default)]
pub(super) struct Memory<'t> {
    known: HashMap<(Scope, &'t str), ExprId, RandomState>,
    /// Scopes by the scope around them and the variable that is defined besides.
    scopes: HashMap<(Scope, &'t str, ExprId), Scope, RandomState>,
}

/// The number of the variables that are in scope: equal numbers, equal variables with equal expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Scope(u32);

impl<'t> Memory<'t> {
    pub(super) fn get(&self, scope: Scope, text: &'t str) -> Option<ExprId> {
        self.known.get(&(scope, text)).copied()
    }

    pub(super) fn keep(&mut self, scope: Scope, text: &'t str, expression: ExprId) {
        self.known.insert((scope, text), expression);
    }

    /// The scope with one variable more.
    pub(super) fn with(&mut self, scope: Scope, name: &'t str, value: ExprId) -> Scope {
        // Numbers start at 1: the scope without variables is 0.
        let next = Scope(self.scopes.len() as u32 + 1);
        *self.scopes.entry((scope, name, value)).or_insert(next)
    }
}

/// The variables of a set and a policy, as far as they are defined.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables<'t> {
    by_name: HashMap<&'t str, ExprId, RandomState>,
    pub(super) scope: Scope,
}

impl<'t> Variables<'t> {
    pub(super) fn get(&self, name: &str) -> Option<ExprId> {
        self.by_name.get(name).copied()
    }

    /// Defines a variable; `scope` is the one that it makes. Gives whether the name was free.
    pub(super) fn define(&mut self, name: &'t str, value: ExprId, scope: Scope) -> bool {
        self.scope = scope;
        self.by_name.insert(name, value).is_none()
    }
}
