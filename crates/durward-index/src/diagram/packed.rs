//! Decisions without evaluation: the diagram is walked, and the listed effects are combined, with nothing evaluated.
//!
//! Works where every element on the way has conditions that are [`Quick`], and nothing goes along with the verdict: in
//! lists, and in what a sieve leaves. Else
//! there is no verdict, and the evaluator is asked, as if there were no such thing.
//!
//! What is touched per decision: for every node on the way its 16 bytes, one slot and one branch of 4 bytes; for every
//! child at the end one mark of 4 bytes, its condition and the slot that looks at. Which branch is taken is computed, not
//! jumped to: what a question holds cannot be foreseen, and a jump that was not foreseen costs as much as the rest.

mod make;
mod sieves;
mod without;

use durward_ir::combine::{Effects, PlainFold, PlainVerdicts, Verdict};
use durward_ir::program::{Effect, NodeId, Program, Quick, SlotId};
use durward_ir::question::{Number, SlotReader};

use super::DiagramIndex;
use crate::BuildMap;
use crate::plain::{effects_of, verdict_of};

/// What the lists of a diagram hold, made ready.
#[derive(Debug, Default)]
pub(super) struct PackedDiagram {
    nodes: Box<[PackedNode]>,
    /// Where the nodes lead: for each the states of a slot, then the numbers from its lowest on, then all others.
    ways: Box<[PackedEdge]>,
    /// Where numbers lead that stand too far apart for that, by the place of the node.
    wide: BuildMap<(u32, u32), PackedEdge>,
    forks: Box<[[PackedEdge; 2]]>,
    /// The lists.
    marks: Box<[PackedEntry]>,
    /// Whom each mark is of; empty unless other programs may come to extend this one.
    whose: Box<[NodeId]>,
    /// What children in sieves say, by their conjunctions.
    poured: Box<[PackedEntry]>,
    conditions: Box<[Quick]>,
    sets: Box<[PackedSet]>,
    /// The set where decisions begin, if it is one.
    entry: Option<u32>,
}

/// A node: looks at one slot.
#[derive(Clone, Copy, Debug)]
struct PackedNode {
    slot: SlotId,
    /// The lowest number that has a way of its own.
    low: u32,
    /// How many numbers have.
    count: u32,
    /// The first of its ways.
    first: u32,
}

impl PackedNode {
    /// As many ways as there are states come first.
    const STATES: u32 = Number::FIRST_ATOM;

    /// A table with this many ways for each of its branches is too wide.
    const SPREAD_MAX: usize = 4;
    /// Up to this many ways it is not.
    const WAYS_MIN: usize = 16;
}

/// Packed edge: 2-bit kind, 30-bit target; of a list the length besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PackedEdge(u32);

impl PackedEdge {
    /// Above so many bits is the length of a list, if it is shorter than [`PackedEdge::LENGTH_MAX`]: else the list begins with
    /// its length.
    const LENGTH_SHIFT: u32 = 26;
    const LENGTH_MAX: u32 = 15;

    const NODE: u32 = 0;
    const LIST: u32 = 1 << 30;
    const FORK: u32 = 2 << 30;
    /// With this, a fork is a sieve.
    const SIEVE: u32 = 1 << 29;
    /// Where a number leads is in [`PackedDiagram::wide`], by the node.
    const WIDE: u32 = 3 << 30;
    const KIND: u32 = 3 << 30;
    /// Nothing is known.
    const LOST: PackedEdge = PackedEdge(u32::MAX);

    fn kind(self) -> u32 {
        self.0 & PackedEdge::KIND
    }

    fn place(self) -> usize {
        (self.0 & !PackedEdge::KIND) as usize
    }

    fn length(self) -> u32 {
        self.0 >> PackedEdge::LENGTH_SHIFT & PackedEdge::LENGTH_MAX
    }
}

/// Lists that begin above this do not fit a way.
const LISTS_MAX: usize = (1 << PackedEdge::LENGTH_SHIFT) - 1;

/// Places above this do not fit a way.
const PLACES_MAX: usize = (1 << 30) - 2;

/// What an entry of a list says: in three bits its effect, in one whether it is more than a rule that nothing goes along
/// with; above them one more than the number of its condition, 0 for none, or [`PackedEntry::LADEN`] or what is a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PackedEntry(u32);

impl PackedEntry {
    /// The evaluator has to be asked.
    const UNREADY: PackedEntry = PackedEntry(u32::MAX);
    const EFFECT: u32 = 0b111;
    /// If it applies, something goes along with that.
    const LADEN: u32 = 1 << 3;
    /// Above is the number of a set.
    const SET: u32 = 1 << 4;
    const SHIFT: u32 = 5;

    fn of_rule(effect: Effect, is_laden: bool, condition: Option<u32>) -> PackedEntry {
        let laden = if is_laden { PackedEntry::LADEN } else { 0 };
        let condition = condition.map_or(0, |condition| condition + 1);
        PackedEntry(u32::from(Effects::only(effect).bits()) | laden | condition << PackedEntry::SHIFT)
    }

