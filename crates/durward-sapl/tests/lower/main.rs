//! Documents as elements of a program: what is refused and where, what is shared, what indexes can work with.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at what it does not expect"
)]

mod again;
mod ahead;
mod configuration;
mod dead;
mod limits;
mod refused;
mod shape;

use durward_ir::combine::{Algorithm, Effects, Voting};
use durward_ir::program::{Builder, Node, Program, Rule, Set, SetKind, SourceLocation, Voters};
use durward_ir::value::{Object, Value};
use durward_sapl::{Configuration, Document, Problem, lower};

/// The documents with these variables of the configuration.
fn lowered_with(variables: &[(&str, Value)], texts: &[&str]) -> Result<Program, Vec<Problem>> {
    let variables = Object::from_iter(variables.iter().map(|(name, value)| (*name, value.clone())));
    let configuration = Configuration::new(Voting::DEFAULT, variables);
    let mut documents = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        documents.push(Document::read(&format!("{number}.sapl"), text.as_bytes())?);
    }
    let mut builder = Builder::new();
    let children = lower::lower(&documents, &configuration, &mut builder)?;
    Ok(builder.finish(Set {
        id: "root".into(),
        version: "".into(),
        kind: SetKind::Root,
        target: None,
        algorithm: Algorithm::Voting(configuration.voting),
        effects: Effects::NONE,
        children,
        voters: Voters::default(),
        duties: Vec::new(),
        place: SourceLocation::default(),
    }))
}

fn lowered(texts: &[&str]) -> Result<Program, Vec<Problem>> {
    lowered_with(&[], texts)
}

/// What is said about the documents, one problem a line.
fn problems(texts: &[&str]) -> String {
    let problems = lowered(texts).err().unwrap_or_default();
    problems.iter().map(std::string::ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The rules in the order in which they vote.
fn rules(program: &Program) -> Vec<&Rule> {
    let Node::Set(root) = program.node(program.root()) else { panic!("the root is a set") };
    let rule = |id| match program.node(id) {
        Node::Rule(rule) => rule,
        Node::Set(set) => panic!("{} is a set", set.id),
    };
    root.children.iter().map(|child| rule(*child)).collect()
}
