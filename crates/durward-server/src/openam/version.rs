//! `Accept-API-Version`: which version of a resource is asked for.

use hyper::header::HeaderMap;

use super::text_of;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing: the newest.
    Newest,
    Version(u32, u32),
    Malformed,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    One,
    Two,
}

impl Asked {
    /// Of `resource=2.0, protocol=1.0` and the like.
    pub(super) fn read(headers: &HeaderMap) -> Asked {
        let Some(value) = headers.get("accept-api-version") else { return Asked::Newest };
        if value.to_str().is_err() {
            return Asked::Malformed;
        }
        let mut asked = Asked::Newest;
        for part in text_of(headers, "accept-api-version").unwrap_or_default().split(',') {
            let Some((name, version)) = part.split_once('=') else { return Asked::Malformed };
            let Some((major, minor)) = of_text(version.trim()) else { return Asked::Malformed };
            match name.trim() {
                "resource" => asked = Asked::Version(major, minor),
                "protocol" if major <= 2 => {}
                _ => return Asked::Malformed,
            }
        }
        asked
    }

    /// Which of the two answers: the same major version, and no later minor one than there is.
    pub(super) fn served(self, minor_of_one: u32, minor_of_two: u32) -> Option<Flavour> {
        match self {
            Asked::Newest => Some(Flavour::Two),
            Asked::Version(1, minor) if minor <= minor_of_one => Some(Flavour::One),
            Asked::Version(2, minor) if minor <= minor_of_two => Some(Flavour::Two),
            Asked::Version(..) | Asked::Malformed => None,
        }
    }
}

fn of_text(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_served_within_their_major_one() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("accept-api-version", text.parse().unwrap());
            Asked::read(&headers)
        };
        assert_eq!(Asked::read(&HeaderMap::new()).served(2, 1), Some(Flavour::Two));
        assert_eq!(read("resource=1.0, protocol=1.0").served(2, 1), Some(Flavour::One));
        assert_eq!(read("protocol=1.0,resource=2.1").served(2, 1), Some(Flavour::Two));
        assert_eq!(read("resource=2").served(2, 1), Some(Flavour::Two));
        assert_eq!(read("protocol=1.0").served(2, 1), Some(Flavour::Two));
        for other in ["resource=1.3", "resource=2.2", "resource=9.0", "resource=0.9"] {
            assert_eq!(read(other).served(2, 1), None, "{other}");
        }
        for other in ["", "2.0", "resource=", "resource=x", "resource=-1.0", "protocol=9.0", "other=1.0"] {
            assert_eq!(read(other), Asked::Malformed, "{other}");
        }
    }
}
