//! What every node of a graph reaches: Tarjan's strongly connected components (SIAM Journal on Computing 1, 1972), then
//! for each component itself and what the components below it reach. Nodes are numbers in here.

use std::collections::{HashMap, HashSet};

use durward_functions::jvm::{hash_code, hash_set_order, hash_table_order};
use durward_functions::limits::ELEMENTS_MAX;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::value::Object;
use foldhash::fast::RandomState;
use smol_str::SmolStr;

use super::{edges, node};

/// How many entries of closures one call may read to join them: a second's work at most.
const STEPS_MAX: usize = 100_000_000;

/// The closures of a graph.
pub(super) struct GraphClosures {
    nodes: NumberedNodes,
    components: Components,
    /// What each component reaches, in the order of a Java hash set.
    reached: Vec<Vec<u32>>,
}

pub(super) fn too_large() -> Box<Fault> {
    Fault::processing(format!("the closure of the graph has more than {ELEMENTS_MAX} entries"))
}

impl GraphClosures {
    /// # Errors
    /// The closures of all nodes together have more than [`ELEMENTS_MAX`] entries.
    pub(super) fn of(graph: &Object, edge_key: Option<&str>) -> Evaluated<GraphClosures> {
        let nodes = NumberedNodes::of(graph, edge_key)?;
        let components = Components::of(&nodes);
        let reached = join(&nodes, &components)?;
        Ok(GraphClosures { nodes, components, reached })
    }

    /// All nodes in the order of the engine's table of closures: it holds them component by component.
    pub(super) fn nodes(&self) -> Vec<&SmolStr> {
        let mut order: Vec<u32> = self.components.members.iter().flatten().copied().collect();
        hash_table_order(&mut order, |node| self.nodes.hash(*node));
        order.into_iter().filter_map(|node| self.nodes.names.get(place(node))).collect()
    }

    /// The component of a node, and what it reaches.
    pub(super) fn reached_from(&self, name: &str) -> (usize, impl ExactSizeIterator<Item = &SmolStr>) {
        let component =
            self.nodes.numbers.get(name).map_or(usize::MAX, |node| self.components.of_node(*node));
        let reached = self.reached.get(component).map_or(&[][..], Vec::as_slice);
        (component, reached.iter().map(|node| self.nodes.name(*node)))
    }
}

/// A number as a place in a vector.
fn place(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}

/// The nodes of a graph by numbers, those first that are its keys.
struct NumberedNodes {
    names: Vec<SmolStr>,
    hashes: Vec<i32>,
    numbers: HashMap<SmolStr, u32, RandomState>,
    /// The distinct nodes next to each, in the order of a Java hash set; none for nodes that are not keys.
    next: Vec<Vec<u32>>,
}

impl NumberedNodes {
    fn of(graph: &Object, edge_key: Option<&str>) -> Evaluated<NumberedNodes> {
        let numbers = HashMap::with_capacity_and_hasher(graph.len(), RandomState::default());
        let mut nodes = NumberedNodes { names: Vec::new(), hashes: Vec::new(), numbers, next: Vec::new() };
        for key in graph.keys() {
            nodes.number(key.clone());
        }
        for key in graph.keys() {
            let next: Evaluated<Vec<u32>> =
                edges(graph, key, edge_key).iter().map(|edge| Ok(nodes.number(node(edge)?))).collect();
            let mut next = next?;
            let mut seen = HashSet::with_capacity_and_hasher(next.len(), RandomState::default());
            next.retain(|node| seen.insert(*node));
            hash_table_order(&mut next, |node| nodes.hash(*node));
            nodes.next.push(next);
        }
        Ok(nodes)
    }

    fn number(&mut self, name: SmolStr) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        // More nodes than 32 bits can count would not fit into memory.
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.hashes.push(hash_code(&name));
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    fn hash(&self, node: u32) -> i32 {
        self.hashes.get(place(node)).copied().unwrap_or_default()
    }

    fn name(&self, node: u32) -> &SmolStr {
        static NONE: SmolStr = SmolStr::new_static("");
        self.names.get(place(node)).unwrap_or(&NONE)
    }

    fn next(&self, node: u32) -> &[u32] {
        self.next.get(place(node)).map_or(&[], Vec::as_slice)
    }
}

/// Strongly connected components, those first that others lead to.
struct Components {
    /// The nodes of each, in the order of a Java hash set.
    members: Vec<Vec<u32>>,
    of_node: Vec<usize>,
}

impl Components {
    fn of(nodes: &NumberedNodes) -> Components {
        let mut walk = TarjanWalk::over(nodes);
        for node in 0..nodes.names.len() {
            walk.start(u32::try_from(node).unwrap_or(u32::MAX));
        }
        Components { members: walk.members, of_node: walk.component }
    }

    fn of_node(&self, node: u32) -> usize {
        self.of_node.get(place(node)).copied().unwrap_or(usize::MAX)
    }
}

