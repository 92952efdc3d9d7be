//! Documents against the schema are refused, with all that is wrong in them.

use durward_xacml_policies::policy::Limits;

use super::{V2, V3, condition_3, policy_2, policy_3, read, read_bytes};

/// Where the content of [`policy_3`] begins, and that of [`condition_3`]: columns of line 1.
const CONTENT: usize = 114;
const CONDITION: usize = CONTENT + 51;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = read(text).err().unwrap_or_default();
    let found: Vec<_> = found.iter().map(|one| one.strip_prefix("p.xml:").unwrap()).collect();
    assert_eq!(found, expected, "{text}");
}

/// Checks a document with one problem at a column of line 1.
#[track_caller]
fn check_one(text: &str, column: usize, expected: &str) {
    check(text, &[&format!("1:{column}: {expected}")]);
}

#[test]
fn elements_the_schema_does_not_know() {
    let c = CONTENT;
    check_one(&policy_3("<Target/><Rul/>"), c + 9, "unknown element `Rul` in `Policy`; did you mean `Rule`?");
    check_one(
        &policy_3("<Target/><Subjects/>"),
        c + 9,
        "unknown element `Subjects` in `Policy`; it is of XACML 2.0, the namespace says XACML 3.0",
    );
    check_one(
        &policy_2("<Target><AnyOf/></Target>"),
        107,
        "unknown element `AnyOf` in `Target`; it is of XACML 3.0, the namespace says XACML 2.0",
    );
    check_one(
        &policy_3("<Target><Elephant/></Target>"),
        c + 8,
        "unknown element `Elephant` in `Target`; expected `AnyOf`",
    );
    check_one(
        &policy_3("<x xmlns='urn:x'/><Target/>"),
        c,
        "unknown element `x` in `Policy`: namespace `urn:x`",
    );
    check_one(
        &policy_3("<Target xmlns=''/>"),
        c,
        &format!("unknown element `Target` in `Policy`; it has no namespace; declare `xmlns=\"{V3}\"`"),
    );
    check_one(
        &policy_3(&format!("<Target xmlns='{V2}'/>")),
        c,
        &format!("element `Target` in `Policy` is of another version of XACML: namespace `{V2}`"),
    );
    check_one(
        &policy_3("<Description>a<b/></Description><Target/>"),
        c + 14,
        "element `b` in `Description`, which holds text only",
    );
}

#[test]
fn elements_in_the_wrong_order_or_number() {
    let c = CONTENT;
    let rule = "<Rule RuleId='r' Effect='Permit'/>";
    let value = "<AttributeValue DataType='t'>v</AttributeValue>";
    let matching =
        format!("<Target><AnyOf><AllOf><Match MatchId='m'>{value}</Match></AllOf></AnyOf></Target>");
    check_one(&policy_3(rule), 1, "`Policy` lacks `Target`");
    check_one(
        &policy_3(&format!("{rule}<Target/>")),
        c + rule.len(),
        "`Target` must stand before `CombinerParameters` and its like in `Policy`",
    );
    check_one(
        &policy_3("<Target/><Description/>"),
        c + 9,
        "`Description` must stand before `Target` in `Policy`",
    );
    check_one(&policy_3("<Target/><Target/>"), c + 9, "second `Target` in `Policy`");
    check_one(&policy_3("<Target><AnyOf/></Target>"), c + 8, "`AnyOf` lacks at least one `AllOf`");
    check_one(
        &policy_3("<Target><AnyOf><AllOf/></AnyOf></Target>"),
        c + 15,
        "`AllOf` lacks at least one `Match`",
    );
    check_one(&policy_3(&matching), c + 22, "`Match` lacks `AttributeDesignator` or `AttributeSelector`");
    check_one(&condition_3(""), CONDITION - 11, "`Condition` lacks an expression");
    check_one(
        &condition_3(&value.repeat(2)),
        CONDITION + value.len(),
        "`Condition` holds one expression only",
    );
    check_one(
        &policy_3("<Target/><ObligationExpressions/>"),
        c + 9,
        "`ObligationExpressions` lacks at least one `ObligationExpression`",
    );
    check_one(
        &policy_3("<PolicyIssuer><Content/></PolicyIssuer><Target/>"),
        c + 14,
        "`Content` holds 0 elements, not one",
    );
    check(
        &policy_2("<Target><Actions/><Subjects/></Target>"),
        &[
            "1:107: `Actions` lacks at least one `Action`",
            "1:117: `Subjects` must stand before `Actions` in `Target`",
            "1:117: `Subjects` lacks at least one `Subject`",
        ],
    );
    check_one(&policy_3("<Target/>words"), c + 9, "text `words` is not allowed in `Policy`");
}

