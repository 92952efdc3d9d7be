//! A Bloom filter for every target, over the values it asks for.
//!
//! An element is passed over when, for some attribute its target cannot match without, no value of the question is
//! in the filter. A filter is sometimes mistaken in saying that a value is in it; then the target is evaluated, as
//! it is where an attribute is absent and that is an error, or a source has yet to be asked for it.
//!
//! Filters hold digests of the attribute's name and the value's text. The digests of all values that policies name
//! are computed ahead, so a question costs no hashing; a value that no policy names is in no filter's set, and is
//! said not to be in it at once.

use std::sync::atomic::{AtomicU64, Ordering};

use durward_ir::combine::Flow;
use durward_ir::evaluate::{Everything, ListPolicies, Shortlist, TargetMatch};
use durward_ir::program::{Atom, ExprId, NodeId, Program, Set, SlotId};
use durward_ir::question::{Number, Question};

use crate::BuildMap;
use crate::necessary::{self, NecessaryTests};
use crate::target::Targets;
use crate::{BloomStatistics, Counting, Settings};

/// How many bits a value may set. More than about ten never help.
const HASHES_MAX: u32 = 16;

/// The longest filter, in bits: 64 KiB for one target is beyond any use.
const BITS_MAX: usize = 1 << 19;

/// Bloom filters over the targets of a program.
#[derive(Debug)]
pub struct BloomIndex {
    /// For each element one more than the number of its filter; 0 where it has none.
    of_node: Box<[u32]>,
    filters: Vec<TargetFilter>,
    checks: Vec<SlotCheck>,
    /// The filters' bits, `words` for each.
    bits: Vec<u64>,
    words: usize,
    hashes: u32,
    /// By atom.
    digests: Box<[BloomHash]>,
    false_positive_rate_expected: f64,
    counters: Option<Box<BloomCounters>>,
}

/// A target: `checks[first..first + count]` must all be passed.
#[derive(Clone, Copy, Debug)]
struct TargetFilter {
    first: u32,
    count: u32,
    /// Nothing matches this target.
    is_never: bool,
}

/// A slot of which some value must be in the filter.
#[derive(Clone, Copy, Debug)]
struct SlotCheck {
    slot: SlotId,
    /// Whether no value at all will do too.
    is_absent_allowed: bool,
}

/// What a value's bits are computed from: bit `i` is `first + i * step` (Kirsch and Mitzenmacher), scaled.
#[derive(Clone, Copy, Debug)]
struct BloomHash {
    first: u32,
    step: u32,
}

