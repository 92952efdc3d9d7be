//! Permits to validate, for the mode `assured-read`.

use super::SessionNode;
use super::link::StoreLink;
use crate::Moment;
use crate::protocol::message::{AskId, AskOutcome, Lack, NodeEffect};
use crate::protocol::settings::{Mode, OnLost};
use crate::session::ValidationGate;

impl SessionNode {
    pub(super) fn permit(&mut self, now: Moment, ask: AskId, effects: &mut Vec<NodeEffect>) {
        let is_asked = self.settings.mode == Mode::AssuredRead && self.link == StoreLink::Live;
        if is_asked {
            let question = self.freshness.join(ask, now.plus(self.settings.ask_within), self.applied);
            effects.extend(question.map(|question| NodeEffect::AskLast { question }));
        } else {
            let answer = self.permit_without_store();
            effects.push(NodeEffect::Answer { ask, answer });
        }
    }

    /// What a validation is told when the store is not asked, or does not answer.
    pub(super) fn permit_without_store(&self) -> AskOutcome {
        let stale = self.was_ready && self.settings.on_lost == OnLost::ServeStale;
        let is_open = match self.settings.mode {
            Mode::None | Mode::BestEffort | Mode::AssuredWrite => {
                self.sessions.gate() == ValidationGate::Open
            }
            Mode::AssuredRead => stale,
        };
        if is_open {
            AskOutcome::Permit(self.sessions.permit())
        } else {
            AskOutcome::Unavailable(self.lack().unwrap_or(Lack::Store))
        }
    }

    pub(super) fn give_permits(&mut self, effects: &mut Vec<NodeEffect>) {
        let ready = self.freshness.applied(self.applied);
        effects.extend(
            ready
                .into_iter()
                .map(|ask| NodeEffect::Answer { ask, answer: AskOutcome::Permit(self.sessions.permit()) }),
        );
    }
}
