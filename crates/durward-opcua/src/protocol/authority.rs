//! The authorization service: tokens in the name of a decision, cutoffs, heartbeats.
//!
//! What orders tokens and cutoffs is a moment in whole seconds, as `iat` has it. Two rules make it sound:
//!
//! 1. A cutoff is later than every token of its target that was begun before it, and every one that is begun after it is not earlier than
//!    it. So a token that was issued in the second of a recall is dead, or carries the next second. Only tokens of the target do: however
//!    many others are recalled in a second, a token is not dated further ahead.
//! 2. A token is dated when its decision is *begun*. A recall that comes between decision and issue is later, and ends it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use durward_identity::Moment;

use crate::token::{CutoffTarget, Cutoffs, FactName, FeedMessage, TokenFacts};

/// Most decisions that may be under way; further requests are refused as busy.
pub const PENDING_MAX: usize = 4096;

/// How far ahead of the tokens a mark is stored. So tokens cost one write a few seconds, and after a restart with a clock that went back
/// no token is earlier than one before.
const MARK_AHEAD: Duration = Duration::from_secs(2);

/// Most tokens that are remembered as dated ahead of the clock, one by one.
const AHEAD_MAX: usize = 4096;

/// What tokens are dated in.
const SECOND: Duration = Duration::from_secs(1);

/// What an authorization service is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthorityTimings {
    /// How long a token lives. At most what gates believe.
    pub token_lifetime: Duration,
    /// The longest that any gate serves a token, grace included: cutoffs are kept for so long.
    pub cutoff_lifetime: Duration,
    /// How often gates hear a heartbeat.
    pub heartbeat_interval: Duration,
    /// How far ahead of the clock a token may be dated when it is handed out. A service whose store was lost does not know which tokens were: what
    /// it begins with ends all that may have been dated so.
    pub dated_ahead_max: Duration,
}

/// The applicant for a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenApplicant<N> {
    /// Whom the rights are to be of.
    pub subject: N,
    /// The durward session behind it.
    pub session: Option<N>,
    /// The certificate that the token is to be bound to: that of the channel over which it is asked for.
    pub client: N,
}

impl<N: FactName> TokenApplicant<N> {
    /// Whether a token for this may be one of a target. Which version of the policy decides is not known before.
    fn may_be_of(&self, target: &CutoffTarget<N>) -> bool {
        match target {
            CutoffTarget::All | CutoffTarget::Policy(_) => true,
            CutoffTarget::Subject(subject) => self.subject == *subject,
            CutoffTarget::Session(session) => self.session.as_ref() == Some(session),
            CutoffTarget::Client(client) => self.client == *client,
        }
    }
}

/// What happens at an authorization service. `Q` names a request, `G` a gate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AuthorityEvent<N, Q, G> {
    /// Somebody wants a token.
    Ask {
        /// Names the request.
        request: Q,
        /// Who, as the channel and its session say.
        wanted: TokenApplicant<N>,
    },
    /// What [`AuthorityAction::Decide`] asked for is decided.
    Decided {
        /// The question that this answers. Another answer than its own would be of a moment before a recall.
        ticket: u64,
        /// The version of the policy that granted something; `None` where nothing is granted.
        granted_by: Option<N>,
    },
    /// The one who asked is gone.
    Withdrawn {
        /// The request.
        request: Q,
    },
    /// Tokens are recalled: a right was taken away, a session ended, a policy was replaced. Comes after the decision point knows of it.
    Recall(CutoffTarget<N>),
    /// A gate asks for all cutoffs.
    AskCutoffs {
        /// Who asks.
        gate: G,
        /// The number of its question.
        question: u64,
    },
    /// Time has passed.
    Tick,
}

/// What an authorization service does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AuthorityAction<N: FactName, Q, G> {
    /// Make a record durable before whatever follows.
    Store(AuthorityRecord<N>),
    /// Ask the decision point. The question must be put to it after this action, not before.
    Decide {
        /// Names the question; never given again while the service runs.
        ticket: u64,
        /// Who wants the token.
        wanted: TokenApplicant<N>,
    },
    /// Sign a token with these facts, and answer with it.
    Issue {
        /// The request.
        request: Q,
        /// The facts.
        facts: TokenFacts<N>,
    },
    /// Refuse the request.
    Refuse {
        /// The request.
        request: Q,
        /// Why.
        why: IssueRefusal,
    },
    /// Tell all gates.
    Publish(FeedMessage<N>),
    /// Tell one gate.
    Answer(G, FeedMessage<N>),
}

/// What is to be done, in this order.
pub type AuthorityActions<N, Q, G> = Vec<AuthorityAction<N, Q, G>>;

/// Why no token is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IssueRefusal {
    /// The policy grants nothing.
    Denied,
    /// Too many decisions are under way: ask again.
    Busy,
}

