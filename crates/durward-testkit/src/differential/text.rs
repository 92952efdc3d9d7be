//! Text with parts that can be left out, so that what shows a difference can be made small.

use std::fmt;

/// A text in parts.
#[derive(Clone, Debug, Default)]
pub struct ShrinkableText(Vec<TextPart>);

#[derive(Clone, Debug)]
enum TextPart {
    Always(String),
    Maybe(ShrinkableText),
}

impl ShrinkableText {
    /// A text that has no parts to leave out.
    pub fn of(text: impl Into<String>) -> ShrinkableText {
        ShrinkableText::default().then(text)
    }

    /// Followed by this.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> ShrinkableText {
        self.0.push(TextPart::Always(text.into()));
        self
    }

    /// Followed by this, which can be left out.
    #[must_use]
    pub fn maybe(mut self, text: ShrinkableText) -> ShrinkableText {
        self.0.push(TextPart::Maybe(text));
        self
    }

    /// Followed by another with parts of its own.
    #[must_use]
    pub fn and(mut self, text: ShrinkableText) -> ShrinkableText {
        self.0.extend(text.0);
        self
    }

    /// How many parts can be left out, those within others included.
    pub fn parts(&self) -> usize {
        let count = |part: &TextPart| match part {
            TextPart::Always(_) => 0,
            TextPart::Maybe(text) => 1 + text.parts(),
        };
        self.0.iter().map(count).sum()
    }

    /// The same without the part of this number; outer parts come before those in them.
    #[must_use]
    pub fn without(&self, number: usize) -> ShrinkableText {
        let mut left = number;
        let mut parts = Vec::with_capacity(self.0.len());
        let mut is_done = false;
        for part in &self.0 {
            match part {
                TextPart::Maybe(_) if !is_done && left == 0 => is_done = true,
                TextPart::Maybe(text) if !is_done && left <= text.parts() => {
                    parts.push(TextPart::Maybe(text.without(left - 1)));
                    is_done = true;
                }
                TextPart::Maybe(text) => {
                    if !is_done {
                        left -= 1 + text.parts();
                    }
                    parts.push(part.clone());
                }
                TextPart::Always(_) => parts.push(part.clone()),
            }
        }
        ShrinkableText(parts)
    }
}

impl fmt::Display for ShrinkableText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            TextPart::Always(text) => f.write_str(text),
            TextPart::Maybe(text) => text.fmt(f),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ShrinkableText;

    #[test]
    fn each_part_can_be_left_out() {
        let text = ShrinkableText::of("a")
            .maybe(ShrinkableText::of("b").maybe(ShrinkableText::of("c")).then("d"))
            .maybe(ShrinkableText::of("e"));
        assert_eq!((text.to_string().as_str(), text.parts()), ("abcde", 3));
        let without: Vec<String> = (0..4).map(|number| text.without(number).to_string()).collect();
        assert_eq!(without, ["ae", "abde", "abcd", "abcde"]);
    }
}
