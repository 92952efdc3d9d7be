//! `[plan]`: the columns that questions for plans may name.

use std::collections::BTreeMap;
use std::sync::Arc;

use durward_pdp::plan::Columns;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Plans over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanSettings {
    /// Columns by the name that questions call them by; `/v1/plan` is answered where there are any. Default: none.
    pub columns: BTreeMap<String, Columns>,
}

impl PlanSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (name, columns) in &self.columns {
            columns.clone().checked().map_err(|error| {
                ConfigError::of_setting(&format!("plan.columns.{name}"), error.to_string())
            })?;
        }
        Ok(())
    }

    /// The columns, each with its path.
    pub fn checked(&self) -> BTreeMap<String, Arc<Columns>> {
        let checked = |(name, columns): (&String, &Columns)| {
            Some((name.clone(), Arc::new(columns.clone().checked().ok()?)))
        };
        self.columns.iter().filter_map(checked).collect()
    }
}
