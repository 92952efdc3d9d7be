//! Content and paths made to hurt: each is an error or an answer, soon, on a small stack.

use super::super::{XPATH_BYTES_MAX, XPATH_DEPTH_MAX, XPathErrorKind};
use super::{Content, compile};

/// A quarter of what threads usually get.
const STACK_BYTES: usize = 512 * 1024;

fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap();
}

#[test]
fn elements_nested_over_ten_megabytes_are_refused_without_recursion() {
    on_a_small_stack(|| {
        assert!(Content::parse(&"<a>".repeat(10 * 1024 * 1024 / 3), &[]).is_err());
    });
}

#[test]
fn paths_nested_or_long_without_end_are_refused() {
    on_a_small_stack(|| {
        for (opening, closing) in [("(", ")"), ("a[", "]"), ("-(", ")"), ("not(", ")"), ("(/a|(", "))")] {
            let nested = |depth: usize| format!("{}//a{}", opening.repeat(depth), closing.repeat(depth));
            for depth in [XPATH_DEPTH_MAX + 2, 1_000] {
                assert_eq!(*compile(&nested(depth)).unwrap_err().kind(), XPathErrorKind::Limit, "{opening}");
            }
            assert!(compile(&opening.repeat(2_000)).is_err());
            assert_eq!(*compile(&opening.repeat(200_000)).unwrap_err().kind(), XPathErrorKind::Limit);
        }
    });
}

#[test]
fn the_deepest_path_evaluates_on_a_small_stack() {
    on_a_small_stack(|| {
        let content = Content::parse("<a/>", &[]).unwrap();
        for (opening, inner, closing) in [("//a[", "//a", "]"), ("not(", "//a", ")"), ("-(1 + ", "1", ")")] {
            let depth = XPATH_DEPTH_MAX;
            let path = format!("{}{inner}{}", opening.repeat(depth), closing.repeat(depth));
            assert!(content.evaluate(&compile(&path).unwrap(), None).is_ok(), "{path}");
        }
    });
}

#[test]
fn long_chains_are_no_deeper_than_short_ones() {
    on_a_small_stack(|| {
        let content = Content::parse("<a/>", &[]).unwrap();
        let repeated = |part: &str| part.repeat((XPATH_BYTES_MAX - 10) / part.len());
        let chains = [
            format!("1{}", repeated("+1")),
            format!("//a{}", repeated("[1]")),
            format!("a{}", repeated("/.")),
            format!("a{}", repeated("|a")),
            format!("{}1", repeated("-")),
            format!("1{}", repeated(" or 1")),
            format!("concat(1{})", repeated(",1")),
        ];
        for path in chains {
            assert!(content.evaluate(&compile(&path).unwrap(), None).is_ok(), "{:.20}", path);
        }
    });
}

#[test]
fn searches_in_searches_run_out_of_steps() {
    let content = Content::parse(&format!("<r>{}</r>", "<a b='1'>x</a>".repeat(10_000)), &[]).unwrap();
    let long = format!("concat({}/)", "/,".repeat(10_000));
    let costly = [
        "//*[//*[//*]]",
        "//*[following::*]",
        "//*/preceding::*/following::*",
        "//*[count(//@b) > 1]",
        "//a[//a = 'y']",
        "//a[//a != //a]",
        "//a[sum(//@b) = 0]",
        "//a[contains(/, 'y')]",
        "//a[string-length(/) = 1]",
        "//a[normalize-space(/) = '']",
        "//a[id('x')]",
        "//a/ancestor::*//a[//a[. = 'y']]",
        &long,
    ];
    for path in costly {
        let error = content.evaluate(&compile(path).unwrap(), None).expect_err(path);
        assert_eq!(*error.kind(), XPathErrorKind::Limit, "{path}");
    }
}

#[test]
fn steps_are_not_counted_twice_for_what_lies_in_one_another() {
    let deep = format!("{}{}", "<a>".repeat(250), "</a>".repeat(250));
    let content = Content::parse(&format!("<r>{}</r>", deep.repeat(200)), &[]).unwrap();
    assert_eq!(content.select(&compile("//*//*//*//*").unwrap(), None).unwrap().len(), 248 * 200);
}

#[test]
fn many_declarations_and_prefixes_cost_no_more_than_their_length() {
    let mut xml = String::new();
    for depth in 0..200 {
        xml.push_str("<e ");
        (0..60).for_each(|index| xml.push_str(&format!("xmlns:p{depth}_{index}='u' ")));
        xml.push('>');
    }
    xml.push_str(&"<p0_0:x p1_1:y=''/>".repeat(20_000));
    xml.push_str(&"</e>".repeat(200));
    let content = Content::parse(&xml, &[]).unwrap();
    let path = compile("//namespace::*").unwrap();
    assert_eq!(*content.select(&path, None).unwrap_err().kind(), XPathErrorKind::Limit);
}

/// Whatever the bytes of a path or a document, the answer is a value or an error.
#[test]
fn random_words_do_not_panic() {
    let words = [
        "/",
        "//",
        "a",
        "*",
        "@",
        "::",
        "child",
        "text",
        "(",
        ")",
        "[",
        "]",
        ".",
        "..",
        "|",
        "-",
        "+",
        "=",
        "!=",
        "<",
        "'",
        "\"",
        "1",
        "1.5",
        ",",
        "p:",
        ":",
        "and",
        "div",
        "count",
        "last()",
        " ",
        "é",
        "\u{0}",
        "<a>",
        "</a>",
        "&",
        ";",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "?>",
        "xmlns=''",
        "lang('x')",
        "id(.)",
    ];
    let content = Content::parse("<a b='1'>x<c/>2</a>", &[]).unwrap();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let mut compiled = 0;
    for _ in 0..20_000 {
        let length = 1 + next(8);
        let text: String = (0..length).map(|_| words[next(words.len())]).collect();
        if let Ok(path) = compile(&text) {
            compiled += 1;
            let _ = content.evaluate(&path, None);
        }
        let _ = Content::parse(&format!("<a>{text}</a>"), &[]);
        let _ = Content::parse(&text, &[]);
    }
    assert!(compiled > 200, "{compiled}");
}
