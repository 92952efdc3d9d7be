//! The library `graph`: what can be reached from where.
//!
//! A graph is an object: each key is a node, its value the array of nodes next to it. In an entity graph that array is
//! under an edge key of the node's object. Nodes that are not keys have none next to them, and whatever is not an
//! array counts as none. A number as a node is named by its text, `null` and `undefined` by `null`.
//!
//! Closures follow the Java engine: Tarjan's strongly connected components, and below each component the union of what
//! those below it reach. Their arrays and objects are in the order of Java's hash sets, which the engine
//! builds them in. Nodes that reach each other share one array or object here.

mod closure;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use durward_functions::limits::{ELEMENTS_MAX, LimitedText, check_elements, too_long};
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Any, Object as AnObject, Text};
use durward_ir::value::{Debugged, Object, ObjectBuilder, Value};
use smol_str::SmolStr;

use closure::GraphClosures;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("graph.reachable", &[AnObject, Any], reachable,
        "The nodes that are reached from a node or an array of nodes, these first, the nearest next."),
    row("graph.isReachable", &[AnObject, Any, Any], is_reachable,
        "Whether the third, a node, is reached from the second, a node or an array of nodes, which reach themselves."),
    row("graph.reachable_paths", &[AnObject, Any], reachable_paths,
        "A shortest path from a node, or from one of an array of nodes, to each node that is reached."),
    row("graph.transitiveClosure", &[AnObject], closure,
        "For each node the array of nodes that it reaches; an error beyond 1,000,000 entries."),
    row("graph.transitiveClosure", &[AnObject, Text], closure,
        "The same of an entity graph, over the edges under this key."),
    row("graph.transitiveClosureSet", &[AnObject], closure_set,
        "For each node an object with the nodes that it reaches as keys; an error beyond 1,000,000 entries."),
    row("graph.transitiveClosureSet", &[AnObject, Text], closure_set,
        "The same of an entity graph, over the edges under this key."),
    row("graph.transitiveClosureProjection", &[AnObject, Text, Text], closure_projection,
        "For each node of an entity graph an attribute (third) of all nodes that it reaches over the edges under a key \
         (second), the elements of arrays one by one; an error beyond 1,000,000 entries."),
];

/// A node as the key that names it.
fn node(value: &Value) -> Evaluated<SmolStr> {
    if let Value::Text(text) = value {
        return Ok(text.clone());
    }
    if matches!(value, Value::Null | Value::Undefined) {
        return Ok(SmolStr::new_static("null"));
    }
    // Arrays as nodes may hold one another many times over.
    let mut name = LimitedText::default();
    write!(name, "{}", Debugged(value)).map_err(|_| too_long())?;
    Ok(name.finish().into())
}

/// What stands next to a node.
fn edges<'a>(graph: &'a Object, node: &str, edge_key: Option<&str>) -> &'a [Value] {
    let edges = match (graph.get(node), edge_key) {
        (Some(Value::Object(entity)), Some(key)) => entity.get(key),
        (Some(_) | None, Some(_)) => None,
        (edges, None) => edges,
    };
    if let Some(Value::Array(edges)) = edges { edges } else { &[] }
}

/// Breadth first, from all roots at once.
struct BreadthFirstSearch {
    /// Every node that was met, in this order, with the place of the node it was met from.
    met: Vec<(SmolStr, Option<usize>)>,
    known: HashSet<SmolStr>,
}

impl BreadthFirstSearch {
    fn from(roots: &Value) -> Evaluated<BreadthFirstSearch> {
        let mut search = BreadthFirstSearch { met: Vec::new(), known: HashSet::new() };
        if let Value::Array(roots) = roots {
            roots.iter().try_for_each(|root| search.meet(root, None))?;
        } else {
            search.meet(roots, None)?;
        }
        Ok(search)
    }

    fn meet(&mut self, value: &Value, from: Option<usize>) -> Evaluated<()> {
        let node = node(value)?;
        if self.known.insert(node.clone()) {
            self.met.push((node, from));
        }
        Ok(())
    }

    /// Goes on from every node that was met, until none is left or this one is met.
    fn run(&mut self, graph: &Object, target: Option<&str>) -> Evaluated<()> {
        let mut next = 0;
        while let Some((node, _)) = self.met.get(next)
            && !target.is_some_and(|target| self.known.contains(target))
        {
            for neighbor in edges(graph, &node.clone(), None) {
                self.meet(neighbor, Some(next))?;
            }
            next += 1;
        }
        Ok(())
    }

