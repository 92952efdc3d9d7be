//! Paths that come as text, in requests of XACML 1 and 2. A text says nothing about the namespaces around it; so the
//! examples of these standards write an XPointer, which declares its prefixes itself:
//! `xmlns(md=http://www.med.example.com) xpointer(//md:record)`.

use std::sync::Arc;

use durward_ir::datatype::XPathExpression;
use smol_str::SmolStr;

/// The path over the whole request that a text is. One that is neither a path nor an XPointer stays as it is: it is no
/// XPath, and refused as such.
pub(super) fn read(text: &str) -> XPathExpression {
    let (path, namespaces) = parts(text).unwrap_or_else(|| (SmolStr::new(text), Vec::new()));
    XPathExpression { path, category: SmolStr::default(), namespaces: Arc::from(namespaces) }
}

/// Any number of `xmlns(prefix=uri)`, then one `xpointer(path)`.
fn parts(text: &str) -> Option<(SmolStr, Vec<(SmolStr, SmolStr)>)> {
    let mut namespaces = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(inside) = rest.strip_prefix("xpointer(") {
            let (path, after) = until_closed(inside)?;
            return after.trim().is_empty().then(|| (SmolStr::new(path.trim()), namespaces));
        }
        let (declared, after) = until_closed(rest.strip_prefix("xmlns(")?)?;
        let (prefix, uri) = declared.split_once('=')?;
        namespaces.push((SmolStr::new(prefix.trim()), SmolStr::new(uri.trim())));
        rest = after;
    }
}

/// What stands before the parenthesis that closes, and what stands behind it. `^` takes the meaning of the character
/// behind it away.
fn until_closed(text: &str) -> Option<(String, &str)> {
    let mut inside = String::new();
    let mut open = 1_usize;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '^' => {
                inside.push(characters.next()?.1);
                continue;
            }
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some((inside, text.get(at + 1..)?));
        }
        inside.push(character);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_xpointer_declares_its_prefixes() {
        for (text, path, namespaces) in [
            ("//a", "//a", &[][..]),
            ("xmlns(md=urn:r) xpointer(/md:record)", "/md:record", &[("md", "urn:r")][..]),
            (
                "xmlns(a=x)xmlns( b = y )\n xpointer( //a:c[count(b:d) > 1] ) ",
                "//a:c[count(b:d) > 1]",
                &[("a", "x"), ("b", "y")][..],
            ),
            ("xpointer(//a[. = '^)^^'])", "//a[. = ')^']", &[][..]),
            // Not closed, something behind, no such scheme: not taken for an XPointer.
            ("xpointer(//a", "xpointer(//a", &[][..]),
            ("xpointer(//a) //b", "xpointer(//a) //b", &[][..]),
            ("xmlns(md) xpointer(//a)", "xmlns(md) xpointer(//a)", &[][..]),
            ("element(/1)", "element(/1)", &[][..]),
            ("xpointer(^", "xpointer(^", &[][..]),
        ] {
            let found = read(text);
            assert_eq!(found.path, path, "{text}");
            let found: Vec<(&str, &str)> =
                found.namespaces.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str())).collect();
            assert_eq!(found, namespaces, "{text}");
        }
    }
}