    fn of_set(number: u32) -> PackedEntry {
        PackedEntry(PackedEntry::SET | number << PackedEntry::SHIFT)
    }

    #[inline]
    fn effects(self) -> Effects {
        Effects::of_bits((self.0 & PackedEntry::EFFECT) as u8)
    }
}

/// So many questions are walked side by side.
const ABREAST: usize = 8;

/// Numbers above this do not fit a mark.
const NUMBERS_MAX: usize = (1 << 26) - 2;

/// A set whose algorithm can combine plain votes.
#[derive(Debug)]
struct PackedSet {
    start: PackedEdge,
    fold: PlainFold,
    /// The effects that something goes along with.
    laden: Effects,
    /// The number of a condition; there is none where the target is known to match.
    target: Option<u32>,
}

impl PackedDiagram {
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.ways)
            + self.wide.len() * size_of::<((u32, u32), PackedEdge)>()
            + size_of_val(&*self.forks)
            + size_of_val(&*self.marks)
            + size_of_val(&*self.whose)
            + size_of_val(&*self.poured)
            + size_of_val(&*self.conditions)
            + size_of_val(&*self.sets)
    }
}

impl DiagramIndex {
    /// What the program says, if that can be seen at once; nothing goes along with it then. Exactly what the evaluator
    /// would say.
    #[inline]
    pub fn table_decision(&self, program: &Program, reader: &impl SlotReader) -> Option<Verdict> {
        let entry = self.packed.entry?;
        self.verdict(program, entry, reader)
    }

    /// The same for several questions, in as many places. They are walked side by side, so that one waits for memory while
    /// others go on.
    pub fn table_decisions(
        &self,
        program: &Program,
        readers: &[impl SlotReader],
        verdicts: &mut [Option<Verdict>],
    ) {
        let entry = self.packed.entry.and_then(|entry| self.packed.sets.get(entry as usize));
        let Some(set @ PackedSet { start, target: None, .. }) = entry else {
            for (reader, verdict) in readers.iter().zip(verdicts) {
                *verdict = self.table_decision(program, reader);
            }
            return;
        };
        let mut all = readers.chunks(ABREAST).zip(verdicts.chunks_mut(ABREAST));
        all.by_ref().for_each(|(readers, verdicts)| {
            let mut ways = [*start; ABREAST];
            self.glide_abreast(&mut ways, readers);
            for ((way, reader), verdict) in ways.into_iter().zip(readers).zip(verdicts) {
                *verdict = self.verdict_from(program, set, way, reader);
            }
        });
    }

