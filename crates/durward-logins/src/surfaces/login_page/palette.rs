//! The colours of a theme, and which of them are read on which.

use serde::Deserialize;

use super::colour::Colour;

/// WCAG 2.2, 1.4.3: text.
const TEXT_CONTRAST_MIN: f64 = 4.5;
/// WCAG 2.2, 1.4.11: the edges of fields and buttons, and the mark of what has the focus.
const EDGE_CONTRAST_MIN: f64 = 3.0;

/// The colours of one scheme, light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Palette {
    /// Behind everything.
    background: Colour,
    /// Behind the form.
    card: Colour,
    text: Colour,
    /// Text of less weight.
    soft: Colour,
    /// The edge of the form; nobody needs to see it.
    line: Colour,
    /// The edges of fields.
    border: Colour,
    /// The button, and the mark of what has the focus.
    accent: Colour,
    /// Text on the button.
    accent_text: Colour,
    error: Colour,
}

/// The same, as far as a theme says it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PaletteFile {
    background: Option<Colour>,
    card: Option<Colour>,
    text: Option<Colour>,
    soft: Option<Colour>,
    line: Option<Colour>,
    border: Option<Colour>,
    accent: Option<Colour>,
    accent_text: Option<Colour>,
    error: Option<Colour>,
}

impl PaletteFile {
    /// What is not said is as in another palette.
    pub(super) fn over(&self, other: &Palette) -> Palette {
        Palette {
            background: self.background.unwrap_or(other.background),
            card: self.card.unwrap_or(other.card),
            text: self.text.unwrap_or(other.text),
            soft: self.soft.unwrap_or(other.soft),
            line: self.line.unwrap_or(other.line),
            border: self.border.unwrap_or(other.border),
            accent: self.accent.unwrap_or(other.accent),
            accent_text: self.accent_text.unwrap_or(other.accent_text),
            error: self.error.unwrap_or(other.error),
        }
    }
}

impl Palette {
    pub(super) const LIGHT: Palette = Palette {
        background: Colour::of(0xf3_f4_f7),
        card: Colour::of(0xff_ff_ff),
        text: Colour::of(0x1b_21_30),
        soft: Colour::of(0x53_5d_70),
        line: Colour::of(0xe0_e4_eb),
        border: Colour::of(0x7f_89_9b),
        accent: Colour::of(0x23_5c_a6),
        accent_text: Colour::of(0xff_ff_ff),
        error: Colour::of(0xa8_23_2f),
    };

    pub(super) const DARK: Palette = Palette {
        background: Colour::of(0x10_13_1a),
        card: Colour::of(0x19_1e_29),
        text: Colour::of(0xe6_e9_f0),
        soft: Colour::of(0xa6_b0_c2),
        line: Colour::of(0x29_30_3f),
        border: Colour::of(0x71_7d_93),
        accent: Colour::of(0x8c_b9_f4),
        accent_text: Colour::of(0x0d_16_26),
        error: Colour::of(0xff_9a_a2),
    };

    /// The colours with the names that themes and style sheets have for them.
    pub(super) fn named(&self) -> [(&'static str, Colour); 9] {
        [
            ("background", self.background),
            ("card", self.card),
            ("text", self.text),
            ("soft", self.soft),
            ("line", self.line),
            ("border", self.border),
            ("accent", self.accent),
            ("accent-text", self.accent_text),
            ("error", self.error),
        ]
    }

    /// Colours that are too like each other.
    pub(super) fn weaknesses(&self, file: &str, scheme: &str) -> Vec<String> {
        let pairs = [
            ("text", self.text, "card", self.card, TEXT_CONTRAST_MIN),
            ("text", self.text, "background", self.background, TEXT_CONTRAST_MIN),
            ("soft", self.soft, "card", self.card, TEXT_CONTRAST_MIN),
            ("soft", self.soft, "background", self.background, TEXT_CONTRAST_MIN),
            ("accent_text", self.accent_text, "accent", self.accent, TEXT_CONTRAST_MIN),
            ("error", self.error, "card", self.card, TEXT_CONTRAST_MIN),
            ("border", self.border, "card", self.card, EDGE_CONTRAST_MIN),
            ("accent", self.accent, "card", self.card, EDGE_CONTRAST_MIN),
            ("accent", self.accent, "background", self.background, EDGE_CONTRAST_MIN),
        ];
        let too_like = pairs.into_iter().filter_map(|(name, colour, on, ground, least)| {
            let contrast = colour.contrast(ground);
            // Rounded down: what is shown as 4.5 is enough.
            let shown = (contrast * 10.0).floor() / 10.0;
            (contrast < least).then(|| {
                format!("{file}: `{scheme}.{name}` on `{scheme}.{on}` has a contrast of {shown:.1}:1; {least:.1}:1 is the least to be read by everybody (WCAG 2.2)")
            })
        });
        too_like.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_colours_are_read_by_everybody() {
        assert_eq!(Palette::LIGHT.weaknesses("t", "light"), Vec::<String>::new());
        assert_eq!(Palette::DARK.weaknesses("t", "dark"), Vec::<String>::new());
    }
}
