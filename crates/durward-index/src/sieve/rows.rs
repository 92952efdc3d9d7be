//! Sets of conjunctions: bits in blocks, sorted lists, or both.

/// How many words are intersected at a time: a cache line, and as much as stays in registers.
pub(super) const BLOCK_WORDS: usize = 8;

/// How many conjunctions stand in a block.
pub(super) const BLOCK_BITS: u32 = BLOCK_WORDS as u32 * 64;

/// A list of one conjunction in so many is short: looking its conjunctions up takes less than intersecting.
const SHORT_PART: u32 = 128;

/// A list takes half the memory of bits where one conjunction in so many is in it.
pub(super) const LIST_PART: u32 = 64;

/// The union of a dense row and a list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SieveRow {
    /// The first block, or [`SieveRow::NONE`].
    dense: u32,
    first: u32,
    count: u32,
    /// Whether there is only a list, so short that its conjunctions are better looked up.
    is_short: bool,
}

impl SieveRow {
    const NONE: u32 = u32::MAX;
    pub(super) const EMPTY: SieveRow = SieveRow { dense: SieveRow::NONE, first: 0, count: 0, is_short: true };

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.dense == SieveRow::NONE && self.count == 0
    }

    /// The dense row, if that is all.
    #[inline]
    pub(super) fn as_dense(self) -> Option<u32> {
        (self.count == 0 && self.dense != SieveRow::NONE).then_some(self.dense)
    }

    #[inline]
    pub(super) fn is_short(self) -> bool {
        self.is_short
    }

    /// The length of the list.
    #[inline]
    pub(super) fn count(self) -> u32 {
        self.count
    }
}

/// How long a list of some of these conjunctions may be to be short. What a block of 512 costs to intersect, three
/// or four conjunctions cost to look up.
pub(super) fn short_max(conjunctions: usize) -> usize {
    (conjunctions / SHORT_PART as usize).max(2)
}

/// As many bits as there are conjunctions left, a block at most.
#[inline]
pub(super) fn full_block(count: u32) -> [u64; BLOCK_WORDS] {
    let mut block = [u64::MAX; BLOCK_WORDS];
    if count < BLOCK_BITS {
        for (at, word) in (0..).zip(&mut block) {
            let count = count.saturating_sub(at * 64);
            *word = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
        }
    }
    block
}

/// Whether a block is empty.
#[inline]
pub(super) fn is_none_in(block: &[u64; BLOCK_WORDS]) -> bool {
    block.iter().fold(0, |any, word| any | word) == 0
}

/// All rows of all sieves.
#[derive(Debug, Default)]
pub(super) struct SieveRows {
    blocks: Vec<[u64; BLOCK_WORDS]>,
    lists: Vec<u32>,
}

