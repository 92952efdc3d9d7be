//! Logins with browsers, as browsers and applications see them.

mod flow;
mod forms;
mod hostile;
mod logout;
mod world;
