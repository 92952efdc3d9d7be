//! Explanations as JSON.

use serde_json::{Value as Json, json};

use super::{Explained, ExplainedCondition, Explanation};

impl Explanation {
    /// All results as a JSON array.
    pub fn to_json(&self) -> Json {
        Json::Array(self.results.iter().map(Explained::to_json).collect())
    }
}

impl Explained {
    /// This element and all below as JSON: `kind`, `id`, `version`, `place`, `outcome`, `reason`, `children`; and where
    /// there are any, `conditions` (with `place`, `text`, `outcome`, `reason`), `obligations`, `advice`, `resource`.
    pub fn to_json(&self) -> Json {
        let children: Vec<Json> = self.children.iter().map(Explained::to_json).collect();
        let mut json = json!({
            "kind": self.kind,
            "id": self.id,
            "version": self.version,
            "place": self.place,
            "outcome": self.outcome,
            "reason": self.reason,
            "children": children,
        });
        let conditions: Vec<Json> = self.conditions.iter().map(ExplainedCondition::to_json).collect();
        let more = [
            ("conditions", Json::Array(conditions)),
            ("obligations", json!(self.obligations)),
            ("advice", json!(self.advice)),
            ("resource", json!(self.resource)),
        ];
        if let Some(object) = json.as_object_mut() {
            let is_there =
                |value: &Json| !value.is_null() && value.as_array().is_none_or(|all| !all.is_empty());
            let more = more.into_iter().filter(|(_, value)| is_there(value));
            object.extend(more.map(|(key, value)| (key.to_owned(), value)));
        }
        json
    }
}

impl ExplainedCondition {
    fn to_json(&self) -> Json {
        json!({"place": self.place, "text": self.text, "outcome": self.outcome, "reason": self.reason})
    }
}