    /// Walks until there are other things than nodes.
    #[inline]
    fn glide_abreast(&self, ways: &mut [PackedEdge; ABREAST], readers: &[impl SlotReader]) {
        loop {
            let mut is_done = true;
            for (way, reader) in ways.iter_mut().zip(readers) {
                if let Some(next) = self.next(*way, reader) {
                    *way = next;
                    is_done = false;
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// Recursion goes as deep as policy sets do.
    #[inline]
    fn verdict(&self, program: &Program, number: u32, reader: &impl SlotReader) -> Option<Verdict> {
        let set = self.packed.sets.get(number as usize)?;
        if let Some(target) = set.target
            && !self.holds(program, target, reader)?
        {
            return Some(Verdict::NotApplicable);
        }
        self.verdict_from(program, set, set.start, reader)
    }

    /// The same where the target matches, from somewhere on the way through the set.
    #[inline]
    fn verdict_from(
        &self,
        program: &Program,
        set: &PackedSet,
        way: PackedEdge,
        reader: &impl SlotReader,
    ) -> Option<Verdict> {
        let verdict = match &set.fold {
            PlainFold::Any(verdicts) => self.any(program, way, verdicts, reader)?,
            PlainFold::First(otherwise) => self.first(program, way, reader)?.unwrap_or(*otherwise),
        };
        is_unladen(set.laden, verdict).then_some(verdict)
    }

    #[inline]
    fn any(
        &self,
        program: &Program,
        start: PackedEdge,
        verdicts: &PlainVerdicts,
        reader: &impl SlotReader,
    ) -> Option<Verdict> {
        let mut effects = Effects::NONE;
        self.gather(program, start, &mut effects, reader)?;
        verdicts.of(effects)
    }

    /// Adds the effects of all that is listed from here on.
    #[inline]
    fn gather(
        &self,
        program: &Program,
        way: PackedEdge,
        effects: &mut Effects,
        reader: &impl SlotReader,
    ) -> Option<()> {
        let way = self.glide(way, reader);
        if way.kind() == PackedEdge::FORK {
            return self.gather_both(program, way, effects, reader);
        }
        for mark in self.marks(way)? {
            *effects = effects.union(self.says(program, *mark, reader)?);
        }
        Some(())
    }

    /// Recursion goes as deep as the diagram. Not a part of its caller, so that this one can be of its own.
    #[inline(never)]
    fn gather_both(
        &self,
        program: &Program,
        fork: PackedEdge,
        effects: &mut Effects,
        reader: &impl SlotReader,
    ) -> Option<()> {
        if let Some(sieve) = fork.as_sieve() {
            return self.gather_sieve(program, sieve, effects, reader);
        }
        let ways = self.packed.forks.get(fork.place())?;
        ways.iter().try_for_each(|way| self.gather(program, *way, effects, reader))
    }

    #[inline]
    fn first(
        &self,
        program: &Program,
        start: PackedEdge,
        reader: &impl SlotReader,
    ) -> Option<Option<Verdict>> {
        let way = self.glide(start, reader);
        if let Some(sieve) = way.as_sieve() {
            let first = self.first_in_sieve(program, sieve, reader, &|_| false)?;
            return Some(first.map(|(_, said)| verdict_of(said)));
        }
        for mark in self.marks(way)? {
            let effects = self.says(program, *mark, reader)?;
            if effects != Effects::NONE {
                return Some(Some(verdict_of(effects)));
            }
        }
        Some(None)
    }

    /// The effect of one element, or none.
    #[inline]
    fn says(&self, program: &Program, mark: PackedEntry, reader: &impl SlotReader) -> Option<Effects> {
        let number = mark.0 >> PackedEntry::SHIFT;
        if mark.0 & (PackedEntry::SET | PackedEntry::LADEN) != 0 {
            return self.says_more(program, mark, reader);
        }
        let applies = number == 0 || self.holds(program, number - 1, reader)?;
        Some(if applies { mark.effects() } else { Effects::NONE })
    }

    #[inline(never)]
    fn says_more(&self, program: &Program, mark: PackedEntry, reader: &impl SlotReader) -> Option<Effects> {
        let number = mark.0 >> PackedEntry::SHIFT;
        if mark == PackedEntry::UNREADY {
            None
        } else if mark.0 & PackedEntry::SET != 0 {
            effects_of(self.verdict(program, number, reader)?)
        } else if number > 0 && !self.holds(program, number - 1, reader)? {
            Some(Effects::NONE)
        } else {
            None
        }
    }

    #[inline]
    fn holds(&self, program: &Program, condition: u32, reader: &impl SlotReader) -> Option<bool> {
        self.packed.conditions.get(condition as usize)?.truth(program, reader)
    }

    #[inline]
    fn marks(&self, way: PackedEdge) -> Option<&[PackedEntry]> {
        if way.kind() != PackedEdge::LIST {
            return None;
        }
        let (at, length) = (way.0 as usize & LISTS_MAX, way.length());
        match length {
            PackedEdge::LENGTH_MAX => self.long_list(at),
            length => self.packed.marks.get(at..at + length as usize),
        }
    }

    #[cold]
    fn long_list(&self, at: usize) -> Option<&[PackedEntry]> {
        let (length, marks) = self.packed.marks.get(at..)?.split_first()?;
        marks.get(..length.0 as usize)
    }

    /// Walks until there is something else than a node.
    #[inline]
    fn glide(&self, mut way: PackedEdge, reader: &impl SlotReader) -> PackedEdge {
        loop {
            while let Some(next) = self.next(way, reader) {
                way = next;
            }
            if way.kind() != PackedEdge::WIDE || way == PackedEdge::LOST {
                return way;
            }
            way = self.wide(way, reader);
        }
    }

    /// The way from here, where this is a node.
    #[inline]
    fn next(&self, way: PackedEdge, reader: &impl SlotReader) -> Option<PackedEdge> {
        if way.kind() != PackedEdge::NODE {
            return None;
        }
        let node = self.packed.nodes.get(way.0 as usize)?;
        let number = reader.number(node.slot).0;
        let atom = PackedNode::STATES + number.wrapping_sub(node.low).min(node.count);
        let place = if number < PackedNode::STATES { number } else { atom };
        self.packed.ways.get((node.first + place) as usize).copied()
    }

    #[inline(never)]
    fn wide(&self, way: PackedEdge, reader: &impl SlotReader) -> PackedEdge {
        let place = way.place();
        let Some(node) = self.packed.nodes.get(place) else { return PackedEdge::LOST };
        let number = reader.number(node.slot).0;
        let wide = |number| self.packed.wide.get(&(place as u32, number)).copied();
        wide(number).or_else(|| wide(0)).unwrap_or(PackedEdge::LOST)
    }
}

/// Whether nothing goes along with a verdict, where something goes along with these effects.
#[inline]
fn is_unladen(laden: Effects, verdict: Verdict) -> bool {
    laden == Effects::NONE || effects_of(verdict).is_some_and(|effect| effect.bits() & laden.bits() == 0)
}
