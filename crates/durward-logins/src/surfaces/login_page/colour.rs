//! Colours of a theme, and how well one is read on another.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A colour without transparency, as screens have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour([u8; 3]);

impl Colour {
    /// `#1b2130` is `of(0x1b_21_30)`.
    pub(super) const fn of(rgb: u32) -> Colour {
        let [_, red, green, blue] = rgb.to_be_bytes();
        Colour([red, green, blue])
    }

    /// `#rgb` or `#rrggbb`: only of these is the contrast known.
    fn parse(text: &str) -> Option<Colour> {
        let digits: Vec<u8> = text
            .strip_prefix('#')?
            .chars()
            .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()?;
        match *digits.as_slice() {
            [red, green, blue] => Some(Colour([red * 17, green * 17, blue * 17])),
            [red, red_low, green, green_low, blue, blue_low] => {
                Some(Colour([red * 16 + red_low, green * 16 + green_low, blue * 16 + blue_low]))
            }
            _ => None,
        }
    }

    /// As style sheets write it.
    pub(super) fn css(self) -> String {
        let Colour([red, green, blue]) = self;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// WCAG 2.2, "relative luminance".
    fn luminance(self) -> f64 {
        let Colour(parts) = self;
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = parts.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// WCAG 2.2, "contrast ratio": 1 for the same colour, 21 for black on white.
    pub(super) fn contrast(self, other: Colour) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }
}

impl<'de> Deserialize<'de> for Colour {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Colour, D::Error> {
        let text = String::deserialize(deserializer)?;
        Colour::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is no colour; write `#` and three or six hexadecimal digits"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_are_those_of_the_guidelines() {
        let of = |text| Colour::parse(text).unwrap();
        for (one, other, expected) in [
            ("#000", "#fff", 21.0),
            ("#777777", "#ffffff", 4.478),
            ("#767676", "#fff", 4.542),
            ("#a1b", "#aa11bb", 1.0),
        ] {
            assert!((of(one).contrast(of(other)) - expected).abs() < 0.001, "{one} {other}");
            assert!((of(other).contrast(of(one)) - expected).abs() < 0.001, "{other} {one}");
        }
        for wrong in ["", "#", "red", "#12345", "#1234567", "#ggg", "123456", "#é00"] {
            assert_eq!(Colour::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Colour::of(0x1b_21_30).css(), "#1b2130");
    }
}