/// A durable record of the state machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AuthorityRecord<N> {
    /// The store begins.
    Epoch(u64),
    /// No token was begun at or after this moment.
    Mark(Moment),
    /// The number of the last cutoff, where cutoffs were dropped.
    Sequence(u64),
    /// A cutoff.
    Cutoff {
        /// Its number.
        sequence: u64,
        /// Whose tokens.
        target: CutoffTarget<N>,
        /// Dead are those issued before.
        before: Moment,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PendingIssue<N, Q> {
    request: Q,
    wanted: TokenApplicant<N>,
    issued: Moment,
}

/// An authorization service. Has a moment of its own that never goes back, not over a restart either. Where its clock was far ahead once,
/// tokens are dated ahead, and gates refuse them, until the clock is there; a new store ends that at once, and recalls all tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthorityMachine<N: FactName, Q> {
    settings: AuthorityTimings,
    now: Moment,
    epoch: u64,
    sequence: u64,
    cutoffs: Arc<Cutoffs<N>>,
    /// The tokens that are dated ahead of the clock: they were begun in the second of a recall.
    ahead: Vec<(TokenApplicant<N>, Moment)>,
    /// No cutoff is earlier: what was begun before is not known one by one.
    cutoffs_from: Moment,
    /// What is stored. INVARIANT: no token was begun at or after it.
    mark: Moment,
    /// The questions under way, by their tickets.
    pending: BTreeMap<u64, PendingIssue<N, Q>>,
    tickets: u64,
    /// When the next heartbeat is due.
    heartbeat_at: Moment,
}

impl<N: FactName, Q: PartialEq> AuthorityMachine<N, Q> {
    /// A service with an empty store. Whatever token a service before it may have issued is recalled: it is not known which of them were.
    /// Carry the actions out before anything else.
    pub fn new<G>(
        settings: AuthorityTimings,
        now: Moment,
    ) -> (AuthorityMachine<N, Q>, AuthorityActions<N, Q, G>) {
        let (now, ahead_max) = (second_of(now), settings.dated_ahead_max);
        let mut authority = AuthorityMachine::empty(settings);
        authority.epoch = now.ms().max(1);
        (authority.now, authority.mark) = (now, now);
        authority.cutoffs_from = now.plus(ahead_max).plus(SECOND);
        let mut actions = vec![AuthorityAction::Store(AuthorityRecord::Epoch(authority.epoch))];
        authority.recall(CutoffTarget::All, &mut actions);
        (authority, actions)
    }

    /// The service as its records have it, in the order in which they were stored; `None` where they do not begin with an epoch.
    pub fn restore(
        settings: AuthorityTimings,
        records: impl IntoIterator<Item = AuthorityRecord<N>>,
    ) -> Option<AuthorityMachine<N, Q>> {
        let mut authority = AuthorityMachine::empty(settings);
        for record in records {
            match record {
                AuthorityRecord::Epoch(epoch) => authority.epoch = epoch,
                AuthorityRecord::Mark(mark) => authority.mark = mark.max(authority.mark),
                AuthorityRecord::Sequence(sequence) => authority.sequence = sequence.max(authority.sequence),
                AuthorityRecord::Cutoff { sequence, target, before } => {
                    authority.sequence = sequence.max(authority.sequence);
                    Arc::make_mut(&mut authority.cutoffs).add(target, before);
                }
            }
        }
        authority.cutoffs_from = authority.mark;
        (authority.epoch > 0).then_some(authority)
    }

    fn empty(settings: AuthorityTimings) -> AuthorityMachine<N, Q> {
        let (zero, cutoffs, pending) = (Moment::default(), Arc::default(), BTreeMap::new());
        AuthorityMachine {
            settings,
            now: zero,
            epoch: 0,
            sequence: 0,
            cutoffs,
            ahead: Vec::new(),
            cutoffs_from: zero,
            mark: zero,
            pending,
            tickets: 0,
            heartbeat_at: zero,
        }
    }

    /// The records that a new store begins with: what is kept when the old one is made shorter.
    pub fn records(&self) -> Vec<AuthorityRecord<N>> {
        let cutoff = |(target, before): (&CutoffTarget<N>, Moment)| AuthorityRecord::Cutoff {
            sequence: self.sequence,
            target: target.clone(),
            before,
        };
        let first = [
            AuthorityRecord::Epoch(self.epoch),
            AuthorityRecord::Mark(self.mark),
            AuthorityRecord::Sequence(self.sequence),
        ];
        first.into_iter().chain(self.cutoffs.iter().map(cutoff)).collect()
    }

