//! The entities that searches look among (`[[authzen.entities]]`): read at the start, watched, swapped in whole. A source that cannot be read
//! stops the start; later, what was read before stays, and log, metrics and health say what is wrong.
//!
//! ```text
//!   files ----- a thread looks at them (files) -------------.
//!   databases - a thread asks again, and listens (database) -'--> stock: newest of each source --> a table for each tenant
//! ```

#[cfg_attr(not(feature = "postgres"), path = "database/absent.rs")]
mod database;
mod files;
mod stock;
mod table;

use std::io;
use std::sync::Arc;

use durward_entities::Entities;
use durward_settings::{ConfigError, Settings};
use smol_str::SmolStr;

use crate::base::metrics::Metrics;
use crate::base::watch::Watch;
use database::Databases;
use files::{Files, Watching};
use stock::Stock;
pub use stock::{EntityNews, EntitySourceNews};
pub use table::EntityTable;

/// What is known of entities.
pub struct EntityStore {
    stock: Arc<Stock>,
    files: Arc<Files>,
    /// Those that are asked, for as long as the store is there.
    _databases: Databases,
}

impl EntityStore {
    /// Reads the files and asks the databases that the settings name, and goes on asking these.
    ///
    /// # Errors
    /// A file or a database that cannot be read, or that holds something else than entities; a database in a build that asks none.
    pub fn open(settings: &Settings, metrics: &Arc<Metrics>) -> Result<EntityStore, ConfigError> {
        let default_tenant = settings.auth.default_tenant.as_str();
        let sources = settings.authzen.entities.iter().map(|source| {
            (SmolStr::from(source.tenant.as_deref().unwrap_or(default_tenant)), source.clone())
        });
        let (files, databases): (Vec<_>, Vec<_>) = sources.partition(|(_, source)| source.path.is_some());
        let stock = Arc::new(Stock::new(&settings.authzen, metrics));
        let files = Arc::new(Files::new(files, &settings.authzen));
        let wrong =
            |message| ConfigError::of_setting("authzen.entities", format!("cannot be used: {message}"));
        files.read_into(&stock).map_err(wrong)?;
        let databases = Databases::open(databases, &stock)?;
        Ok(EntityStore { stock, files, _databases: databases })
    }

    /// The entities of a tenant, as they are now.
    pub fn of(&self, tenant: &str) -> Arc<Entities> {
        self.table(tenant).entities.clone()
    }

    /// The same, with what those of a type have in common.
    pub fn table(&self, tenant: &str) -> Arc<EntityTable> {
        self.stock.table(tenant)
    }

    /// How all sources stand.
    pub fn news(&self) -> EntityNews {
        self.stock.news()
    }

    /// Reads the files again when they change, for as long as what comes is held. Nothing where there are no files.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn watch(&self) -> io::Result<Option<Watch>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        Watch::start(Watching::new(Arc::clone(&self.files), Arc::clone(&self.stock))).map(Some)
    }
}
