//! How large a document may be. The language's own limits are those of the engine it comes from.

/// Most bytes of a document, as in SAPL 4.
pub const DOCUMENT_BYTES_MAX: usize = 2 << 20;

/// Deepest nesting of a tree's expressions, and of what is open while a text is read: ten times what people write.
/// Trees are walked by recursion; this is what bounds it, on a thread with 2 MiB of stack.
pub const EXPRESSION_DEPTH_MAX: u16 = 200;

/// Most characters of a number, as in SAPL 4.
pub const NUMBER_CHARACTERS_MAX: usize = 1000;

/// Largest scale of a number (digits after the point less the exponent), up and down, as in SAPL 4.
pub const NUMBER_SCALE_MAX: i64 = 1000;

/// Most problems that are listed for one document: more than an author reads at once, and a bound on the memory that
/// a broken (or hostile) document can take.
pub const DIAGNOSTICS_MAX: usize = 100;
