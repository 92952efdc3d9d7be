//! Algorithms whose verdict depends only on which votes there are, whatever their order and number.

use durward_ir::combine::{Algorithm, Combiner, Effects, Flow, Mode, Tally, Verdict, Vote, Voting};
use durward_ir::fault::Fault;
use durward_ir::program::{Node, Rule, Set};

use super::{Ballot, Collected, Outcome, Tag, Votes, effect_of, fails};
use crate::interval::Interval;

/// A verdict for every set of votes, by the bits of those that are among them.
type Table = Vec<Verdict>;

impl Ballot<'_> {
    /// XACML's algorithms.
    pub(super) fn by_classes(&mut self, algorithm: Algorithm, children: &[Votes]) -> Collected {
        let combine = |verdicts: &[Verdict]| {
            let mut combiner = Combiner::new(algorithm);
            for verdict in verdicts {
                if combiner.add(vote(*verdict)) == Flow::Stop {
                    break;
                }
            }
            combiner.finish().verdict
        };
        let verdicts = self.combined_classes(children, |verdict| verdict, combine);
        // With the first Permit, or with all.
        let stops = {
            let mut combiner = Combiner::new(algorithm);
            combiner.add(vote(Verdict::Permit)) == Flow::Stop
        };
        let mut votes = Collected::default();
        for (verdict, interval) in verdicts {
            match verdict {
                Verdict::Permit if stops => self.with_first_tag(verdict, interval, children, &mut votes),
                Verdict::Permit => self.with_all_tags(verdict, interval, children, &mut votes),
                Verdict::Deny => {
                    let has_duties = tags_of(children, verdict).any(|tag| tag != Tag::NONE);
                    // Nobody needs to know which.
                    let tag = if has_duties { Tag::VARIES_WITH_RESOURCE } else { Tag::NONE };
                    votes.add(Outcome { tag, ..Outcome::plain(verdict) }, interval);
                }
                Verdict::Suspend | Verdict::NotApplicable | Verdict::Indeterminate(_) => {
                    votes.add(Outcome::plain(verdict), interval);
                }
            }
        }
        votes
    }

    /// Whether the verdict of SAPL's algorithm, if it does not matter which effects an error might have had, only depends on
    /// which votes there are.
    pub(super) fn is_simple(&self, voting: Voting, set: &Set, children: &[Votes]) -> bool {
        let abstains = |child: &durward_ir::program::NodeId| match self.folding.program.node(*child) {
            Node::Set(set) => matches!(set.algorithm, Algorithm::Voting(_)),
            Node::Rule(Rule { gate, .. }) => gate.is_some(),
        };
        let mut tags = children.iter().flat_map(Votes::iter).map(|(outcome, _)| outcome.tag);
        match voting.mode {
            Mode::First | Mode::Unique => false,
            Mode::UnanimousStrict => tags.all(|tag| tag == Tag::NONE),
            Mode::Unanimous => tags.all(|tag| !self.tags.has_resource(tag)),
            Mode::Priority(_) => {
                // Abstaining takes back an error, and without one does nothing.
                let may_matter = fails(children) && set.children.iter().any(abstains);
                tags.all(|tag| !self.tags.has_resource(tag)) && !may_matter
            }
        }
    }

    /// SAPL's algorithms, where [`Ballot::is_simple`]. Which effects an error might have had is not told.
    pub(super) fn by_classes_of_voting(&mut self, voting: Voting, children: &[Votes]) -> Collected {
        let class = |verdict: Verdict| match (verdict, voting.mode) {
            (Verdict::Indeterminate(effects), Mode::Priority(strong)) if effects.contains(strong) => {
                Verdict::Indeterminate(Effects::only(strong))
            }
            (Verdict::Indeterminate(_), _) => Verdict::Indeterminate(Effects::NONE),
            (verdict, _) => verdict,
        };
        let combine = |verdicts: &[Verdict]| {
            let mut tally = Tally::new(voting);
            for verdict in verdicts {
                tally.add(vote(*verdict));
            }
            let verdict = tally.vote().verdict;
            match matches!(verdict, Verdict::Indeterminate(_)) {
                true => Verdict::Indeterminate(Effects::ALL),
                false => verdict,
            }
        };
        let verdicts = self.combined_classes(children, class, combine);
        let mut votes = Collected::default();
        for (verdict, interval) in verdicts {
            match effect_of(verdict) {
                Some(_) => self.with_all_tags(verdict, interval, children, &mut votes),
                None => votes.add(Outcome::plain(verdict), interval),
            }
        }
        votes
    }

    /// When the algorithm comes to which verdict.
    fn combined_classes(
        &mut self,
        children: &[Votes],
        class: impl Fn(Verdict) -> Verdict,
        combine: impl Fn(&[Verdict]) -> Verdict,
    ) -> Vec<(Verdict, Interval)> {
        let mut classes: Vec<(Verdict, Vec<Interval>)> = Vec::new();
        for (outcome, interval) in children.iter().flat_map(Votes::iter) {
            if outcome.verdict == Verdict::NotApplicable {
                continue;
            }
            let verdict = class(outcome.verdict);
            match classes.iter_mut().find(|(other, _)| *other == verdict) {
                Some((_, parts)) => parts.push(interval),
                None => classes.push((verdict, vec![interval])),
            }
        }
        let mut any = Vec::with_capacity(classes.len());
        for (verdict, parts) in classes {
            any.push((verdict, self.folding.formulas.some(&parts)));
        }
        let table: Table = (0..1_usize << any.len())
            .map(|bits| {
                let among = any.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0);
                combine(&among.map(|(_, (verdict, _))| *verdict).collect::<Vec<_>>())
            })
            .collect();
        let places: Vec<Interval> = any.into_iter().map(|(_, interval)| interval).collect();
        let left: Vec<usize> = (0..places.len()).collect();
        self.divided(&table, 0, &left, &places)
    }

    /// The verdicts of those entries whose bits outside `left` are `fixed`.
    fn divided(
        &mut self,
        table: &Table,
        fixed: usize,
        left: &[usize],
        places: &[Interval],
    ) -> Vec<(Verdict, Interval)> {
        if let Some(verdict) = only_verdict(table, fixed, left) {
            return vec![(verdict, Interval::TRUE)];
        }
        // First what decides by itself.
        let decides = |at: &usize| {
            let rest: Vec<usize> = left.iter().copied().filter(|other| other != at).collect();
            only_verdict(table, fixed | (1 << at), &rest).is_some()
                || only_verdict(table, fixed, &rest).is_some()
        };
        let chosen = left.iter().copied().find(|at| decides(at)).or(left.first().copied());
        let Some(chosen) = chosen else { return Vec::new() };
        let rest: Vec<usize> = left.iter().copied().filter(|other| *other != chosen).collect();
        let is_there = places.get(chosen).copied().unwrap_or(Interval::UNKNOWN);
        let mut verdicts: Vec<(Verdict, Vec<Interval>)> = Vec::new();
        for (condition, fixed) in [(is_there, fixed | (1 << chosen)), (is_there.negated(), fixed)] {
            if condition.is_never() {
                continue;
            }
            for (verdict, interval) in self.divided(table, fixed, &rest, places) {
                let interval = self.both(condition, interval);
                match verdicts.iter_mut().find(|(other, _)| *other == verdict) {
                    Some((_, parts)) => parts.push(interval),
                    None => verdicts.push((verdict, vec![interval])),
                }
            }
        }
        verdicts.into_iter().map(|(verdict, parts)| (verdict, self.folding.formulas.some(&parts))).collect()
    }

    /// The verdict where all children that vote so say what goes along with it.
    pub(super) fn with_all_tags(
        &mut self,
        verdict: Verdict,
        interval: Interval,
        children: &[Votes],
        votes: &mut Collected,
    ) {
        let mut so_far = vec![(Tag::NONE, Interval::TRUE)];
        for own in self.voters(verdict, children) {
            let intervals: Vec<Interval> = own.iter().map(|(_, interval)| *interval).collect();
            let other = self.folding.formulas.some(&intervals).negated();
            let mut next = Collected::default();
            for (tag, before) in so_far {
                let without = self.both(before, other);
                next.add(Outcome { tag, ..Outcome::plain(verdict) }, without);
                for (own, interval) in &own {
                    let tag = self.tags.appended(tag, *own);
                    let here = self.both(before, *interval);
                    next.add(Outcome { tag, ..Outcome::plain(verdict) }, here);
                }
            }
            so_far = self.collected(next).iter().map(|(outcome, interval)| (outcome.tag, interval)).collect();
        }
        for (tag, part) in so_far {
            let here = self.both(interval, part);
            votes.add(Outcome { tag, ..Outcome::plain(verdict) }, here);
        }
    }

    /// What goes along with this verdict of children, and where: those of one child exclude each other. Children with which
    /// only one thing goes along count as one child if it is the same, unless the order of what goes along matters.
    fn voters(&mut self, verdict: Verdict, children: &[Votes]) -> Vec<Vec<(Tag, Interval)>> {
        let has_resource = tags_of(children, verdict).any(|tag| self.tags.has_resource(tag));
        let is_order_told = self.tags.is_in_order() || has_resource;
        let mut voters = Vec::new();
        let mut alike: Vec<(Tag, Vec<Interval>)> = Vec::new();
        for child in children {
            let own = child.of(verdict).filter(|(outcome, _)| outcome.tag != Tag::NONE);
            let own: Vec<(Tag, Interval)> = own.map(|(outcome, interval)| (outcome.tag, interval)).collect();
            match own.as_slice() {
                [] => {}
                [(tag, interval)] if !is_order_told => {
                    match alike.iter_mut().find(|(other, _)| other == tag) {
                        Some((_, parts)) => parts.push(*interval),
                        None => alike.push((*tag, vec![*interval])),
                    }
                }
                _ => voters.push(own),
            }
        }
        for (tag, parts) in alike {
            voters.push(vec![(tag, self.folding.formulas.some(&parts))]);
        }
        voters
    }

    /// The same where only the first that votes so does.
    fn with_first_tag(
        &mut self,
        verdict: Verdict,
        interval: Interval,
        children: &[Votes],
        votes: &mut Collected,
    ) {
        if tags_of(children, verdict).all(|tag| tag == Tag::NONE) {
            return votes.add(Outcome::plain(verdict), interval);
        }
        let mut later: Vec<(Outcome, Interval)> = Vec::new();
        for child in children.iter().rev() {
            let own: Vec<(Outcome, Interval)> = child.of(verdict).collect();
            if own.is_empty() {
                continue;
            }
            let parts: Vec<Interval> = own.iter().map(|(_, interval)| *interval).collect();
            let other = self.folding.formulas.some(&parts).negated();
            let mut next = Collected::default();
            own.into_iter().for_each(|(outcome, interval)| next.add(outcome, interval));
            for (outcome, interval) in later {
                let here = self.both(other, interval);
                next.add(outcome, here);
            }
            later = self.collected(next).iter().collect();
        }
        for (outcome, part) in later {
            let here = self.both(interval, part);
            votes.add(outcome, here);
        }
    }
}

fn only_verdict(table: &Table, fixed: usize, left: &[usize]) -> Option<Verdict> {
    let mut found = None;
    for number in 0..1_usize << left.len() {
        let bits = left.iter().enumerate().filter(|(at, _)| number & (1 << at) != 0);
        let entry = bits.fold(fixed, |bits, (_, place)| bits | (1 << place));
        let verdict = table.get(entry).copied()?;
        if *found.get_or_insert(verdict) != verdict {
            return None;
        }
    }
    found
}

fn tags_of(children: &[Votes], verdict: Verdict) -> impl Iterator<Item = Tag> {
    children.iter().flat_map(move |child| child.of(verdict)).map(|(outcome, _)| outcome.tag)
}

/// A vote without duties.
pub(super) fn vote(verdict: Verdict) -> Vote {
    match verdict {
        Verdict::Indeterminate(effects) => Vote::indeterminate(effects, Fault::processing("an error")),
        Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::NotApplicable => Vote::plain(verdict),
    }
}
