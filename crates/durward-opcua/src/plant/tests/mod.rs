//! The services by their rules. Subscriptions have tests of their own.

mod attributes;
mod browsing;
mod calls;
mod garbage;
mod history;
mod hosting;
mod space;
