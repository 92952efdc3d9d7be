//! SAPL texts: reading any of them ends without a panic, every place lies in the text and on character boundaries, and
//! what was read without an error prints and lays out as texts that say the same, the layout once and for all.

use durward_sapl::syntax::sapltest::parse_tests;
use durward_sapl::syntax::tree::Document;
use durward_sapl::syntax::{
    Diagnostic, LineIndex, Names, Parsed, Span, format, parse, parse_expression, print, print_expression,
};

pub(crate) fn run(input: &[u8]) {
    let input = crate::text(input);
    document(input);
    expression(input);
    shown(input, &parse_tests(input).diagnostics);
}

fn document(input: &str) {
    let parsed = parse(input);
    shown(input, &parsed.diagnostics);
    let valid = !parsed.has_errors();
    let tree = parsed.tree.with_places(|span| placed(input, span));
    shown(input, &Names::resolve(&tree).1);
    if !valid {
        assert!(format(input).is_err());
        return;
    }
    let printed = print(&tree);
    assert_eq!(print(&again(&printed)), printed);
    let tree = tree.without_places();
    assert_eq!(again(&printed), tree, "{printed}");
    let laid_out = format(input).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(again(&laid_out), tree, "{laid_out}");
    assert_eq!(format(&laid_out).as_ref(), Ok(&laid_out));
}

fn again(text: &str) -> Document {
    let Parsed { tree, diagnostics } = parse(text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    tree.without_places()
}

fn expression(input: &str) {
    let parsed = parse_expression(input);
    shown(input, &parsed.diagnostics);
    let valid = !parsed.has_errors();
    let tree = parsed.tree.with_places(|span| placed(input, span)).without_places();
    if valid {
        let printed = print_expression(&tree);
        assert_eq!(parse_expression(&printed).tree.without_places(), tree, "{printed}");
    }
}

fn placed(input: &str, span: Span) -> Span {
    assert!(input.get(span.range()).is_some(), "{span:?}");
    span
}

fn shown(input: &str, diagnostics: &[Diagnostic]) {
    let lines = LineIndex::new(input);
    for diagnostic in diagnostics {
        placed(input, diagnostic.span);
        let shown = diagnostic.render("x", input, &lines);
        assert!(
            !shown.contains(|one: char| (one.is_control() && one != '\n') || one == '\u{202E}'),
            "{shown:?}"
        );
    }
}
