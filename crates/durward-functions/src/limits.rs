//! How large results may become. Policies call functions on what requests and attribute sources bring, and feed
//! results into further calls, so that without limits a short policy could ask for any amount of memory.

use std::fmt;

use durward_ir::fault::{Evaluated, Fault};

use crate::jvm;

/// The longest text a function may make, in UTF-16 code units. SAPL has this limit where it has one, for
/// `filter.blacken`, `json.valToJson` and the encodings; here it holds for every text that is made.
pub const TEXT_LENGTH_MAX: usize = 10_000_000;

/// The largest number of elements an array may be made of: some 32 MB. SAPL has this limit for the closures of graphs.
pub const ELEMENTS_MAX: usize = 1_000_000;

/// The largest number of digits, and the largest scale without its sign, of exact sums and products: what is
/// written in full stays short, and multiplying stays fast. SAPL has no limit here.
pub const DIGITS_MAX: u32 = 10_000;

/// Refuses a text of too many UTF-16 code units.
///
/// # Errors
/// They are more than [`TEXT_LENGTH_MAX`].
#[inline]
pub fn check_text_length(length: usize) -> Evaluated<()> {
    if length > TEXT_LENGTH_MAX { Err(too_long()) } else { Ok(()) }
}

/// The fault of a text that would be longer than [`TEXT_LENGTH_MAX`].
pub fn too_long() -> Box<Fault> {
    Fault::processing(format!("the text would be longer than {TEXT_LENGTH_MAX} characters"))
}

/// A text that does not become longer than [`TEXT_LENGTH_MAX`]: writing to it fails before.
#[derive(Debug, Default)]
pub struct LimitedText {
    text: String,
    length: usize,
}

impl LimitedText {
    /// What was written.
    pub fn finish(self) -> String {
        self.text
    }
}

impl fmt::Write for LimitedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        append(&mut self.text, &mut self.length, text).map_err(|_| fmt::Error)
    }
}

/// Refuses an array of too many elements.
///
/// # Errors
/// They are more than [`ELEMENTS_MAX`].
#[inline]
pub fn check_elements(count: usize) -> Evaluated<()> {
    if count > ELEMENTS_MAX {
        return Err(Fault::processing(format!("the array would have more than {ELEMENTS_MAX} elements")));
    }
    Ok(())
}

/// A text in an error message: its first 100 characters, which are enough to find it.
pub fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}

/// Appends to a text that is being made and is this many UTF-16 code units long; `length` becomes that of the whole.
///
/// # Errors
/// The text would become longer than [`TEXT_LENGTH_MAX`]. Then nothing is appended.
pub fn append(out: &mut String, length: &mut usize, text: &str) -> Evaluated<()> {
    let whole = length.saturating_add(jvm::length(text));
    check_text_length(whole)?;
    *length = whole;
    out.push_str(text);
    Ok(())
}