#[test]
fn attributes_against_the_schema() {
    check(
        &policy_3("<Target/>\n<Rule RuleID='r' Effect='permit'/>"),
        &[
            "2:1: `Rule` lacks the attribute `RuleId`",
            "2:7: unknown attribute `RuleID` of `Rule`; did you mean `RuleId`?",
            "2:18: attribute `Effect` of `Rule` is `permit`; it is `Permit` or `Deny`",
        ],
    );
    check(
        &format!(
            "<Policy xmlns='{V3}'\n  PolicyId='p' Version='1.x'\n\tRuleCombiningAlgId='a'>\n<Target/></Policy>"
        ),
        &["2:16: attribute `Version` of `Policy` is `1.x`; not numbers separated by dots"],
    );
    check_one(
        &policy_3("<Target/>").replace(" Version='1.0'", ""),
        1,
        "`Policy` lacks the attribute `Version`; write `Version=\"1.0\"`",
    );
    check(
        &format!(
            "<é:Policy xmlns:é='{V3}' PolicyId='p' Version='1' RuleCombiningAlgId='a'\né:PolicyId='p'><é:Target b:c='d'/></é:Policy>"
        ),
        &[
            "2:1: attribute `PolicyId` of `Policy` has a prefix; write it without",
            "2:26: namespace prefix `b` is not declared",
        ],
    );
    check_one(
        &policy_3("<Target/>").replace("PolicyId", "MaxDelegationDepth='x' PolicyId"),
        64,
        "attribute `MaxDelegationDepth` of `Policy` is `x`; it is a number",
    );
    check_one(
        &condition_3("<AttributeDesignator Category='c' AttributeId='a' DataType='t'/>"),
        CONDITION,
        "`AttributeDesignator` lacks the attribute `MustBePresent`; write `MustBePresent=\"false\"` or \
         `MustBePresent=\"true\"`",
    );
    check_one(
        &condition_3("<AttributeDesignator MustBePresent='yes' Category='c' AttributeId='a' DataType='t'/>"),
        CONDITION + 21,
        "attribute `MustBePresent` of `AttributeDesignator` is `yes`; it is `true` or `false`",
    );
    check_one(
        &condition_3("<AttributeValue>v</AttributeValue>"),
        CONDITION,
        "`AttributeValue` lacks the attribute `DataType`",
    );
}

#[test]
fn a_variable_defined_twice() {
    let variable = "<VariableDefinition VariableId='v'><Function FunctionId='f'/></VariableDefinition>";
    check(
        &policy_3(&format!("<Target/>\n{variable}\n{variable}")),
        &["3:1: variable `v` is defined twice; first at 2:1"],
    );
    // Each policy has its own variables.
    let policy = policy_3(&format!("<Target/>{variable}"));
    let set =
        format!("<PolicySet xmlns='{V3}' PolicySetId='s' Version='1' PolicyCombiningAlgId='a'><Target/>");
    check(&format!("{set}{policy}{policy}</PolicySet>"), &[]);
}

#[test]
fn what_is_not_well_formed() {
    let c = CONTENT;
    let references = "only `&lt;` `&gt;` `&amp;` `&quot;` `&apos;` and `&#...;` are known";
    let described = |text: &str| policy_3(&format!("<Description>{text}</Description><Target/>"));
    check_one("", 1, "the document has no root element");
    check_one("hello", 1, "text `hello` outside the root element");
    check_one(&format!("{}x", policy_3("<Target/>")), c + 18, "text `x` outside the root element");
    check_one(
        &policy_3("<Target/>").repeat(2),
        c + 18,
        "second root element `Policy`; put policies of one document into a `PolicySet`",
    );
    check_one(
        &policy_3("<Target>"),
        c + 8,
        "not well-formed XML: expected `</Target>`, but `</Policy>` was found",
    );
    check_one(
        policy_3("").strip_suffix("</Policy>").unwrap(),
        c,
        "the document ends while 1 element is open; is it complete?",
    );
    check_one(&described("a & b"), c + 15, "`&` begins no reference here; write `&amp;` for the character");
    check_one(&described("&nbsp;"), c + 13, &format!("unknown reference `&nbsp;`; {references}"));
    check_one(&described("&#1;"), c + 13, &format!("unknown reference `&#1;`; {references}"));
    check_one(&policy_3("<Target a='1' a='2'/>"), c + 14, "attribute `a` is given twice");
    check_one(&policy_3("<Target a=1/>"), c + 10, "not well-formed XML: an attribute value without quotes");
    check_one(&policy_3("\u{1}"), c, "character U+0001 is not allowed in XML");
    check_one(" <?xml version='1.0'?><a/>", 2, "`<?xml ...?>` may stand only at the very beginning");
}