    /// The way to the node at this place.
    fn path(&self, place: usize) -> Vec<Value> {
        let mut steps = Vec::new();
        let mut at = Some(place);
        while let Some((node, from)) = at.and_then(|at| self.met.get(at)) {
            steps.push(Value::Text(node.clone()));
            at = *from;
        }
        steps.reverse();
        steps
    }
}

fn reachable(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(graph), roots] = arguments else { return unchecked() };
    let mut search = BreadthFirstSearch::from(roots)?;
    search.run(graph, None)?;
    check_elements(search.met.len())?;
    Ok(Value::array(search.met.into_iter().map(|(node, _)| Value::Text(node))))
}

fn is_reachable(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(graph), roots, target] = arguments else { return unchecked() };
    let target = node(target)?;
    let mut search = BreadthFirstSearch::from(roots)?;
    search.run(graph, Some(&target))?;
    Ok(Value::Boolean(search.known.contains(&target)))
}

fn reachable_paths(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(graph), roots] = arguments else { return unchecked() };
    let mut search = BreadthFirstSearch::from(roots)?;
    search.run(graph, None)?;
    let (mut paths, mut steps) = (Vec::new(), 0);
    for place in 0..search.met.len() {
        let path = search.path(place);
        steps += path.len();
        check_elements(steps)?;
        paths.push(Value::array(path));
    }
    Ok(Value::array(paths))
}

/// Which graph, and under which key an entity has its edges.
fn graph_and_edge_key(arguments: &[Value]) -> Evaluated<(&Object, Option<&str>)> {
    match arguments {
        [Value::Object(graph)] => Ok((graph, None)),
        [Value::Object(graph), Value::Text(key), ..] => Ok((graph, Some(key))),
        _ => Err(Fault::processing("the arguments were not checked")),
    }
}

fn closure(arguments: &[Value]) -> Evaluated<Value> {
    by_node(arguments, |reached| Value::array(reached.map(|node| Value::Text(node.clone()))))
}

fn closure_set(arguments: &[Value]) -> Evaluated<Value> {
    by_node(arguments, |reached| Value::object(reached.map(|node| (node.clone(), Value::Boolean(true)))))
}

/// The closure of every node of the graph, made a value once for all that share it.
fn by_node(
    arguments: &[Value],
    value: impl Fn(&mut dyn ExactSizeIterator<Item = &SmolStr>) -> Value,
) -> Evaluated<Value> {
    let (graph, edge_key) = graph_and_edge_key(arguments)?;
    let closures = GraphClosures::of(graph, edge_key)?;
    let mut made: HashMap<usize, Value> = HashMap::new();
    let mut result = ObjectBuilder::with_capacity(graph.len());
    for key in graph.keys() {
        let (component, mut reached) = closures.reached_from(key);
        let shared = made.entry(component).or_insert_with(|| value(&mut reached));
        result.insert(key.clone(), shared.clone());
    }
    Ok(Value::Object(result.finish().into()))
}

fn closure_projection(arguments: &[Value]) -> Evaluated<Value> {
    let (graph, edge_key) = graph_and_edge_key(arguments)?;
    let [_, _, Value::Text(attribute)] = arguments else { return unchecked() };
    let closures = GraphClosures::of(graph, edge_key)?;
    let mut made: HashMap<usize, Value> = HashMap::new();
    let mut result = ObjectBuilder::new();
    let mut total = 0;
    for key in closures.nodes() {
        let (component, reached) = closures.reached_from(key);
        let shared = match made.entry(component) {
            Entry::Occupied(shared) => shared.into_mut(),
            Entry::Vacant(free) => {
                let collected =
                    collect(reached.filter_map(|node| attribute_of(graph, node, attribute)), &mut total)?;
                free.insert(Value::array(collected))
            }
        };
        result.insert(key.clone(), shared.clone());
    }
    Ok(Value::Object(result.finish().into()))
}

/// The elements of arrays, and what is no array; counts them all.
fn collect<'a>(values: impl Iterator<Item = &'a Value>, total: &mut usize) -> Evaluated<Vec<Value>> {
    let mut collected = Vec::new();
    for value in values {
        let elements =
            if let Value::Array(elements) = value { elements } else { std::slice::from_ref(value) };
        *total += elements.len();
        if *total > ELEMENTS_MAX {
            return Err(closure::too_large());
        }
        collected.extend_from_slice(elements);
    }
    Ok(collected)
}

fn attribute_of<'a>(graph: &'a Object, node: &str, attribute: &str) -> Option<&'a Value> {
    let Some(Value::Object(entity)) = graph.get(node) else { return None };
    let Some(Value::Object(attributes)) = entity.get("attributes") else { return None };
    attributes.get(attribute)
}
