//! The lines and rings of two geometries, cut where they meet: what comes out meets at its ends only.
//!
//! The order is that of JTS, the library of the Java engine, so that results begin where its results begin: edges in
//! the order of the geometries, and what lies on each other is one edge, the first.

use std::collections::{BTreeMap, HashMap};

use super::Refused;
use super::geometry::{Coord, Geometry, SimpleGeometry, is_closed, without_repeated};
use super::limits::{CROSSINGS_MAX, WorkLeft};
use super::segment::{Location, Segment, SegmentIntersection, each_pair, meet, segments, side};

/// Where one of both geometries is, on an edge and beside it. Only edges of areas have sides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct EdgeSides {
    pub(super) on: Option<Location>,
    /// Left and right.
    pub(super) beside: Option<[Option<Location>; 2]>,
}

impl EdgeSides {
    pub(super) fn any_unknown(&self) -> bool {
        self.on.is_none() || self.beside.is_some_and(|sides| sides.iter().any(Option::is_none))
    }

    /// Takes from the other what is unknown here.
    pub(super) fn fill_from(&mut self, other: &EdgeSides) {
        self.on = self.on.or(other.on);
        if let Some(theirs) = other.beside {
            let [left, right] = self.beside.unwrap_or_default();
            self.beside = Some([left.or(theirs[0]), right.or(theirs[1])]);
        }
    }

    /// Puts a location wherever there is none.
    pub(super) fn fill(&mut self, location: Option<Location>) {
        self.on = self.on.or(location);
        self.beside = self.beside.map(|[left, right]| [left.or(location), right.or(location)]);
    }

    pub(super) fn flipped(&self) -> EdgeSides {
        EdgeSides { on: self.on, beside: self.beside.map(|[left, right]| [right, left]) }
    }
}

/// Where both geometries are.
pub(super) type EdgeLabel = [EdgeSides; 2];

pub(super) fn flipped(label: &EdgeLabel) -> EdgeLabel {
    [label[0].flipped(), label[1].flipped()]
}

/// An edge between two nodes.
#[derive(Clone, Debug)]
pub(super) struct NodedEdge {
    pub(super) coords: Vec<Coord>,
    pub(super) label: EdgeLabel,
    /// How many areas of each geometry lie left and right, once several edges lie on each other.
    depths: Option<[Option<[i32; 2]>; 2]>,
}

/// A line or ring, and where it is to be cut.
pub(super) struct NodedChain {
    pub(super) coords: Vec<Coord>,
    pub(super) label: EdgeLabel,
    /// Of which geometry it is.
    pub(super) of: usize,
    /// In order along the chain, without its ends.
    pub(super) cuts: Vec<ChainCut>,
    /// Whether it meets the other geometry.
    pub(super) is_met: bool,
}

/// A place where a chain is cut: behind so many segments, so far along the next.
pub(super) struct ChainCut {
    pub(super) at: usize,
    pub(super) along: f64,
    pub(super) coord: Coord,
}

/// What is done where segments of both geometries cross within both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Crossings {
    /// They are cut there.
    Cut,
    /// They are not: that they cross tells enough of how the geometries lie to each other.
    Note,
}

/// Which places are nodes, and where each geometry is there.
pub(super) type NodeLocations = BTreeMap<Coord, [Option<Location>; 2]>;

/// The lines and rings of two geometries, and where they meet.
pub(super) struct Chains {
    pub(super) chains: Vec<NodedChain>,
    pub(super) nodes: NodeLocations,
    /// Where segments of both geometries cross within both.
    pub(super) crossings: Vec<Coord>,
    cut_count: usize,
    rule: Crossings,
}

/// Finds where two geometries meet themselves and each other.
///
/// # Errors
/// They are too large for it.
pub(super) fn chains(
    geometries: [&Geometry; 2],
    rule: Crossings,
    work: &mut WorkLeft,
) -> Result<Chains, Refused> {
    let mut chains =
        Chains { chains: Vec::new(), nodes: NodeLocations::new(), crossings: Vec::new(), cut_count: 0, rule };
    for (of, geometry) in geometries.into_iter().enumerate() {
        geometry.each_simple(&mut |simple| chains.add(of, &simple));
    }
    // Rings of valid areas do not meet themselves: JTS does not look, nor do we.
    let are_rings = geometries.map(|geometry| {
        matches!(geometry, Geometry::Ring(_) | Geometry::Polygon(_) | Geometry::MultiPolygon(_))
    });
    let all = chains.chains.iter().enumerate().flat_map(|(at, chain)| segments(at, &chain.coords)).collect();
    each_pair(all, work, |p, q| chains.cut_pair(p, q, are_rings))?;
    chains.chains.iter_mut().for_each(NodedChain::sort_cuts);
    Ok(chains)
}

