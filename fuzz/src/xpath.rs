//! Paths over content: an evaluation ends, its nodes are in order without repeats, and the path written for a node
//! selects that node.
//!
//! The first line of an input is the path, the rest the content. The prefix `n` is bound.

use durward_xacml::content::{Content, NodeId, Selected, XPath};

pub(crate) fn run(input: &[u8]) {
    let input = crate::text(input);
    let names = [("n".into(), "urn:n".into())];
    let Some((path, content)) = input.split_once('\n') else { return };
    let Ok(path) = XPath::compile(path, &names) else { return };
    let Ok(content) = Content::parse(content, &names) else { return };
    if let Ok(Selected::Nodes(nodes)) = content.evaluate(&path, None) {
        assert!(nodes.is_sorted_by(|one, next| one < next), "{nodes:?}");
        if let Some(node) = nodes.last() {
            selects_itself(&content, *node);
        }
    }
}

fn selects_itself(content: &Content, node: NodeId) {
    let text = content.path_of(node);
    let path = XPath::compile(&text, &[]).unwrap_or_else(|error| panic!("`{text}`: {error}"));
    assert_eq!(content.select(&path, None), Ok(vec![node]), "{text}");
}
