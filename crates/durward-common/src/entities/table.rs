//! The entities of one tenant at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use durward_entities::Entities;
use durward_pdp::plan::ObjectShape;
use smol_str::SmolStr;

/// Entities, and what those of a type have in common.
#[derive(Default)]
pub struct EntityTable {
    /// The entities of the tenant.
    pub entities: Arc<Entities>,
    shapes: HashMap<SmolStr, ObjectShape>,
}

impl EntityTable {
    pub(super) fn new(entities: Entities) -> EntityTable {
        let shape = |kind: &SmolStr| {
            let mut shape = ObjectShape::default();
            entities.after(kind, None).for_each(|(_, properties)| shape.add(properties));
            (kind.clone(), shape)
        };
        let shapes = entities.types().map(shape).collect();
        EntityTable { entities: Arc::new(entities), shapes }
    }

    /// What the properties of the entities of a type hold, if there is any.
    pub fn shape(&self, kind: &str) -> Option<&ObjectShape> {
        self.shapes.get(kind)
    }
}
