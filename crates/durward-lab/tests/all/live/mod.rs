//! Seeing a run while it goes on: the status that screens show, the page that browsers draw, the series that are pushed.

mod page;
mod push;
mod schema;
mod status;
