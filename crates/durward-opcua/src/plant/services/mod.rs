//! The services, one file for each set of the standard.

mod attribute;
mod browse;
mod call;
mod history;
mod path;

pub(crate) use browse::BrowsePoint;
pub(crate) use history::HistoryPoint;

pub(crate) use attribute::valid_timestamps;
