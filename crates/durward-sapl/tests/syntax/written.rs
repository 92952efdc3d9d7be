//! Trees as text: printed, laid out, read again.

use durward_sapl::syntax::tree::Document;
use durward_sapl::syntax::{format, parse, parse_expression, print, print_expression};

use crate::generate::Generator;

fn read(text: &str) -> Document {
    let parsed = parse(text);
    assert!(!parsed.has_errors(), "{text}\n{:#?}", parsed.diagnostics);
    parsed.tree.without_places()
}

#[test]
fn what_is_printed_reads_as_the_same_tree() {
    for seed in 0..3000 {
        let tree = Generator::new(seed).expr(seed as usize % 5);
        let text = print_expression(&tree);
        let parsed = parse_expression(&text);
        assert!(parsed.diagnostics.is_empty(), "seed {seed}: {text}\n{:#?}", parsed.diagnostics);
        assert_eq!(parsed.tree.without_places(), tree, "seed {seed}: {text}");
    }
    for seed in 0..1000 {
        let tree = Generator::new(seed).document(seed as usize % 4);
        let text = print(&tree);
        let mut read = read(&text);
        read.span = tree.span;
        assert_eq!(read, tree, "seed {seed}: {text}");
    }
}

#[test]
fn no_pair_of_printed_parentheses_can_be_left_out() {
    let mut pairs = 0;
    for seed in 0..300 {
        let tree = Generator::new(seed).expr(3);
        let text = print_expression(&tree);
        for (open, _) in text.match_indices('(') {
            let Some(close) = closing(&text, open) else { continue };
            let mut fewer = text.clone();
            fewer.replace_range(close..=close, " ");
            fewer.replace_range(open..=open, " ");
            let parsed = parse_expression(&fewer);
            pairs += 1;
            assert!(
                parsed.has_errors() || parsed.tree.without_places() != tree,
                "seed {seed}: {text}\n{fewer}"
            );
        }
    }
    assert!(pairs > 500, "{pairs}");
}

/// The parenthesis that closes the one at `open`; `None` if it stands in a text in quotation marks.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' if index >= open => depth += 1,
            ')' if index >= open => depth -= 1,
            _ => {}
        }
        if index == open && depth == 0 {
            return None;
        }
        if index > open && depth == 0 {
            return Some(index);
        }
    }
    None
}

#[test]
fn layout_keeps_the_meaning_and_is_final() {
    for seed in 0..1500 {
        let tree = Generator::new(seed).document(seed as usize % 5);
        let text = print(&tree);
        check_layout(&text);
    }
}

/// What must hold of the layout of any text without errors.
fn check_layout(text: &str) -> String {
    let once = format(text).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"));
    assert_eq!(read(&once), read(text), "\n{text}\n{once}");
    assert_eq!(comments(&once), comments(text), "\n{text}\n{once}");
    let twice = format(&once).unwrap_or_else(|problems| panic!("{once}\n{problems:#?}"));
    let differing = once.lines().zip(twice.lines()).find(|(once, twice)| once != twice);
    assert!(twice == once, "{differing:#?}\n{text}\n{once}\n{twice}");
    assert!(!once.lines().any(|line| line.ends_with(' ')) || text.contains(" \n"), "\n{once}");
    assert!(once.ends_with('\n') && !once.starts_with('\n'), "\n{once}");
    once
}

/// The comments of a text made by [`scattered`], which are numbered.
fn comments(text: &str) -> Vec<&str> {
    text.split(['<', '>']).filter(|piece| piece.starts_with('§')).collect()
}

/// The words of a text again, with other blanks, line ends and comments between them.
fn scattered(text: &str, generator: &mut Generator) -> String {
    let mut out = String::new();
    let mut number = 0;
    for word in words(text) {
        for _ in 0..generator.below(3) {
            let [open, close] = generator.of(&[["/*", "*/"], ["/* a\n ", "*/"], ["//", "\n"]]);
            match generator.below(6) {
                0 => out.push_str(" \n"),
                1 => out.push_str(" \n\n\n"),
                2 => {
                    out.push_str(&format!(" {open} <§{number}> {close}"));
                    number += 1;
                }
                _ => out.push_str("  "),
            }
        }
        out.push(' ');
        out.push_str(word);
    }
    out
}

/// The words of a printed text, found the simple way: at blanks, and at brackets, commas and semicolons.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let (mut quoted, mut escaped) = (false, false);
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            ' ' | '\n' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '@' => {
                words.extend([&text[start..index], &text[index..=index]]);
                start = index + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words.into_iter().map(str::trim).filter(|word| !word.is_empty()).collect()
}

#[test]
fn layout_keeps_every_comment_wherever_it_stands() {
    for seed in 0..1500 {
        let mut generator = Generator::new(seed);
        let tree = generator.document(seed as usize % 4);
        let text = scattered(&print(&tree), &mut generator);
        assert!(!parse(&text).has_errors(), "{}\n{text}\n{:?}", print(&tree), parse(&text).diagnostics);
        check_layout(&text);
    }
}

#[test]
fn a_text_with_errors_is_not_laid_out() {
    let problems = format("policy \"a\" permit 1 = 1;").unwrap_err();
    assert_eq!(problems.len(), 1);
}

#[test]
fn short_statements_stay_on_their_lines_and_long_ones_are_broken() {
    let text = r#"// head

import filter.blacken as hide
import time.now
subject enforced schema {"type":"object"} /* inline */ policy "a" permit
// first
action=="read" ;   var x = [1,2,3] ; // trailing


/* own */
subject.role in ["doctor", "nurse"] && (resource.type == "record" || resource.type == "chart") && resource.department == subject.department;
f.long("an argument that takes room", "another argument that takes room", ["x"], { "key" : "value of the key" });
resource.records[?(@.patient == subject.patient && @.department in subject.departments || @.public)].name == "x";
obligation {"type":"log","message":("access by "+subject.name+" to "+resource.id+" of "+resource.type)+" at night", "level":1}
transform resource|-{@.name:hide(1),each @.tags : filter.remove}
// end"#;
    let expected = r#"// head

import filter.blacken as hide
import time.now

subject enforced schema { "type": "object" }

/* inline */ policy "a"
permit
    // first
    action == "read";
    var x = [1, 2, 3]; // trailing

    /* own */
    subject.role in ["doctor", "nurse"]
        && (resource.type == "record" || resource.type == "chart")
        && resource.department == subject.department;
    f.long(
        "an argument that takes room",
        "another argument that takes room",
        ["x"],
        { "key": "value of the key" }
    );
    resource.records[?(
        @.patient == subject.patient && @.department in subject.departments || @.public
    )].name == "x";
obligation
    {
        "type": "log",
        "message": ("access by " + subject.name + " to " + resource.id + " of " + resource.type)
            + " at night",
        "level": 1
    }
transform
    resource |- { @.name : hide(1), each @.tags : filter.remove }
// end
"#;
    assert_eq!(check_layout(text), expected);
}

#[test]
fn sets_are_laid_out() {
    let text = r#"set "s" priority deny or abstain , errors propagate . for action == "read" var a=1;
var b = 2 schema {},{"a":1};


var c = 3;
policy "p" permit policy "q" deny a==b; advice "x""#;
    let expected = r#"set "s"
priority deny or abstain, errors propagate.
for action == "read"
var a = 1;
var b = 2 schema {}, { "a": 1 };

var c = 3;

policy "p"
permit

policy "q"
deny
    a == b;
advice
    "x"
"#;
    assert_eq!(check_layout(text), expected);
}
