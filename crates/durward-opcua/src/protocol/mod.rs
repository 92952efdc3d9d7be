//! Gate, authorization service and client as state machines: an event at a moment goes in, actions come out. No socket, no clock, no
//! chance. What runs is what is model-checked (`tests/opcua/model`).
//!
//! ```text
//!  client                     authorization service                 gate
//!  Client::step               Authority::step                       Gate::step
//!    |---- AskToken -------------->| Decide, then Issue               |
//!    |<--- TokenGiven -------------|                                  |
//!    |                             |--- cutoff, heartbeat, snapshot ->| Feed
//!    |                             |<-- AskCutoffs -------------------|
//!    |---- Activate (token, nonce) ---------------------------------->| one swap
//!    |---- requests ------------------------------------------------->| Serve or Refuse
//! ```
//!
//! # What whoever runs them promises
//!
//! - Actions are carried out in their order. [`AuthorityAction::Store`] is durable before the next one is begun.
//! - [`GateEvent::Activate`] is given only after the signature of the client over the certificate and the nonce of that number was
//!   verified, and the token by [`TokenVerifier`](crate::token::TokenVerifier) against the certificate of the channel.
//! - The moment is that of one clock for each machine. A machine does not follow it back. A gate's is a [`DisciplinedClock`], and
//!   [`GateEvent::ClockSetBack`] is given where that has jumped back, before anything else.
//! - Requests are admitted by [`GateMachine::admit`]; for each node, [`TokenRights`](crate::token::TokenRights) is asked, which ends rights by the
//!   same function ([`until`](crate::token::until)).
//!
//! # What holds then, as checked
//!
//! With any loss, repetition and reordering of messages, restarts of all three, clocks that differ by `D`, and a wall clock of the gate that is set
//! ahead and back (by more than `D` and than an answer of the service is late: less is taken for a difference of clocks):
//! no request is served without an activation that the gate accepted, none with a token that has ended (beyond the grace), none with a
//! token of another client, and none with a recalled token longer than `staleness_max + D` after the recall. Where nothing that the
//! service said after the recall reaches the gate, it is served until `hold` or the token ends.

mod authority;
mod client;
mod clock;
mod gate;

pub use authority::{
    AuthorityAction, AuthorityActions, AuthorityEvent, AuthorityMachine, AuthorityRecord, AuthorityTimings,
    IssueRefusal, PENDING_MAX, TokenApplicant,
};
pub use client::{ClientAction, ClientEvent, ClientFailure, ClientMachine, ClientTimings};
pub use clock::{CLOCK_DOUBT_MAX, CLOCK_STEP_MAX, ClockJump, DisciplinedClock};
pub use gate::{
    ActivationIdentity, ChannelId, GateAction, GateEvent, GateMachine, GateNote, GateRefusal, GateSessionId,
    GateTimings, NonceNumber, SessionStanding,
};
