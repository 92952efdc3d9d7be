//! What the browser says of a ceremony (5.8.1): JSON, whose bytes the authenticator signs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use subtle::ConstantTimeEq as _;

use super::{PasskeyRefusal, RelyingParty};

/// A ceremony, by its name in the client data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ceremony {
    Create,
    Get,
}

impl Ceremony {
    fn name(self) -> &'static str {
        match self {
            Ceremony::Create => "webauthn.create",
            Ceremony::Get => "webauthn.get",
        }
    }
}

/// Members that are not looked at may be there: the specification adds some. One that is looked at may be there once.
#[derive(Deserialize)]
struct ClientData<'d> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'d, str>,
    #[serde(borrow)]
    challenge: std::borrow::Cow<'d, str>,
    #[serde(borrow)]
    origin: std::borrow::Cow<'d, str>,
    #[serde(rename = "crossOrigin", default)]
    cross_origin: bool,
    #[serde(rename = "topOrigin", default)]
    top_origin: Option<serde::de::IgnoredAny>,
}

/// Whether the browser was asked by a page of ours for this ceremony and challenge (7.1, steps 5 to 11; 7.2, steps 9 to 15).
pub(super) fn check(
    json: &[u8],
    ceremony: Ceremony,
    party: &RelyingParty,
    challenge: &[u8],
) -> Result<(), PasskeyRefusal> {
    // UTF-8 as browsers decode it: with a mark at the beginning or without.
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let data: ClientData<'_> =
        serde_json::from_slice(json).map_err(|_| PasskeyRefusal::Malformed("what the browser says"))?;
    if data.kind != ceremony.name() {
        return Err(PasskeyRefusal::Type);
    }
    let said = URL_SAFE_NO_PAD.decode(data.challenge.as_bytes()).map_err(|_| PasskeyRefusal::Challenge)?;
    if challenge.is_empty() || !bool::from(said.as_slice().ct_eq(challenge)) {
        return Err(PasskeyRefusal::Challenge);
    }
    if !party.has_origin(&data.origin) {
        return Err(PasskeyRefusal::Origin);
    }
    // No page of ours is shown in a frame of others.
    if data.cross_origin || data.top_origin.is_some() {
        return Err(PasskeyRefusal::CrossOrigin);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_data_are_of_this_ceremony_challenge_and_origin() {
        let party =
            RelyingParty::new("example.org", "Example", vec!["https://example.org".to_owned()]).unwrap();
        let of = |json: &str| check(json.as_bytes(), Ceremony::Get, &party, b"0123456789abcdef");
        let good = r#"{"type":"webauthn.get","challenge":"MDEyMzQ1Njc4OWFiY2RlZg","origin":"https://example.org","crossOrigin":false}"#;
        assert_eq!(of(good), Ok(()));
        assert_eq!(of(&format!("\u{feff}{good}")), Ok(()));
        assert_eq!(of(&good.replace("webauthn.get", "webauthn.create")), Err(PasskeyRefusal::Type));
        assert_eq!(of(&good.replace("MDEy", "MDEz")), Err(PasskeyRefusal::Challenge));
        assert_eq!(of(&good.replace("MDEyMzQ1Njc4OWFiY2RlZg", "")), Err(PasskeyRefusal::Challenge));
        assert_eq!(of(&good.replace("://example", "://evil.example")), Err(PasskeyRefusal::Origin));
        assert_eq!(of(&good.replace("false", "true")), Err(PasskeyRefusal::CrossOrigin));
        let framed = good.replace("\"crossOrigin\":false", "\"topOrigin\":\"https://other.example\"");
        assert_eq!(of(&framed), Err(PasskeyRefusal::CrossOrigin));
        let twice = good.replace("{\"type\"", "{\"origin\":\"https://example.org\",\"type\"");
        for unread in
            [twice.as_str(), "", "{}", "[]", "{\"type\":1}", &good[..good.len() - 1], &format!("{good}x")]
        {
            assert!(matches!(of(unread), Err(PasskeyRefusal::Malformed(_))), "{unread}");
        }
    }
}
