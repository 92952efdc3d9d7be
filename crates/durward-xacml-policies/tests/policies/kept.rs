//! What is written is found in the tree.

use durward_xacml_policies::tree::{
    Effect, Expression, MatchAttribute, ParametersAbout, PolicyOrSet, PolicySetChild, SelectorBase, Standard,
    Version,
};

use super::{V1, V3, policy_2, policy_3, policy_of, read};

#[test]
fn a_3_0_policy_set_keeps_every_part() {
    let text = format!(
        "\u{FEFF}<?xml version='1.0' encoding='utf-8'?>
<!-- any prefix -->
<x:PolicySet xmlns:x='{V3}' xmlns:r='urn:r' xmlns:xsi='urn:xsi' xsi:schemaLocation='a b' xml:id='i'
  PolicySetId=' s ' Version='1.10' PolicyCombiningAlgId='alg' MaxDelegationDepth='3'>
 <x:Description>a &lt; b<![CDATA[ & c]]> &#x41;</x:Description>
 <x:PolicyIssuer><x:Content> <r:a b='1'><r:c/></r:a></x:Content>
  <x:Attribute AttributeId='ia' IncludeInResult='1'>
   <x:AttributeValue DataType='t'>v</x:AttributeValue>
  </x:Attribute>
 </x:PolicyIssuer>
 <x:PolicySetDefaults><x:XPathVersion> http://www.w3.org/TR/1999/REC-xpath-19991116 </x:XPathVersion></x:PolicySetDefaults>
 <x:Target/>
 <x:PolicyIdReference Version='1.*' EarliestVersion='1.2' LatestVersion='2.+'> q </x:PolicyIdReference>
 <x:CombinerParameters>
  <x:CombinerParameter ParameterName='n'><x:AttributeValue DataType='t'/></x:CombinerParameter>
 </x:CombinerParameters>
 <x:PolicySetIdReference>w</x:PolicySetIdReference>
 <x:PolicyCombinerParameters PolicyIdRef='q'/>
 <x:PolicySetCombinerParameters PolicySetIdRef='w'/>
 <x:ObligationExpressions><x:ObligationExpression ObligationId='o' FulfillOn='Deny'>
  <x:AttributeAssignmentExpression AttributeId='aa' Category='c' Issuer=' i '>
   <x:VariableReference VariableId='v'/>
  </x:AttributeAssignmentExpression>
 </x:ObligationExpression></x:ObligationExpressions>
 <x:AdviceExpressions><x:AdviceExpression AdviceId='d' AppliesTo='Permit'/></x:AdviceExpressions>
</x:PolicySet>
<!-- the end -->
"
    );
    let document = read(&text).unwrap();
    let PolicyOrSet::PolicySet(set) = &document.root else { panic!() };
    assert_eq!((document.source.as_str(), document.written_in), ("p.xml", Standard::Xacml3));
    assert_eq!((set.id.as_str(), set.combining_algorithm.as_str()), ("s", "alg"));
    assert_eq!((set.version.to_string().as_str(), set.max_delegation_depth), ("1.10", Some(3)));
    assert_eq!(set.description.as_deref(), Some("a < b & c A"));
    assert_eq!(set.xpath_version.as_deref(), Some("http://www.w3.org/TR/1999/REC-xpath-19991116"));
    assert_eq!((set.place.line, set.place.column), (3, 1));
    assert!(text[set.place.offset as usize..].starts_with("<x:PolicySet"));

    let issuer = set.issuer.as_ref().unwrap();
    let content = issuer.content.as_ref().unwrap();
    assert_eq!(&*content.text, " <r:a b='1'><r:c/></r:a>");
    assert_eq!(content.scope.resolve("r"), Some("urn:r"));
    assert!(issuer.attributes[0].include_in_result);
    assert_eq!(issuer.attributes[0].values[0].text, "v");

    let [PolicySetChild::PolicyReference(first), PolicySetChild::PolicySetReference(second)] = &*set.children
    else {
        panic!()
    };
    let accepted = ["1.1", "1.2", "1.9", "2.0"].map(|text| first.accepts(&text.parse::<Version>().unwrap()));
    assert_eq!((first.id.as_str(), accepted), ("q", [false, true, true, false]));
    assert_eq!((second.id.as_str(), second.accepts(&"99".parse().unwrap())), ("w", true));

    let about: Vec<_> = set.combiner_parameters.iter().map(|one| one.about.clone()).collect();
    let (policy, other_set) = (ParametersAbout::Policy("q".into()), ParametersAbout::PolicySet("w".into()));
    assert_eq!(about, [ParametersAbout::Algorithm, policy, other_set]);
    assert_eq!(set.combiner_parameters[0].parameters[0].name, "n");

    let obligation = &set.obligations[0];
    assert_eq!((obligation.id.as_str(), obligation.on), ("o", Effect::Deny));
    let assignment = &obligation.assignments[0];
    assert_eq!((assignment.category.as_deref(), assignment.issuer.as_deref()), (Some("c"), Some(" i ")));
    assert!(matches!(&assignment.expression, Expression::Variable(one) if one.id == "v"));
    assert_eq!((set.advice[0].id.as_str(), set.advice[0].on), ("d", Effect::Permit));
}

