//! What Java's texts, numbers and hash tables do, where results of SAPL's functions show it.
//!
//! Texts of Java are sequences of UTF-16 code units: lengths and places count those, so that `😀` has length 2. A
//! text that ends in the middle of such a pair exists in Java and not here: functions that would make one fail.

mod address;
mod hash;
mod logarithm;
mod number;
mod text;
mod wrapping;

pub use address::ipv6;
pub use hash::{hash_code, hash_set_order, hash_table_order};
pub use logarithm::log10;
pub use number::{ceiling, double, exact_int, floor, int, long, number, whole};
pub use text::{
    ascii_digits, compare, cut, digit, equals_ignore_case, is_blank, length, strip, strip_end, strip_start,
    trim,
};
pub use wrapping::wrapping_long;
