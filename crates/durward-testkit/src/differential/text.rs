//! Text with parts that can be left out, so that what shows a difference can be made small.

use std::fmt;

/// A text in parts.
#[derive(Clone, Debug, Default)]
pub struct Text(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Always(String),
    Maybe(Text),
}

impl Text {
    /// A text that has no parts to leave out.
    pub fn of(text: impl Into<String>) -> Text {
        Text::default().then(text)
    }

    /// Followed by this.
    #[must_use]
    pub fn then(mut self, text: impl Into<String>) -> Text {
        self.0.push(Part::Always(text.into()));
        self
    }

    /// Followed by this, which can be left out.
    #[must_use]
    pub fn maybe(mut self, text: Text) -> Text {
        self.0.push(Part::Maybe(text));
        self
    }

    /// Followed by another with parts of its own.
    #[must_use]
    pub fn and(mut self, text: Text) -> Text {
        self.0.extend(text.0);
        self
    }

    /// How many parts can be left out, those within others included.
    pub fn parts(&self) -> usize {
        let count = |part: &Part| match part {
            Part::Always(_) => 0,
            Part::Maybe(text) => 1 + text.parts(),
        };
        self.0.iter().map(count).sum()
    }

    /// The same without the part of this number; outer parts come before those in them.
    #[must_use]
    pub fn without(&self, number: usize) -> Text {
        let mut left = number;
        let mut parts = Vec::with_capacity(self.0.len());
        let mut is_done = false;
        for part in &self.0 {
            match part {
                Part::Maybe(_) if !is_done && left == 0 => is_done = true,
                Part::Maybe(text) if !is_done && left <= text.parts() => {
                    parts.push(Part::Maybe(text.without(left - 1)));
                    is_done = true;
                }
                Part::Maybe(text) => {
                    if !is_done {
                        left -= 1 + text.parts();
                    }
                    parts.push(part.clone());
                }
                Part::Always(_) => parts.push(part.clone()),
            }
        }
        Text(parts)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Always(text) => f.write_str(text),
            Part::Maybe(text) => text.fmt(f),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn each_part_can_be_left_out() {
        let text = Text::of("a").maybe(Text::of("b").maybe(Text::of("c")).then("d")).maybe(Text::of("e"));
        assert_eq!((text.to_string().as_str(), text.parts()), ("abcde", 3));
        let without: Vec<String> = (0..4).map(|number| text.without(number).to_string()).collect();
        assert_eq!(without, ["ae", "abde", "abcd", "abcde"]);
    }
}
