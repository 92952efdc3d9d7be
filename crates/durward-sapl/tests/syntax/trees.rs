//! What texts are read as.

use durward_sapl::syntax::tree::{
    DefaultDecision, Document, Effect, Element, ErrorHandling, Mode, Policy, PolicySet, Root, Statement,
};
use durward_sapl::syntax::{parse, parse_expression};

use crate::shown::show;

fn expression(text: &str) -> String {
    let parsed = parse_expression(text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    show(&parsed.tree)
}

fn document(text: &str) -> Document {
    let parsed = parse(text);
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    parsed.tree
}

fn policy(text: &str) -> Policy {
    match document(text).root {
        Some(Root::Policy(policy)) => policy,
        other => panic!("{text}: {other:?}"),
    }
}

fn set(text: &str) -> PolicySet {
    match document(text).root {
        Some(Root::Set(set)) => set,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn operators_bind_in_eleven_strengths() {
    for (text, tree) in [
        ("a || b && c | d ^ e & f == g", "(a LazyOr (b LazyAnd (c Or (d ExclusiveOr (e And (Equal f g))))))"),
        ("a == b & c ^ d | e && f || g", "((((((Equal a b) And c) ExclusiveOr d) Or e) LazyAnd f) LazyOr g)"),
        ("a == b has c", "(Equal a (Has b c))"),
        ("a has b == c", "(Equal (Has a b) c)"),
        ("a has b < c", "(Has a (Less b c))"),
        ("a < b + c * -d", "(Less a (b Add (c Multiply (Minus d))))"),
        ("-a * b + c < d", "(Less (((Minus a) Multiply b) Add c) d)"),
        ("1 < 2 == true", "(Equal (Less 1 2) true)"),
        ("true == 1 < 2", "(Equal true (Less 1 2))"),
        ("-a.b", "(Minus (steps a .b))"),
        ("!a |- f.g", "(Not (filter a f.g()))"),
        ("a :: @ * 2", "((each a @) Multiply 2)"),
        ("a :: b :: c", "(each a (each b c))"),
        ("a :: b |- f.g", "(each a (filter b f.g()))"),
        ("a |- f.g == b", "(Equal (filter a f.g()) b)"),
        ("(a || b) && c", "((a LazyOr b) LazyAnd c)"),
        ("!!a", "(Not (Not a))"),
        ("-+-1", "(Minus (Plus (Minus 1)))"),
    ] {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn chains_are_flat_and_parentheses_keep_them_apart() {
    for (text, tree) in [
        ("a - b - c + d", "(a Subtract b Subtract c Add d)"),
        ("a * b / c % d", "(a Multiply b Divide c Remainder d)"),
        ("a || b || c", "(a LazyOr b LazyOr c)"),
        ("(a || b) || c", "((a LazyOr b) LazyOr c)"),
        ("a || (b || c)", "(a LazyOr (b LazyOr c))"),
        ("a.b.c", "(steps a .b .c)"),
        ("(a.b).c", "(steps a .b .c)"),
        ("((a).b)", "(steps a .b)"),
    ] {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn comparisons_of_two_words() {
    for (text, tree) in [
        ("a in b", "(In a b)"),
        ("a any in b", "(AnyIn a b)"),
        ("a all in b", "(AllIn a b)"),
        ("a has b", "(Has a b)"),
        ("a has any b", "(HasAny a b)"),
        ("a has all b", "(HasAll a b)"),
        ("a has any b any in c", "(HasAny a (AnyIn b c))"),
        ("a =~ \"b\"", "(Matches a \"b\")"),
        ("a != b", "(NotEqual a b)"),
        ("a <= b", "(LessOrEqual a b)"),
        ("a >= b", "(GreaterOrEqual a b)"),
    ] {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn literals_keep_what_is_written() {
    for (text, tree) in [
        ("1.50", "1.50"),
        ("1E+3", "1E+3"),
        ("\"a\\u00e4\\n\"", "\"aä\\n\""),
        ("[]", "[]"),
        ("[1, [true], null]", "[1 [true] null]"),
        ("{}", "{}"),
        ("{a: 1, \"b c\": undefined, subject: 3, `in`: 4, a: 5}", "{a:1 b c:undefined subject:3 in:4 a:5}"),
        ("{\"a\": [1]}.a[0]", "(steps {a:[1]} .a 0)"),
        ("1.a", "(steps 1 .a)"),
        ("\"abc\"[0]", "(steps \"abc\" 0)"),
        ("/* a */ 1 // b", "1"),
    ] {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn words_of_algorithms_and_subscriptions_are_names() {
    for word in [
        "subject",
        "action",
        "resource",
        "environment",
        "or",
        "errors",
        "abstain",
        "propagate",
        "first",
        "priority",
        "strict",
        "unanimous",
        "unique",
        "where",
        "and",
        "not",
        "$x_1",
        "Policy",
    ] {
        assert_eq!(expression(word), word);
        assert_eq!(expression(&format!("a.{word}..{word}")), format!("(steps a .{word} ..{word})"));
        assert_eq!(
            expression(&format!("{word}.{word}({{{word}: 1}})")),
            format!("{word}.{word}({{{word}:1}})")
        );
    }
}

#[test]
fn keywords_are_names_in_backticks() {
    for word in [
        "import",
        "as",
        "set",
        "policy",
        "permit",
        "deny",
        "suspend",
        "var",
        "schema",
        "enforced",
        "obligation",
        "advice",
        "transform",
        "true",
        "false",
        "null",
        "undefined",
        "in",
        "has",
        "any",
        "all",
        "each",
        "for",
    ] {
        assert_eq!(expression(&format!("`{word}`.`{word}`")), format!("(steps {word} .{word})"));
        assert_eq!(expression(&format!("a[\"{word}\"].\"{word}\"")), format!("(steps a .{word} .{word})"));
        assert!(parse_expression(&format!("a.{word}")).has_errors(), "{word}");
    }
}

#[test]
fn steps_of_every_kind() {
    for (text, tree) in [
        ("a.\"b c\"[\"d\"][`e`]", "(steps a .b c .d .e)"),
        ("a.*[*]", "(steps a * *)"),
        ("a[0][-1]", "(steps a 0 -1)"),
        ("a[-2147483648][2147483647]", "(steps a -2147483648 2147483647)"),
        ("a[1:2][:][1:][:2][1:2:3][::2][1::-2][::]", "(steps a 1:2: :: 1:: :2: 1:2:3 ::2 1::-2 ::)"),
        ("a[: :2]", "(steps a ::2)"),
        ("a[(b.c)][?(@ > 1)]", "(steps a ((steps b .c)) ?((Greater @ 1)))"),
        ("a[0, -2][\"x\",\"y\"]", "(steps a [0, -2] [\"x\", \"y\"])"),
        ("a..b..[\"c\"]..*..[*]..[0]..[-1]", "(steps a ..b ..c ..* ..* ..0 ..-1)"),
        ("@.a + #", "((steps @ .a) Add #)"),
        ("a.<b.c>.|<d.e(1)[{}]>.f", "(steps a <b.c()> |<d.e(1)[{}]> .f)"),
    ] {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn attributes_stand_where_values_do() {
    for (text, tree) in [
        ("<a.b>", "<a.b()>"),
        ("|<a.b>", "|<a.b()>"),
        ("<a.b()>", "<a.b()>"),
        ("<a.b(1 > 2, 3)[{x: 1}]>.y", "(steps <a.b((Greater 1 2) 3)[{x:1}]> .y)"),
        ("1 < <a.b>", "(Less 1 <a.b()>)"),
        ("<a.b> > 1", "(Greater <a.b()> 1)"),
        ("a | <b>", "(a Or <b()>)"),
    ] {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn filters_of_both_kinds() {
    for (text, tree) in [
        ("a |- f", "(filter a f())"),
        ("a |- each b.f(1, 2)", "(filter a each b.f(1 2))"),
        ("a |- { @ : f }", "(filter a @:f())"),
        (
            "a |- { @.b[0] : f, each @..c[?(@ == 1)] : g.h(@) }",
            "(filter a @ .b 0:f() @ ..c ?((Equal @ 1)):each g.h(@))",
        ),
    ] {
        assert_eq!(expression(text), tree, "{text}");
    }
}

#[test]
fn calls_take_every_segment_of_their_name() {
    assert_eq!(expression("f()"), "f()");
    assert_eq!(expression("a.b.c.d(1)"), "a.b.c.d(1)");
    assert_eq!(expression("a.b(1).c"), "(steps a.b(1) .c)");
    assert_eq!(expression("f(g(1), h ( ))"), "f(g(1) h())");
}

#[test]
fn a_policy_with_everything() {
    let policy = policy(
        "policy \"a b\" suspend var x = 1 schema {}, 2; x == 1; var y = 2; y; obligation 1 obligation 2 advice 3 \
         transform 4",
    );
    assert_eq!((policy.name.text.as_str(), policy.effect), ("a b", Effect::Suspend));
    let body: Vec<String> = policy
        .body
        .iter()
        .map(|statement| match statement {
            Statement::Variable(variable) => format!("{}={}", variable.name.text, show(&variable.value)),
            Statement::Condition(condition) => show(condition),
        })
        .collect();
    assert_eq!(body, ["x=1", "(Equal x 1)", "y=2", "y"]);
    assert!(matches!(&policy.body[0], Statement::Variable(variable) if variable.schemas.len() == 2));
    assert_eq!((policy.obligations.len(), policy.advice.len(), policy.transform.is_some()), (2, 1, true));
}

#[test]
fn a_policy_with_nothing() {
    for (text, effect) in [
        ("policy \"\" permit", Effect::Permit),
        ("policy \"\" deny", Effect::Deny),
        ("policy \"\" suspend", Effect::Suspend),
    ] {
        let policy = policy(text);
        assert_eq!((policy.effect, policy.body.len(), policy.name.text.as_str()), (effect, 0, ""));
    }
}

#[test]
fn algorithms_in_all_their_forms() {
    for (text, mode) in [
        ("first", Mode::First),
        ("priority deny", Mode::PriorityDeny),
        ("priority permit", Mode::PriorityPermit),
        ("priority suspend", Mode::PrioritySuspend),
        ("unanimous", Mode::Unanimous),
        ("unanimous strict", Mode::UnanimousStrict),
        ("unique", Mode::Unique),
    ] {
        for (word, default) in [
            ("deny", DefaultDecision::Deny),
            ("abstain", DefaultDecision::Abstain),
            ("permit", DefaultDecision::Permit),
            ("suspend", DefaultDecision::Suspend),
        ] {
            for (clause, errors) in [
                ("", None),
                (" errors abstain", Some(ErrorHandling::Abstain)),
                (", errors propagate", Some(ErrorHandling::Propagate)),
            ] {
                for end in ["", "."] {
                    let text = format!("set \"s\" {text} or {word}{clause}{end} policy \"a\" permit");
                    let algorithm = set(&text).algorithm;
                    assert_eq!(
                        (algorithm.mode, algorithm.default, algorithm.errors),
                        (mode, default, errors)
                    );
                }
            }
        }
    }
}

#[test]
fn a_set_with_everything() {
    let set = set(
        "set \"s\" first or deny. for action == \"x\" var a = 1; var first = 2; policy \"p\" permit a; policy \"q\" deny",
    );
    assert_eq!(set.target.as_ref().map(show).as_deref(), Some("(Equal action \"x\")"));
    assert_eq!(
        set.variables.iter().map(|variable| variable.name.text.as_str()).collect::<Vec<_>>(),
        ["a", "first"]
    );
    assert_eq!(set.policies.iter().map(|policy| policy.name.text.as_str()).collect::<Vec<_>>(), ["p", "q"]);
}

#[test]
fn imports_and_schemas_stand_before() {
    let document = document(
        "import a.b import c.d as e import f.g.h import time.`in` as `policy` subject schema {} action enforced \
         schema subject resource schema x environment enforced schema {\"a\": 1} policy \"p\" permit",
    );
    let imports: Vec<(usize, &str, Option<&str>)> = document
        .imports
        .iter()
        .map(|import| {
            (
                import.library.len(),
                import.function.text.as_str(),
                import.alias.as_ref().map(|alias| alias.text.as_str()),
            )
        })
        .collect();
    assert_eq!(imports, [(1, "b", None), (1, "d", Some("e")), (2, "h", None), (1, "in", Some("policy"))]);
    let schemas: Vec<(Element, bool, String)> = document
        .schemas
        .iter()
        .map(|schema| (schema.element, schema.enforced, show(&schema.schema)))
        .collect();
    assert_eq!(
        schemas,
        [
            (Element::Subject, false, "{}".into()),
            (Element::Action, true, "subject".into()),
            (Element::Resource, false, "x".into()),
            (Element::Environment, true, "{a:1}".into()),
        ]
    );
}

#[test]
fn places_are_those_of_the_text() {
    let text =
        "policy \"p\" permit /* ä */ (subject.a) == [1, -2]; var x = (1); obligation { \"k\": f.g(1) }";
    let policy = policy(text);
    let Statement::Condition(condition) = &policy.body[0] else { panic!() };
    assert_eq!(condition.span.text(text), "(subject.a) == [1, -2]");
    let Statement::Variable(variable) = &policy.body[1] else { panic!() };
    assert_eq!(variable.span.text(text), "var x = (1)");
    assert_eq!(variable.value.span.text(text), "1");
    assert_eq!(policy.obligations[0].span.text(text), "{ \"k\": f.g(1) }");
    assert_eq!(policy.span.text(text), text);
}

#[test]
fn a_tree_can_be_as_deep_as_is_allowed_and_no_deeper() {
    // The thread of a test has 2 MiB of stack, and frames without optimization are large.
    for (open, base, close, depth) in [
        ("(", "1", ")", 199),
        ("[", "1", "]", 199),
        ("{a:", "1", "}", 199),
        ("!", "1", "", 199),
        ("a::", "1", "", 199),
        ("f.g(", "1", ")", 199),
        ("a[(", "1", ")]", 199),
        ("<a.b(", "1", ")>", 199),
        ("a|-f(", "1", ")", 199),
        ("(1||1&&1|1^1&1==1 has 1<1+1*-", "1", ")", 16),
        ("((((((((((", "1", ")*1)+1)<1) has 1)==1)&1)^1)|1)&&1)||1", 19),
    ] {
        let nested = |depth: usize| format!("{}{base}{}", open.repeat(depth), close.repeat(depth));
        let parsed = parse_expression(&nested(depth));
        assert!(parsed.diagnostics.is_empty(), "{open}: {:?}", parsed.diagnostics);
        show(&parsed.tree);
        let refused = parse_expression(&nested(depth + 2));
        assert_eq!(refused.diagnostics[0].message, "the expression nests more than 200 deep", "{open}");
        assert!(parse_expression(&nested(100_000)).has_errors(), "{open}");
    }
}

#[test]
fn a_chain_can_be_as_long_as_the_text() {
    for (first, next) in [("a", "||a"), ("a", "+a"), ("a", ".a"), ("a", "[0]"), ("a.f", ".f"), ("[a", ",a")] {
        let mut text = first.to_owned() + &next.repeat(100_000);
        if first.starts_with('[') {
            text.push(']');
        }
        let parsed = parse_expression(&text);
        assert!(parsed.diagnostics.is_empty(), "{next}");
    }
}
