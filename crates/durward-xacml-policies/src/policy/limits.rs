//! How large a policy document may be.

/// Bounds on one policy document. Exceeding one refuses the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes. Default: 64 MiB, several times the largest policies known (13 MiB for 10,000 rules).
    /// Places are `u32`, so 4 GiB holds whatever is set.
    pub bytes_max: usize,
    /// Deepest nesting of elements. Default: 200, ten times what people write. Trees are walked by recursion:
    /// this is what bounds it, so more than [`DEPTH_CAP`] is taken as that.
    pub depth_max: usize,
    /// Most elements. Default: 1.5 million, half as many again as 64 MiB of ordinary policies hold. An element takes far more
    /// memory than its shortest text: the worst 60 MB known take 460 MiB while they become a program.
    pub elements_max: usize,
}

/// The deepest nesting any [`Limits`] can allow: the recursion it leads to fits the 2 MiB stack of a thread.
pub const DEPTH_CAP: usize = 400;

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes_max: 64 << 20, depth_max: 200, elements_max: 1_500_000 }
    }
}
