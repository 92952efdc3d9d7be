//! What content may be, and what of it nodes are made of.

use super::super::{CONTENT_BYTES_MAX, CONTENT_DEPTH_MAX, CONTENT_NODES_MAX};
use super::{Content, check, names, shown};

#[test]
fn text_cdata_and_references_side_by_side_are_one_node() {
    let xml = "<r>a&amp;<![CDATA[<b>]]>&#x41;\r\nc<!-- -->d<e/>f</r>";
    check(xml, &[("//text()", "[a&<b>A\nc][d][f]"), ("count(//text())", "3"), ("string(/)", "a&<b>A\ncdf")]);
    check("<r><![CDATA[]]></r>", &[("count(//node())", "1")]);
}

#[test]
fn attribute_values_are_normalised() {
    check("<r a='x&#10;y\n z&quot;&lt;'/>", &[("/r/@a", "[x\ny  z\"<]")]);
}

#[test]
fn what_stands_around_the_root_belongs_to_the_document() {
    let xml = "\u{FEFF}<?xml version='1.0'?>\n<!--a--><?b c?><r/><!--d-->\n";
    check(xml, &[("/node()", "[a][c][][d]"), ("/*/preceding-sibling::node()", "[a][c]")]);
}

#[test]
fn prefixes_of_the_surroundings_are_bound_in_content() {
    let content = Content::parse(" <p:a b='1'><c/></p:a> ", &names()).unwrap();
    assert_eq!(shown(&content, "/p:a/@b"), "[1]");
    assert_eq!(shown(&content, "count(//c)"), "1");
    let defaulted = Content::parse("<a/>", &[("".into(), "urn:p".into())]).unwrap();
    assert_eq!(shown(&defaulted, "count(/p:a)"), "1");
    let rebound = Content::parse("<a xmlns=''/>", &[("".into(), "urn:p".into())]).unwrap();
    assert_eq!(shown(&rebound, "count(/a)"), "1");
}

#[test]
fn what_is_not_one_well_formed_element_is_refused() {
    let refused = [
        ("", "no element"),
        (" <!-- --> ", "no element"),
        ("text", "text outside"),
        ("<a/>text", "text outside"),
        ("&amp;<a/>", "text outside"),
        ("<![CDATA[ ]]><a/>", "text outside"),
        ("<a/><b/>", "second root"),
        ("<a>", "`<a>` is not closed"),
        ("<a><b></a>", "b"),
        ("<a></a></a>", "a"),
        ("</Content><a/>", "Content"),
        ("<a b='1' b='2'/>", "twice"),
        ("<a xmlns:x='u' xmlns:y='u' x:b='1' y:b='2'/>", "twice"),
        ("<z:a/>", "`z:a` is not bound"),
        ("<a z:b='1'/>", "`z:b` is not bound"),
        ("<a xmlns:p=''/>", "declared"),
        ("<a xmlns:xml='u'/>", "declared"),
        ("<a xmlns:xmlns='u'/>", "declared"),
        ("<a xmlns:x='http://www.w3.org/XML/1998/namespace'/>", "declared"),
        ("<1/>", "not a name"),
        ("<a:b:c/>", "not a name"),
        ("<a 1='x'/>", "not a name"),
        ("<a b=1/>", "quotes"),
        ("<a b='<'/>", "&lt;"),
        ("<a>&nbsp;</a>", "&nbsp;"),
        ("<a b='&nbsp;'/>", "reference"),
        ("<a>&#0;</a>", "&#0;"),
        ("<a>]]></a>", "]]>"),
        ("<a>\u{1}</a>", "not allow"),
        ("<a><!-- -- --></a>", "--"),
        ("<a><?xml x?></a>", "start"),
        ("<a/><?xml version='1.0'?>", "start"),
        ("<!DOCTYPE a><a/>", "DOCTYPE"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "DOCTYPE"),
        ("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "DOCTYPE"),
        ("<a", ""),
        ("<", ""),
        ("<a><![CDATA[</a>", ""),
    ];
    for (xml, part) in refused {
        let error = Content::parse(xml, &[]).expect_err(xml);
        assert!(error.to_string().contains(part), "{xml}: {error}");
    }
    let error = Content::parse("<a>\n<b>\n</c></a>", &[]).unwrap_err();
    assert!(error.to_string().contains("line 3"), "{error}");
}

#[test]
fn content_stops_at_its_limits() {
    let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert!(Content::parse(&nested(CONTENT_DEPTH_MAX), &[]).is_ok());
    let error = Content::parse(&nested(CONTENT_DEPTH_MAX + 1), &[]).unwrap_err();
    assert!(error.to_string().contains("deeper"), "{error}");
    // The document and the root are nodes too.
    let many = |count: usize| format!("<r>{}</r>", "<a/>".repeat(count - 2));
    assert!(Content::parse(&many(CONTENT_NODES_MAX), &[]).is_ok());
    let error = Content::parse(&many(CONTENT_NODES_MAX + 1), &[]).unwrap_err();
    assert!(error.to_string().contains("nodes"), "{error}");
    let error = Content::parse(&format!("<r>{}</r>", "x".repeat(CONTENT_BYTES_MAX)), &[]).unwrap_err();
    assert!(error.to_string().contains("bytes"), "{error}");
}
