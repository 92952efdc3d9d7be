//! What came of all sources, and the tables that are made of it. The newest of each source is kept apart, so that a file that is broken keeps
//! no database from changing, nor a database that is away a file.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwap;
use durward_entities::{EntitiesBuilder, EntityRows, Limits};
use durward_settings::AuthzenSettings;
use serde::Serialize;
use smol_str::SmolStr;

use super::table::EntityTable;
use crate::base::metrics::Metrics;

/// What all files together are called.
const FILES: &str = "files";

/// The entities of each tenant.
type Tables = HashMap<SmolStr, Arc<EntityTable>>;

/// The limits that the settings set.
pub(super) fn limits(authzen: &AuthzenSettings) -> Limits {
    Limits { entities_max: authzen.entities_max, bytes_max: authzen.entities_bytes_max }
}

/// What came of all sources.
pub(super) struct Stock {
    pub(super) limits: Limits,
    metrics: Arc<Metrics>,
    tables: ArcSwap<Tables>,
    nothing: Arc<EntityTable>,
    /// Whether there are databases, whose rows may change while files do not.
    keeps_files: bool,
    /// Locked while tables are made, which may take as long as a million entities do.
    parts: Mutex<Parts>,
    /// How the sources stood when that was over, for those who answer and must not wait.
    standings: ArcSwap<Vec<SourceStanding>>,
    /// How often something else came of a database.
    generation: AtomicU64,
}

/// The newest of each source that could be used.
#[derive(Default)]
struct Parts {
    /// None, unless they are kept.
    files: HashMap<SmolStr, EntitiesBuilder>,
    files_standing: Option<Standing>,
    databases: Vec<DatabasePart>,
}

/// What came of a database.
#[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "this build asks none"))]
struct DatabasePart {
    tenant: SmolStr,
    rows: Option<Arc<EntityRows>>,
    standing: Standing,
}

/// How a source stands.
#[derive(Clone)]
struct Standing {
    /// What it is called.
    source: String,
    /// When it was read last.
    read: Option<Instant>,
    /// Why what is newest there is not in place.
    problem: Option<String>,
}

/// How a source stands, with the tenant whose entities a database has; files have those of several.
struct SourceStanding {
    tenant: Option<SmolStr>,
    standing: Standing,
}

/// How all sources stand.
#[derive(Debug, Default)]
pub struct EntityNews {
    /// How many entities there are, those of all tenants.
    pub entity_count: usize,
    /// Each database, and files while something is wrong with one.
    pub sources: Vec<EntitySourceNews>,
}

/// How one source stands.
#[derive(Debug, Serialize)]
pub struct EntitySourceNews {
    /// `files` for all files together, or the address of the database without its user.
    pub source: String,
    /// The tenant whose entities a database has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// How long ago a database was read: files are looked at, and read only when they change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_s: Option<f64>,
    /// Why what is newest there is not in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Standing {
    fn new(source: &str) -> Standing {
        Standing { source: source.to_owned(), read: None, problem: None }
    }

    /// The problem is said when it is another one: who tries again every few seconds fails as often.
    fn failed(&mut self, problem: String) {
        if self.problem.as_ref() == Some(&problem) {
            return;
        }
        // What fails at the start stops it, and is said there.
        if self.read.is_some() {
            tracing::error!(
                source = self.source,
                problem,
                "the entities cannot be used; those read before stay"
            );
        }
        self.problem = Some(problem);
    }

    fn succeeded(&mut self) {
        if self.problem.take().is_some() {
            tracing::info!(source = self.source, "the entities can be used again");
        }
        self.read = Some(Instant::now());
    }

    fn news(&self, tenant: Option<&str>) -> EntitySourceNews {
        EntitySourceNews {
            source: self.source.clone(),
            tenant: tenant.map(str::to_owned),
            age_s: tenant.and(self.read).map(|read| read.elapsed().as_secs_f64()),
            problem: self.problem.clone(),
        }
    }
}

impl Stock {
    pub(super) fn new(authzen: &AuthzenSettings, metrics: &Arc<Metrics>) -> Stock {
        Stock {
            limits: limits(authzen),
            metrics: Arc::clone(metrics),
            tables: ArcSwap::default(),
            nothing: Arc::default(),
            keeps_files: authzen.entities.iter().any(|source| source.database.is_some()),
            parts: Mutex::default(),
            standings: ArcSwap::default(),
            generation: AtomicU64::new(0),
        }
    }

    pub(super) fn table(&self, tenant: &str) -> Arc<EntityTable> {
        Arc::clone(self.tables.load().get(tenant).unwrap_or(&self.nothing))
    }

    /// How often something else came of a database.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// How all sources stand. Waits for nothing.
    pub(super) fn news(&self) -> EntityNews {
        let standings = self.standings.load();
        // Of files only what is wrong is of interest.
        let told =
            standings.iter().filter(|source| source.tenant.is_some() || source.standing.problem.is_some());
        let sources = told.map(|source| source.standing.news(source.tenant.as_deref())).collect();
        let entity_count = self.tables.load().values().map(|table| table.entities.len()).sum();
        EntityNews { entity_count, sources }
    }