#[test]
fn a_3_0_rule_keeps_every_kind_of_expression() {
    let text = policy_3(
        "<Target><AnyOf><AllOf><Match MatchId='m'>
 <AttributeValue DataType='t'> v </AttributeValue>
 <AttributeDesignator Category='c' AttributeId='i' DataType='t' Issuer='' MustBePresent='true'/>
</Match></AllOf></AnyOf></Target>
<VariableDefinition VariableId='v'><Function FunctionId='f'/></VariableDefinition>
<RuleCombinerParameters RuleIdRef=' r '/>
<Rule RuleId=' r ' Effect='Permit'><Condition><Apply FunctionId='g'><Description>why</Description>
 <AttributeSelector Category='c' ContextSelectorId='s' Path='//n:a' DataType='t' MustBePresent='false' xmlns:n='urn:n'/>
 <AttributeValue DataType='xp' XPathCategory='c' xmlns:e='urn:e' e:x='1'>e:b</AttributeValue>
 <AttributeValue DataType='t'>one <b xmlns=''>two</b> three</AttributeValue>
</Apply></Condition></Rule>",
    );
    let document = read(&text).unwrap();
    let policy = policy_of(&document);
    let part = &policy.target.any_of[0].all_of[0].matches[0];
    assert_eq!((part.function.as_str(), part.value.text.as_str()), ("m", " v "));
    let MatchAttribute::Designator(designator) = &part.attribute else { panic!() };
    assert_eq!((designator.issuer.as_deref(), designator.must_be_present), (Some(""), true));
    assert!(matches!(&policy.variables[0].expression, Expression::Function(one) if one.id == "f"));
    assert_eq!(policy.combiner_parameters[0].about, ParametersAbout::Rule(" r ".into()));

    let rule = &policy.rules[0];
    assert_eq!((rule.id.as_str(), rule.effect, &rule.target), (" r ", Effect::Permit, &None));
    let Expression::Apply(apply) = &rule.condition.as_ref().unwrap().expression else { panic!() };
    assert_eq!((apply.function.as_str(), apply.description.as_deref()), ("g", Some("why")));
    let [Expression::Selector(selector), Expression::Value(xpath), Expression::Value(mixed)] =
        &*apply.arguments
    else {
        panic!()
    };
    let over = SelectorBase::Content { category: "c".into(), context_selector: Some("s".into()) };
    assert_eq!((&selector.over, selector.path.as_str()), (&over, "//n:a"));
    assert_eq!(selector.scope.resolve("n"), Some("urn:n"));
    assert_eq!((xpath.xml_attribute("XPathCategory").unwrap().as_str(), xpath.text.as_str()), ("c", "e:b"));
    assert_eq!(xpath.xml_attributes[1].namespace.as_deref(), Some("urn:e"));
    // Prefixes hold to the end of their element, the default namespace of the policy everywhere.
    assert_eq!((xpath.scope.resolve("e"), xpath.scope.resolve("n")), (Some("urn:e"), None));
    assert_eq!(xpath.scope.resolve(""), Some(V3));
    assert_eq!(mixed.text, "one  three");
    assert_eq!(mixed.markup.as_deref(), Some("one <b xmlns=''>two</b> three"));
}

