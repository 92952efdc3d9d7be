//! Large and hostile documents: checked in linear time, with a bounded number of findings.

use std::time::{Duration, Instant};

use durward_sapl::check::{check, check_all};
use durward_sapl::syntax::DOCUMENT_BYTES_MAX;
use durward_sapl::{Configuration, Document};

use super::settings;

/// A document as long as one may be: `part` again and again within a policy.
fn filled(part: impl Fn(usize) -> String) -> String {
    let mut text = "policy \"p\" permit ".to_owned();
    for number in 0.. {
        let part = part(number);
        if text.len() + part.len() > DOCUMENT_BYTES_MAX {
            break;
        }
        text.push_str(&part);
    }
    text
}

/// One of many alike parts of a text, by its number.
type Part = fn(usize) -> String;

#[test]
fn what_a_check_takes_grows_as_the_text_does() {
    let parts: [(&str, Part); 8] = [
        ("unknown variables", |number| format!("v{number}==1;")),
        ("variables", |number| format!("var v{number}=1;")),
        ("variables of variables", |number| format!("var v{number}=v{}+w;", number.saturating_sub(1))),
        ("unknown functions", |number| format!("string.f{number}(1);")),
        ("known functions", |_| "string.length(5)==1;".to_owned()),
        ("attributes", |number| format!("<a.b{number}>;")),
        ("excluded values", |number| format!("subject.a{number}!=1;")),
        ("compared with themselves", |_| "subject.a==subject.a;".to_owned()),
    ];
    for (what, part) in parts {
        let text = filled(part);
        let document = Document::read("d", text.as_bytes())
            .unwrap_or_else(|errors| panic!("{what}: {:?}", errors.first()));
        let begun = Instant::now();
        let findings = check(&document, &Configuration::default(), &settings());
        let taken = begun.elapsed();
        assert!(findings.len() <= 3 * 1_001, "{what}: {}", findings.len());
        // Well under a second; built for speed it is a tenth of that.
        assert!(taken < Duration::from_secs(5), "{what}: {taken:?}");
        println!("{what}: {taken:?} for {} bytes, {} findings", text.len(), findings.len());
    }
}

#[test]
fn many_policies_of_a_set_with_many_variables_are_checked_in_linear_time() {
    let variables: String = (0..60_000).map(|number| format!("var v{number}=1;")).collect();
    let policies: String =
        (0..20_000).map(|number| format!("policy \"{number}\" deny var x=v7; x==y;")).collect();
    let text = format!("set \"s\" first or deny {variables} {policies}");
    let document = Document::read("d", text.as_bytes()).unwrap();
    let begun = Instant::now();
    let findings = check(&document, &Configuration::default(), &settings());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(findings.iter().filter(|finding| finding.code == "more-left-out").count(), 1);
}

#[test]
fn keys_of_many_documents_are_compared_in_bounded_time() {
    let text = filled(|number| format!("subject.attribute{number}x==1;"));
    let read = |name: &str| Document::read(name, text.as_bytes()).unwrap();
    let documents = ["a", "b", "c"].map(read);
    let begun = Instant::now();
    let findings = check_all(&documents, &Configuration::default(), &settings());
    assert!(findings.len() < 5_000, "{}", findings.len());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}
