//! Closures of large graphs, and the order of their results.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use durward_ir::value::Value;

use super::cases::call;

fn text(name: impl std::fmt::Display) -> Value {
    Value::Text(name.to_string().into())
}

fn get(value: &Value, key: &str) -> Value {
    let Value::Object(object) = value else { return Value::Undefined };
    object.get(key).cloned().unwrap_or(Value::Undefined)
}

fn length(value: &Value) -> String {
    call("standard.length", std::slice::from_ref(value)).unwrap().to_json()
}

/// 300 departments with two teams each, 1500 people in one team of their own and some of others.
fn hospital() -> Value {
    let mut entries = Vec::new();
    for department in 0..300_u32 {
        entries.push((format!("dept_{department}"), Value::array([])));
        for team in 0..2 {
            let to = Value::array([text(format!("dept_{department}"))]);
            entries.push((format!("team_{}", department * 2 + team), to));
        }
    }
    for person in 0..1500_u32 {
        let teams = (0..15).map(|at| text(format!("team_{}", (person * 7 + at * 41) % 600)));
        entries.push((format!("staff_{person}"), Value::array(teams)));
    }
    Value::object(entries)
}

#[test]
fn a_graph_of_thousands_of_nodes_is_closed() {
    let graph = hospital();
    let closed = call("graph.transitiveClosureSet", &[graph]).unwrap();
    assert_eq!(length(&closed), "2400");
    assert_eq!(get(&get(&closed, "staff_0"), "dept_0").to_json(), "true");
    assert_eq!(get(&get(&closed, "staff_0"), "dept_1").to_json(), "undefined");
    assert_eq!(get(&closed, "team_599").to_json(), r#"{"dept_299":true,"team_599":true}"#);
}

#[test]
fn nodes_that_reach_each_other_share_one_closure() {
    let ring = Value::object(
        (0..900).map(|at| (format!("n{at}"), Value::array([text(format!("n{}", (at + 1) % 900))]))),
    );
    let closed = call("graph.transitiveClosure", &[ring]).unwrap();
    let [Value::Array(a), Value::Array(b)] = [get(&closed, "n0"), get(&closed, "n899")] else {
        unreachable!()
    };
    assert_eq!(a.len(), 900);
    assert!(Arc::ptr_eq(&a, &b));
}

#[test]
fn closures_have_a_million_entries_at_most() {
    let chain = |length: u32| {
        Value::object((0..length).map(|at| (format!("n{at}"), Value::array([text(format!("n{}", at + 1))]))))
    };
    // The last node is no key, but counts: a chain of n keys has (n + 1) * (n + 2) / 2 entries.
    assert!(call("graph.transitiveClosure", &[chain(1412)]).is_ok());
    assert!(call("graph.transitiveClosure", &[chain(1413)]).is_err());
    assert!(
        call("graph.isReachable", &[chain(100_000), text("n0"), text("n100000")])
            .unwrap()
            .equals(&Value::Boolean(true))
    );
    assert_eq!(length(&call("graph.reachable", &[chain(100_000), text("n0")]).unwrap()), "100001");
    assert!(call("graph.reachable_paths", &[chain(100_000), text("n0")]).is_err());
}

#[test]
fn a_graph_too_dense_to_be_closed_is_an_error() {
    let layer = |from: &str, to: &str| {
        let to = Value::array((0..1000).map(|at| text(format!("{to}{at}"))));
        (0..1000).map(|at| (format!("{from}{at}"), to.clone())).collect::<Vec<_>>()
    };
    let graph = Value::object(layer("a", "b").into_iter().chain(layer("b", "c")).chain(layer("c", "d")));
    assert!(call("graph.transitiveClosureSet", &[graph]).is_err());
}
