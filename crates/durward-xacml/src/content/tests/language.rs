//! XPath 1.0, section by section. Random expressions over random documents were also compared with libxml2; where
//! the two differ, `following` from an attribute, the sections cited here decide.

use super::super::XPathErrorKind;
use super::{Content, check, compile, every_node};

const TREE: &str = "<r><a i='1'>x<b i='2'/>y<b i='3'><c i='4'>z</c></b></a><!--n--><?t d?><a i='5'>w</a></r>";

#[test]
fn axes_lead_where_section_2_2_says() {
    check(
        TREE,
        &[
            ("/r/child::a/@i", "[1][5]"),
            ("//c/ancestor::*/@i", "[1][3]"),
            ("//c/ancestor-or-self::*/@i", "[1][3][4]"),
            ("//b/self::b/@i", "[2][3]"),
            ("//c/../@i", "[3]"),
            ("//@i[.=4]/parent::c/@i", "[4]"),
            ("/r/a[1]/descendant::*/@i", "[2][3][4]"),
            ("/r/a[1]/descendant-or-self::*/@i", "[1][2][3][4]"),
            ("//c/following::node()", "[n][d][w][w]"),
            ("//c/following::*/@i", "[5]"),
            ("/r/a[2]/preceding::*/@i", "[1][2][3][4]"),
            ("//c/preceding::node()", "[x][][y]"),
            ("//b[1]/following-sibling::node()", "[y][z]"),
            ("//b[2]/preceding-sibling::node()", "[x][][y]"),
            ("//@i/following-sibling::node()", ""),
            ("/preceding::node() | /following::node() | /..", ""),
            ("//@i[.=3]/following::*/@i", "[4][5]"),
            ("//@i[.=3]/preceding::*/@i", "[2]"),
            ("//node()/@i/parent::*[@i=2]/@i", "[2]"),
            ("count(//node())", "12"),
        ],
    );
}

#[test]
fn positions_count_along_the_axis() {
    check(
        TREE,
        &[
            ("//b[1]/@i", "[2]"),
            ("//b[2]/@i", "[3]"),
            ("(//b)[last()]/@i", "[3]"),
            ("//*[last()]/@i", "[3][4][5]"),
            ("/descendant::*[3]/@i", "[2]"),
            ("//c/ancestor::*[1]/@i", "[3]"),
            ("(//c/ancestor::*)[1]/a/@i", "[1][5]"),
            ("/r/a[2]/preceding::*[1]/@i", "[4]"),
            ("//c/preceding::*[1]/@i", "[2]"),
            ("/r/a[2]/preceding-sibling::node()[2]", "[n]"),
            ("/r/*[position() > 1]/@i", "[5]"),
            ("/r/*[position() = last()]/@i", "[5]"),
            ("/r/a[@i][2]/@i", "[5]"),
            ("/r/a[2][@i]/@i", "[5]"),
            ("/r/a[1.5]", ""),
            ("/r/a[0]", ""),
            ("/r/a[-1]", ""),
            ("/r/a['text']/@i", "[1][5]"),
            ("/r/a['']", ""),
            ("/r/a[true()]/@i", "[1][5]"),
            ("/r/a[count(b)]", ""), // a number is a position, and the first has two
        ],
    );
}

#[test]
fn node_tests_tell_kinds_and_names() {
    check(
        TREE,
        &[
            ("//text()", "[x][y][z][w]"),
            ("//comment()", "[n]"),
            ("//processing-instruction()", "[d]"),
            ("//processing-instruction('t')", "[d]"),
            ("//processing-instruction(\"u\")", ""),
            ("//@*[. > 3]", "[4][5]"),
            ("//attribute::node()[. = 2]", "[2]"),
            ("string(/)", "xyzw"),
            ("/r/a[1]", "[xyz]"),
            ("name(//processing-instruction())", "t"),
            ("name(//@i) ", "i"),
            ("name(/)", ""),
            ("name(//comment())", ""),
        ],
    );
}

#[test]
fn names_are_compared_by_namespace_not_by_prefix() {
    let xml = "<o:r xmlns:o='urn:p' xmlns='urn:d'><o:a o:i='1' i='2'/><a/><b xmlns=''/></o:r>";
    check(
        xml,
        &[
            ("name(/p:r)", "o:r"),
            ("local-name(/p:r)", "r"),
            ("namespace-uri(/p:r)", "urn:p"),
            ("namespace-uri(/p:r/*[2])", "urn:d"),
            ("count(//a)", "0"), // section 2.3: no prefix is no namespace, not the default one
            ("count(//b)", "1"),
            ("count(//p:*)", "2"),
            ("//@p:*", "[1]"),
            ("//@p:i", "[1]"),
            ("//@i", "[2]"),
            ("//p:a/@*", "[1][2]"),
            ("count(//*[local-name()='a'])", "2"),
            ("namespace-uri(//@i)", ""),
            ("fn:count(//b)", "1"),
        ],
    );
}

