//! Cookies, and what browsers say about who has them sent.

use hyper::header::{self, HeaderMap};

/// The cookies of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookies<'h> {
    None,
    One(&'h str),
    /// Of different values: a neighbour may have set one of them.
    Several,
}

impl<'h> Cookies<'h> {
    /// Those of a name.
    pub(crate) fn named(headers: &'h HeaderMap, is_name: impl Fn(&str) -> bool) -> Cookies<'h> {
        let fields = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = fields.flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut found = Cookies::None;
        for (_, value) in pairs.filter(|(name, _)| is_name(name)) {
            found = match found {
                Cookies::None => Cookies::One(value),
                Cookies::One(known) if known == value => found,
                Cookies::One(_) | Cookies::Several => return Cookies::Several,
            };
        }
        found
    }
}

/// Whether a browser says that a page of one of these kinds of other sites calls (Fetch Metadata).
pub(crate) fn is_of_other_site(headers: &HeaderMap, kinds: &[&str]) -> bool {
    let mut said = headers.get_all("sec-fetch-site").iter();
    said.any(|value| kinds.iter().any(|kind| value == kind))
}
