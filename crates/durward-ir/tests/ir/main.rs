//! The meaning of policies against the words of the standard.

mod combining;
