//! The maps that a program is built with.

use std::collections::HashMap;

/// Maps used while building. Their keys come out of policies, so every process hashes differently.
pub(super) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