/// Two geometries, cut into edges.
pub(super) struct Noding {
    pub(super) nodes: NodeLocations,
    pub(super) edges: Vec<NodedEdge>,
}

/// Cuts two geometries where they meet themselves and each other.
///
/// # Errors
/// They are too large for it, or an area crosses itself.
pub(super) fn node(geometries: [&Geometry; 2], work: &mut WorkLeft) -> Result<Noding, Refused> {
    let Chains { chains, nodes, .. } = chains(geometries, Crossings::Cut, work)?;
    let edges = unique(chains.into_iter().flat_map(NodedChain::split).collect());
    check(&edges, work)?;
    Ok(Noding { nodes, edges })
}

/// # Errors
/// Edges meet elsewhere than at their ends, as those of an area that crosses itself do.
fn check(edges: &[NodedEdge], work: &mut WorkLeft) -> Result<(), Refused> {
    let all = edges.iter().enumerate().flat_map(|(at, edge)| segments(at, &edge.coords)).collect();
    each_pair(all, work, |p, q| {
        let is_node = |segment: &Segment, place: Coord| {
            edges
                .get(segment.chain)
                .is_some_and(|edge| edge.coords.first() == Some(&place) || edge.coords.last() == Some(&place))
        };
        let is_neighbour = p.chain == q.chain && q.at == p.at + 1;
        let is_fine = match meet(p.ends, q.ends) {
            SegmentIntersection::Nowhere => true,
            SegmentIntersection::Touch(place) => is_neighbour || (is_node(p, place) && is_node(q, place)),
            SegmentIntersection::Cross(_) | SegmentIntersection::Along(..) => false,
        };
        if is_fine { Ok(()) } else { Err(Refused::Invalid) }
    })
}

impl Chains {
    fn add(&mut self, of: usize, simple: &SimpleGeometry) {
        match simple {
            SimpleGeometry::Point(coord) => self.mark(of, *coord, Location::Interior),
            SimpleGeometry::Line(line) => self.add_line(of, line),
            SimpleGeometry::Polygon(polygon) => {
                self.add_ring(of, &polygon.shell, [Location::Exterior, Location::Interior]);
                for hole in &polygon.holes {
                    self.add_ring(of, hole, [Location::Interior, Location::Exterior]);
                }
            }
        }
    }

    pub(super) fn mark(&mut self, of: usize, coord: Coord, location: Location) {
        let [first, second] = self.nodes.entry(coord).or_default();
        *(if of == 0 { first } else { second }) = Some(location);
    }

    pub(super) fn location(&self, of: usize, coord: Coord) -> Option<Location> {
        self.nodes.get(&coord).and_then(|[first, second]| if of == 0 { *first } else { *second })
    }

    fn add_line(&mut self, of: usize, line: &[Coord]) {
        let coords = without_repeated(line);
        let (Some(first), Some(last)) = (coords.first().copied(), coords.last().copied()) else { return };
        if coords.len() < 2 {
            return;
        }
        // An end is on the boundary when an odd number of lines end there.
        for end in [first, last] {
            let was_boundary = self.location(of, end) == Some(Location::Boundary);
            self.mark(of, end, if was_boundary { Location::Interior } else { Location::Boundary });
        }
        let mut label = EdgeLabel::default();
        sides_of(&mut label, of).on = Some(Location::Interior);
        self.chains.push(NodedChain { coords, label, of, cuts: Vec::new(), is_met: false });
    }

    /// A ring, with what is left and right of it when it goes clockwise.
    fn add_ring(&mut self, of: usize, ring: &[Coord], [left, right]: [Location; 2]) {
        let coords = without_repeated(ring);
        let Some(first) = coords.first().copied() else { return };
        if coords.len() < 4 {
            return;
        }
        let beside = if is_counterclockwise(&coords) { [right, left] } else { [left, right] };
        let unknown = EdgeSides { on: None, beside: Some([None, None]) };
        let mut label = [unknown, unknown];
        *sides_of(&mut label, of) =
            EdgeSides { on: Some(Location::Boundary), beside: Some(beside.map(Some)) };
        self.mark(of, first, Location::Boundary);
        self.chains.push(NodedChain { coords, label, of, cuts: Vec::new(), is_met: false });
    }

