//! Hash tables: the order in which `java.util.HashMap` and `HashSet` give back what was put in. SAPL's functions over
//! graphs make arrays and objects in this order, and arrays are equal only in the same order.
//!
//! A table has a power of two of buckets, at least a third more than entries. A bucket lists its entries in the order
//! in which they came, and growing keeps that. (Not followed: from the ninth entry on, a bucket becomes a tree, which
//! can exchange the first entry for another. With the hashes of texts that takes bad luck or intent.)

use std::cmp::max;

/// The buckets of a new table.
const BUCKETS: usize = 16;

/// `String.hashCode`.
pub fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash, unit| 31_i32.wrapping_mul(hash).wrapping_add(i32::from(unit)))
}

/// Brings entries from the order in which they came into that of a table which was empty before.
pub fn hash_table_order<T>(entries: &mut [T], hash: impl Fn(&T) -> i32) {
    order(entries, BUCKETS, hash);
}

/// As [`hash_table_order`], of a table made of a collection with this many entries, to which the others were added.
pub fn hash_set_order<T>(entries: &mut [T], first: usize, hash: impl Fn(&T) -> i32) {
    // `new HashSet<>(collection)` asks for size / 0.75 + 1 buckets.
    order(entries, max(first * 4 / 3 + 1, BUCKETS).next_power_of_two(), hash);
}

fn order<T>(entries: &mut [T], mut buckets: usize, hash: impl Fn(&T) -> i32) {
    while entries.len() > buckets / 4 * 3 {
        buckets *= 2;
    }
    let mask = u32::try_from(buckets - 1).unwrap_or(u32::MAX);
    entries.sort_by_cached_key(|entry| {
        let hash = hash(entry).cast_unsigned();
        (hash ^ (hash >> 16)) & mask
    });
}
