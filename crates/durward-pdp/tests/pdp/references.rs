//! References, versions, roots, and policies replaced while in use.

use durward_pdp::{Algorithm, Decision, Pdp, PolicyText, Request};

use crate::write::{decide, is, pdp, policy, policy_set, rule, try_pdp};

fn doctor() -> Request {
    Request::builder().subject("role", "doctor").build()
}

fn says(id: &str, effect: &str) -> String {
    policy(id, "3.0 deny-overrides", "", &rule(effect, ""))
}

fn version(policy: &str, version: &str) -> String {
    policy.replacen(r#"Version="1.0""#, &format!(r#"Version="{version}""#), 1)
}

fn set_of(id: &str, children: &str) -> String {
    policy_set(id, "3.0 deny-overrides", "", children)
}

fn to_policy(id: &str) -> String {
    format!("<PolicyIdReference>{id}</PolicyIdReference>")
}

#[test]
fn the_newest_fitting_version_is_taken() {
    let versions = [version(&says("p", "Deny"), "1.2"), version(&says("p", "Permit"), "1.10")];
    for (reference, expected) in [
        ("<PolicyIdReference>p</PolicyIdReference>", Decision::Permit),
        (r#"<PolicyIdReference Version="1.2">p</PolicyIdReference>"#, Decision::Deny),
        (r#"<PolicyIdReference LatestVersion="1.9">p</PolicyIdReference>"#, Decision::Deny),
        (r#"<PolicyIdReference EarliestVersion="1.3">p</PolicyIdReference>"#, Decision::Permit),
        (r#"<PolicyIdReference Version="1.*">p</PolicyIdReference>"#, Decision::Permit),
    ] {
        let policies = [versions[0].clone(), versions[1].clone(), set_of("s", reference)];
        let pdp = Pdp::builder().root("s");
        let pdp =
            policies.iter().fold(pdp, |pdp, policy| pdp.policy("x.xml", policy.as_str())).build().unwrap();
        assert_eq!(decide(&pdp, &doctor()).decision, expected, "{reference}");
    }
}

#[test]
fn what_cannot_be_resolved_is_refused() {
    let set_reference = |id: &str| format!("<PolicySetIdReference>{id}</PolicySetIdReference>");
    for (policies, expected) in [
        (vec![set_of("s", &to_policy("nowhere"))], "no policy `nowhere`"),
        (vec![set_of("s", &set_reference("p")), says("p", "Permit")], "use `PolicyIdReference`"),
        (vec![set_of("s", &set_reference("s"))], "leads back to itself"),
        (vec![set_of("a", &set_reference("b")), set_of("b", &set_reference("a"))], "leads back to itself"),
        (vec![says("p", "Permit"), says("p", "Deny")], "is already defined"),
        (vec![set_of("s", &says("p", "Permit").repeat(2))], "`p` version 1.0 is already defined in"),
        (vec![set_of("s", &(set_of("a", &says("p", "Permit")) + &says("p", "Deny")))], "is already defined"),
    ] {
        let errors = try_pdp(&policies).unwrap_err();
        assert!(errors.iter().any(|error| error.contains(expected)), "{expected}: {errors:?}");
    }
}

#[test]
fn what_no_reference_could_confuse_is_no_duplicate() {
    let both = |one: &str, other: &str| decide(&pdp(&[one.to_owned(), other.to_owned()]), &doctor()).decision;
    // Policies and policy sets are referred to by different elements.
    assert_eq!(both(&says("x", "Permit"), &set_of("x", "")), Decision::Permit);
    assert_eq!(both(&says("x", "Permit"), &set_of("s", &says("x", "Permit"))), Decision::Permit);
    let (one, other) = (set_of("s", &says("x", "Permit")), set_of("t", &says("x", "Permit")));
    assert_eq!(both(&one, &other), Decision::Permit);
}

#[test]
fn a_document_others_refer_to_is_no_root() {
    let never = policy_set("s", "3.0 deny-overrides", &is("role", "nobody"), &to_policy("p"));
    assert_eq!(decide(&pdp(&[never, says("p", "Permit")]), &doctor()).decision, Decision::NotApplicable);
}

#[test]
fn several_roots_are_combined_as_asked() {
    let policies = [says("yes", "Permit"), says("no", "Deny")];
    for (algorithm, expected) in
        [(Algorithm::DenyOverrides, Decision::Deny), (Algorithm::PermitOverrides, Decision::Permit)]
    {
        let pdp = Pdp::builder().combining(algorithm);
        let pdp =
            policies.iter().fold(pdp, |pdp, policy| pdp.policy("x.xml", policy.as_str())).build().unwrap();
        assert_eq!(decide(&pdp, &doctor()).decision, expected);
    }
}

#[test]
fn sets_that_refer_twice_to_the_next_do_not_explode() {
    let mut policies = vec![says("p", "Permit")];
    for level in 0..45 {
        let next = if level == 0 {
            to_policy("p")
        } else {
            format!("<PolicySetIdReference>s{}</PolicySetIdReference>", level - 1)
        };
        policies.push(set_of(&format!("s{level}"), &(next.clone() + &next)));
    }
    let errors = try_pdp(&policies).unwrap_err();
    assert!(
        errors.iter().any(|error| error.contains("elements, references and variables followed")),
        "{errors:?}"
    );
}

#[test]
fn broken_policies_leave_the_old_ones_in_force() {
    let pdp = pdp(&[says("p", "Permit")]);
    let replace = |text: &str| pdp.replace(&[PolicyText { name: "new.xml".into(), text: text.into() }]);
    assert!(replace("<Policy").is_err());
    assert_eq!((decide(&pdp, &doctor()).decision, pdp.snapshot().id), (Decision::Permit, 1));
    replace(&says("p", "Deny")).unwrap();
    assert_eq!((decide(&pdp, &doctor()).decision, pdp.snapshot().id), (Decision::Deny, 2));
}

#[test]
fn the_policies_that_decided_are_listed_when_asked() {
    let inner =
        says("p", "Permit") + &policy("q", "3.0 deny-overrides", &is("role", "nobody"), &rule("Permit", ""));
    let pdp = pdp(&[set_of("s", &inner)]);
    let mut request = doctor();
    request.return_policy_ids = true;
    let listed = decide(&pdp, &request).policy_ids.unwrap();
    let ids: Vec<&str> = listed.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["p", "s"]);
}
