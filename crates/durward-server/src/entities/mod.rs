//! The entities that searches look among (`[[authzen.entities]]`): read at the start, watched, swapped in whole. A file that cannot be read
//! stops the start; later, what was read before stays, and the log says what is wrong.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use durward_entities::{Entities, EntitiesBuilder, Limits};
use durward_pdp::plan::ObjectShape;
use smol_str::SmolStr;

use crate::base::settings::{AuthzenEntitySettings, ConfigError, Settings};
use crate::base::watch::{Watch, Watched, Why, settle};
use crate::policies::look_of;

/// How often the files are looked at, where the system does not tell of changes.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// How long the files must lie still before they are read.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// The entities of each tenant.
type Tables = HashMap<SmolStr, Arc<EntityTable>>;

/// Entities, and what those of a type have in common.
#[derive(Default)]
pub(crate) struct EntityTable {
    pub(crate) entities: Arc<Entities>,
    shapes: HashMap<SmolStr, ObjectShape>,
}

impl EntityTable {
    fn new(entities: Entities) -> EntityTable {
        let shape = |kind: &SmolStr| {
            let mut shape = ObjectShape::default();
            entities.after(kind, None).for_each(|(_, properties)| shape.add(properties));
            (kind.clone(), shape)
        };
        let shapes = entities.types().map(shape).collect();
        EntityTable { entities: Arc::new(entities), shapes }
    }

    /// What the properties of the entities of a type hold, if there is any.
    pub(crate) fn shape(&self, kind: &str) -> Option<&ObjectShape> {
        self.shapes.get(kind)
    }
}

/// What is known of entities.
pub(crate) struct EntityStore {
    /// Each with the tenant whose entities it holds.
    files: Vec<(SmolStr, AuthzenEntitySettings)>,
    limits: Limits,
    tables: ArcSwap<Tables>,
    nothing: Arc<EntityTable>,
}

impl EntityStore {
    /// Reads the files that the settings name.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds something else than entities.
    pub(crate) fn open(settings: &Settings) -> Result<EntityStore, ConfigError> {
        let default_tenant = settings.auth.default_tenant.as_str();
        let files = settings
            .authzen
            .entities
            .iter()
            .map(|file| (SmolStr::from(file.tenant.as_deref().unwrap_or(default_tenant)), file.clone()));
        let limits = Limits {
            entities_max: settings.authzen.entities_max,
            bytes_max: settings.authzen.entities_bytes_max,
        };
        let store = EntityStore {
            files: files.collect(),
            limits,
            tables: ArcSwap::default(),
            nothing: Arc::default(),
        };
        let wrong =
            |message| ConfigError::of_setting("authzen.entities", format!("cannot be used: {message}"));
        store.read().map_err(wrong)?;
        Ok(store)
    }

    /// The entities of a tenant, as they are now.
    pub(crate) fn of(&self, tenant: &str) -> Arc<Entities> {
        self.tables.load().get(tenant).unwrap_or(&self.nothing).entities.clone()
    }

    /// The same, with what those of a type have in common.
    pub(crate) fn table(&self, tenant: &str) -> Arc<EntityTable> {
        self.tables.load().get(tenant).unwrap_or(&self.nothing).clone()
    }

    /// Reads the files again when they change, for as long as what comes is held. Nothing where there are no files.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub(crate) fn watch(self: &Arc<EntityStore>) -> io::Result<Option<Watch>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let seen = self.look();
        Watch::start(Watching { store: Arc::clone(self), seen }).map(Some)
    }

    fn look(&self) -> Vec<Option<u64>> {
        self.files.iter().map(|(_, file)| look_of(&file.path)).collect()
    }

    /// All files, or nothing changes.
    fn read(&self) -> Result<(), String> {
        let mut builders: HashMap<SmolStr, EntitiesBuilder> = HashMap::new();
        let mut bytes_left = self.limits.bytes_max;
        for (tenant, file) in &self.files {
            let text = read_file(&file.path, bytes_left)?;
            bytes_left = bytes_left.saturating_sub(text.len());
            let builder = builders.entry(tenant.clone()).or_insert_with(|| EntitiesBuilder::new(self.limits));
            let source = file.path.display().to_string();
            let added = match file.is_csv() {
                true => builder.add_csv(&source, &text, file.kind.as_deref()),
                false => builder.add_json_lines(&source, &text),
            };
            added.map_err(|error| error.to_string())?;
        }
        let table = |(tenant, builder): (SmolStr, EntitiesBuilder)| {
            (tenant, Arc::new(EntityTable::new(builder.finish())))
        };
        let tables: Tables = builders.into_iter().map(table).collect();
        for (tenant, table) in &tables {
            tracing::info!(?tenant, entities = table.entities.len(), "entities are in place");
        }
        self.tables.store(Arc::new(tables));
        Ok(())
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

struct Watching {
    store: Arc<EntityStore>,
    seen: Vec<Option<u64>>,
}

impl Watched for Watching {
    const THREAD: &'static str = "entities";

    fn path(&self) -> Option<PathBuf> {
        // Events of one file make looks at all of them come sooner.
        self.store.files.first().map(|(_, file)| file.path.clone())
    }

    fn pause(&self) -> Duration {
        LOOK_PAUSE
    }

    fn look(&mut self, why: Why) -> bool {
        let now = self.store.look();
        if why == Why::Regular && now == self.seen {
            return false;
        }
        self.seen = settle(now, SETTLE_TIME, || self.store.look());
        if let Err(error) = self.store.read() {
            tracing::error!(%error, "the entities cannot be used; those read before stay");
        }
        true
    }
}
