//! Documents made to hurt are refused quickly, and nothing panics.

use durward_xacml_policies::policy::{DEPTH_CAP, Limits, RootKind, root_kind};

use super::{V3, condition_3, policy_3, read, read_bytes};

#[test]
fn entities_cannot_blow_a_document_up() {
    let lol = "<!DOCTYPE lolz [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>]>";
    let problems =
        read(&format!("{lol}{}", policy_3("<Description>&b;</Description><Target/>"))).unwrap_err();
    assert_eq!(
        problems,
        [
            "p.xml:1:1: a document type definition is not allowed in a policy; remove `<!DOCTYPE ...>`: entities \
          could make the document unboundedly large"
        ]
    );
    assert_eq!(root_kind(lol.as_bytes()), RootKind::Unreadable);
}

#[test]
fn nesting_is_bounded_wherever_elements_may_nest() {
    let set =
        format!("<PolicySet xmlns='{V3}' PolicySetId='s' Version='1' PolicyCombiningAlgId='a'><Target/>");
    for (open, text) in [
        ("<Apply FunctionId='f'>", condition_3("§")),
        ("<PolicySet PolicySetId='s' Version='1' PolicyCombiningAlgId='a'><Target/>", format!("{set}§")),
        ("<any>", condition_3("<AttributeValue DataType='t'>§</AttributeValue>")),
        ("<Unknown>", policy_3("§")),
        ("<any>", policy_3("<PolicyIssuer><Content>§</Content></PolicyIssuer>")),
    ] {
        let ten_mib = (10 << 20) / open.len();
        let problems = read(&text.replace('§', &open.repeat(ten_mib))).unwrap_err();
        assert!(problems.iter().any(|one| one.contains("nested more than 200 deep")), "{problems:?}");
    }
}

#[test]
fn the_deepest_nesting_that_can_be_allowed_fits_the_stack() {
    let limits = Limits { depth_max: usize::MAX, ..Limits::default() };
    let apply = |depth: usize| {
        let (open, close) = ("<Apply FunctionId='f'>".repeat(depth), "</Apply>".repeat(depth));
        condition_3(&format!("{open}{close}"))
    };
    let set = |depth: usize| {
        let open =
            format!("<PolicySet xmlns='{V3}' PolicySetId='s' Version='1' PolicyCombiningAlgId='a'><Target/>");
        format!("{}{}", open.repeat(depth), "</PolicySet>".repeat(depth))
    };
    // `Apply` stands in three elements; a `Target` in the innermost set.
    for (most, text) in [(DEPTH_CAP - 3, &apply as &dyn Fn(usize) -> String), (DEPTH_CAP - 1, &set)] {
        let document = read_bytes(text(most).as_bytes(), &limits).unwrap();
        // What is derived for trees recurses as well.
        assert_eq!(document.clone(), document);
        assert!(format!("{document:?}").len() > most);
        assert!(read_bytes(text(most + 1).as_bytes(), &limits).is_err());
    }
}

#[test]
fn size_and_number_of_elements_are_bounded() {
    let text = policy_3(&format!("<Target/>{}", "<Rule RuleId='r' Effect='Deny'/>".repeat(50)));
    let exactly = Limits { bytes_max: text.len(), elements_max: 52, ..Limits::default() };
    assert!(read_bytes(text.as_bytes(), &exactly).is_ok());
    let (bytes, most) = (text.len(), text.len() - 1);
    let problems = read_bytes(text.as_bytes(), &Limits { bytes_max: most, ..exactly }).unwrap_err();
    let expected =
        format!("p.xml:1:1: the document has {bytes} bytes, more than {most}; split it, or raise the limit");
    assert_eq!(problems, [expected]);
    let problems = read_bytes(text.as_bytes(), &Limits { elements_max: 51, ..exactly }).unwrap_err();
    assert!(problems[0].contains("the document has more than 51 elements"), "{problems:?}");
}

#[test]
fn attributes_and_namespaces_of_one_element_are_bounded() {
    for (what, message) in [("a", "more than 64 attributes"), ("xmlns:n", "more than 256 namespaces")] {
        let attributes: String = (0..100_000).map(|number| format!(" {what}{number}='u'")).collect();
        let problems = read(&policy_3(&format!("<Target{attributes}/>"))).unwrap_err();
        assert!(problems[0].contains(message), "{problems:?}");
    }
}

/// Generated documents declare the same namespace at every element: that is not counted as many.
#[test]
fn a_namespace_declared_again_and_again_is_one() {
    let rule = format!("<Rule xmlns='{V3}' RuleId='r' Effect='Deny'><Condition xmlns='{V3}'>");
    let apply = format!("<Apply xmlns='{V3}' xmlns:x='urn:x' FunctionId='f'>");
    let nested = format!("{}{}", apply.repeat(150), "</Apply>".repeat(150));
    let rules = format!("{rule}{nested}</Condition></Rule>").repeat(4);
    assert!(read(&policy_3(&format!("<Target/>{rules}"))).is_ok());
}

/// A document with every kind of token, cut off anywhere.
#[test]
fn truncated_anywhere_it_is_refused_and_nothing_panics() {
    let text = format!(
        "<?xml version='1.0' encoding='UTF-8'?><!-- c --><?pi d?>\n{}",
        policy_3(
            "<Description>é &amp; &#xE9; <![CDATA[ < ]]></Description>
<PolicyIssuer><Content><a xmlns='urn:a'>t<b c=\"d\"/></a></Content></PolicyIssuer>
<PolicyDefaults><XPathVersion>http://www.w3.org/TR/1999/REC-xpath-19991116</XPathVersion></PolicyDefaults>
<Target><AnyOf><AllOf><Match MatchId='m'>
<AttributeValue DataType='t' e='&lt;'>v</AttributeValue>
<AttributeSelector Category='c' Path='//x' DataType='t' MustBePresent='0'/></Match></AllOf></AnyOf></Target>
<VariableDefinition VariableId='v'><Apply FunctionId='f'><VariableReference VariableId='v'/></Apply>
</VariableDefinition>
<Rule RuleId='r' Effect='Permit'><Condition><Function FunctionId='f'/></Condition></Rule>
<ObligationExpressions><ObligationExpression ObligationId='o' FulfillOn='Deny'>
<AttributeAssignmentExpression AttributeId='a'><AttributeValue DataType='t'/></AttributeAssignmentExpression>
</ObligationExpression></ObligationExpressions>"
        )
    );
    assert_eq!(read(&text).err(), None);
    for end in 0..text.len() {
        let cut = &text.as_bytes()[..end];
        let refused = read_bytes(cut, &Limits::default()).is_err_and(|problems| !problems.is_empty());
        assert!(refused, "cut at {end}");
        let _ = root_kind(cut);
    }
}

/// Every byte of a document replaced by every byte that means something to XML.
#[test]
fn damaged_anywhere_nothing_panics() {
    let text = policy_3(
        "<Target/><Rule RuleId='r' Effect='Deny'><Description>a&amp;<![CDATA[b]]></Description></Rule>",
    );
    for at in 0..text.len() {
        for byte in *b"<>&;'\"=/!?[]-: \n\0x\xC3" {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = byte;
            let _ = read_bytes(&damaged, &Limits::default());
            let _ = root_kind(&damaged);
        }
    }
}
