//! Figures of the entities that searches look among.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::{ByResult, Word};

/// What is told of entities.
#[derive(Debug)]
pub(super) struct EntityMetrics {
    loads: Family<ByResult, Counter>,
    count: Gauge,
    is_stale: Gauge,
    age_s: Gauge<f64, AtomicU64>,
}

/// How the sources of entities stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntityFigures {
    /// How many entities there are, those of all tenants.
    pub count: usize,
    /// Whether what is newest in a source is not in place.
    pub is_stale: bool,
    /// How long ago the database was read that was read longest ago; 0 without one.
    pub age_s: f64,
}

impl EntityMetrics {
    /// All at zero.
    pub(super) fn register(registry: &mut Registry) -> EntityMetrics {
        let all = EntityMetrics {
            loads: Family::default(),
            count: Gauge::default(),
            is_stale: Gauge::default(),
            age_s: Gauge::default(),
        };
        let help = "Times entities of files or of a database were read, by result";
        registry.register("entity_loads", help, all.loads.clone());
        registry.register("entities", "Entities that searches look among", all.count.clone());
        let help = "1 while what is newest in a file or a database of entities cannot be used";
        registry.register("entities_stale", help, all.is_stale.clone());
        let help = "Time since the database of entities was read that was read longest ago";
        registry.register_with_unit("entities_age", help, Unit::Seconds, all.age_s.clone());
        for result in ["ok", "failed", "unchanged"] {
            drop(all.loads.get_or_create(&ByResult { result: Word(result) }));
        }
        all
    }

    /// A source was read: `ok`, `failed`, or `unchanged`.
    pub(super) fn loaded(&self, result: &'static str) {
        self.loads.get_or_create(&ByResult { result: Word(result) }).inc();
    }

    pub(super) fn set(&self, figures: EntityFigures) {
        self.count.set(i64::try_from(figures.count).unwrap_or(i64::MAX));
        self.is_stale.set(i64::from(figures.is_stale));
        self.age_s.set(figures.age_s);
    }
}
