//! Complete mediation: a table of who may do what, a plain twin, notifications, garbage.

mod differential;
mod garbage;
mod notifications;
mod scenarios;
mod support;
mod table;
mod upstream;
mod walk;