impl BloomHash {
    fn of(program: &Program, atom: Atom) -> BloomHash {
        let (slot, value) = program.slots.atom(atom);
        let name = program.slots.name(slot);
        let issuer = name.issuer.as_deref().unwrap_or_default();
        let parts = [&*name.category, &*name.id, name.data_type.uri(), issuer, &*value.lexical()];
        let hash =
            parts.into_iter().fold(FNV_OFFSET, |hash, part| fnv1a(fnv1a(hash, part.as_bytes()), &[0xff]));
        let hash = mix(hash);
        // An even step would reach only half of the bits.
        BloomHash { first: hash as u32, step: (hash >> 32) as u32 | 1 }
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a, 64 bits, continued from `hash`.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// Spreads a digest over all bits: FNV-1a leaves the upper ones of texts that differ in their last byte alike.
fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// What was asked, counted only where that is wanted. Kept with what tells whether a filter was mistaken.
#[derive(Debug)]
struct BloomCounters {
    targets: Targets,
    tested: AtomicU64,
    rejected: AtomicU64,
    passed: AtomicU64,
    false_positives: AtomicU64,
}

impl BloomIndex {
    pub(crate) fn build(program: &Program, settings: &Settings) -> BloomIndex {
        let targets = Targets::build(program);
        let digests = (0..program.slots.atom_count() as u32).map(|atom| BloomHash::of(program, Atom(atom)));
        let mut bloom = BloomIndex {
            of_node: Box::default(),
            filters: Vec::new(),
            checks: Vec::new(),
            bits: Vec::new(),
            words: settings.bloom_bits.clamp(1, BITS_MAX).div_ceil(64),
            hashes: settings.bloom_hashes.clamp(1, HASHES_MAX),
            digests: digests.collect(),
            false_positive_rate_expected: 0.0,
            counters: None,
        };
        let mut known: BuildMap<ExprId, u32> = BuildMap::default();
        let of_node = program.nodes().map(|(id, node)| match (node.target(), targets.get(id)) {
            (Some(expr), Some(target)) => {
                *known.entry(expr).or_insert_with(|| bloom.add(&necessary::of_target(Some(target))))
            }
            _ => 0,
        });
        bloom.of_node = of_node.collect();
        bloom.false_positive_rate_expected /= (bloom.filters.len() as f64).max(1.0);
        if settings.counting == Counting::On {
            bloom.counters = Some(Box::new(BloomCounters::new(targets)));
        }
        bloom
    }

    /// Makes a filter; 0 where there is nothing to check.
    fn add(&mut self, necessary: &NecessaryTests) -> u32 {
        let limits = necessary.limits();
        if limits.is_empty() && !necessary.is_never() {
            return 0;
        }
        let first = self.checks.len() as u32;
        self.filters.push(TargetFilter { first, count: limits.len() as u32, is_never: necessary.is_never() });
        self.bits.resize(self.filters.len() * self.words, 0);
        for limit in limits {
            self.checks.push(SlotCheck { slot: limit.slot, is_absent_allowed: limit.is_absent_allowed });
            limit.atoms.iter().for_each(|atom| self.insert(*atom));
        }
        let values = limits.iter().map(|limit| limit.atoms.len()).sum::<usize>() as f64;
        let zero = (1.0 - 1.0 / (self.words * 64) as f64).powf(values * f64::from(self.hashes));
        self.false_positive_rate_expected += (1.0 - zero).powi(self.hashes as i32);
        self.filters.len() as u32
    }

    /// Sets the bits of a value in the last filter.
    fn insert(&mut self, atom: Atom) {
        let Some(digest) = self.digests.get(atom.0 as usize).copied() else { return };
        let start = self.bits.len() - self.words;
        for bit in bits_of(digest, self.hashes, self.words) {
            if let Some(word) = self.bits.get_mut(start + bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    /// Whether the filter says that this value is in it.
    #[inline]
    fn may_hold(&self, number: usize, atom: Atom) -> bool {
        let start = number * self.words;
        let (Some(digest), Some(words)) =
            (self.digests.get(atom.0 as usize), self.bits.get(start..start + self.words))
        else {
            return true;
        };
        bits_of(*digest, self.hashes, self.words)
            .all(|bit| words.get(bit / 64).is_none_or(|word| word & (1 << (bit % 64)) != 0))
    }

    #[inline]
    fn passes(&self, number: usize, check: SlotCheck, question: &Question<'_>) -> bool {
        match question.peek(check.slot) {
            Number::ABSENT => check.is_absent_allowed,
            Number::OTHER | Number::OTHER_TEXT => false,
            Number::UNASKED => true,
            Number::MANY => question.any_of_many(check.slot, |atom| self.may_hold(number, atom)),
            one => one.atom().is_none_or(|atom| self.may_hold(number, atom)),
        }
    }

    /// `None` where the element has no filter.
    #[inline]
    fn admits(&self, id: NodeId, question: &Question<'_>) -> Option<bool> {
        let number = (*self.of_node.get(id.0 as usize)? as usize).checked_sub(1)?;
        let filter = self.filters.get(number)?;
        let checks = self.checks.get(filter.first as usize..(filter.first + filter.count) as usize)?;
        Some(!filter.is_never && checks.iter().all(|check| self.passes(number, *check, question)))
    }

    /// What the filters consist of and, where counted, did.
    pub fn statistics(&self) -> BloomStatistics {
        let count = |of: fn(&BloomCounters) -> &AtomicU64| {
            self.counters.as_deref().map_or(0, |counters| of(counters).load(Ordering::Relaxed))
        };
        BloomStatistics {
            filters: self.filters.len(),
            bytes: size_of_val(&*self.of_node)
                + size_of_val(&*self.filters)
                + size_of_val(&*self.checks)
                + size_of_val(&*self.bits)
                + size_of_val(&*self.digests),
            bits: self.words * 64,
            hashes: self.hashes,
            false_positive_rate_expected: self.false_positive_rate_expected,
            tested: count(|counters| &counters.tested),
            rejected: count(|counters| &counters.rejected),
            passed: count(|counters| &counters.passed),
            false_positives: count(|counters| &counters.false_positives),
        }
    }
}

impl BloomCounters {
    fn new(targets: Targets) -> BloomCounters {
        BloomCounters {
            targets,
            tested: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            false_positives: AtomicU64::new(0),
        }
    }

    #[cold]
    fn note(&self, id: NodeId, is_admitted: bool, question: &Question<'_>) {
        self.tested.fetch_add(1, Ordering::Relaxed);
        let outcome = if is_admitted { &self.passed } else { &self.rejected };
        outcome.fetch_add(1, Ordering::Relaxed);
        if is_admitted && self.targets.known(id, question) == TargetMatch::NoMatch {
            self.false_positives.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The bits of a value, below `64 * words`. Scaling by multiplication spares a division.
#[inline]
fn bits_of(digest: BloomHash, hashes: u32, words: usize) -> impl Iterator<Item = usize> {
    let bits = words as u64 * 64;
    (0..hashes).map(move |number| {
        let hash = digest.first.wrapping_add(number.wrapping_mul(digest.step));
        ((u64::from(hash) * bits) >> 32) as usize
    })
}

impl Shortlist for BloomIndex {
    #[inline]
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        show: impl FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        Everything.children(id, set, question, list, show);
    }

    #[inline]
    fn target(&self, id: NodeId, question: &Question<'_>) -> TargetMatch {
        let Some(is_admitted) = self.admits(id, question) else { return TargetMatch::Unsure };
        if let Some(counters) = &self.counters {
            counters.note(id, is_admitted, question);
        }
        if is_admitted { TargetMatch::Unsure } else { TargetMatch::NoMatch }
    }
}
