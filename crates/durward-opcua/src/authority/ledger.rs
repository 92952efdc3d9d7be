//! The state machine of the protocol, run: its records go to the store, its messages to the gates.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use durward_identity::Moment;
use opcua_types::{ByteString, StatusCode};

use super::feed;
use super::follow::PublishedCutoffs;
use super::keep::AuthorityStore;
use crate::error::Error;
use crate::plant::PlantHost;
use crate::protocol::{AuthorityAction, AuthorityEvent, AuthorityMachine, AuthorityRecord, AuthorityTimings};
use crate::token::{CutoffTarget, FeedMessage};

/// Requests are named by numbers; who asks for a snapshot is whoever takes the answer.
pub(super) type LedgerEvent = AuthorityEvent<Arc<str>, u64, ()>;
pub(super) type LedgerAction = AuthorityAction<Arc<str>, u64, ()>;
type LedgerMachine = AuthorityMachine<Arc<str>, u64>;

/// Superseded records after which the store is rewritten.
const SPARE_RECORDS_MAX: usize = 10_000;
/// Records that wait while the store fails; with more of them the store is rewritten when it works again.
const UNSAVED_MAX: usize = 1_000;

/// The machine and its store.
pub(super) struct Ledger {
    state: Mutex<LedgerState>,
    keep: Arc<dyn AuthorityStore>,
    gates: OnceLock<FollowingGates>,
}

struct LedgerState {
    machine: LedgerMachine,
    /// What the store did not take yet: tried again before anything else is stored.
    unsaved: VecDeque<AuthorityRecord<Arc<str>>>,
    /// Whether the store lacks more than that.
    rewrite: bool,
    /// Whether the store failed when it was last tried.
    failing: bool,
    stored: usize,
}

/// Where gates see cutoffs. Lock order: the state, then this, then the host.
struct FollowingGates {
    host: Arc<PlantHost>,
    shown: Mutex<PublishedCutoffs>,
}

/// What a step brought.
pub(super) struct LedgerStep {
    /// Actions for the caller.
    pub(super) actions: Vec<LedgerAction>,
    /// Whether all records are durable.
    pub(super) kept: bool,
}

impl Ledger {
    /// Goes on where the store ends; a new or unreadable store begins with the recall of all tokens.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(super) fn open(
        settings: AuthorityTimings,
        keep: Arc<dyn AuthorityStore>,
        now: Moment,
    ) -> Result<Ledger, Error> {
        let wrong = |error: std::io::Error| {
            Error::new(
                StatusCode::BadConfigurationError,
                format!("the store of the authorization service fails: {error}"),
            )
        };
        let records = keep.load().map_err(wrong)?;
        let stored = records.len();
        let machine = match LedgerMachine::restore(settings.clone(), records) {
            Some(machine) => machine,
            None => {
                if stored > 0 {
                    tracing::warn!(
                        "the store of the authorization service begins without an epoch: all tokens are revoked"
                    );
                }
                LedgerMachine::new::<()>(settings, now).0
            }
        };
        // One write, whichever it was: a new store has to hold its first recall before anything else happens.
        let records = machine.records();
        keep.replace(&records).map_err(wrong)?;
        let state = LedgerState {
            machine,
            unsaved: VecDeque::new(),
            rewrite: false,
            failing: false,
            stored: records.len(),
        };
        Ok(Ledger { state: Mutex::new(state), keep, gates: OnceLock::new() })
    }

    /// Whether the store failed when it was last tried: no tokens are issued until it works again.
    pub(super) fn is_failing(&self) -> bool {
        self.state().failing
    }

    /// From now on cutoffs are shown there.
    ///
    /// # Errors
    /// They are shown somewhere already.
    pub(super) fn show(&self, host: Arc<PlantHost>, shown: PublishedCutoffs) -> Result<(), Error> {
        let gates = FollowingGates { host, shown: Mutex::new(shown) };
        let twice = |_| {
            Error::new(StatusCode::BadInvalidState, "the authorization service has an address space already")
        };
        self.gates.set(gates).map_err(twice)
    }

    fn state(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the machine an event, stores and publishes. May wait for the disk.
    pub(super) fn step(&self, now: Moment, event: LedgerEvent) -> LedgerStep {
        let mut state = self.state();
        self.save(&mut state);
        let mut actions = Vec::new();
        for action in state.machine.step(now, event) {
            match action {
                AuthorityAction::Store(record) => {
                    state.unsaved.push_back(record);
                    self.save(&mut state);
                }
                // Told even where it could not be stored: what is recalled too much is asked for again.
                AuthorityAction::Publish(message) => self.publish(&message, now),
                other @ (AuthorityAction::Decide { .. }
                | AuthorityAction::Issue { .. }
                | AuthorityAction::Refuse { .. }
                | AuthorityAction::Answer(..)) => actions.push(other),
            }
        }
        LedgerStep { actions, kept: state.unsaved.is_empty() && !state.rewrite }
    }

    /// Recalls tokens. False where that is not durable yet.
    pub(super) fn recall(&self, now: Moment, target: CutoffTarget<Arc<str>>) -> bool {
        self.step(now, AuthorityEvent::Recall(target)).kept
    }

    /// Lets time pass: heartbeats, what the store did not take, a shorter store.
    pub(super) fn tick(&self, now: Moment) {
        self.step(now, AuthorityEvent::Tick);
        let mut state = self.state();
        if state.stored > SPARE_RECORDS_MAX {
            self.shorten(&mut state);
        }
    }

    fn save(&self, state: &mut LedgerState) {
        if state.unsaved.len() > UNSAVED_MAX {
            // The machine has it all: the store is written anew instead.
            state.unsaved.clear();
            state.rewrite = true;
        }
        let saved = self.try_save(state);
        if let Err(error) = &saved
            && !state.failing
        {
            tracing::error!(%error, "records of the authorization service cannot be stored: no tokens are issued");
        }
        if saved.is_ok() && state.failing {
            tracing::info!("the store of the authorization service works again");
        }
        state.failing = saved.is_err();
    }

    fn try_save(&self, state: &mut LedgerState) -> std::io::Result<()> {
        if state.rewrite {
            let records = state.machine.records();
            self.keep.replace(&records)?;
            (state.rewrite, state.stored) = (false, records.len());
            state.unsaved.clear();
        }
        while let Some(record) = state.unsaved.front() {
            self.keep.append(record)?;
            state.unsaved.pop_front();
            state.stored += 1;
        }
        Ok(())
    }

    fn shorten(&self, state: &mut LedgerState) {
        let records = state.machine.records();
        if state.stored < records.len() + SPARE_RECORDS_MAX || state.failing {
            return;
        }
        match self.keep.replace(&records) {
            Ok(()) => state.stored = records.len(),
            Err(error) => {
                tracing::warn!(%error, "the store of the authorization service cannot be shortened")
            }
        }
    }

    fn publish(&self, message: &FeedMessage<Arc<str>>, now: Moment) {
        let Some(gates) = self.gates.get() else { return };
        let bytes = ByteString::from(feed::encode(message));
        let mut shown = gates.shown.lock().unwrap_or_else(PoisonError::into_inner);
        gates.host.with_mut(|server| match message {
            FeedMessage::Cutoff { sequence, .. } => shown.publish(server, *sequence, bytes, now),
            FeedMessage::Heartbeat { .. } => shown.beat(server, bytes, now),
            FeedMessage::Snapshot { .. } => {}
        });
    }
}