#[test]
fn every_element_has_a_namespace_node_for_each_prefix_in_scope() {
    let xml = "<r xmlns:a='1' xmlns='2'><s xmlns:b='3'/><t xmlns='' xmlns:a='4'/></r>";
    check(
        xml,
        &[
            ("/*/namespace::*", "[http://www.w3.org/XML/1998/namespace][1][2]"),
            ("count(/*/*[1]/namespace::*)", "4"),
            ("/*/*[2]/namespace::*[name() != 'xml']", "[4]"),
            ("/*/namespace::a", "[1]"),
            ("name(/*/namespace::a/..)", "r"),
            ("count(/*/namespace::a/../@*)", "0"),
            ("namespace-uri(/*/namespace::a)", ""),
            ("count(/*/@node())", "0"),
        ],
    );
}

#[test]
fn operators_convert_as_section_3_says() {
    let xml = "<r><n>1</n><n>2</n><n>x</n><m>2</m><e/></r>";
    check(
        xml,
        &[
            ("1 + 2 * 3 - 4 div 2", "5"),
            ("-(-3) - --2", "1"),
            ("5 mod 2", "1"),
            ("5 mod -2", "1"),
            ("-5 mod 2", "-1"),
            ("1.5 mod .5", "0"),
            ("1 div 0", "Infinity"),
            ("-1 div 0", "-Infinity"),
            ("0 div 0", "NaN"),
            ("1 = 1.0", "true"),
            ("'1' = 1", "true"),
            ("'a' < 'b'", "false"), // both are no numbers
            ("true() = 'x'", "true"),
            ("true() > false()", "true"),
            ("3 > 2 > 1", "false"), // true() > 1
            ("1 = 2 = 0", "true"),
            ("1 or 0 and 0", "true"),
            ("//n = 1 and //n = 2", "true"),
            ("//n != 1", "true"),
            ("//n = //m", "true"),
            ("//m = //e", "false"),
            ("//n != //m", "true"),
            ("//m != //m", "false"),
            ("//n > //m", "false"),
            ("//n >= //m", "true"),
            ("//n < //m", "true"),
            ("//q = //q", "false"),
            ("//q != 1", "false"),
            ("//q = false()", "true"),
            ("//n = true()", "true"),
            ("//e < true()", "false"),
            ("number(//e)", "NaN"),
            ("boolean(//e)", "true"),
            ("//n | //m", "[1][2][x][2]"),
            ("//m | //n | //m", "[1][2][x][2]"),
            ("(//n)[2] | //e", "[2][]"),
        ],
    );
}

#[test]
fn stars_and_operator_names_are_read_by_what_stands_before_them() {
    let xml = "<div><and>2</and><or>3</or><mod><div>4</div></mod></div>";
    check(
        xml,
        &[
            ("/div/and * /div/or", "6"),
            ("/*/* * 2", "4"),
            ("div/mod/div div 2", "2"),
            ("div/and and div/or", "true"),
            ("/div/or or /nothing", "true"),
            ("//or mod 2", "1"),
            ("count(//*[*])", "2"),
        ],
    );
}

#[test]
fn functions_on_texts_follow_section_4_2() {
    check(
        "<r xml:lang='en'><a> b  c\n</a><i xml:lang='en-US'/><i xml:lang='eng'/></r>",
        &[
            ("concat('a', 1, true())", "a1true"),
            ("starts-with('abc', 'ab')", "true"),
            ("contains('abc', '')", "true"),
            ("substring-before('1999/04/01', '/')", "1999"),
            ("substring-after('1999/04/01', '/')", "04/01"),
            ("substring-before('a', 'b')", ""),
            ("substring-after('a', '')", "a"),
            ("substring('12345', 2, 3)", "234"),
            ("substring('12345', 2)", "2345"),
            ("substring('12345', 1.5, 2.6)", "234"),
            ("substring('12345', 0, 3)", "12"),
            ("substring('12345', 0 div 0, 3)", ""),
            ("substring('12345', 1, 0 div 0)", ""),
            ("substring('12345', -42, 1 div 0)", "12345"),
            ("substring('12345', -1 div 0, 1 div 0)", ""),
            ("substring('äöü', 2, 1)", "ö"),
            ("string-length('äöü')", "3"),
            ("normalize-space(//a)", "b c"),
            ("//a[normalize-space() = 'b c'] = ''", "false"),
            ("translate('bar', 'abc', 'AB')", "BAr"),
            ("translate('--aaa--', 'abc-', 'ABC')", "AAA"),
            ("translate('aba', 'aa', 'xy')", "xbx"),
            ("string(0.1)", "0.1"),
            ("string(-0)", "0"),
            ("string(1000000000000000000000)", "1000000000000000000000"),
            ("string(0.0000001)", "0.0000001"),
            ("string(1 div 3)", "0.3333333333333333"),
            ("number(' -12.5 ')", "-12.5"),
            ("number('+1')", "NaN"),
            ("number('1e3')", "NaN"),
            ("number('0x1')", "NaN"),
            ("number('')", "NaN"),
            ("number('.')", "NaN"),
            ("number('inf')", "NaN"),
            ("floor(-1.5)", "-2"),
            ("ceiling(-1.5)", "-1"),
            ("round(2.5)", "3"),
            ("round(-2.5)", "-2"),
            ("round(0.49999999999999994)", "0"),
            ("1 div round(-0.2)", "-Infinity"),
            ("sum(//i/@none)", "0"),
            ("count(//*[lang('en')])", "3"),
            ("count(//i[lang('EN-us')])", "1"),
            ("not(//a)", "false"),
        ],
    );
}