    fn cut_pair(&mut self, p: &Segment, q: &Segment, are_rings: [bool; 2]) -> Result<(), Refused> {
        let (Some(first), Some(second)) = (self.chains.get(p.chain), self.chains.get(q.chain)) else {
            return Ok(());
        };
        let (of_p, of_q) = (first.of, second.of);
        let is_own = p.chain == q.chain;
        if is_own && (if of_p == 0 { are_rings[0] } else { are_rings[1] }) {
            return Ok(());
        }
        let met = meet(p.ends, q.ends);
        let is_neighbour = is_own && p.at.abs_diff(q.at) == 1;
        if is_neighbour && !matches!(met, SegmentIntersection::Along(..)) {
            return Ok(());
        }
        let is_self = of_p == of_q;
        let is_crossing = matches!(met, SegmentIntersection::Cross(_));
        for coord in met.coords() {
            self.cut_count += 1;
            if self.cut_count > CROSSINGS_MAX {
                return Err(Refused::TooCostly);
            }
            if is_crossing && !is_self {
                self.crossings.push(coord);
            }
            let is_cut = is_self || !is_crossing || self.rule == Crossings::Cut;
            self.meet_at(p, coord, is_self, is_cut);
            self.meet_at(q, coord, is_self, is_cut);
        }
        Ok(())
    }

    fn meet_at(&mut self, segment: &Segment, coord: Coord, is_self: bool, is_cut: bool) {
        let Some(chain) = self.chains.get_mut(segment.chain) else { return };
        chain.is_met |= !is_self;
        if !is_cut {
            return;
        }
        let [from, to] = segment.ends;
        let (at, along) =
            if coord == to { (segment.at + 1, 0.0) } else { (segment.at, along(coord, from, to)) };
        chain.cuts.push(ChainCut { at, along, coord });
        let (of, on) = (chain.of, chain.on());
        if is_self && self.location(of, coord) != Some(Location::Boundary) {
            self.mark(of, coord, on);
        }
    }
}

fn sides_of(label: &mut EdgeLabel, of: usize) -> &mut EdgeSides {
    let [first, second] = label;
    if of == 0 { first } else { second }
}

/// How far along a segment a place is, along the longer of its sides.
fn along(place: Coord, from: Coord, to: Coord) -> f64 {
    let (dx, dy) = ((to.x - from.x).abs(), (to.y - from.y).abs());
    let (place_dx, place_dy) = ((place.x - from.x).abs(), (place.y - from.y).abs());
    let along = if dx > dy { place_dx } else { place_dy };
    if along == 0.0 { place_dx.max(place_dy) } else { along }
}

/// Whether a ring goes round against the clock: told where it has climbed to its highest places and leaves them.
pub(super) fn is_counterclockwise(ring: &[Coord]) -> bool {
    let open = ring.split_last().map_or(ring, |(_, rest)| rest);
    let count = open.len();
    if count < 3 {
        return false;
    }
    let climbs = ring.iter().zip(ring.iter().skip(1)).enumerate().filter(|(_, (from, to))| to.y > from.y);
    let Some((at, (below, top))) = climbs.max_by(|(_, a), (_, b)| a.1.y.total_cmp(&b.1.y)) else {
        return false;
    };
    let mut onward = open.iter().cycle().skip(at + 1).take(count + 1);
    let mut leaves = top;
    let down = loop {
        match onward.next() {
            Some(place) if place.y == top.y => leaves = place,
            Some(place) => break place,
            None => return false,
        }
    };
    if leaves == top {
        return below != down && side(*below, *top, *down) > 0;
    }
    leaves.x < top.x
}

impl NodedChain {
    /// Where its geometry is on it.
    pub(super) fn on(&self) -> Location {
        let sides = if self.of == 0 { self.label[0] } else { self.label[1] };
        sides.on.unwrap_or(Location::Interior)
    }