/// Nobody has come here yet, or no component is known.
const NONE: usize = usize::MAX;

/// The walk of Tarjan's algorithm, with its stack of calls in a vector: graphs may be deeper than the thread's.
struct TarjanWalk<'a> {
    nodes: &'a NumberedNodes,
    /// When each node was met.
    met: Vec<usize>,
    /// The earliest node in its component, as far as is known.
    low: Vec<usize>,
    component: Vec<usize>,
    count: usize,
    /// Met, and not in a component yet.
    open: Vec<u32>,
    members: Vec<Vec<u32>>,
}

impl<'a> TarjanWalk<'a> {
    fn over(nodes: &'a NumberedNodes) -> TarjanWalk<'a> {
        let none = vec![NONE; nodes.names.len()];
        TarjanWalk {
            nodes,
            met: none.clone(),
            low: none.clone(),
            component: none,
            count: 0,
            open: Vec::new(),
            members: Vec::new(),
        }
    }

    fn start(&mut self, node: u32) {
        if at(&self.met, node) != NONE {
            return;
        }
        let mut calls = vec![(node, 0)];
        self.meet(node);
        while let Some((node, next)) = calls.last_mut() {
            let node = *node;
            let Some(&neighbor) = self.nodes.next(node).get(*next) else {
                calls.pop();
                self.leave(node, calls.last().map(|(parent, _)| *parent));
                continue;
            };
            *next += 1;
            if at(&self.met, neighbor) == NONE {
                self.meet(neighbor);
                calls.push((neighbor, 0));
            } else if at(&self.component, neighbor) == NONE {
                self.lower(node, at(&self.met, neighbor));
            }
        }
    }

    fn meet(&mut self, node: u32) {
        set(&mut self.met, node, self.count);
        set(&mut self.low, node, self.count);
        self.count += 1;
        self.open.push(node);
    }

    fn lower(&mut self, node: u32, to: usize) {
        let low = at(&self.low, node).min(to);
        set(&mut self.low, node, low);
    }

    fn leave(&mut self, node: u32, parent: Option<u32>) {
        let low = at(&self.low, node);
        if low == at(&self.met, node) {
            self.close(node);
        }
        if let Some(parent) = parent {
            self.lower(parent, low);
        }
    }

    /// Makes a component of everything that was met from this node on.
    fn close(&mut self, root: u32) {
        let mut members = Vec::new();
        while let Some(node) = self.open.pop() {
            set(&mut self.component, node, self.members.len());
            members.push(node);
            if node == root {
                break;
            }
        }
        hash_table_order(&mut members, |node| self.nodes.hash(*node));
        self.members.push(members);
    }
}

fn at(table: &[usize], node: u32) -> usize {
    table.get(place(node)).copied().unwrap_or(NONE)
}

fn set(table: &mut [usize], node: u32, value: usize) {
    if let Some(entry) = table.get_mut(place(node)) {
        *entry = value;
    }
}

/// What every component reaches. Those below one have smaller numbers, so they are done before it.
fn join(nodes: &NumberedNodes, components: &Components) -> Evaluated<Vec<Vec<u32>>> {
    let mut reached: Vec<Vec<u32>> = Vec::with_capacity(components.members.len());
    // The component for which each node was last noted.
    let mut noted = vec![NONE; nodes.names.len()];
    let (mut entries, mut steps) = (0, 0);
    for (component, members) in components.members.iter().enumerate() {
        let mut all = members.clone();
        all.iter().for_each(|node| set(&mut noted, *node, component));
        for below in below(nodes, components, component, members) {
            // What reaches it was joined before, and all of this with it.
            let known = components.members.get(below).and_then(|members| members.first());
            if known.is_some_and(|node| at(&noted, *node) == component) {
                continue;
            }
            let below = reached.get(below).map_or(&[][..], Vec::as_slice);
            steps += below.len();
            for node in below {
                if at(&noted, *node) != component {
                    set(&mut noted, *node, component);
                    all.push(*node);
                }
            }
        }
        entries += members.len().saturating_mul(all.len());
        if entries > ELEMENTS_MAX || steps > STEPS_MAX {
            return Err(too_large());
        }
        hash_set_order(&mut all, members.len(), |node| nodes.hash(*node));
        reached.push(all);
    }
    Ok(reached)
}

/// The components that edges lead to from this one, in the order of a Java hash set of their numbers.
fn below(nodes: &NumberedNodes, components: &Components, component: usize, members: &[u32]) -> Vec<usize> {
    let mut seen: HashSet<usize, RandomState> = HashSet::default();
    let mut below: Vec<usize> = members
        .iter()
        .flat_map(|member| nodes.next(*member))
        .map(|neighbor| components.of_node(*neighbor))
        .filter(|below| *below != component && seen.insert(*below))
        .collect();
    hash_table_order(&mut below, |number| i32::try_from(*number).unwrap_or(i32::MAX));
    below
}
