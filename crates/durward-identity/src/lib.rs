//! Who is asking: users, login, sessions, tokens, and the record of what happened.
//!
//! The crate knows no policy and no wire format, and has no clock, no socket and no runtime: the moment is an argument,
//! chance is an [`Entropy`], and what must travel comes out as an [`NodeEffect`](protocol::NodeEffect) and goes in as an
//! [`NodeEvent`](protocol::NodeEvent). Servers, stores and directories are put around it.
//!
//! # The parts
//!
//! | module | holds |
//! |---|---|
//! | [`session`] | what a session is: its token, the keys that seal tokens, the table of sessions that are known, what was revoked |
//! | [`protocol`] | how several nodes agree on that: one state machine a node, four modes |
//! | [`user`] | who may have a session: users, passwords, second steps; the trait that directories implement |
//! | [`passkey`] | keys that devices hold for users: what is asked of a browser, and whether what it brings is right |
//! | [`login`] | what stands before a password is looked at: delays, lock-out, a bound on hashing |
//! | [`audit`] | what happened, as lines chained by hashes |
//! | [`jwt`] | signed tokens for other services, and the keys for them |
//!
//! # Data
//!
//! A **session** is named by 128 random bits. Its **token** carries all that a node needs to check it alone: the name, realm and
//! subject, level, the stamp of its login, how long it may be idle and when it ends; sealed with AES-256-GCM under
//! a key of the cluster's key ring. Who has no key can neither read nor make one. A token that opens was made by this
//! cluster; whether it still counts, four things say: its end, the table's note when it was last used, the set of
//! revoked sessions, and for users and for everybody a stamp up to which all sessions are revoked.
//!
//! A **stamp** is a moment in microseconds that also orders: each node gives stamps larger than every one it has seen, whatever
//! its clock says. So a login after a revocation is never taken for one before it, with any clock.
//!
//! A **record** is what happened, as it travels: a login, a revocation, a note of use, properties, a key. Records
//! are the whole state: whoever applies them in the order of the store has the same sessions as everybody else.
//!
//! # Validation
//!
//! [`session::SessionTable::validate`] opens the token, looks into the table's part for that user under a lock for reading, and is
//! done: no allocation, no store, no lock that all cores share. It refuses what it does not understand.
//!
//! # The state machine
//!
//! [`protocol::SessionNode`] takes an event at a moment and gives effects. What it promises is one setting:
//!
//! | mode | a login or logout is answered | a validation is answered | without the store |
//! |---|---|---|---|
//! | `none` | at once, then told to the other nodes | at once | there is no store |
//! | `best-effort` | at once, then stored until the store says so | at once | goes on |
//! | `assured-write` | when the store's record of it has come back | at once | refuses, or validates what it knows, by setting |
//! | `assured-read` | as in `assured-write` | when all that the store had after the question was asked is applied | the same |
//!
//! A logout is refused on the node that took it before it is sent anywhere. The link to the store is a state:
//!
//! ```text
//!              Connected, behind          applied all there was
//!   Starting ---------------------> CatchingUp ---------------> Live
//!                                    ^  ^    ^-------------------|  nothing heard for some seconds
//!                                    |  |    |                   |
//!                   Connected        |  |    | Lost              | Lost
//!                        '---------- Lost <--+-------------------'
//!                                       '-- a gap in the records: ask again from the last one applied
//! ```
//!
//! Validations that wait for the store share queries: at most one is under way, and a validation that arrives meanwhile waits for the next one, because the answer may be older than its arrival.
//!
//! # What is not here
//!
//! No LDAP, no NATS, no HTTP: they implement [`user::UserStore`], and carry the effects of [`protocol::SessionNode`].

pub mod audit;
mod hex;
pub mod jwt;
pub mod login;
pub mod passkey;
pub mod protocol;
pub mod session;
pub mod user;

use durward_session_table::{entropy, error, moment};

pub use entropy::{Entropy, SystemEntropy};
pub use error::IdentityError;
pub use hex::hex;
pub use moment::{CLOCK_SKEW_MAX, Moment, Stamp};
