//! AuthZEN through the socket: the conformance suite, the certification scenario, and what must be refused.

mod certification;
mod database;
mod hostile;
mod interop;
mod manual;
mod mapping;
mod narrowed;
mod pages;
mod users;
mod world;
