//! XML as the readers of requests and responses want it: elements by namespace, attributes checked, text decoded,
//! everything outside the schema refused. Splitting the text into tags is left to `quick-xml`.

pub(crate) mod attributes;
pub(crate) mod characters;
mod names;
mod reader;
mod taken;
pub(crate) mod write;

pub(crate) use attributes::RawAttribute;
pub(crate) use names::{CONTEXT1, CONTEXT2, CORE3, POLICY1, POLICY2, SCHEMA_INSTANCE, Space};
pub(crate) use reader::{Element, Read, XmlReader, excerpt};
