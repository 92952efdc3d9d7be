//! Sizes in settings: `"64M"`, or a number of bytes.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes. Settings say `67108864` or `"64M"`; `k`, `M`, `G` and `T` (small or large, with `B` or `iB` behind them
/// or not) are powers of 1024, as for Docker and systemd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Reads `64M`.
    ///
    /// # Errors
    /// Text that is no size, in words.
    pub(crate) fn read(text: &str) -> Result<Bytes, String> {
        let wrong = || format!("`{text}` is no size: a number of bytes, or one such as 512k, 64M, 2G");
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
        let unit = unit.trim().to_ascii_lowercase();
        let shift = match unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit) {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            _ => return Err(wrong()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(Bytes).ok_or_else(wrong);
        }
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let bytes = number * f64::from(1u32 << (shift / 2)) * f64::from(1u32 << (shift - shift / 2));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "digits and a point: not negative"
        )]
        if bytes < 1e18 { Ok(Bytes(bytes as u64)) } else { Err(wrong()) }
    }
}

/// As short as it is exact: `64M`, `1500k`, `1001`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "k")] {
            if self.0 > 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl JsonSchema for Bytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^\\s*[0-9]+(\\.[0-9]+)?\\s*([kKmMgGtT](i?[bB])?|[bB])?\\s*$" }
            ]
        })
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct ByteSize;

        impl Visitor<'_> for ByteSize {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or a size such as \"64M\"")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Bytes, E> {
                u64::try_from(number).map(Bytes).map_err(|_| E::custom(format!("`{number}` is no size")))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Bytes, E> {
                Ok(Bytes(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
                Bytes::read(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(ByteSize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        let table = [
            ("64M", 64 << 20, "64M"),
            ("64 MiB", 64 << 20, "64M"),
            ("1.5g", 1536 << 20, "1536M"),
            ("512kb", 512 << 10, "512k"),
            ("0", 0, "0"),
            ("1001", 1001, "1001"),
            ("2T", 2 << 40, "2T"),
        ];
        for (text, bytes, written) in table {
            let read = Bytes::read(text).unwrap();
            assert_eq!((read.0, read.to_string().as_str()), (bytes, written), "{text}");
        }
        for text in ["", "M", "-1M", "64X", "1e3", "99999999999T", "64MM", "1.2.3M", "9.9e99", "\u{fc}"] {
            assert!(Bytes::read(text).unwrap_err().contains("is no size"), "{text}");
        }
    }
}
