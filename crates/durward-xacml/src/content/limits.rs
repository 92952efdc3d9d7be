//! How large content and paths may be, and how long evaluating may take.

/// A request is limited to 4 MiB by default; content in JSON shrinks when its escapes are undone. More than this
/// is refused even where an operator lets larger requests in: positions are kept in 32 bits.
pub const CONTENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Each node takes 24 bytes: 12 MB for a document of the largest size made of `<a/>`.
pub const CONTENT_NODES_MAX: usize = 500_000;
/// Twice what a request may nest. Known vocabularies stay under 40; walks to the ancestors stay short.
pub const CONTENT_DEPTH_MAX: usize = 256;
/// A path is written by a person, or names one node at [`CONTENT_DEPTH_MAX`].
pub const XPATH_BYTES_MAX: usize = 32 * 1024;
/// How deep parentheses, predicates and arguments may nest in one another: evaluation recurses as deep.
pub const XPATH_DEPTH_MAX: usize = 32;
/// How many nodes and operations one evaluation may take, long texts counting one for each 16 bytes read or made:
/// some 30 milliseconds, and 32 MiB of made text.
pub const XPATH_STEPS_MAX: u64 = 2_000_000;

/// The steps of all paths over the contents of one message together: some 150 milliseconds.
pub const XPATH_REQUEST_STEPS_MAX: u64 = 5 * XPATH_STEPS_MAX;
