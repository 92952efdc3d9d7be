//! The rights of a session that was activated with a token: what mediation asks for each node.
//!
//! One question costs one look-up in a hash table and a few loads. Until when the token counts is worked out when the token or the feed
//! changes, not for each question.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use durward_identity::Moment;
use opcua_types::NodeId;

use super::claims::VerifiedToken;
use super::cutoff::Feed;
use super::facts::HasTokenFacts;
use super::grants::GrantVerdict;
use super::live::{LiveDecider, LiveQuestion};
use super::rows::TableRows;
use super::standing::{PerRightKind, RightDeadline, RightEnd, RightKind, StalenessLimits, until};
use super::table::NodeTable;
use crate::permission::{Permission, PermissionRuling, SessionRights};

/// What all rights of a gate share: the moment, and what is known of cutoffs.
pub struct RightsClock {
    /// Milliseconds.
    now: AtomicU64,
    /// Counts the feeds. INVARIANT: stored after `feed`, so that who sees the number sees that feed or a later one.
    generation: AtomicU64,
    feed: ArcSwap<Feed<Arc<str>>>,
    reach: StalenessLimits,
}

impl RightsClock {
    /// A watch that knows of no cutoffs yet: no token counts.
    pub fn new(reach: StalenessLimits, now: Moment) -> RightsClock {
        let (now, generation) = (AtomicU64::new(now.ms()), AtomicU64::new(0));
        RightsClock { now, generation, feed: ArcSwap::default(), reach }
    }

    /// Sets the moment, by which tokens end. Whoever runs a gate sets it every few milliseconds, by one
    /// [`DisciplinedClock`](crate::protocol::DisciplinedClock): where that goes back, all tokens are ended.
    pub fn set_now(&self, now: Moment) {
        self.now.store(now.ms(), Ordering::Release);
    }

    /// The moment.
    pub fn now(&self) -> Moment {
        Moment::from_ms(self.now.load(Ordering::Acquire))
    }

    /// Publishes what the gate's state machine knows. One task does so, after each step that changed the feed.
    pub fn publish(&self, feed: Feed<Arc<str>>) {
        self.feed.store(Arc::new(feed));
        self.generation.fetch_add(1, Ordering::Release);
    }
}

impl fmt::Debug for RightsClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("now", &self.now()).field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// Why something may not be done, for the log and for `--explain`. The client hears `BadUserAccessDenied`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessDenial {
    /// The right has ended, or does not hold now.
    Ended(RightEnd),
    /// The node table has changed since the token was made.
    OtherTable,
    /// The node is in no row of the table.
    UnknownNode,
    /// The token does not grant it.
    NotGranted,
    /// It depends on live values, and the gate has no decision point to ask.
    NobodyToAsk,
}

impl fmt::Display for AccessDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessDenial::Ended(ended) => ended.fmt(f),
            AccessDenial::OtherTable => {
                f.write_str("the node table has changed since the token was made: renew it")
            }
            AccessDenial::UnknownNode => {
                f.write_str("the node is not in the node table: publish the table again")
            }
            AccessDenial::NotGranted => f.write_str("the token does not grant it"),
            AccessDenial::NobodyToAsk => {
                f.write_str("it depends on live values, and the gate has no decision point")
            }
        }
    }
}

/// What questions are answered from: replaced as a whole.
struct RightsInForce {
    token: Arc<VerifiedToken>,
    rows: Arc<TableRows>,
    is_table_the_same: bool,
    /// The generation of the feed that `until` was worked out from.
    generation: u64,
    until: PerRightKind<RightDeadline>,
}

/// The rights of one session.
pub struct TokenRights {
    current: ArcSwap<RightsInForce>,
    watch: Arc<RightsClock>,
    live: Option<Arc<dyn LiveDecider>>,
}

impl TokenRights {
    /// The rights that a token gives, over a table as the server sees it. Without `live`, what depends on live values is refused.
    pub fn new(
        token: Arc<VerifiedToken>,
        rows: Arc<TableRows>,
        watch: Arc<RightsClock>,
        live: Option<Arc<dyn LiveDecider>>,
    ) -> TokenRights {
        TokenRights { current: ArcSwap::from_pointee(RightsInForce::new(token, rows, &watch)), watch, live }
    }

