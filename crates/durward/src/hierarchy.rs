//! The resource hierarchy, read from a file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use durward_pdp::ir::Fault;
use durward_pdp::xacml::wording;
use durward_pdp::{ResourceHierarchy, Value};

use crate::failure::CommandError;

/// Children by parent.
#[derive(Debug)]
pub(crate) struct ChildrenByParent {
    children: HashMap<String, Vec<String>>,
}

impl ChildrenByParent {
    /// Reads `{"parent": ["child", ...]}`.
    pub(crate) fn read(path: &Path) -> Result<ChildrenByParent, CommandError> {
        let text = fs::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
        let children = serde_json::from_slice(&text).map_err(|error| {
            let reason = wording::of_json(&error.to_string());
            let message = format!("{}: not a hierarchy: {reason}", path.display());
            CommandError::new(message).hint("a hierarchy is {\"parent\": [\"child\", ...], ...}")
        })?;
        Ok(ChildrenByParent { children })
    }
}

impl ResourceHierarchy for ChildrenByParent {
    /// Children are of the data type their parent is asked by: a file knows only text.
    fn children(&self, resource: &Value) -> Result<Vec<Value>, Box<Fault>> {
        let children = self.children.get(&*resource.lexical()).map(Vec::as_slice).unwrap_or_default();
        let typed = |child: &String| {
            let data_type = resource.data_type();
            Value::parse(data_type, child)
                .map_err(|error| Fault::processing(format!("resource `{child}` of the hierarchy: {error}")))
        };
        children.iter().map(typed).collect()
    }
}