#[test]
fn id_finds_the_identifiers_of_xml() {
    let xml = "<r><a xml:id='x'>1</a><a xml:id='y'>2</a><b>y x</b><c id='x'/></r>";
    check(
        xml,
        &[("id('x')", "[1]"), ("id('y x z')", "[1][2]"), ("id(//b)/text()", "[1][2]"), ("id('')", "")],
    );
}

#[test]
fn what_is_not_xpath_1_is_refused_when_compiled() {
    let refused = [
        ("", "ends"),
        ("//", "ends"),
        ("a/", "ends"),
        ("/ /a", "`/`"),
        ("a b", "`b`"),
        ("a[", "ends"),
        ("a[1", "`]`"),
        ("a]", "`]`"),
        ("(a", "`)`"),
        ("a[]", "`]`"),
        ("..[1]", "`[`"),
        (".[1]", "`[`"),
        ("@", "ends"),
        ("@@a", "`@`"),
        ("a::b", "axis `a`"),
        ("child::", "ends"),
        ("text(1)", "`)`"),
        ("a/count(b)", "function `count`"),
        ("'a", "not closed"),
        ("\"", "not closed"),
        ("a?", "`?`"),
        ("//md[?]", "`?` at offset 5"),
        ("$x", "no variables"),
        ("nope()", "`nope`"),
        ("count()", "takes 1 arguments"),
        ("count(1, 2)", "takes 1 arguments"),
        ("concat('a')", "2 or more"),
        ("substring('a')", "2 to 3"),
        ("count('a')", "takes nodes"),
        ("sum(1)", "takes nodes"),
        ("'a' | //b", "joins nodes"),
        ("'a'/b", "only nodes"),
        ("1[1]", "only nodes"),
        ("for $x in //a return $x", "`$`"),
        ("if (a) then b else c", "`if`"),
        ("a ! b", "`!`"),
        ("a, b", "`,`"),
        ("1.2.3", "`0.3`"),
        ("p:", "`:`"),
        ("a:::b", "`:`"),
        ("matches(a, 'b')", "`matches`"),
        ("+1", "`+`"),
        ("a//", "ends"),
        ("a and", "ends"),
        ("\u{1}", "unexpected"),
    ];
    for (path, part) in refused {
        let error = compile(path).expect_err(path);
        assert!(error.to_string().contains(part), "{path}: {error}");
        assert_eq!(*error.kind(), XPathErrorKind::Syntax, "{path}");
    }
}

#[test]
fn a_prefix_that_is_not_bound_is_named() {
    for path in ["//z:a", "//@z:a", "//z:*", "//a[z:b]", "z:f()"] {
        let error = compile(path).expect_err(path);
        assert_eq!(*error.kind(), XPathErrorKind::UnknownPrefix("z".into()), "{path}");
        assert!(error.to_string().contains("`z`"), "{error}");
    }
    assert!(compile("//@xml:lang").is_ok());
}

#[test]
fn only_nodes_can_be_selected() {
    let content = Content::parse_document("<a/>").unwrap();
    for path in ["count(//a)", "'a'", "1", "//a = 1", "string(//a)"] {
        let path = compile(path).unwrap();
        assert!(!path.selects_nodes());
        assert_eq!(*content.select(&path, None).unwrap_err().kind(), XPathErrorKind::NoNodes);
    }
    assert!(compile("(//a | id('x'))[1]/b").unwrap().selects_nodes());
}

#[test]
fn the_path_of_each_node_selects_that_node_alone() {
    let xml = "<o:r xmlns:o='urn:p' xmlns='urn:d' i='1'>t<!--c-->t<a o:i='1' p:i='2' xmlns:p='q'/><o:a><a/><a/></o:a>\
               <?t a?><?u a?><?t a?><b xml:id='x'/><![CDATA[t]]></o:r><!--after-->";
    let content = Content::parse_document(xml).unwrap();
    let nodes = every_node(&content);
    assert_eq!(nodes.len(), 38);
    for node in nodes {
        let path = content.path_of(node);
        let back = super::XPath::compile(&path, &[]).expect(&path);
        assert_eq!(content.select(&back, None).unwrap(), [node], "{path}");
    }
}

#[test]
fn a_relative_path_starts_at_the_context_node() {
    let content = Content::parse_document("<r><a><b>1</b></a><a><b>2</b></a></r>").unwrap();
    let second = content.select(&compile("/r/a[2]").unwrap(), None).unwrap();
    let select = |path: &str| content.select(&compile(path).unwrap(), second.first().copied()).unwrap();
    assert_eq!(select("b").iter().map(|node| content.text(*node)).collect::<Vec<_>>(), ["2"]);
    assert_eq!(select("/r/a/b").len(), 2);
    assert_eq!(select("..//b").len(), 2);
}
