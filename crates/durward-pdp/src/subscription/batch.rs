//! Many subscriptions in one call: what is done once for all of them is not done for each.
//!
//! All subscriptions of a batch are decided by the same policies: those in force when the call began.

use durward_index::Index;
use durward_ir::combine::Verdict;
use durward_ir::question::Encoded;
use durward_sapl::{Decision, Subscription};

use crate::Pdp;
use crate::decide::batch::BATCH;
use crate::snapshot::Snapshot;

impl Pdp {
    /// Answers each subscription in the place with its number, as [`Pdp::decide_once`] would, all by the policies in
    /// force now. Those that were encoded ([`Pdp::encode_subscription`]) take about half the time that they take one by
    /// one: while one waits for memory, others go on. Where one slice is longer than the other, its rest is left alone. Returns how many were answered.
    /// Nothing is allocated but what decisions carry: obligations, advice, a resource.
    ///
    /// ```
    /// use durward_pdp::{Pdp, sapl::{Decision, Outcome, Subscription}};
    ///
    /// let policy = r#"policy "doctors" permit subject == "doctor";"#;
    /// let pdp = Pdp::builder().policy("doctors.sapl", policy).build().map_err(|errors| errors[0].to_string())?;
    ///
    /// let ask = |who| format!(r#"{{"subject":"{who}","action":"read","resource":"record"}}"#);
    /// let asked = ["doctor", "visitor"].map(|who| Subscription::from_json(ask(who).as_bytes()));
    /// let asked: Vec<Subscription> =
    ///     asked.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    /// let mut decisions = vec![Decision::plain(Outcome::Indeterminate); asked.len()];
    /// assert_eq!(pdp.decide_batch(&asked, &mut decisions), 2);
    /// assert_eq!(decisions[0].outcome, Outcome::Permit);
    /// assert_eq!(decisions[1].outcome, Outcome::Deny);
    /// # Ok::<(), String>(())
    /// ```
    pub fn decide_batch(&self, subscriptions: &[Subscription], decisions: &mut [Decision]) -> usize {
        let snapshot = self.snapshot.load();
        let count = subscriptions.len().min(decisions.len());
        if let Some(always) = &snapshot.constant {
            decisions.iter_mut().take(count).for_each(|decision| decision.clone_from(always));
            return count;
        }
        for (subscriptions, decisions) in subscriptions.chunks(BATCH).zip(decisions.chunks_mut(BATCH)) {
            self.decide_few(&snapshot, subscriptions, decisions);
        }
        count
    }

    fn decide_few(&self, snapshot: &Snapshot, subscriptions: &[Subscription], decisions: &mut [Decision]) {
        let mut verdicts = [None; BATCH];
        table_decisions(snapshot, subscriptions, &mut verdicts);
        for ((subscription, decision), verdict) in subscriptions.iter().zip(decisions).zip(verdicts) {
            *decision = match verdict {
                Some(verdict) => Decision::plain(verdict.into()),
                None => self.decide_once_by(snapshot, subscription),
            };
        }
    }
}

/// Answers what can be answered side by side; the rest stays as it is.
#[inline]
fn table_decisions(
    snapshot: &Snapshot,
    subscriptions: &[Subscription],
    verdicts: &mut [Option<Verdict>; BATCH],
) {
    let is_divided = matches!(snapshot.index, Index::Diagram(_) | Index::Changed(_));
    if !is_divided || snapshot.time.is_used() || snapshot.program.has_foregone() {
        return;
    }
    let slots = &snapshot.program.slots;
    let encoded = subscriptions
        .iter()
        .map(|subscription| Encoded::new(slots, subscription.encoding(), subscription.compact()));
    snapshot.verdicts(encoded, verdicts);
}