    /// The token in force.
    pub fn token(&self) -> Arc<VerifiedToken> {
        Arc::clone(&self.current.load().token)
    }

    /// The table in force.
    pub fn table(&self) -> Arc<NodeTable> {
        Arc::clone(self.current.load().rows.table())
    }

    /// Puts another token in force: what is asked from now on is answered from it.
    pub fn swap(&self, token: Arc<VerifiedToken>) {
        let next = |current: &Arc<RightsInForce>| {
            RightsInForce::new(Arc::clone(&token), Arc::clone(&current.rows), &self.watch)
        };
        self.current.rcu(next);
    }

    /// Puts another token in force, with the table that it is over.
    pub fn renew(&self, token: Arc<VerifiedToken>, rows: Arc<TableRows>) {
        self.current.store(Arc::new(RightsInForce::new(token, rows, &self.watch)));
    }

    /// Puts another table in force, or the same under another NamespaceArray.
    pub fn set_rows(&self, rows: Arc<TableRows>) {
        let next = |current: &Arc<RightsInForce>| {
            RightsInForce::new(Arc::clone(&current.token), Arc::clone(&rows), &self.watch)
        };
        self.current.rcu(next);
    }

    /// Until when rights of a kind count, by what is known now.
    pub fn until(&self, kind: RightKind) -> RightDeadline {
        self.up_to_date(|current| current.until.of(kind))
    }

    /// Rules at a moment of the caller's, and says why not. The order: does the token still count, is it of this table, does the table
    /// have the node, does the token grant it.
    ///
    /// # Errors
    /// It may not be done.
    pub fn judge(
        &self,
        now: Moment,
        permission: Permission,
        node: &NodeId,
    ) -> Result<PermissionRuling, AccessDenial> {
        self.up_to_date(|current| {
            current.until.of(RightKind::of(permission)).at(now).map_err(AccessDenial::Ended)?;
            if !current.is_table_the_same {
                return Err(AccessDenial::OtherTable);
            }
            let row = current.rows.find(node).ok_or(AccessDenial::UnknownNode)?;
            match current.token.grants().get(row, permission) {
                GrantVerdict::Granted => Ok(PermissionRuling::Granted),
                GrantVerdict::Refused => Err(AccessDenial::NotGranted),
                GrantVerdict::Ask => {
                    let live = self.live.as_ref().ok_or(AccessDenial::NobodyToAsk)?;
                    let (token, table) = (&*current.token, &**current.rows.table());
                    Ok(live.rule(&LiveQuestion { token, permission, table, row, now }))
                }
            }
        })
    }

    /// Answers from what is current, worked out anew where the feed has changed.
    fn up_to_date<T>(&self, answer: impl FnOnce(&RightsInForce) -> T) -> T {
        let current = self.current.load();
        if current.generation == self.watch.generation.load(Ordering::Acquire) {
            return answer(&current);
        }
        let next =
            Arc::new(RightsInForce::new(Arc::clone(&current.token), Arc::clone(&current.rows), &self.watch));
        // Where another token came in between, that one stays in force; this question was asked before.
        self.current.compare_and_swap(&current, Arc::clone(&next));
        answer(&next)
    }
}

impl RightsInForce {
    fn new(token: Arc<VerifiedToken>, rows: Arc<TableRows>, watch: &RightsClock) -> RightsInForce {
        // Read before the feed: a feed that comes in between is then worked out again, not missed.
        let generation = watch.generation.load(Ordering::Acquire);
        let feed = watch.feed.load();
        let until = until(token.facts(), &feed, &watch.reach);
        let is_table_the_same = rows.table().version() == token.grants().version();
        RightsInForce { token, rows, is_table_the_same, generation, until }
    }
}

impl SessionRights for TokenRights {
    fn rule(&self, permission: Permission, node: &NodeId) -> PermissionRuling {
        self.judge(self.watch.now(), permission, node).unwrap_or_else(|denial| {
            // Whoever browses is refused what they do not see all the time.
            if permission != Permission::Browse && tracing::enabled!(tracing::Level::DEBUG) {
                let token = self.token();
                tracing::debug!(subject = token.subject(), token = token.id(), ?permission, %node, why = %denial, "refused");
            }
            PermissionRuling::DENIED
        })
    }
}

impl fmt::Debug for TokenRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenRights").field("token", &self.token().id()).finish_non_exhaustive()
    }
}
