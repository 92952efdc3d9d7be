//! `durward decide --watch` with policies at hand: a line for each decision that takes the place of the last, as time goes
//! by and as the policies change.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use durward_pdp::sapl::{Decision, Subscription};
use durward_pdp::stream::{BrokerSettings, PackedSubscription, PoliciesInForce, Streams};
use durward_pdp::{Pdp, PolicyText};

use super::Arguments;
use super::attributes::CliFinders;
use crate::failure::{CommandError, CommandResult, warn};
use crate::ignore_closed;

/// How often policies are checked for changes, and the longest sleep: if the clock is set, nothing waits for longer.
const LOOK_MS_MAX: i64 = 1_000;

/// Decides again and again, until whoever reads goes away or the process is ended.
pub(super) fn watch(
    pdp: Pdp,
    texts: Vec<PolicyText>,
    subscription: &Subscription,
    finders: &CliFinders,
    arguments: &Arguments,
) -> CommandResult {
    let pdp = Arc::new(pdp);
    let (wake, woken) = mpsc::channel();
    let wake = move || {
        // Nobody listens any more when this ends.
        let _ = wake.send(());
    };
    let streams = Streams::new(PoliciesInForce::of(&pdp), BrokerSettings::default(), 0, wake);
    streams.set_finders(finders.live(), finders.now_ms());
    let subscribed = streams.subscribe(PackedSubscription::from(subscription), finders.now_ms());
    let mut decisions = subscribed.map_err(|error| CommandError::new(error.to_string()))?;
    let mut policies = WatchedPolicies { texts, problem: None, looked_ms: finders.now_ms() };
    loop {
        let now_ms = finders.now_ms();
        if policies.look(&pdp, arguments, now_ms) {
            streams.replace(PoliciesInForce::of(&pdp), now_ms);
        }
        let next_ms = streams.tick(now_ms);
        while let Some(decision) = decisions.take() {
            if let Err(error) = print(&decision) {
                return ignore_closed(Err(error)).map(|()| ExitCode::SUCCESS);
            }
        }
        let wait_ms = next_ms.map_or(LOOK_MS_MAX, |next_ms| next_ms.saturating_sub(now_ms));
        let wait_ms = u64::try_from(wait_ms.clamp(0, LOOK_MS_MAX)).unwrap_or_default();
        if woken.recv_timeout(Duration::from_millis(wait_ms)).is_ok() {
            // Once is enough for all that happened.
            woken.try_iter().for_each(drop);
        }
    }
}

fn print(decision: &Decision) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", decision.to_json()).and_then(|()| out.flush())
}

/// The policies as they were read last.
struct WatchedPolicies {
    texts: Vec<PolicyText>,
    /// What was wrong with them, so that it is told once.
    problem: Option<String>,
    looked_ms: i64,
}

impl WatchedPolicies {
    /// Puts policies in force that have changed; says whether it did. Broken ones leave the old ones in force.
    fn look(&mut self, pdp: &Pdp, arguments: &Arguments, now_ms: i64) -> bool {
        // Half of it: a sleep that is cut short by an attribute's change must not make the next look wait for another whole one.
        if now_ms.abs_diff(self.looked_ms) < LOOK_MS_MAX.unsigned_abs() / 2 {
            return false;
        }
        self.looked_ms = now_ms;
        let replaced = arguments.policies.read().and_then(|texts| {
            if texts == self.texts {
                return Ok(false);
            }
            pdp.replace(&texts).map_err(|errors| CommandError::policies(&errors))?;
            self.texts = texts;
            Ok(true)
        });
        match replaced {
            Ok(is_new) => {
                self.problem = None;
                is_new
            }
            Err(failure) => {
                let problem = format!("the policies stay as they were: {failure}");
                if self.problem.as_ref() != Some(&problem) {
                    warn(&problem);
                    self.problem = Some(problem);
                }
                false
            }
        }
    }
}
