//! Header fields with more than ASCII in them, as encoded words (RFC 2047): `=?UTF-8?B?ZGVtbw==?=`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::query::decoded;

/// The text of a field. What is no encoded word, or in a character set that is not known here, stays as it is.
pub(super) fn read(field: &str) -> String {
    let mut text = String::new();
    let mut rest = field;
    let mut is_after_word = false;
    while let Some((before, after)) = rest.split_once("=?") {
        let Some((word, after)) = one(after) else { break };
        // Blanks between two words only keep them apart (section 6.2).
        if !(is_after_word && before.trim().is_empty()) {
            text.push_str(before);
        }
        text.push_str(&word);
        rest = after;
        is_after_word = true;
    }
    text.push_str(rest);
    text
}

/// `charset?B|Q?text?=`, and what comes after it.
fn one(text: &str) -> Option<(String, &str)> {
    let (charset, rest) = text.split_once('?')?;
    let (encoding, rest) = rest.split_once('?')?;
    let (encoded, rest) = rest.split_once("?=")?;
    let bytes = match encoding {
        "B" | "b" => STANDARD.decode(encoded).ok()?,
        // Of the form of `%XX` and `+`, with other signs for them (section 4.2).
        "Q" | "q" => decoded(&encoded.replace('%', "%25").replace('=', "%").replace('_', " ")).into_bytes(),
        _ => return None,
    };
    let is_known = ["utf-8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known));
    let word = String::from_utf8(bytes).ok().filter(|_| is_known)?;
    Some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_decoded_and_what_is_none_stays() {
        for (field, text) in [
            ("demo", "demo"),
            ("=?UTF-8?B?ZGVtbw==?=", "demo"),
            ("=?utf-8?q?J=C3=BCrgen_K=25?=", "Jürgen K%"),
            ("=?UTF-8?B?ZGU=?= =?UTF-8?B?bW8=?=", "demo"),
            ("a =?UTF-8?Q?b?= c", "a b c"),
            ("=?UTF-8?B?", "=?UTF-8?B?"),
            ("=?UTF-8?B?*?=", "=?UTF-8?B?*?="),
            ("=?KOI8-R?B?ZGVtbw==?=", "=?KOI8-R?B?ZGVtbw==?="),
            ("=?", "=?"),
        ] {
            assert_eq!(read(field), text, "{field}");
        }
    }
}
