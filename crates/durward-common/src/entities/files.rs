//! Entities of files: read all together, and again when one of them changes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use durward_entities::{EntitiesBuilder, Limits};
use durward_settings::{AuthzenEntitySettings, AuthzenSettings};
use smol_str::SmolStr;

use super::stock::{Stock, limits};
use crate::base::watch::{Watched, Why, settle};
use crate::policies::look_of;

/// How often the files are looked at, where the system does not tell of changes.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// How long the files must lie still before they are read.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Files of entities.
pub(super) struct Files {
    /// Each with the tenant whose entities it holds.
    files: Vec<(SmolStr, PathBuf, AuthzenEntitySettings)>,
    limits: Limits,
}

impl Files {
    /// Those among the sources that are files, each with its tenant.
    pub(super) fn new(sources: Vec<(SmolStr, AuthzenEntitySettings)>, authzen: &AuthzenSettings) -> Files {
        let file =
            |(tenant, source): (SmolStr, AuthzenEntitySettings)| Some((tenant, source.path.clone()?, source));
        Files { files: sources.into_iter().filter_map(file).collect(), limits: limits(authzen) }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// All files, or nothing changes.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else, in words; the stock keeps them.
    pub(super) fn read_into(&self, stock: &Stock) -> Result<(), String> {
        if self.is_empty() {
            return Ok(());
        }
        stock.take_files(self.read())
    }

    /// The entities of each tenant.
    fn read(&self) -> Result<HashMap<SmolStr, EntitiesBuilder>, String> {
        let mut builders: HashMap<SmolStr, EntitiesBuilder> = HashMap::new();
        let mut bytes_left = self.limits.bytes_max;
        for (tenant, path, file) in &self.files {
            let text = read_file(path, bytes_left)?;
            bytes_left = bytes_left.saturating_sub(text.len());
            let builder = builders.entry(tenant.clone()).or_insert_with(|| EntitiesBuilder::new(self.limits));
            let source = path.display().to_string();
            let added = match file.is_csv() {
                true => builder.add_csv(&source, &text, file.kind.as_deref()),
                false => builder.add_json_lines(&source, &text),
            };
            added.map_err(|error| error.to_string())?;
        }
        Ok(builders)
    }

    fn look(&self) -> Vec<Option<u64>> {
        self.files.iter().map(|(_, path, _)| look_of(path)).collect()
    }
}

/// A text that is no longer than this.
fn read_file(path: &Path, bytes_max: usize) -> Result<String, String> {
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let mut text = String::new();
    let file = File::open(path).map_err(wrong)?;
    file.take(most.saturating_add(1)).read_to_string(&mut text).map_err(wrong)?;
    if text.len() > bytes_max {
        return Err(format!(
            "{}: all files of entities together are longer than `authzen.entities_bytes_max`",
            path.display()
        ));
    }
    Ok(text)
}

/// Looks at the files again and again.
pub(super) struct Watching {
    files: Arc<Files>,
    stock: Arc<Stock>,
    seen: Vec<Option<u64>>,
    /// What had come of databases when the files could not be used: they may fit what comes later.
    refused_at: Option<u64>,
}

impl Watching {
    pub(super) fn new(files: Arc<Files>, stock: Arc<Stock>) -> Watching {
        let seen = files.look();
        Watching { files, stock, seen, refused_at: None }
    }
}

impl Watched for Watching {
    const THREAD: &'static str = "entities";

    fn path(&self) -> Option<PathBuf> {
        // Events of one file make looks at all of them come sooner.
        self.files.files.first().map(|(_, path, _)| path.clone())
    }

    fn pause(&self) -> Duration {
        LOOK_PAUSE
    }

    fn look(&mut self, why: Why) -> bool {
        let now = self.files.look();
        let generation = self.stock.generation();
        let may_fit = self.refused_at.is_some_and(|refused_at| refused_at != generation);
        if why == Why::Regular && now == self.seen && !may_fit {
            return false;
        }
        self.seen = settle(now, SETTLE_TIME, || self.files.look());
        // The stock says what is wrong.
        self.refused_at = self.files.read_into(&self.stock).is_err().then_some(generation);
        true
    }
}
