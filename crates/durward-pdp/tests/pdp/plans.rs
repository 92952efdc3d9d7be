//! Plans: which rows are permitted, and in whose words.

use durward_pdp::plan::dialect::{Database, Dialect, create_policy, enable_row_security};
use durward_pdp::plan::{
    Cell, Collation, Column, ColumnType, Columns, Filter, Kind, Nulls, Plan, PlanError, Row, Scalar, Unlisted,
};
use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{Pdp, Value};

const XACML: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:ALGORITHM"><Target/>
  <Rule RuleId="secret" Effect="Deny"><Condition>
    <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
      <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-one-and-only">
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:3.0:attribute-category:resource" AttributeId="level"
          DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/></Apply>
      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">secret</AttributeValue>
    </Apply></Condition></Rule>
  <Rule RuleId="others" Effect="Permit"/>
</Policy>"#;

fn pdp(name: &str, text: &str) -> Pdp {
    Pdp::builder().policy(name, text).build().unwrap()
}

fn columns(columns: Vec<Column>) -> Columns {
    Columns::new(columns, Unlisted::Absent).unwrap()
}

fn ada(resource: Value) -> Subscription {
    let ada = Value::object([("id", Value::text("ada")), ("level", Value::number(3))]);
    Subscription::new(ada, Value::text("read"), resource, Value::Undefined)
}

fn plan(pdp: &Pdp, columns: &Columns) -> Plan {
    pdp.plan(&ada(Value::Undefined), columns).unwrap()
}

/// The plan in the SQL of a database: kind, whether exact, condition, parameters.
fn sql(pdp: &Pdp, columns: &Columns, database: Database) -> String {
    let plan = plan(pdp, columns);
    let json = plan.to_json(columns, Dialect::Sql(database)).unwrap();
    let text = |key: &str| json.get(key).map(|value| value.to_string()).unwrap_or_default();
    format!("{} {} {} {}", plan.kind.as_str(), plan.exact, text("filter"), text("parameters"))
}

#[test]
fn what_is_known_is_folded_and_the_rest_is_a_filter() {
    let policy = r#"policy "own" permit subject.level > 2; action == "read"; resource.owner == subject.id;"#;
    let owner = columns(vec![Column::new("owner", ColumnType::Text).nulls(Nulls::Absent)]);
    assert_eq!(
        sql(&pdp("p.sapl", policy), &owner, Database::Postgres),
        r#"filter true "(\"owner\" IS NOT NULL AND \"owner\" = $1::text)" ["ada"]"#
    );
    assert_eq!(sql(&pdp("p.sapl", &policy.replace("> 2", "> 3")), &owner, Database::Postgres), "none true  ");
    assert_eq!(sql(&pdp("p.sapl", "policy \"all\" permit"), &owner, Database::Postgres), "all true  ");
}

