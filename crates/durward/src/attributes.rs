//! An attribute source read from a file, for attributes that requests lack.

use std::fs;
use std::path::Path;

use durward_pdp::{AttributeName, AttributeSource, Request, SourceError, Value};

use crate::failure::CommandError;
use crate::wire;

/// The attributes of a document written like a request.
#[derive(Debug)]
pub(crate) struct StaticSource {
    known: Request,
}

impl StaticSource {
    /// Reads the document.
    pub(crate) fn read(path: &Path) -> Result<StaticSource, CommandError> {
        let text = fs::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
        let (_, known) = wire::read_request(&text).map_err(|failure| failure.at(path))?;
        Ok(StaticSource { known })
    }

    fn find<'s>(&'s self, name: &'s AttributeName) -> impl Iterator<Item = &'s Value> {
        let categories = self.known.categories.iter().filter(|category| category.category == name.category);
        let named = categories.flat_map(|category| category.named(&name.id));
        let issued = named.filter(|attribute| name.issuer.is_none() || attribute.issuer == name.issuer);
        issued.flat_map(|attribute| attribute.values()).filter(|value| value.data_type() == name.data_type)
    }
}

impl AttributeSource for StaticSource {
    fn provides(&self, name: &AttributeName) -> bool {
        self.find(name).next().is_some()
    }

    fn values(&self, name: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Ok(self.find(name).cloned().collect())
    }
}