    fn sort_cuts(&mut self) {
        self.cuts.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.along.total_cmp(&b.along)));
        self.cuts.dedup_by(|b, a| a.at == b.at && a.along == b.along);
    }

    /// Takes both ends as cuts.
    pub(super) fn add_ends(&mut self) {
        let last = self.coords.len().saturating_sub(1);
        for (at, coord) in [(0, self.coords.first()), (last, self.coords.last())] {
            self.cuts.extend(coord.map(|coord| ChainCut { at, along: 0.0, coord: *coord }));
        }
        self.sort_cuts();
    }

    fn split(mut self) -> Vec<NodedEdge> {
        self.add_ends();
        let pairs = self.cuts.iter().zip(self.cuts.iter().skip(1));
        let edges = pairs.map(|(from, to)| self.edge(from, to));
        edges.filter(|edge| edge.coords.len() > 1).collect()
    }

    fn edge(&self, from: &ChainCut, to: &ChainCut) -> NodedEdge {
        let between = self.coords.get(from.at + 1..=to.at).unwrap_or_default();
        let mut coords = vec![from.coord];
        coords.extend(between);
        coords.push(to.coord);
        coords.dedup();
        NodedEdge { coords, label: self.label, depths: None }
    }
}

type NodeKey = Vec<[u64; 2]>;

/// What is alike for an edge and its reverse.
fn key(coords: &[Coord]) -> NodeKey {
    let bits = |coord: &Coord| [(coord.x + 0.0).to_bits(), (coord.y + 0.0).to_bits()];
    let forward: NodeKey = coords.iter().map(bits).collect();
    let reverse: NodeKey = coords.iter().rev().map(bits).collect();
    forward.min(reverse)
}

/// One edge of those that lie on each other, with the labels of all.
fn unique(edges: Vec<NodedEdge>) -> Vec<NodedEdge> {
    let mut places: HashMap<NodeKey, usize> = HashMap::new();
    let mut kept: Vec<NodedEdge> = Vec::new();
    for edge in edges {
        let place = *places.entry(key(&edge.coords)).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(known) => known.merge(&edge),
            None => kept.push(edge),
        }
    }
    kept.iter_mut().for_each(NodedEdge::settle_depths);
    let (collapsed, mut kept): (Vec<NodedEdge>, Vec<NodedEdge>) =
        kept.into_iter().partition(NodedEdge::is_collapsed);
    kept.extend(collapsed.into_iter().map(NodedEdge::into_line));
    kept
}

impl NodedEdge {
    fn merge(&mut self, other: &NodedEdge) {
        let is_same_way = self.coords == other.coords;
        let label = if is_same_way { other.label } else { flipped(&other.label) };
        let own = self.label;
        let depths = self.depths.get_or_insert_with(|| {
            let mut depths = [None, None];
            add_depths(&mut depths, &own);
            depths
        });
        add_depths(depths, &label);
        self.label[0].fill_from(&label[0]);
        self.label[1].fill_from(&label[1]);
    }

    /// An edge with as many areas left as right is no edge of an area.
    fn settle_depths(&mut self) {
        let Some(depths) = self.depths else { return };
        for (sides, depth) in self.label.iter_mut().zip(depths) {
            let (Some(_), Some([left, right])) = (sides.beside, depth) else { continue };
            if left == right {
                sides.beside = None;
                continue;
            }
            let least = left.min(right).max(0);
            let located =
                |depth: i32| Some(if depth > least { Location::Interior } else { Location::Exterior });
            sides.beside = Some([located(left), located(right)]);
        }
    }

    /// Whether it is a side of an area that goes out and back.
    fn is_collapsed(&self) -> bool {
        self.label.iter().any(|sides| sides.beside.is_some())
            && self.coords.len() == 3
            && is_closed(&self.coords)
    }

    fn into_line(mut self) -> NodedEdge {
        self.coords.truncate(2);
        for sides in &mut self.label {
            sides.beside = None;
        }
        self
    }
}

fn add_depths(depths: &mut [Option<[i32; 2]>; 2], label: &EdgeLabel) {
    for (depth, sides) in depths.iter_mut().zip(label) {
        let Some([Some(left), Some(right)]) = sides.beside else { continue };
        let counted = |location| i32::from(location == Location::Interior);
        let [known_left, known_right] = depth.unwrap_or_default();
        *depth = Some([known_left + counted(left), known_right + counted(right)]);
    }
}
