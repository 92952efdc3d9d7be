//! The flags in force, and what they say of lines and words.

/// The flags in force at a place in the expression.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    /// `i`: case does not count, of ASCII letters unless `u` is set too.
    pub(super) fold: bool,
    /// `u`: folding goes beyond ASCII.
    pub(super) fold_unicode: bool,
    /// `m`
    pub(super) lines: bool,
    /// `s`
    pub(super) dot_all: bool,
    /// `d`
    pub(super) unix_lines: bool,
    /// `x`
    pub(super) comments: bool,
    /// `U`
    pub(super) unicode: bool,
}

impl Flags {
    /// What ends a line.
    pub(super) const fn ends(self) -> Lines {
        if self.unix_lines { Lines::Unix } else { Lines::All }
    }

    /// What words consist of.
    pub(super) const fn words(self) -> Words {
        if self.unicode { Words::Unicode } else { Words::Ascii }
    }
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// `\n`, `\r\n`, `\r`, `\u0085`, `\u2028`, `\u2029`
    All,
    /// `\n` only (the flag `d`).
    Unix,
}

/// What words consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// `[a-zA-Z_0-9]`
    Ascii,
    /// Letters, digits and marks of all scripts (the flag `U`).
    Unicode,
}
