//! References between schemas: URIs, and JSON pointers within a schema.

use durward_ir::value::Value;

/// What a reference such as `base.json#/$defs/a` consists of: the URI, and the fragment when there is one.
pub(super) fn split(reference: &str) -> (&str, Option<&str>) {
    match reference.split_once('#') {
        Some((uri, fragment)) => (uri, Some(fragment)),
        None => (reference, None),
    }
}

/// The URI that `reference` means within `base` (RFC 3986, section 5.2), without a fragment.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let (reference, _) = split(reference);
    if reference.is_empty() || has_scheme(reference) {
        return if reference.is_empty() { base } else { reference }.to_owned();
    }
    let Some((scheme, rest)) = base.split_once(':').filter(|_| has_scheme(base)) else {
        return merge(base, reference);
    };
    if reference.starts_with("//") {
        return format!("{scheme}:{reference}");
    }
    let Some(authority_and_path) = rest.strip_prefix("//") else {
        // A URN has no places that something could be relative to.
        return reference.to_owned();
    };
    let at = authority_and_path.find('/').unwrap_or(authority_and_path.len());
    let (authority, path) = authority_and_path.split_at_checked(at).unwrap_or((authority_and_path, ""));
    let path = if path.is_empty() { "/" } else { path };
    format!("{scheme}://{authority}{}", merge(path, reference))
}

fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// The path that `reference` means beside the path `base`.
fn merge(base: &str, reference: &str) -> String {
    if reference.starts_with('?') {
        let (path, _) = base.split_once('?').unwrap_or((base, ""));
        return format!("{path}{reference}");
    }
    let (path, query) = reference.split_once('?').unwrap_or((reference, ""));
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    let joined = if path.starts_with('/') {
        path.to_owned()
    } else {
        let directory = base.rsplit_once('/').map_or("", |(directory, _)| directory);
        if base.contains('/') { format!("{directory}/{path}") } else { path.to_owned() }
    };
    format!("{}{query}", without_dots(&joined))
}

fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let last = path.rsplit('/').next().unwrap_or_default();
    for segment in path.split('/') {
        match segment {
            "." => {}
            // The empty segment in front of the first `/` stays.
            ".." if segments.len() > 1 || segments.first().is_some_and(|first| !first.is_empty()) => {
                segments.pop();
            }
            ".." => {}
            _ => segments.push(segment),
        }
    }
    if matches!(last, "." | "..") {
        segments.push("");
    }
    segments.join("/")
}

/// Octets written as `%20`. What is no such escape, or no UTF-8 afterwards, stays as it is.
pub(super) fn percent_decoded(text: &str) -> String {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail.first_chunk::<2>().filter(|_| *first == b'%').and_then(|digits| {
            let digits =
                std::str::from_utf8(digits).ok().filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            u8::from_str_radix(digits, 16).ok()
        });
        octets.push(escaped.unwrap_or(*first));
        rest = tail.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8(octets).unwrap_or_else(|_| text.to_owned())
}

/// The keys and indices of a JSON pointer (RFC 6901) that begins with `/`.
pub(super) fn tokens(pointer: &str) -> impl Iterator<Item = String> + '_ {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

/// Adds a key to a JSON pointer.
pub(super) fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    if token.contains(['~', '/']) {
        pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(token);
    }
}

/// What stands under a key of an object or at an index of an array.
pub(super) fn child<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    if let Value::Object(object) = value {
        return object.get(token);
    }
    let Value::Array(values) = value else { return None };
    values.get(token.parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_uris() {
        for (base, reference, expected) in [
            ("http://a/b/c/d", "g", "http://a/b/c/g"),
            ("http://a/b/c/d", "./g", "http://a/b/c/g"),
            ("http://a/b/c/d", "g/", "http://a/b/c/g/"),
            ("http://a/b/c/d", "/g", "http://a/g"),
            ("http://a/b/c/d", "//g", "http://g"),
            ("http://a/b/c/d", "../g", "http://a/b/g"),
            ("http://a/b/c/d", "../../../g", "http://a/g"),
            ("http://a/b/c/d", "..", "http://a/b/"),
            ("http://a/b/c/d", "", "http://a/b/c/d"),
            ("http://a/b/c/d", "#x", "http://a/b/c/d"),
            ("http://a/b/c/d", "?y", "http://a/b/c/d?y"),
            ("http://a/b/c/d", "g?y/../x", "http://a/b/c/g?y/../x"),
            ("http://a", "g", "http://a/g"),
            ("http://a/b", "https://c/d#e", "https://c/d"),
            ("urn:a:b", "c", "c"),
            ("urn:a:b", "urn:c", "urn:c"),
            ("", "c/d", "c/d"),
            ("x/y", "z", "x/z"),
            ("y", "z", "z"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference} within {base}");
        }
    }

    #[test]
    fn percent_signs_that_escape_nothing_stay() {
        for (text, expected) in [
            ("a%20b", "a b"),
            ("%25", "%"),
            ("%", "%"),
            ("%2", "%2"),
            ("%zz", "%zz"),
            ("%ff", "%ff"),
            ("%C3%A4", "ä"),
        ] {
            assert_eq!(percent_decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn pointers_escape_and_unescape() {
        let mut pointer = String::new();
        for token in ["a", "b/c", "~", ""] {
            push(&mut pointer, token);
        }
        assert_eq!(pointer, "/a/b~1c/~0/");
        assert_eq!(tokens(&pointer).collect::<Vec<_>>(), ["a", "b/c", "~", ""]);
    }
}
