//! What a stream of events tells: the decisions of one subscription or of several, counted and recorded as they are told.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use durward_common::base::metrics::Metrics;
use durward_common::decider::{Decisions, MultiDecisions};
use durward_common::decision_log::Account;
use durward_common::surfaces::http::events::Source;

use super::{Emit, Surface, all, data, tell, tell_all};
use durward_wire::sapl::json;

/// What a stream needs to count and record what it tells.
pub(super) struct Teller {
    metrics: Arc<Metrics>,
    account: Option<Account>,
}

impl Teller {
    pub(super) fn new(surface: &Surface, account: Option<Account>) -> Teller {
        Teller { metrics: Arc::clone(&surface.metrics), account }
    }
}

/// The decisions of one subscription.
pub(super) struct One {
    pub(super) decisions: Box<dyn Decisions>,
    pub(super) told: Teller,
}

impl Source for One {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Option<String>> {
        self.decisions.poll_next(task).map(|decision| {
            let Teller { metrics, account } = &self.told;
            tell(metrics, account.as_ref(), None, &decision, || self.decisions.record(), None);
            Some(data(|out| out.push_str(&decision.to_json())))
        })
    }
}

/// The decisions of several.
pub(super) struct Several {
    pub(super) decisions: Box<dyn MultiDecisions>,
    pub(super) emit: Emit,
    pub(super) told: Teller,
}

impl Source for Several {
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Option<String>> {
        let named = match self.emit {
            Emit::All => ready!(self.decisions.poll_all(task)),
            Emit::Changed => ready!(self.decisions.poll_changed(task)),
        };
        let Teller { metrics, account } = &self.told;
        tell_all(metrics, account.as_ref(), &named, |id| self.decisions.record(id), None);
        Poll::Ready(Some(match self.emit {
            Emit::All => format!("data:{}\n\n", all(&named)),
            Emit::Changed => {
                let each =
                    named.iter().map(|(id, decision)| data(|out| json::write_identified(out, id, decision)));
                each.collect()
            }
        }))
    }
}

/// Something to say once.
pub(super) struct Said(pub(super) Option<String>);

impl Source for Said {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<String>> {
        Poll::Ready(self.0.take())
    }
}
