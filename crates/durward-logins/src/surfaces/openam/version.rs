//! `Accept-API-Version`: which version of a resource is asked for, and of the protocol of resources.

use hyper::header::HeaderMap;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AcceptApiVersion {
    /// Nothing: the newest.
    resource: Option<(u32, u32)>,
    protocol: Option<(u32, u32)>,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    One,
    Two,
}

/// The newest protocol of resources there is.
const PROTOCOL: (u32, u32) = (2, 1);

impl AcceptApiVersion {
    /// What is asked for without the header.
    pub(super) const NEWEST: AcceptApiVersion = AcceptApiVersion { resource: None, protocol: None };

    /// Of `resource=2.0, protocol=1.0` and the like, each at most once.
    ///
    /// # Errors
    /// It is something else; what it says.
    pub(super) fn read(headers: &HeaderMap) -> Result<AcceptApiVersion, String> {
        let mut versions = AcceptApiVersion::NEWEST;
        let Some(value) = headers.get("accept-api-version") else { return Ok(versions) };
        let text = String::from_utf8_lossy(value.as_bytes());
        let wrong = || format!("Version string is in an invalid format: {text}");
        if text.is_empty() {
            return Ok(versions);
        }
        for part in text.split(',') {
            let (name, version) = part.trim().split_once('=').ok_or_else(wrong)?;
            let version = of_text(version).ok_or_else(wrong)?;
            let place = match name {
                "resource" => &mut versions.resource,
                "protocol" => &mut versions.protocol,
                _ => return Err(wrong()),
            };
            if place.replace(version).is_some() {
                return Err(wrong());
            }
        }
        Ok(versions)
    }

    /// Which of the two answers: the same major version, and no later minor one than there is.
    pub(super) fn served(self, minor_of_one: u32, minor_of_two: u32) -> Option<Flavour> {
        match self.resource {
            None => Some(Flavour::Two),
            Some((1, minor)) if minor <= minor_of_one => Some(Flavour::One),
            Some((2, minor)) if minor <= minor_of_two => Some(Flavour::Two),
            Some(_) => None,
        }
    }

    /// Which of those versions that there are answers, each with its last minor one.
    pub(super) fn among(self, versions: &[(u32, u32)]) -> Option<(u32, u32)> {
        match self.resource {
            None => versions.last().copied(),
            Some((major, minor)) => {
                versions.iter().copied().find(|(known, last)| *known == major && minor <= *last)
            }
        }
    }

    /// # Errors
    /// Resources are not spoken of in this protocol; why.
    pub(super) fn check_protocol(self) -> Result<(), String> {
        match self.protocol {
            Some((major, minor)) if major > PROTOCOL.0 => {
                Err(format!("Unsupported major version: {major}.{minor}"))
            }
            Some((major, minor)) if minor > PROTOCOL.1 => {
                Err(format!("Unsupported minor version: {major}.{minor}"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn of_text(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    Some((number(major)?, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AcceptApiVersion, String> {
        let mut headers = HeaderMap::new();
        headers.insert("accept-api-version", text.parse().unwrap());
        AcceptApiVersion::read(&headers)
    }

    #[test]
    fn versions_are_served_within_their_major_one() {
        let served = |text: &str| read(text).unwrap().served(2, 1);
        assert_eq!(AcceptApiVersion::read(&HeaderMap::new()).unwrap().served(2, 1), Some(Flavour::Two));
        assert_eq!(served("resource=1.0, protocol=1.0"), Some(Flavour::One));
        assert_eq!(served("protocol=1.0,resource=2.1"), Some(Flavour::Two));
        assert_eq!(served("resource=2"), Some(Flavour::Two));
        assert_eq!(served("protocol=1.0"), Some(Flavour::Two));
        assert_eq!(served(""), Some(Flavour::Two));
        for other in ["resource=1.3", "resource=2.2", "resource=9.0", "resource=0.9"] {
            assert_eq!(served(other), None, "{other}");
        }
        let among = |text: &str| read(text).unwrap().among(&[(1, 2), (3, 0)]);
        assert_eq!(among(""), Some((3, 0)));
        assert_eq!(among("resource=1.1"), Some((1, 2)));
        assert_eq!(among("resource=2.0"), None);
    }

    #[test]
    fn what_is_no_version_is_refused_with_what_it_says() {
        for other in [
            "2.0",
            "resource=",
            "resource=x",
            "resource=-1.0",
            "other=1.0",
            "Resource=1.0",
            "resource=1.",
            "resource=1,",
        ] {
            assert_eq!(read(other), Err(format!("Version string is in an invalid format: {other}")));
        }
        for other in
            ["resource=1.0.0", "resource = 1.0", "resource=1.0,resource=2.0", "resource=99999999999.0"]
        {
            assert!(read(other).is_err(), "{other}");
        }
    }

    #[test]
    fn later_protocols_are_refused() {
        let checked = |text: &str| read(text).unwrap().check_protocol();
        for good in ["protocol=1.0", "protocol=1.1", "protocol=2.1", "resource=9.0"] {
            assert_eq!(checked(good), Ok(()), "{good}");
        }
        assert_eq!(checked("protocol=3.0"), Err("Unsupported major version: 3.0".to_owned()));
        assert_eq!(checked("protocol=1.2"), Err("Unsupported minor version: 1.2".to_owned()));
    }
}
