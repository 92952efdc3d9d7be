//! Policies and sets that never have a say. They do no harm, and are hardly meant: `durward check` tells of them.
//!
//! Only what is certain whatever is asked. A condition that always fails is none of these: an error counts.

use durward_ir::program::{Dead, ExprId, Junction};
use durward_ir::value::Value;

use super::{Before, Condition, Lowering};
use crate::syntax::Span;
use crate::syntax::tree::{Policy, Text};

impl Lowering<'_, '_, '_> {
    /// Whether an expression is this, whatever is asked.
    pub(super) fn is_always(&self, id: ExprId, truth: bool) -> bool {
        matches!(self.builder.value_of(id), Some(Value::Boolean(value)) if *value == truth)
    }

    /// Notes a policy or set that never applies.
    pub(super) fn note_false(&mut self, kind: &str, name: &Text, conditions: &[Condition]) {
        let culprit = conditions.iter().find(|condition| self.is_false(&Junction::Known(condition.id)));
        let (span, why) = match culprit {
            Some(condition) => (condition.span, "this is false whatever is asked"),
            None => (name.span, "its conditions contradict one another"),
        };
        let message = format!("{kind} `{}` never applies: {why}", name.text);
        self.note_dead(span, message, "correct the condition, or remove what it belongs to");
    }

    /// Whether a policy is asked at all. Where the first vote counts, none is after one that always votes; it is left out,
    /// unless somebody wants to know what became of it.
    pub(super) fn is_asked(&mut self, policy: &Policy, before: &Before) -> bool {
        let Some((decided, line)) = &before.decided else { return true };
        let message = format!(
            "policy `{}` is never asked: `{decided}` (line {line}) before it always has a vote, and the first counts",
            policy.name.text
        );
        let help = "move it before that policy, or give that policy a condition";
        self.note_dead(policy.name.span, message, help);
        self.rehearsal.is_some() || !self.builder.may_leave_out()
    }

    fn note_dead(&mut self, span: Span, message: String, help: &'static str) {
        let place = self.place(span);
        self.builder.note_dead(Dead { place, message, help });
    }
}
