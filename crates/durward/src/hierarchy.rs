//! Which resources lie below which, out of a file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use durward_pdp::ResourceHierarchy;

use crate::failure::Failure;

/// Children by parent.
#[derive(Debug)]
pub(crate) struct Hierarchy {
    children: HashMap<String, Vec<String>>,
}

impl Hierarchy {
    /// Reads `{"parent": ["child", ...]}`.
    pub(crate) fn read(path: &Path) -> Result<Hierarchy, Failure> {
        let text = fs::read(path).map_err(|error| Failure::unreadable(path, &error))?;
        let children = serde_json::from_slice(&text).map_err(|error| {
            let message = format!("{}: not a hierarchy: {error}", path.display());
            Failure::new(message).hint("a hierarchy is {\"parent\": [\"child\", ...], ...}")
        })?;
        Ok(Hierarchy { children })
    }
}

impl ResourceHierarchy for Hierarchy {}