    /// Shows how the sources stand now.
    fn show(&self, parts: &Parts) {
        let files = parts.files_standing.iter();
        let files = files.map(|standing| SourceStanding { tenant: None, standing: standing.clone() });
        let databases = parts.databases.iter().map(|part| SourceStanding {
            tenant: Some(part.tenant.clone()),
            standing: part.standing.clone(),
        });
        self.standings.store(Arc::new(files.chain(databases).collect()));
    }

    /// Puts what was read of files in the place of what was read of them before, or keeps why it cannot.
    ///
    /// # Errors
    /// The same reason: that of the reader; an entity that is there already, or more than the limits allow.
    pub(super) fn take_files(
        &self,
        read: Result<HashMap<SmolStr, EntitiesBuilder>, String>,
    ) -> Result<(), String> {
        let mut parts = self.parts();
        let taken = read.and_then(|builders| {
            let kept = if self.keeps_files { builders.clone() } else { HashMap::new() };
            let tables = self.tables_of(builders, &parts.databases)?;
            parts.files = kept;
            Ok(tables)
        });
        let standing = parts.files_standing.get_or_insert_with(|| Standing::new(FILES));
        let concluded = self.conclude(standing, taken);
        self.show(&parts);
        concluded
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        // What is in it is replaced as a whole.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables of all sources together.
    fn tables_of(
        &self,
        files: HashMap<SmolStr, EntitiesBuilder>,
        databases: &[DatabasePart],
    ) -> Result<Tables, String> {
        let rows = || databases.iter().filter_map(|part| Some((&part.tenant, part.rows.as_ref()?)));
        let of_files = files.values().map(EntitiesBuilder::byte_count).sum::<usize>();
        let byte_count = rows().map(|(_, rows)| rows.byte_count()).fold(of_files, usize::saturating_add);
        if byte_count > self.limits.bytes_max {
            return Err("all entities together are longer than `authzen.entities_bytes_max`".to_owned());
        }
        let mut builders = files;
        for (tenant, rows) in rows() {
            let builder = builders.entry(tenant.clone()).or_insert_with(|| EntitiesBuilder::new(self.limits));
            builder.add_rows(rows).map_err(|error| error.to_string())?;
        }
        let table = |(tenant, builder): (SmolStr, EntitiesBuilder)| {
            (tenant, Arc::new(EntityTable::new(builder.finish())))
        };
        Ok(builders.into_iter().map(table).collect())
    }

    /// Puts tables in place, or says why not.
    fn conclude(&self, standing: &mut Standing, taken: Result<Tables, String>) -> Result<(), String> {
        match taken {
            Ok(tables) => {
                for (tenant, table) in &tables {
                    tracing::info!(?tenant, entities = table.entities.len(), "entities are in place");
                }
                self.tables.store(Arc::new(tables));
                standing.succeeded();
                self.metrics.entities_loaded("ok");
                Ok(())
            }
            Err(problem) => {
                self.metrics.entities_loaded("failed");
                standing.failed(problem.clone());
                Err(problem)
            }
        }
    }
}

/// What databases tell.
#[cfg(feature = "postgres")]
impl Stock {
    /// A place for a database; its number is what it is known by from here on.
    pub(super) fn add_database(&self, tenant: SmolStr, source: &str) -> usize {
        let mut parts = self.parts();
        parts.databases.push(DatabasePart { tenant, rows: None, standing: Standing::new(source) });
        self.show(&parts);
        parts.databases.len() - 1
    }

    /// Keeps why a database cannot be used, and gives it back.
    pub(super) fn refused(&self, database: usize, problem: String) -> String {
        self.metrics.entities_loaded("failed");
        let mut parts = self.parts();
        if let Some(part) = parts.databases.get_mut(database) {
            part.standing.failed(problem.clone());
        }
        self.show(&parts);
        problem
    }

    /// Puts the rows of a database in the place of those before, unless they are the same, or keeps why it cannot.
    ///
    /// # Errors
    /// The same reason: an entity that is there already, or more than the limits allow.
    pub(super) fn take_rows(&self, database: usize, rows: EntityRows) -> Result<(), String> {
        let mut parts = self.parts();
        let taken = self.put_rows(&mut parts, database, rows);
        self.show(&parts);
        taken
    }

    fn put_rows(&self, parts: &mut Parts, database: usize, rows: EntityRows) -> Result<(), String> {
        let Parts { files, databases, .. } = parts;
        let Some(part) = databases.get_mut(database) else { return Ok(()) };
        if part.rows.as_ref().is_some_and(|before| before.is_same(&rows)) {
            // All else is in place with them.
            part.standing.succeeded();
            self.metrics.entities_loaded("unchanged");
            return Ok(());
        }
        let before = part.rows.replace(Arc::new(rows));
        let taken = self.tables_of(files.clone(), databases);
        let Some(part) = databases.get_mut(database) else { return Ok(()) };
        match &taken {
            Ok(_) => drop(self.generation.fetch_add(1, Ordering::AcqRel)),
            Err(_) => part.rows = before,
        }
        self.conclude(&mut part.standing, taken)
    }
}
