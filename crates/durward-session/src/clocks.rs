//! How the clocks of nodes compare, and which of them is wrong.
//!
//! Each node measures how far the others' clocks are ahead of its own. The median of all, its own among them, is the time that most agree on. With an
//! even number of nodes there may be two halves that disagree; then the clock of the store counts as one more. A node whose clock is further from
//! that than clocks may differ ([`CLOCK_SKEW_MAX`]) is the one that is wrong, by its own finding: it is not ready.

use durward_identity::CLOCK_SKEW_MAX;

/// What this node knows of clocks.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ClockReport {
    /// The other nodes' clocks, in order of their names.
    pub nodes: Vec<NodeClock>,
    /// How far the clock of the store is ahead of this node's, in milliseconds; at least. `None` where there is no store or it has not
    /// said.
    pub store_ahead_ms: Option<i64>,
}

/// Another node's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClock {
    /// The node's host and a part of its name of this run.
    pub node: String,
    /// How far it is ahead of this node's, in milliseconds.
    pub ahead_ms: i64,
    /// How long the question and its answer took: it is wrong by half of that at most.
    pub round_trip_ms: u64,
}

/// How a node's clock stands to the others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ClockStanding {
    /// No two are further apart than half of what they may be.
    #[default]
    Agrees,
    /// Another node's, or the store's, is further away than that.
    Doubtful,
    /// This node's is further from most than clocks may differ.
    Wrong,
}

impl ClockReport {
    /// How far the time that most agree on is ahead of this node's clock, in milliseconds.
    pub fn most_ahead_ms(&self) -> i64 {
        let mut all: Vec<i64> = self.nodes.iter().map(|other| other.ahead_ms).chain([0]).collect();
        // One node alone has nobody to disagree with.
        if all.len().is_multiple_of(2) {
            all.extend(self.store_ahead_ms);
        }
        all.sort_unstable();
        let upper = all.get(all.len() / 2).copied().unwrap_or(0);
        let lower = all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(0);
        // Two halves, and no store that decides: nobody is found wrong.
        if lower <= 0 && upper >= 0 { 0 } else { lower.midpoint(upper) }
    }

    /// How this node's clock stands.
    pub fn standing(&self) -> ClockStanding {
        let is_beyond = |ahead_ms: i64, bound_ms: u128| u128::from(ahead_ms.unsigned_abs()) > bound_ms;
        if is_beyond(self.most_ahead_ms(), CLOCK_SKEW_MAX.as_millis()) {
            return ClockStanding::Wrong;
        }
        let mut all = self.nodes.iter().map(|other| other.ahead_ms).chain(self.store_ahead_ms);
        if all.any(|ahead_ms| is_beyond(ahead_ms, CLOCK_SKEW_MAX.as_millis() / 2)) {
            ClockStanding::Doubtful
        } else {
            ClockStanding::Agrees
        }
    }

    /// Why the node must not be used, in the operator's words, if so.
    pub fn fault(&self) -> Option<String> {
        let bound_s = CLOCK_SKEW_MAX.as_secs();
        (self.standing() == ClockStanding::Wrong).then(|| {
            let off_ms = self.most_ahead_ms();
            format!(
                "this node's clock is {} most of the {} nodes, which is more than the {bound_s} s that clocks may differ ({}): set it",
                apart(off_ms.saturating_neg()),
                self.nodes.len() + 1,
                self.told()
            )
        })
    }

    /// All that was measured, in words.
    pub fn told(&self) -> String {
        let nodes = self.nodes.iter().map(|other| format!("{}: {}", other.node, seconds(other.ahead_ms)));
        let store = self.store_ahead_ms.map(|ahead_ms| format!("the store: {}", seconds(ahead_ms)));
        let all: Vec<String> = nodes.chain(store).collect();
        format!("ahead of it are {}", all.join(", "))
    }
}

fn seconds(ahead_ms: i64) -> String {
    let (sign, ms) = (if ahead_ms < 0 { "-" } else { "" }, ahead_ms.unsigned_abs());
    format!("{sign}{}.{:03} s", ms / 1000, ms % 1000)
}

fn apart(ahead_ms: i64) -> String {
    let way = if ahead_ms < 0 { "behind" } else { "ahead of" };
    let ms = ahead_ms.unsigned_abs();
    format!("{}.{:03} s {way}", ms / 1000, ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(nodes_s: &[i64], store_s: Option<i64>) -> ClockReport {
        let node = |(number, ahead_s): (usize, &i64)| NodeClock {
            node: format!("n{number}"),
            ahead_ms: ahead_s * 1000,
            round_trip_ms: 1,
        };
        ClockReport {
            nodes: nodes_s.iter().enumerate().map(node).collect(),
            store_ahead_ms: store_s.map(|ahead_s| ahead_s * 1000),
        }
    }

    fn standing(nodes_s: &[i64], store_s: Option<i64>) -> ClockStanding {
        report(nodes_s, store_s).standing()
    }

    #[test]
    fn the_node_that_disagrees_with_most_is_wrong_and_the_others_only_say_so() {
        assert_eq!(standing(&[], None), ClockStanding::Agrees);
        assert_eq!(standing(&[0, 59], None), ClockStanding::Agrees);
        assert_eq!(standing(&[0, 61], None), ClockStanding::Doubtful);
        // One of three is 400 s ahead: as the others see it, and as it sees them.
        assert_eq!(standing(&[0, 400], None), ClockStanding::Doubtful);
        assert_eq!(standing(&[-400, -400], None), ClockStanding::Wrong);
        assert_eq!(standing(&[-400, -400], Some(0)), ClockStanding::Wrong, "the nodes are a majority");
        // All differ: the one in the middle is right.
        assert_eq!(standing(&[-400, 400], None), ClockStanding::Doubtful);
        assert_eq!(standing(&[400, 800], None), ClockStanding::Wrong);
        assert_eq!(standing(&[120, 120], None), ClockStanding::Doubtful);
        assert_eq!(standing(&[121, 121], None), ClockStanding::Wrong);
    }

    #[test]
    fn of_two_halves_the_one_that_the_store_agrees_with_is_right() {
        assert_eq!(standing(&[400], Some(0)), ClockStanding::Doubtful);
        assert_eq!(standing(&[-400], Some(-400)), ClockStanding::Wrong);
        assert_eq!(standing(&[0, 400, 400], Some(400)), ClockStanding::Wrong);
        assert_eq!(standing(&[400], None), ClockStanding::Doubtful, "nobody decides");
        assert_eq!(standing(&[], Some(400)), ClockStanding::Doubtful, "alone");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_numbers() {
        let fault = report(&[-400, -401], None).fault().unwrap();
        assert!(fault.contains("400.000 s ahead of most of the 3 nodes"), "{fault}");
        assert!(fault.contains("n1: -401.000 s"), "{fault}");
        let fault = report(&[400, 400], None).fault().unwrap();
        assert!(fault.contains("400.000 s behind most"), "{fault}");
        assert_eq!(report(&[0, 400], None).fault(), None);
    }
}