#[test]
fn what_is_no_policy() {
    let help = format!("XACML 3.0 is `{V3}`");
    check_one("<Policy><Target/></Policy>", 1, &format!("root element `Policy` has no namespace; {help}"));
    check_one(
        "<Policy xmlns='urn:oasis:names:tc:xacml:3.0:schema:os'/>",
        1,
        &format!("root element `Policy` has namespace `urn:oasis:names:tc:xacml:3.0:schema:os`; {help}"),
    );
    check_one(
        &format!("<Rule xmlns='{V3}'/>"),
        1,
        "root element `Rule`; a policy document begins with `Policy` or `PolicySet`",
    );
}

#[test]
fn what_is_no_utf_8_is_refused_with_the_place() {
    let bytes = |text: &[u8]| read_bytes(text, &Limits::default()).unwrap_err();
    assert_eq!(
        bytes("\u{FEFF}\u{FEFF}<a/>".as_bytes()),
        ["p.xml:1:1: there is text before the root element: a second byte order mark"]
    );
    assert_eq!(bytes(b"<a>\n\xFF</a>"), ["p.xml:2:1: invalid UTF-8 at byte 4; save the document as UTF-8"]);
    assert_eq!(
        bytes(b"\xEF\xBB\xBF<a>\xFF"),
        ["p.xml:1:4: invalid UTF-8 at byte 6; save the document as UTF-8"]
    );
    check_one(
        "<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
        1,
        "the document is written in ISO-8859-1, only UTF-8 and UTF-16 are read; save it as UTF-8",
    );
}

#[test]
fn all_problems_are_listed_in_order_and_not_without_end() {
    let problems = read(&policy_3(&"\n<Rul/>".repeat(1000))).unwrap_err();
    assert_eq!(problems.len(), 101);
    assert!(problems[0].starts_with("p.xml:2:1: unknown element `Rul`"));
    assert!(problems[99].starts_with("p.xml:101:1: unknown element `Rul`"));
    assert_eq!(problems[100], "p.xml:102:1: too many problems");
}

/// A path can mean another thing in every version of XPath: a policy that declares one that is not evaluated would
/// decide something else than its author means. Once that was a Permit, by a Deny rule over
/// `/r/d[@until < '2020-06-01']/text()`, which compares texts in XPath 2.0 and numbers in 1.0.
#[test]
fn an_xpath_version_that_is_not_supported() {
    let declaring = |element: &str, version: &str| {
        format!("<{element}><XPathVersion>{version}</XPathVersion></{element}>")
    };
    let policy = |version: &str| policy_3(&format!("{}<Target/>", declaring("PolicyDefaults", version)));
    let set = |version: &str, inner: &str| {
        let defaults = declaring("PolicySetDefaults", version);
        format!(
            "<PolicySet xmlns='{V3}' PolicySetId='s' Version='1.0' PolicyCombiningAlgId='a'>{defaults}<Target/>{inner}</PolicySet>"
        )
    };
    const XPATH_1: &str = "http://www.w3.org/TR/1999/REC-xpath-19991116";
    for spelling in [
        XPATH_1,
        "http://www.w3.org/TR/1999/Rec-xpath-19991116",
        " \n http://www.w3.org/TR/1999/REC-xpath-19991116 ",
    ] {
        assert_eq!(read(&policy(spelling)).err(), None);
        assert_eq!(read(&set(spelling, &policy(spelling))).err(), None);
        assert_eq!(
            read(&policy_2(&format!("{}<Target/>", declaring("PolicyDefaults", spelling)))).err(),
            None
        );
    }
    for other in [
        "http://www.w3.org/TR/2007/REC-xpath20-20070123",
        "http://www.w3.org/TR/2017/REC-xpath-31-20170321",
        "http://www.w3.org/TR/1999/REC-XPATH-19991116",
        "http://www.w3.org/TR/1999/REC-xpath-19991116/",
        "1.0",
        "nonsense",
        "",
    ] {
        let texts = [
            policy(other),
            policy_2(&format!("{}<Target/>", declaring("PolicyDefaults", other))),
            policy_2(&format!("{}<Target/>", declaring("PolicyDefaults", other))).replace(V2, super::V1),
            set(other, ""),
            set(XPATH_1, &policy(other)),
            set(other, &policy(XPATH_1)),
            set(XPATH_1, &set(other, "")),
        ];
        for text in texts {
            let problems = read(&text).unwrap_err();
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert!(
                problems[0].contains("`XPathVersion` is ") && problems[0].contains("1.0 is supported"),
                "{problems:?}"
            );
        }
    }
    check_one(
        &policy("http://www.w3.org/TR/2007/REC-xpath20-20070123"),
        CONTENT + 16,
        "`XPathVersion` is XPath 2.0 (`http://www.w3.org/TR/2007/REC-xpath20-20070123`), and only 1.0 is supported; \
         declare `http://www.w3.org/TR/1999/REC-xpath-19991116` and write the paths in it; without paths, leave the \
         element out",
    );
}
