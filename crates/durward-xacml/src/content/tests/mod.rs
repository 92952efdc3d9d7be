mod hostile;
mod language;
mod reading;
mod requests;

use smol_str::SmolStr;

use super::{Content, NodeId, Selected, XPath, XPathError};

fn names() -> Vec<(SmolStr, SmolStr)> {
    vec![("p".into(), "urn:p".into()), ("fn".into(), "http://www.w3.org/2005/xpath-functions".into())]
}

fn compile(path: &str) -> Result<XPath, XPathError> {
    XPath::compile(path, &names())
}

/// What a path gives over a document, as one text: nodes by their string-values in brackets.
fn shown(content: &Content, path: &str) -> String {
    match content.evaluate(&compile(path).unwrap(), None).unwrap() {
        Selected::Nodes(nodes) => nodes.iter().map(|node| format!("[{}]", content.text(*node))).collect(),
        Selected::Text(text) => text,
        Selected::Number(number) => super::value::text_of(number),
        Selected::Boolean(boolean) => boolean.to_string(),
    }
}

fn check(xml: &str, expected: &[(&str, &str)]) {
    let content = Content::parse_document(xml).unwrap();
    for (path, expected) in expected {
        assert_eq!(shown(&content, path), *expected, "{path}");
    }
}

fn every_node(content: &Content) -> Vec<NodeId> {
    let path = compile("/ | //node() | //@* | //namespace::*").unwrap();
    content.select(&path, None).unwrap()
}
