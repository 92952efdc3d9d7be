//! Media types: what a body says it is, and which form of an answer the caller likes best (RFC 9110, 8.3 and 12.5.1).

/// A media type and its parameters, not yet judged.
#[derive(Clone, Copy, Debug)]
pub struct MediaType<'h> {
    main: &'h str,
    sub: &'h str,
    parameters: &'h str,
}

/// A form an answer can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The type, such as `application`.
    pub main: &'static str,
    /// The subtype, such as `json`.
    pub sub: &'static str,
    /// The value of the parameter `version`, if the type has one.
    pub version: Option<&'static str>,
}

/// Quality values are counted in thousandths, which is all the digits they may have.
const QUALITY_FULL: u16 = 1000;

impl<'h> MediaType<'h> {
    /// Reads `main/sub; name=value`; `None` where it is not of that form.
    pub fn parse(text: &'h str) -> Option<MediaType<'h>> {
        let (essence, parameters) = match text.split_once(';') {
            Some((essence, parameters)) => (essence, parameters),
            None => (text, ""),
        };
        let (main, sub) = essence.trim().split_once('/')?;
        let is_token = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        (is_token(main) && is_token(sub)).then_some(MediaType { main, sub, parameters })
    }

    /// Whether it is this media type.
    pub fn is(&self, main: &str, sub: &str) -> bool {
        self.main.eq_ignore_ascii_case(main) && self.sub.eq_ignore_ascii_case(sub)
    }

    /// A parameter's value, quotes removed.
    pub fn parameter(&self, name: &str) -> Option<&'h str> {
        self.parameters().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn parameters(&self) -> impl Iterator<Item = (&'h str, &'h str)> + use<'h> {
        let pairs = self.parameters.split(';').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
    }

    /// How exactly a range of `Accept` means an offer: 0 not at all, 1 `*/*`, 2 `main/*`, 3 by name, 4 with its
    /// version.
    fn specificity(&self, offer: &Offer) -> u8 {
        if self.main == "*" && self.sub == "*" {
            return 1;
        }
        if !self.main.eq_ignore_ascii_case(offer.main) {
            return 0;
        }
        if self.sub == "*" {
            return 2;
        }
        if !self.sub.eq_ignore_ascii_case(offer.sub) {
            return 0;
        }
        match self.parameter("version") {
            None => 3,
            Some(version) if Some(version) == offer.version => 4,
            Some(_) => 0,
        }
    }

    /// The weight of a range: 1 unless it says so; what cannot be read counts as 1 too.
    fn quality(&self) -> u16 {
        let Some(text) = self.parameter("q") else { return QUALITY_FULL };
        match text.parse::<f32>() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the value is between 0 and 1000"
            )]
            Ok(quality) if (0.0..=1.0).contains(&quality) => {
                (quality * f32::from(QUALITY_FULL)).round() as u16
            }
            _ => QUALITY_FULL,
        }
    }
}

/// The offer that `Accept` likes best; of several liked equally, the first. Without `Accept` the first. `None`
/// where it likes none.
pub fn choose(accept: Option<&str>, offers: &[Offer]) -> Option<Offer> {
    let Some(accept) = accept.filter(|accept| ranges(accept).next().is_some()) else {
        return offers.first().copied();
    };
    let mut best: Option<(u16, Offer)> = None;
    for offer in offers {
        let quality = quality_of(accept, offer);
        if quality > best.map_or(0, |(quality, _)| quality) {
            best = Some((quality, *offer));
        }
    }
    best.map(|(_, offer)| offer)
}

/// What the most specific range that means an offer says of it (RFC 9110, 12.5.1).
fn quality_of(accept: &str, offer: &Offer) -> u16 {
    let mut found = (0, 0);
    for range in ranges(accept) {
        let specificity = range.specificity(offer);
        if specificity > found.0 {
            found = (specificity, range.quality());
        }
    }
    found.1
}

/// The ranges of an `Accept` field. Commas within quotes do not separate: no parameter we know has one.
fn ranges(accept: &str) -> impl Iterator<Item = MediaType<'_>> {
    accept.split(',').filter_map(|range| MediaType::parse(range.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: Offer = Offer { main: "application", sub: "xacml+xml", version: Some("3.0") };
    const PLAIN: Offer = Offer { main: "application", sub: "xml", version: None };
    const JSON: Offer = Offer { main: "application", sub: "xacml+json", version: None };

    #[test]
    fn the_most_liked_offer_is_chosen_and_the_first_of_equals() {
        let offers = [XML, PLAIN, JSON];
        let cases = [
            (None, Some(XML)),
            (Some("*/*"), Some(XML)),
            (Some(""), Some(XML)),
            (Some("nonsense"), Some(XML)),
            (Some("application/*"), Some(XML)),
            (Some("application/xacml+json"), Some(JSON)),
            (Some("APPLICATION/XACML+JSON"), Some(JSON)),
            (Some("application/xacml+xml;q=0.5, application/xacml+json"), Some(JSON)),
            (Some("application/xacml+xml;q=0.5, application/xacml+json;q=0.4"), Some(XML)),
            (Some("application/xacml+xml;q=0, */*"), Some(PLAIN)),
            (Some("application/xacml+xml; version=3.0"), Some(XML)),
            (Some("application/xacml+xml; version=\"3.0\""), Some(XML)),
            (Some("application/xacml+xml; version=2.0"), None),
            (Some("application/xacml+xml; version=2.0, application/xml;q=0.1"), Some(PLAIN)),
            (Some("text/html"), None),
            (Some("*/*;q=0"), None),
            (Some("text/html, */*;q=0.001"), Some(XML)),
        ];
        for (accept, expected) in cases {
            assert_eq!(choose(accept, &offers), expected, "{accept:?}");
        }
    }

    #[test]
    fn parameters_are_found_whatever_their_case_and_quotes() {
        let found = MediaType::parse("application/xacml+xml ; Version=\"3.0\";charset=UTF-8").unwrap();
        assert!(found.is("application", "xacml+xml"));
        assert_eq!((found.parameter("version"), found.parameter("charset")), (Some("3.0"), Some("UTF-8")));
        assert!(MediaType::parse("xml").is_none());
        assert!(MediaType::parse("/").is_none());
    }
}
