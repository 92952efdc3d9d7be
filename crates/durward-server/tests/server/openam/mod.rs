//! OpenAM's calls: those that were recorded from a real one, those around them, and what nobody should get in with.

mod around;
mod hostile;
mod observed;
mod password_change;
mod profile;
mod recorded;
mod second_step;
mod world;