    /// The number of the last cutoff.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Takes an event at a moment.
    pub fn step<G>(&mut self, now: Moment, event: AuthorityEvent<N, Q, G>) -> AuthorityActions<N, Q, G> {
        self.now = now.max(self.now);
        let mut actions = Vec::new();
        match event {
            AuthorityEvent::Ask { request, wanted } => self.begin(request, wanted, &mut actions),
            AuthorityEvent::Decided { ticket, granted_by } => self.decided(ticket, granted_by, &mut actions),
            AuthorityEvent::Withdrawn { request } => {
                self.pending.retain(|_, pending| pending.request != request);
            }
            AuthorityEvent::Recall(target) => self.recall(target, &mut actions),
            AuthorityEvent::AskCutoffs { gate, question } => {
                let (epoch, sequence, time) = (self.epoch, self.sequence, self.now);
                let cutoffs = Arc::clone(&self.cutoffs);
                let snapshot = FeedMessage::Snapshot { epoch, sequence, time, question, cutoffs };
                actions.push(AuthorityAction::Answer(gate, snapshot));
            }
            AuthorityEvent::Tick => self.tick(&mut actions),
        }
        actions
    }

    fn begin<G>(&mut self, request: Q, wanted: TokenApplicant<N>, actions: &mut AuthorityActions<N, Q, G>) {
        if self.pending.len() >= PENDING_MAX {
            actions.push(AuthorityAction::Refuse { request, why: IssueRefusal::Busy });
            return;
        }
        let issued = self.date(&wanted);
        self.store_mark(issued, actions);
        self.tickets = self.tickets.wrapping_add(1);
        let ticket = self.tickets;
        self.pending.insert(ticket, PendingIssue { request, wanted: wanted.clone(), issued });
        actions.push(AuthorityAction::Decide { ticket, wanted });
    }

    /// The date of a token that is begun now.
    fn date(&mut self, wanted: &TokenApplicant<N>) -> Moment {
        let now = second_of(self.now);
        let date = now.max(self.cutoffs.floor(&wanted.subject, wanted.session.as_ref(), &wanted.client));
        if date > now {
            self.ahead.retain(|(_, date)| *date > now);
            if self.ahead.len() >= AHEAD_MAX {
                let latest = self.ahead.drain(..).map(|(_, date)| date).max().unwrap_or_default();
                self.cutoffs_from = latest.plus(SECOND).max(self.cutoffs_from);
            }
            self.ahead.push((wanted.clone(), date));
        }
        date
    }

    /// Has a mark stored behind the date of a token, where the stored one is not.
    fn store_mark<G>(&mut self, date: Moment, actions: &mut AuthorityActions<N, Q, G>) {
        if self.mark <= date {
            self.mark = date.plus(MARK_AHEAD);
            actions.push(AuthorityAction::Store(AuthorityRecord::Mark(self.mark)));
        }
    }

    fn decided<G>(&mut self, ticket: u64, granted_by: Option<N>, actions: &mut AuthorityActions<N, Q, G>) {
        // An answer to a question that was withdrawn, or the second to one.
        let Some(PendingIssue { request, wanted, issued }) = self.pending.remove(&ticket) else { return };
        let Some(policy) = granted_by else {
            actions.push(AuthorityAction::Refuse { request, why: IssueRefusal::Denied });
            return;
        };
        let TokenApplicant { subject, session, client } = wanted.clone();
        let expires = issued.plus(self.settings.token_lifetime);
        let facts = TokenFacts { subject, session, client, policy, issued, expires };
        if self.cutoffs.end(&facts) {
            // Recalled while it was decided: what was decided counts no more.
            self.begin(request, wanted, actions);
        } else {
            actions.push(AuthorityAction::Issue { request, facts });
        }
    }

    fn recall<G>(&mut self, target: CutoffTarget<N>, actions: &mut AuthorityActions<N, Q, G>) {
        let ahead = self.ahead.iter().filter(|(wanted, _)| wanted.may_be_of(&target)).map(|(_, date)| *date);
        let begun = ahead.max().unwrap_or_default().max(second_of(self.now));
        let before = begun.plus(SECOND).max(self.cutoffs_from);
        self.sequence = self.sequence.saturating_add(1);
        Arc::make_mut(&mut self.cutoffs).add(target.clone(), before);
        let (epoch, sequence) = (self.epoch, self.sequence);
        actions.push(AuthorityAction::Store(AuthorityRecord::Cutoff {
            sequence,
            target: target.clone(),
            before,
        }));
        actions.push(AuthorityAction::Publish(FeedMessage::Cutoff { epoch, sequence, target, before }));
    }

    fn tick<G>(&mut self, actions: &mut AuthorityActions<N, Q, G>) {
        Arc::make_mut(&mut self.cutoffs).forget(self.now, self.settings.cutoff_lifetime);
        if self.heartbeat_at <= self.now {
            self.heartbeat_at = self.now.plus(self.settings.heartbeat_interval);
            let (epoch, sequence, time) = (self.epoch, self.sequence, self.now);
            actions.push(AuthorityAction::Publish(FeedMessage::Heartbeat { epoch, sequence, time }));
        }
    }
}

fn second_of(moment: Moment) -> Moment {
    Moment::from_ms(moment.ms() / 1000 * 1000)
}
