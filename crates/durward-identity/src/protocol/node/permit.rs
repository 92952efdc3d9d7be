//! Permits to validate, for the mode `assured-read`.

use super::Node;
use super::link::Link;
use crate::Moment;
use crate::protocol::message::{Answer, AskId, Effect, Lack};
use crate::protocol::settings::{Mode, OnLost};
use crate::session::{Fresh, Gate};

impl Node {
    pub(super) fn permit(&mut self, now: Moment, ask: AskId, effects: &mut Vec<Effect>) {
        let is_asked = self.settings.mode == Mode::AssuredRead && self.link == Link::Live;
        if is_asked {
            let question = self.freshness.join(ask, now.plus(self.settings.ask_within), self.applied);
            effects.extend(question.map(|question| Effect::AskLast { question }));
        } else {
            let answer = self.permit_without_store();
            effects.push(Effect::Answer { ask, answer });
        }
    }

    /// What a validation is told when the store is not asked, or does not answer.
    pub(super) fn permit_without_store(&self) -> Answer {
        let stale = self.was_ready && self.settings.on_lost == OnLost::ServeStale;
        let is_open = match self.settings.mode {
            Mode::None | Mode::BestEffort | Mode::AssuredWrite => self.sessions.gate() == Gate::Open,
            Mode::AssuredRead => stale,
        };
        if is_open {
            Answer::Permit(Fresh(()))
        } else {
            Answer::Unavailable(self.lack().unwrap_or(Lack::Store))
        }
    }

    pub(super) fn give_permits(&mut self, effects: &mut Vec<Effect>) {
        let ready = self.freshness.applied(self.applied);
        effects
            .extend(ready.into_iter().map(|ask| Effect::Answer { ask, answer: Answer::Permit(Fresh(())) }));
    }
}
