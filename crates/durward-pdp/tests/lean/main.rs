//! What a build leaves out is refused when policies are put in force, and never decides silently. Holds whatever features there
//! are; `cargo xtask check` runs it with few.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use durward_pdp::Pdp;

/// Features of a document, in the order in which their absence is told, and the words for each.
type Needs = &'static [(bool, &'static str)];

const SAPL: (bool, &str) = (
    cfg!(feature = "sapl"),
    "this build does not read policies of SAPL; build `durward-pdp` with the feature `sapl`",
);

/// A document for each thing that can be left out.
const DOCUMENTS: [(&str, &str, Needs); 12] = [
    (
        "p.xml",
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1"
            RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-overrides"><Target/></Policy>"#,
        &[(
            cfg!(feature = "xacml"),
            "p.xml:1:1: this build does not read policies of XACML; build `durward-pdp` with the feature `xacml`",
        )],
    ),
    ("p.sapl", r#"policy "p" permit"#, &[SAPL]),
    (
        "pdp.json",
        "{}",
        &[(
            cfg!(feature = "sapl"),
            "pdp.json:1:1: this build does not read the configuration of SAPL; build `durward-pdp` with the feature `sapl`",
        )],
    ),
    (
        "secrets.json",
        "{}",
        &[(
            cfg!(feature = "sapl"),
            "this build does not read secrets; build `durward-pdp` with the feature `sapl`",
        )],
    ),
    (
        "critical-extensions.json",
        "[]",
        &[(
            cfg!(feature = "sapl"),
            "this build does not read names of extensions; build `durward-pdp` with the feature `sapl`",
        )],
    ),
    (
        "digest.sapl",
        r#"policy "p" permit digest.sha256(subject) == "0";"#,
        &[
            SAPL,
            (
                cfg!(feature = "library-crypto"),
                "digest.sapl:1:19: this build is without the function `digest.sha256`; \
                 build `durward-pdp` with the feature `library-crypto`",
            ),
        ],
    ),
    (
        "imported.sapl",
        r#"import time.after as later policy "p" permit later(subject, resource);"#,
        &[
            SAPL,
            (
                cfg!(feature = "library-time"),
                "this build is without the function `time.after`; build `durward-pdp` with the feature `library-time`",
            ),
        ],
    ),
    (
        "filter.sapl",
        r#"policy "p" permit obligation subject |- { @.born : time.dateOf }"#,
        &[
            SAPL,
            (
                cfg!(feature = "library-time"),
                "this build is without the function `time.dateOf`; build `durward-pdp` with the feature `library-time`",
            ),
        ],
    ),
    (
        "clock.sapl",
        r#"policy "p" permit <time.nowIsAfter("2030-01-01T00:00:00Z")>;"#,
        &[
            SAPL,
            (
                cfg!(feature = "library-time"),
                "this build is without the attribute `<time.nowIsAfter>`; \
                 build `durward-pdp` with the feature `library-time`",
            ),
        ],
    ),
    (
        "token.sapl",
        r#"policy "p" permit <jwt.token>.valid;"#,
        &[
            SAPL,
            (
                cfg!(feature = "library-crypto"),
                "this build is without the attribute `<jwt.token>`; build `durward-pdp` with the feature `library-crypto`",
            ),
        ],
    ),
    (
        "place.sapl",
        r#"policy "p" permit geo.within(subject, resource);"#,
        &[
            SAPL,
            (
                cfg!(feature = "library-geo"),
                "this build is without the function `geo.within`; build `durward-pdp` with the feature `library-geo`",
            ),
        ],
    ),
    (
        "yaml.sapl",
        r#"policy "p" permit yaml.yamlToVal(subject) == 1;"#,
        &[
            SAPL,
            (
                cfg!(feature = "library-formats"),
                "this build is without the function `yaml.yamlToVal`; \
                 build `durward-pdp` with the feature `library-formats`",
            ),
        ],
    ),
];

#[test]
fn what_a_build_leaves_out_is_refused_by_name() {
    for (name, text, needs) in DOCUMENTS {
        let built = Pdp::builder().policy(name, text).build();
        match needs.iter().find(|(is_there, _)| !is_there) {
            Some((_, message)) => {
                let errors = built.unwrap_err();
                let told = errors.first().map(ToString::to_string).unwrap_or_default();
                assert!(told.contains(message), "{name}: {told}");
            }
            None => assert!(built.is_ok(), "{name}: {:?}", built.err()),
        }
    }
}

/// A change must not bring in what the first load refuses.
#[test]
fn it_is_refused_in_a_change_too() {
    use durward_pdp::{PolicyChange, PolicyText};
    for (name, text, needs) in DOCUMENTS {
        let pdp = Pdp::builder().changing().build().unwrap();
        let put = PolicyChange::Put(PolicyText { name: name.into(), text: text.into() });
        let is_read = needs.iter().all(|(is_there, _)| *is_there);
        assert_eq!(pdp.change(&[put]).is_ok(), is_read, "{name}");
    }
}

#[cfg(feature = "xacml")]
#[test]
fn policies_of_xacml_decide_in_every_build_that_reads_them() {
    use durward_pdp::{Decision, Request};
    let policy = r#"
      <Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1"
          RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
        <Target/>
        <Rule RuleId="doctors" Effect="Permit"><Condition>
          <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-regexp-match">
            <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor-[0-9]+</AttributeValue>
            <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-one-and-only">
              <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
                AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/>
            </Apply>
          </Apply>
        </Condition></Rule>
      </Policy>"#;
    let pdp = Pdp::builder().policy("p.xml", policy).build().unwrap();
    let decide = |role: &str| {
        let response = pdp.decide(&Request::builder().subject("role", role).build());
        response.results.first().map(|result| result.decision)
    };
    assert_eq!(decide("doctor-12"), Some(Decision::Permit));
    assert_eq!(decide("visitor"), Some(Decision::Deny));
    assert!(!pdp.explain(&Request::builder().subject("role", "visitor").build()).to_string().is_empty());
}
