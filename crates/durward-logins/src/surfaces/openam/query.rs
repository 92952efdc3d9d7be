//! Names and values of a query or of a form (`application/x-www-form-urlencoded`).

use durward_wire::percent::{self, Stray};

/// How many parameters of a query are read; further ones are ignored.
const PAIRS_MAX: usize = 64;

/// The names and values, decoded, in their order.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn read(text: &[u8]) -> Query {
        let text = String::from_utf8_lossy(text);
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(PAIRS_MAX);
        Query(pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(decoded_pair).collect())
    }

    /// The first value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a name.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The first name that is there more than once, save those that may be.
    pub(super) fn repeated(&self, may_be: &[&str]) -> Option<&str> {
        let mut names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.retain(|name| !may_be.contains(name));
        names.sort_unstable();
        names.windows(2).find_map(|pair| match pair {
            [one, other] if one == other => Some(*one),
            _ => None,
        })
    }

    /// What stands here, then what stands there.
    pub(super) fn and(mut self, other: Query) -> Query {
        self.0.extend(other.0);
        self
    }
}

fn decoded_pair((name, value): (&str, &str)) -> (String, String) {
    (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
}

/// Text with its `%XX` read. What is not UTF-8 then becomes replacement characters; no name and no token has those.
pub(super) fn decoded(text: &str) -> String {
    let bytes = percent::decoded(text.as_bytes(), Stray::Kept).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_decoded_and_what_cannot_be_stays() {
        let query = Query::read(b"a=1&b=x+y%20z&a=2&c&=d&bad=%zz%4");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.get("b"), Some("x y z"));
        assert_eq!(query.get("c"), Some(""));
        assert_eq!(query.get("bad"), Some("%zz%4"));
        assert_eq!(query.repeated(&[]), Some("a"));
        assert_eq!(query.repeated(&["a"]), None);
        assert_eq!(Query::read("&=".repeat(10_000).as_bytes()).0.len(), PAIRS_MAX);
    }
}