impl SieveRows {
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.blocks) + size_of_val(&*self.lists)
    }

    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.blocks.len(), self.lists.len())
    }

    pub(super) fn truncate(&mut self, (blocks, lists): (usize, usize)) {
        self.blocks.truncate(blocks);
        self.lists.truncate(lists);
    }

    /// Gives back what only building needs.
    pub(super) fn finish(&mut self) {
        self.blocks.shrink_to_fit();
        self.lists.shrink_to_fit();
    }

    /// A row of bits: these of so many conjunctions.
    pub(super) fn add_dense(&mut self, some: impl IntoIterator<Item = u32>, conjunctions: usize) -> SieveRow {
        let first = self.blocks.len();
        self.blocks.resize(first + conjunctions.div_ceil(BLOCK_BITS as usize), [0; BLOCK_WORDS]);
        for conjunction in some {
            let (block, word, bit) = place(conjunction);
            if let Some(word) = self.blocks.get_mut(first + block).and_then(|block| block.get_mut(word)) {
                *word |= bit;
            }
        }
        SieveRow { dense: first as u32, first: 0, count: 0, is_short: false }
    }

    /// A row of bits: those of another one and these.
    pub(super) fn add_dense_to(&mut self, dense: SieveRow, some: &[u32], conjunctions: usize) -> SieveRow {
        let row = self.add_dense(some.iter().copied(), conjunctions);
        let from = dense.dense as usize;
        let Some((before, new)) = self.blocks.split_at_mut_checked(row.dense as usize) else { return row };
        let old = before.get(from..).unwrap_or_default();
        for (new, old) in new.iter_mut().zip(old) {
            new.iter_mut().zip(old).for_each(|(new, old)| *new |= old);
        }
        row
    }

    /// The union of a dense row, if any, and a sorted list of some of so many conjunctions.
    pub(super) fn add_list(
        &mut self,
        dense: Option<SieveRow>,
        some: &[u32],
        conjunctions: usize,
    ) -> SieveRow {
        let first = self.lists.len() as u32;
        self.lists.extend_from_slice(some);
        let dense = dense.map_or(SieveRow::NONE, |row| row.dense);
        let is_short = dense == SieveRow::NONE && some.len() <= short_max(conjunctions);
        SieveRow { dense, first, count: some.len() as u32, is_short }
    }

    #[inline]
    pub(super) fn list(&self, row: SieveRow) -> &[u32] {
        let first = row.first as usize;
        self.lists.get(first..first + row.count as usize).unwrap_or_default()
    }

    #[inline]
    pub(super) fn is_in_dense(&self, dense: u32, conjunction: u32) -> bool {
        let (block, word, bit) = place(conjunction);
        let word = self.blocks.get(dense as usize + block).and_then(|block| block.get(word));
        word.is_some_and(|word| word & bit != 0)
    }

    #[inline]
    pub(super) fn contains(&self, row: SieveRow, conjunction: u32) -> bool {
        (row.dense != SieveRow::NONE && self.is_in_dense(row.dense, conjunction))
            || self.list(row).binary_search(&conjunction).is_ok()
    }

    /// Leaves those in a dense row.
    #[inline]
    pub(super) fn intersect(&self, dense: u32, block: u32, left: &mut [u64; BLOCK_WORDS]) {
        if let Some(row) = self.blocks.get((dense + block) as usize) {
            left.iter_mut().zip(row).for_each(|(left, word)| *left &= word);
        }
    }

    /// Leaves those in all of four dense rows: what is left stays in registers meanwhile.
    #[inline]
    pub(super) fn intersect_four(&self, dense: [u32; 4], block: u32, left: &mut [u64; BLOCK_WORDS]) {
        let [first, second, third, fourth] = dense.map(|dense| self.blocks.get((dense + block) as usize));
        if let (Some(first), Some(second), Some(third), Some(fourth)) = (first, second, third, fourth) {
            let rows = first.iter().zip(second).zip(third).zip(fourth);
            for (left, (((first, second), third), fourth)) in left.iter_mut().zip(rows) {
                *left &= first & second & third & fourth;
            }
        }
    }

    /// Adds those in a row. Blocks must be asked for in order: what of the list was passed is cut from the row.
    #[inline]
    pub(super) fn unite(&self, row: &mut SieveRow, block: u32, either: &mut [u64; BLOCK_WORDS]) {
        if row.dense != SieveRow::NONE
            && let Some(dense) = self.blocks.get((row.dense + block) as usize)
        {
            either.iter_mut().zip(dense).for_each(|(either, word)| *either |= word);
        }
        let end = (block + 1) * BLOCK_BITS;
        let passed = self.list(*row).iter().take_while(|conjunction| **conjunction < end);
        let mut count = 0;
        for conjunction in passed {
            count += 1;
            let (at, word, bit) = place(*conjunction);
            // A block in which nobody was left may have been skipped.
            if at == block as usize
                && let Some(word) = either.get_mut(word)
            {
                *word |= bit;
            }
        }
        row.first += count;
        row.count -= count;
    }
}

/// The block of a conjunction, the word in it and the bit.
#[inline]
fn place(conjunction: u32) -> (usize, usize, u64) {
    let bit = 1 << (conjunction % 64);
    ((conjunction / BLOCK_BITS) as usize, (conjunction % BLOCK_BITS / 64) as usize, bit)
}
