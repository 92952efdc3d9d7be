//! Tables that are searched by a hash: who collides stands at the next place that was free.

/// Twice the entries, rounded up to a power of two, so that a chain is rarely longer than two; at least 2 so that
/// there is always an empty entry to stop at.
pub(super) fn table_size(entries: usize) -> usize {
    (entries * 2).next_power_of_two().max(2)
}

/// Puts an entry where its hash says, or at the next empty place behind that.
pub(super) fn place<T>(table: &mut [T], hash: u64, entry: T, is_empty: impl Fn(&T) -> bool) {
    let mask = table.len().wrapping_sub(1);
    let mut at = hash as usize & mask;
    while let Some(slot) = table.get_mut(at) {
        if is_empty(slot) {
            *slot = entry;
            return;
        }
        at = (at + 1) & mask;
    }
}
