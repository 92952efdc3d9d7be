//! Nothing is allocated to decide: permits, denies and whatever goes along with nothing, with every index. What does
//! allocate is here as well, so that the list is complete and can only shrink.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail so")]

mod sapl;
mod xacml;

use std::hint::black_box;

/// How often this thread allocated during a call. What is done once a thread, on its first decision, is not counted.
fn allocations<T>(mut call: impl FnMut() -> T) -> u64 {
    black_box(call());
    allocation_counter::measure(|| {
        black_box(call());
    })
    .count_total
}

/// What is measured with would be of no use if it did not count.
#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| vec![Box::new(1), Box::new(2)]), 3);
    assert_eq!(allocations(|| 1 + 2), 0);
}