/// An error is none of true and false: `NOT (level = 'secret')` would leave out what `permit-unless-deny` permits.
#[test]
fn rows_with_null_are_what_the_algorithm_makes_of_an_error() {
    let level = columns(vec![Column::new("level", ColumnType::Text).nulls(Nulls::Absent)]);
    let of = |algorithm: &str| {
        sql(&pdp("p.xml", &XACML.replace("ALGORITHM", algorithm)), &level, Database::Mariadb)
    };
    assert_eq!(
        of("permit-unless-deny"),
        r#"filter true "(`level` IS NULL OR (`level` IS NOT NULL AND `level` <> ?))" ["secret"]"#
    );
    assert_eq!(of("deny-overrides"), r#"filter true "(`level` IS NOT NULL AND `level` <> ?)" ["secret"]"#);
    assert_eq!(of("deny-unless-permit"), "all true  ");
}

#[test]
fn names_and_values_stay_what_they_are() {
    let policy = r#"policy "odd" permit resource.odd == "'; DROP TABLE t; --\"";"#;
    let odd = Column::new("o\"d`d", ColumnType::Text).path(["odd"]);
    let odd = columns(vec![odd]);
    let pdp = pdp("p.sapl", policy);
    let value = r#"["'; DROP TABLE t; --\""]"#;
    assert_eq!(sql(&pdp, &odd, Database::Sqlite), format!(r#"filter true "\"o\"\"d`d\" = ?" {value}"#));
    assert_eq!(sql(&pdp, &odd, Database::Mariadb), format!(r#"filter true "`o\"d``d` = ?" {value}"#));
    let plan = plan(&pdp, &odd);
    assert_eq!(
        enable_row_security(&["public", "t\"t"]),
        r#"ALTER TABLE "public"."t""t" ENABLE ROW LEVEL SECURITY;"#
    );
    assert_eq!(
        create_policy(&plan, &odd, "own", &["public", "t"], "ada").unwrap(),
        r#"CREATE POLICY "own" ON "public"."t" FOR SELECT TO "ada" USING ("o""d`d" = E'''; DROP TABLE t; --"'::text);"#
    );
}

#[test]
fn texts_are_compared_byte_by_byte_whatever_the_collation() {
    let policy = r#"policy "own" permit resource.owner == "ada"; string.startsWith(resource.path, "/a%");"#;
    let owner = Column::new("owner", ColumnType::Text).collation(Collation::Other);
    let all = columns(vec![owner, Column::new("path", ColumnType::Text)]);
    let pdp = pdp("p.sapl", policy);
    assert_eq!(
        sql(&pdp, &all, Database::Postgres),
        r#"filter true "((\"owner\" = $1::text AND \"owner\" COLLATE \"C\" = $2::text) AND LEFT(\"path\", 3) = $3::text)" ["ada","ada","/a%"]"#
    );
    // What cannot be asked for is in no row of the filter, and in every row of the superset.
    let within = plan(&pdp, &all).within(&all, Dialect::Ucast);
    assert_eq!((within.kind, within.exact), (Kind::None, false));
    assert_eq!(within.superset, Some(Filter::Constant(true)));
}

#[test]
fn what_cannot_be_lowered_is_bounded_from_both_sides() {
    let policy = r#"
      set "s" priority deny or deny
      policy "own" permit resource.owner == subject.id;
      policy "odd" permit resource.owner =~ "[a-c].*";"#;
    let owner = columns(vec![Column::new("owner", ColumnType::Text)]);
    let plan = plan(&pdp("p.sapl", policy), &owner);
    let row = |name: &str| Row(vec![Cell::One(Scalar::Text(name.into()))]);
    assert!(!plan.exact && plan.matches(&row("ada")) && !plan.matches(&row("bob")));
    assert!(plan.may_match(&row("bob")) && !plan.may_match(&row("ada")));
    assert_eq!(plan.reasons, ["a regular expression is applied to a column"]);
}

#[test]
fn an_attribute_without_a_column_is_not_taken_for_absent() {
    let policy = r#"
      set "s" priority deny or permit
      policy "secret" deny resource.secret == true;
      policy "own" permit resource.owner == subject.id;"#;
    let pdp = pdp("p.sapl", policy);
    let owner = Column::new("owner", ColumnType::Text);
    let unknown = Columns::new(vec![owner.clone()], Unlisted::Unknown).unwrap();
    let found = plan(&pdp, &unknown);
    assert_eq!((found.kind, found.exact), (Kind::None, false));
    assert_eq!(found.reasons, ["`resource.secret` is read, which no column stands for"]);
    let known = pdp.plan(&ada(Value::object([("secret", Value::Boolean(false))])), &unknown).unwrap();
    assert_eq!((known.kind, known.exact), (Kind::All, true));
    assert_eq!(plan(&pdp, &columns(vec![owner])).kind, Kind::All);
}

#[test]
fn obligations_come_along_where_every_row_has_them() {
    let all = columns(vec![Column::new("owner", ColumnType::Text), Column::new("open", ColumnType::Boolean)]);
    let same = r#"policy "own" permit resource.owner == subject.id; obligation {"log": subject.id}"#;
    let found = plan(&pdp("p.sapl", same), &all);
    assert_eq!((found.exact, found.duties.obligations.len(), found.groups.len()), (true, 1, 1));
    // The owner is known where the row is permitted, but the filter is not asked for that. Which of two objects it is depends
    // on the row, too, and the filter has the first of them.
    let varies = same.replace("{\"log\": subject.id}", "{\"log\": resource.owner}");
    let found = plan(&pdp("p.sapl", &varies), &all);
    assert_eq!((found.kind, found.exact), (Kind::None, false));
    assert_eq!(found.reasons, ["obligations or transformations depend on the row"]);
    let varies = same.replace("{\"log\": subject.id}", "{\"open\": resource.open}");
    let found = plan(&pdp("p.sapl", &varies), &all);
    assert_eq!((found.kind, found.exact, found.groups.len()), (Kind::Filter, false, 2));
    let groups = r#"
      set "s" priority permit or deny
      policy "own" permit resource.owner == subject.id; obligation {"log": 1}
      policy "open" permit resource.open;"#;
    let found = plan(&pdp("p.sapl", groups), &all);
    assert_eq!((found.exact, found.duties.obligations.len(), found.groups.len()), (false, 0, 2));
    let row = |owner: &str, open| {
        Row(vec![Cell::One(Scalar::Text(owner.into())), Cell::One(Scalar::Boolean(open))])
    };
    assert!(found.matches(&row("bob", true)) && !found.matches(&row("ada", true)));
    assert!(found.may_match(&row("ada", false)) && !found.may_match(&row("bob", false)));
}

/// A decision names an obligation as often as a policy asks for it, in the order of the policies. Whoever enforces a plan carries each out once,
/// so a row that two policies permit belongs to those that one permits.
#[test]
fn the_same_obligations_make_one_group_of_rows() {
    let all = columns(vec![
        Column::new("owner", ColumnType::Text).nulls(Nulls::Absent),
        Column::new("level", ColumnType::Integer).nulls(Nulls::Absent),
        Column::new("open", ColumnType::Boolean),
    ]);
    let obligations = [
        ["{\"log\": 1}", "{\"log\": 1}", "{\"log\": 1}"],
        ["{\"log\": 1} obligation {\"log\": 1}", "{\"log\": 1}", "{\"log\": 1.0}"],
        ["\"a\" obligation \"b\"", "\"b\" obligation \"a\"", "\"a\" obligation \"b\" obligation \"a\""],
    ];
    // With `<=`, which fails of NULL, votes are counted one after the other.
    for condition in ["resource.level == 3", "resource.level <= subject.level"] {
        for [own, open, level] in obligations {
            let text = format!(
                "set \"s\" priority permit or deny errors propagate
                policy \"own\" permit resource.owner == subject.id; obligation {own}
                policy \"open\" permit resource.open; obligation {open}
                policy \"level\" permit {condition}; obligation {level}"
            );
            let pdp = pdp("p.sapl", &text);
            let found = plan(&pdp, &all);
            assert_eq!((found.exact, found.groups.len()), (true, 1), "{text}\n{found:#?}");
            let row = |owner: &str, level, open| {
                let level = Cell::One(Scalar::Integer(level));
                Row(vec![Cell::One(Scalar::Text(owner.into())), level, Cell::One(Scalar::Boolean(open))])
            };
            for permitted in [row("ada", 9, false), row("bob", 3, true), row("ada", 3, true)] {
                assert!(found.matches(&permitted), "{text}\n{permitted:?}");
            }
            assert!(!found.matches(&row("bob", 9, false)));
            let count = if own.contains("\"b\"") { 2 } else { 1 };
            assert_eq!(found.duties.obligations.len(), count, "each once: {text}");
        }
    }
}

/// `unanimous strict` takes two votes for different ones if they ask for the same in another order.
#[test]
fn obligations_in_another_order_disagree_where_votes_must_be_the_very_same() {
    let all =
        columns(vec![Column::new("open", ColumnType::Boolean), Column::new("own", ColumnType::Boolean)]);
    let text = "set \"s\" unanimous strict or deny errors propagate
        policy \"open\" permit resource.open; obligation 1 obligation 2
        policy \"own\" permit resource.own; obligation 2 obligation 1";
    let pdp = pdp("p.sapl", text);
    let found = plan(&pdp, &all);
    for (open, own, expected) in [(true, false, true), (false, true, true), (true, true, false)] {
        let row = Row(vec![Cell::One(Scalar::Boolean(open)), Cell::One(Scalar::Boolean(own))]);
        let decision = pdp.decide_once(&ada(all.resource(&Value::Undefined, &row)));
        assert_eq!(
            (found.matches(&row), decision.outcome == Outcome::Permit),
            (expected, expected),
            "{row:?}\n{found:#?}"
        );
    }
    assert_eq!((found.exact, found.groups.len()), (true, 1));
}

/// Some databases read 5e-324 as 0, and some refuse it.
#[test]
fn a_number_that_databases_do_not_read_exactly_is_left_out() {
    let weight = columns(vec![Column::new("weight", ColumnType::Double)]);
    let of = |number: &str| pdp("p.sapl", &format!("policy \"p\" permit resource.weight > {number};"));
    let found = plan(&of("5e-324"), &weight);
    assert_eq!((found.kind, found.exact), (Kind::Filter, true));
    let others = [Dialect::Ucast, Dialect::Cerbos, Dialect::Sapl];
    let databases = [Database::Sqlite, Database::Postgres, Database::Mariadb].map(Dialect::Sql);
    for dialect in databases.into_iter().chain(others) {
        let within = found.within(&weight, dialect);
        assert_eq!((within.kind, within.exact), (Kind::None, false), "{dialect:?}");
        assert_eq!(within.superset, Some(Filter::Constant(true)), "{dialect:?}");
        assert_eq!(within.reasons, ["databases do not read numbers as small as `5e-324` exactly"]);
    }
    // The smallest number that they do.
    let found = plan(&of("2.2250738585072014e-308"), &weight);
    assert!(found.within(&weight, Dialect::Sql(Database::Mariadb)).exact);
}

/// The row is the whole resource: what a plan says of it is what a decision about that says.
#[test]
fn a_row_stands_for_a_resource() {
    let policy = r#"policy "own" permit resource.type == "record"; resource.owner.id == subject.id; "ada" in resource.readers;"#;
    let all = columns(vec![
        Column::new("owner_id", ColumnType::Text).path(["owner", "id"]),
        Column::new("readers", ColumnType::Text).nulls(Nulls::Absent).many(),
    ]);
    let fixed = Value::object([("type", Value::text("record"))]);
    let pdp = pdp("p.sapl", policy);
    let plan = pdp.plan(&ada(fixed.clone()), &all).unwrap();
    assert!(plan.exact);
    let text = |text: &str| Scalar::Text(text.into());
    for (owner, readers, expected) in [
        ("ada", Cell::Many(vec![text("bob"), text("ada")]), true),
        ("ada", Cell::Many(vec![text("bob")]), false),
        ("ada", Cell::Null, false),
        ("bob", Cell::Many(vec![text("ada")]), false),
    ] {
        let row = Row(vec![Cell::One(text(owner)), readers]);
        let decision = pdp.decide_once(&ada(all.resource(&fixed, &row)));
        assert_eq!(
            (plan.matches(&row), decision.outcome == Outcome::Permit),
            (expected, expected),
            "{row:?}"
        );
    }
}

#[test]
fn what_all_rows_have_is_an_object() {
    let pdp = pdp("p.sapl", "policy \"all\" permit");
    let planned = pdp.plan(&ada(Value::text("record")), &columns(Vec::new()));
    assert_eq!(planned.map(|plan| plan.kind), Err(PlanError::NoObject));
}

#[test]
fn columns_that_cannot_be_told_apart_are_refused() {
    let column = |path: &[&str]| Column::new("c", ColumnType::Text).path(path.iter().copied());
    for (one, other) in [(&["a"][..], &["a"][..]), (&["a"], &["a", "b"]), (&["a", "b"], &["a"])] {
        assert!(
            Columns::new(vec![column(one), column(other)], Unlisted::Absent).is_err(),
            "{one:?} {other:?}"
        );
    }
    assert!(Columns::new(vec![Column::new("", ColumnType::Text)], Unlisted::Absent).is_err());
    assert!(Columns::new(vec![Column::new("c", ColumnType::Double).many()], Unlisted::Absent).is_err());
}

#[test]
fn an_empty_filter_is_never_everything() {
    let owner = columns(vec![Column::new("owner", ColumnType::Text)]);
    let pdp = pdp("p.sapl", "policy \"none\" permit action == \"write\";");
    for (name, dialect) in Dialect::ALL {
        let json = plan(&pdp, &owner).to_json(&owner, dialect).unwrap();
        assert_eq!(json.get("kind").and_then(|kind| kind.as_str()), Some("none"), "{name}");
        let written = json.get("filter").map(|filter| filter.to_string());
        assert!(matches!(written.as_deref(), None | Some(r#"{"kind":"KIND_ALWAYS_DENIED"}"#)), "{name}");
    }
}

#[test]
fn the_manual_shows_what_is_planned() {
    let manual = std::fs::read_to_string(durward_testdata::workspace().join("docs/plan.md")).unwrap();
    let between = |from: &str, to: &str| {
        let rest = manual.split_once(from).unwrap().1;
        rest.split_once(to).unwrap().0.to_owned()
    };
    let policy = between("records.sapl <<'SAPL'\n", "SAPL\n");
    let text = |name: &str| Column::new(name, ColumnType::Text).nulls(Nulls::Absent);
    let all = columns(vec![
        text("owner"),
        text("department"),
        Column::new("level", ColumnType::Integer),
        Column::new("sealed", ColumnType::Boolean),
    ]);
    let departments = Value::array([Value::text("ward 1")]);
    let ada = [("id", Value::text("ada")), ("departments", departments), ("level", Value::number(2))];
    let asked =
        Subscription::new(Value::object(ada), Value::text("read"), Value::Undefined, Value::Undefined);
    let plan = pdp("records.sapl", &policy).plan(&asked, &all).unwrap();
    let sql = plan.filter.to_sql(&all, Database::Sqlite).unwrap();
    let mut shown = format!("the rows of this filter are permitted, and no others\n{}\n", sql.text);
    for (at, value) in sql.parameters.iter().enumerate() {
        shown += &format!("parameter {}: {}\n", at + 1, value.to_json());
    }
    assert!(plan.exact);
    assert_eq!(between("bound to its places:\n\n```text\n", "```"), shown);
}
