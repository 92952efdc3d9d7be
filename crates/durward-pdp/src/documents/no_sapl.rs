//! In the place of `sapl.rs` without the feature `sapl`: whatever is of SAPL, by its name, is refused. The types are there for
//! whoever handles documents of both languages, and have no values.

use std::sync::Arc;

use durward_ir::combine::Voting;
use durward_ir::finding::Finding;
use durward_ir::path::Element;
use durward_ir::program::{Builder, NodeId, Program};
use durward_ir::value::{Object, Value};
use durward_xacml_policies::policy::PolicyError;
use smol_str::SmolStr;

use super::document::without;
use crate::PolicyText;
use crate::class::Class;

#[derive(Debug)]
pub(crate) enum Document {}

#[derive(Debug)]
pub(crate) enum Configuration {}

#[derive(Debug)]
pub(crate) enum CheckSettings {}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Lowered {}

#[derive(Debug)]
pub(crate) enum Subscription {}

#[derive(Debug)]
pub(crate) enum Decision {}

/// None: nobody reads any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets;

impl Secrets {
    /// # Errors
    /// Always.
    pub(crate) fn read(text: &PolicyText) -> Result<Secrets, PolicyError> {
        Err(without(text, "secrets", "sapl"))
    }
}

/// # Errors
/// Always: what is demanded cannot be read.
pub(crate) fn check_extensions(text: &PolicyText) -> Result<(), PolicyError> {
    Err(without(text, "names of extensions", "sapl"))
}

impl Document {
    pub(crate) fn name(&self) -> Option<&SmolStr> {
        match *self {}
    }
}

impl Configuration {
    pub(crate) fn variables(&self) -> &Arc<Object> {
        match *self {}
    }
}

impl Subscription {
    pub(crate) fn element(&self, _: Element) -> &Value {
        match *self {}
    }
}

/// # Errors
/// Always.
pub(crate) fn read(text: &PolicyText) -> Result<Document, Vec<PolicyError>> {
    Err(vec![without(text, "policies of SAPL", "sapl")])
}

/// # Errors
/// Always: it would say how all documents are combined.
pub(crate) fn read_configuration(text: &PolicyText) -> Result<Configuration, Vec<PolicyError>> {
    Err(vec![without(text, "the configuration of SAPL", "sapl")])
}

pub(crate) fn configure(_: &mut Option<Configuration>, _: usize, _: usize) -> Result<(), PolicyError> {
    Ok(())
}

pub(crate) fn voting(configuration: &Configuration) -> Voting {
    match *configuration {}
}

pub(crate) fn allows(configuration: &Configuration, _: usize, _: usize) -> bool {
    match *configuration {}
}

pub(crate) fn lower_each(
    _: &[Document],
    configuration: &Configuration,
    _: &mut Builder,
) -> Result<Vec<Option<Lowered>>, Vec<PolicyError>> {
    match *configuration {}
}

pub(crate) fn in_order(_: &[Option<Lowered>]) -> impl Iterator<Item = NodeId> {
    std::iter::empty()
}

pub(crate) fn placed(lowered: Lowered) -> (NodeId, Class) {
    match lowered {}
}

pub(crate) fn findings(document: &Document, _: Option<&Configuration>, _: &CheckSettings) -> Vec<Finding> {
    match *document {}
}

pub(crate) fn always(_: &Program) -> Option<Decision> {
    None
}