#[test]
fn a_2_0_policy_becomes_a_3_0_tree() {
    let text = policy_2(
        "<CombinerParameters/><Target>
<Subjects>
 <Subject><SubjectMatch MatchId='m'>
  <AttributeValue DataType='t'>v</AttributeValue>
  <SubjectAttributeDesignator AttributeId='a' DataType='t'/>
 </SubjectMatch></Subject>
 <Subject><SubjectMatch MatchId='m'>
  <AttributeValue DataType='t'>w</AttributeValue>
  <SubjectAttributeDesignator SubjectCategory='other' AttributeId='a' DataType='t' MustBePresent='true'/>
 </SubjectMatch></Subject>
</Subjects>
<Resources><Resource><ResourceMatch MatchId='m'>
 <AttributeValue DataType='t'>v</AttributeValue>
 <AttributeSelector RequestContextPath='//a' DataType='t'/>
</ResourceMatch></Resource></Resources>
</Target>
<Rule RuleId='r' Effect='Deny'><Condition><Apply FunctionId='f'>
 <ResourceAttributeDesignator AttributeId='a' DataType='t'/>
 <ActionAttributeDesignator AttributeId='a' DataType='t'/>
 <EnvironmentAttributeDesignator AttributeId='a' DataType='t'/>
</Apply></Condition></Rule>
<Obligations><Obligation ObligationId='o' FulfillOn='Permit'>
 <AttributeAssignment AttributeId='x' DataType='t' extra='e'>val</AttributeAssignment>
</Obligation></Obligations>",
    );
    let document = read(&text).unwrap();
    let policy = policy_of(&document);
    assert_eq!((document.written_in, policy.version.to_string().as_str()), (Standard::Xacml2, "1.0"));
    let [subjects, resources] = &*policy.target.any_of else { panic!() };
    let source = |attribute: &MatchAttribute| match attribute {
        MatchAttribute::Designator(one) => (one.category.to_string(), one.must_be_present),
        MatchAttribute::Selector(one) => (format!("{:?} {}", one.over, one.path), one.must_be_present),
    };
    let access_subject = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject".to_owned();
    assert_eq!(source(&subjects.all_of[0].matches[0].attribute), (access_subject, false));
    assert_eq!(source(&subjects.all_of[1].matches[0].attribute), ("other".to_owned(), true));
    assert_eq!(source(&resources.all_of[0].matches[0].attribute), ("RequestContext //a".to_owned(), false));

    let Expression::Apply(apply) = &policy.rules[0].condition.as_ref().unwrap().expression else { panic!() };
    let category = |argument: &Expression| match argument {
        Expression::Designator(one) => one.category.to_string(),
        _ => panic!("no designator"),
    };
    let expected = ["resource", "action", "environment"]
        .map(|name| format!("urn:oasis:names:tc:xacml:3.0:attribute-category:{name}"));
    assert_eq!(apply.arguments.iter().map(category).collect::<Vec<_>>(), expected);

    let assignment = &policy.obligations[0].assignments[0];
    let Expression::Value(value) = &assignment.expression else { panic!() };
    assert_eq!((assignment.id.as_str(), value.text.as_str()), ("x", "val"));
    assert_eq!(value.xml_attributes.len(), 1);
    assert_eq!(value.xml_attribute("extra").unwrap(), "e");
}

#[test]
fn a_1_0_policy_becomes_a_3_0_tree() {
    let text = format!(
        "<Policy xmlns='{V1}' PolicyId='p' RuleCombiningAlgId='a'><Target>
<Subjects><AnySubject/></Subjects><Resources><AnyResource/></Resources>
<Actions><Action><ActionMatch MatchId='m'>
 <AttributeValue DataType='t'>v</AttributeValue><ActionAttributeDesignator AttributeId='a' DataType='t'/>
</ActionMatch></Action></Actions></Target>
<Rule RuleId='r' Effect='Permit'><Condition FunctionId='f'>
 <AttributeValue DataType='t'>1</AttributeValue><Function FunctionId='g'/>
</Condition></Rule></Policy>"
    );
    let document = read(&text).unwrap();
    let policy = policy_of(&document);
    assert_eq!((document.written_in, policy.target.any_of.len()), (Standard::Xacml1, 1));
    let Expression::Apply(apply) = &policy.rules[0].condition.as_ref().unwrap().expression else { panic!() };
    assert_eq!((apply.function.as_str(), apply.arguments.len()), ("f", 2));
}

#[test]
fn a_policy_may_have_no_rules_and_a_set_no_policies() {
    assert!(read(&policy_3("<Target/>")).is_ok());
    assert!(read(&policy_2("<Target/>")).is_ok());
    let set = format!(
        "<PolicySet xmlns='{V3}' PolicySetId='s' Version='1' PolicyCombiningAlgId='a'><Target/></PolicySet>"
    );
    assert!(read(&set).is_ok());
}
