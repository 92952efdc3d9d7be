//! Policies people have written: the conformance suites, CONTINUE.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use durward_xacml_policies::policy::{Limits, RootKind, read_policy, root_kind};
use durward_xacml_policies::tree::{PolicyOrSet, Standard};

use super::{V3, policy_2, policy_3};

fn xml_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            xml_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "xml") {
            found.push(path);
        }
    }
}

#[test]
fn every_policy_of_the_conformance_suites_is_read() {
    let Some(data) = durward_testdata::recorded("") else { return };
    let mut files = Vec::new();
    xml_files(&data.join("xacml"), &mut files);
    let mut refused = Vec::new();
    let mut count = 0;
    for file in &files {
        let text = std::fs::read(file).unwrap();
        if matches!(root_kind(&text), RootKind::Policy | RootKind::PolicySet) {
            count += 1;
            let name = file.strip_prefix(&data).unwrap().display().to_string();
            refused.extend(read_policy(&name, &text, &Limits::default()).err().into_iter().flatten());
        }
    }
    assert!(count > 900, "only {count} policies under {}", data.display());
    // IIA004 of the 2.0 suite is written against the schema on purpose.
    let refused: Vec<_> = refused.iter().map(ToString::to_string).collect();
    assert_eq!(
        refused,
        [
            "xacml/conformance/balana-ct-xacml2/IIA004/Policy.xml:30:25: `SubjectAttributeDesignator` lacks the \
          attribute `AttributeId`"
        ]
    );
}

#[test]
fn requests_and_responses_beside_policies_are_told_apart() {
    let Some(data) = durward_testdata::recorded("") else { return };
    let mut files = Vec::new();
    xml_files(&data.join("xacml/conformance"), &mut files);
    for file in files {
        let expected = match file.file_name().unwrap().to_str().unwrap() {
            "Request.xml" => vec![RootKind::Request],
            "Response.xml" => vec![RootKind::Response],
            "AttributeProvider.xml" => vec![RootKind::Other],
            _ => vec![RootKind::Policy, RootKind::PolicySet],
        };
        assert!(expected.contains(&root_kind(&std::fs::read(&file).unwrap())), "{}", file.display());
    }
}

#[test]
fn continue_of_2_0_and_of_3_0_is_one_tree() {
    let Some(data) = durward_testdata::recorded("") else { return };
    let read = |name: &str| {
        let text = std::fs::read(data.join("xacml/continue").join(name)).unwrap();
        read_policy(name, &text, &Limits::default()).unwrap()
    };
    let (old, new) = (read("continue-a-2.0-original.xml"), read("continue-a-3.0.xml"));
    assert_eq!((old.written_in, new.written_in), (Standard::Xacml2, Standard::Xacml3));
    let (old, new) = (without_places(&old.root), without_places(&new.root));
    let differing = old.lines().zip(new.lines()).find(|(one, other)| one != other);
    assert_eq!(differing, None);
    assert_eq!(old.len(), new.len());
}

/// The tree as text, without places and namespace scopes.
fn without_places(root: &PolicyOrSet) -> String {
    let mut text = String::new();
    let mut scope_indent = None;
    for line in format!("{root:#?}").lines() {
        let indent = line.len() - line.trim_start().len();
        match scope_indent {
            Some(outer) if indent > outer => {}
            Some(_) => scope_indent = None,
            None if line.trim_start().starts_with("scope: {") => scope_indent = Some(indent),
            None if line.trim_start().starts_with("place: ") => {}
            None => writeln!(text, "{line}").unwrap(),
        }
    }
    text
}

#[test]
fn the_kind_of_a_document_is_told_by_its_root() {
    for (text, kind) in [
        (policy_3("anything <at all"), RootKind::Policy),
        (policy_2(""), RootKind::Policy),
        ("<x:PolicySet xmlns:x='urn:oasis:names:tc:xacml:9'/>".into(), RootKind::PolicySet),
        ("<Policy/>".into(), RootKind::Policy),
        ("<Policy xmlns='http://schemas.xmlsoap.org/ws/2004/09/policy'/>".into(), RootKind::Other),
        (format!("<Request xmlns='{V3}'/>"), RootKind::Request),
        ("<Request xmlns='urn:oasis:names:tc:xacml:2.0:context:schema:os'/>".into(), RootKind::Request),
        ("<Request/>".into(), RootKind::Other),
        (format!("<!-- c -->\n<r:Response xmlns:r='{V3}'>"), RootKind::Response),
        ("<html/>".into(), RootKind::Other),
        (String::new(), RootKind::Unreadable),
        ("<".into(), RootKind::Unreadable),
        ("{}".into(), RootKind::Unreadable),
    ] {
        assert_eq!(root_kind(text.as_bytes()), kind, "{text}");
    }
}
