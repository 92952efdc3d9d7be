//! The memory that Argon2 works in: kept from one hash to the next on threads that hash, and given back when they rest.
//!
//! Argon2's own call allocates some 19 MiB for each hash. Allocators keep what is freed in the heap of the thread that freed it, so a
//! process held as many MiB for each of its heaps, and for longer than anybody logged in.

use std::cell::RefCell;

use argon2::{Argon2, Block};
use zeroize::Zeroize as _;

use crate::IdentityError;

/// The least that is allocated, in blocks of 1 KiB. What is larger than 32 MiB, glibc takes from the system and gives back when it is
/// freed (`mallopt(3)`, M_MMAP_THRESHOLD); what is smaller may stay in a heap. Memory that no hash touches costs nothing.
const BLOCKS_ALLOCATED_MIN: usize = 33 * 1024;

struct ThreadMemory {
    is_kept: bool,
    blocks: Vec<Block>,
}

thread_local! {
    static MEMORY: RefCell<ThreadMemory> =
        const { RefCell::new(ThreadMemory { is_kept: false, blocks: Vec::new() }) };
}

/// From now on, this thread keeps the memory of a hash for the next one, until [`release_hash_memory`]. For threads that do nothing
/// else; other threads give it back after each hash.
pub fn keep_hash_memory() {
    MEMORY.with_borrow_mut(|memory| memory.is_kept = true);
}

/// Overwrites the memory that this thread keeps, and gives it back. Returns whether there was any. The next hash allocates again.
pub fn release_hash_memory() -> bool {
    MEMORY.with_borrow_mut(ThreadMemory::release)
}

/// Hashes a password in the memory of this thread.
pub(super) fn hash_into(
    argon2: &Argon2<'_>,
    password: &[u8],
    salt: &[u8],
    out: &mut [u8],
) -> Result<(), IdentityError> {
    let count = argon2.params().block_count();
    MEMORY.with_borrow_mut(|memory| {
        let blocks = memory.prepare(count)?;
        let hashed = argon2.hash_password_into_with_memory(password, salt, out, blocks);
        if !memory.is_kept {
            memory.release();
        }
        hashed.map_err(|error| IdentityError::new(format!("the password cannot be hashed: {error}")))
    })
}

impl ThreadMemory {
    /// As many blocks, with whatever the last hash left in them: Argon2 writes a block before it reads it.
    fn prepare(&mut self, count: usize) -> Result<&mut [Block], IdentityError> {
        // One hash that needs much more than the others, such as an imported one, does not make the thread large for ever.
        if self.blocks.len() < count || self.blocks.len() / 2 > count {
            self.release();
            self.blocks.try_reserve_exact(count.max(BLOCKS_ALLOCATED_MIN)).map_err(|_| {
                IdentityError::new(format!("there is no memory to hash a password: it takes {count} KiB"))
            })?;
            self.blocks.resize(count, Block::new());
        }
        Ok(&mut self.blocks)
    }

    fn release(&mut self) -> bool {
        // `Vec` would overwrite its unused capacity as well, and so take memory that no hash needed.
        self.blocks.iter_mut().zeroize();
        !std::mem::take(&mut self.blocks).is_empty()
    }
}
