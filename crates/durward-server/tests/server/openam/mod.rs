//! OpenAM's calls: those that were recorded from a real one, those around them, its pages for browsers, policies, and what nobody should get
//! in with.

mod around;
pub(crate) mod browser;
mod hostile;
mod notifications;
mod observed;
mod passkeys;
mod password_change;
mod policies;
mod profile;
mod recorded;
mod second_step;
pub(crate) mod world;

pub(crate) use policies::Agents;
