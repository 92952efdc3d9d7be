//! Reports and comparisons of records: that they say what the records say, whatever those are called.

mod compare;
mod fixtures;
mod page;
