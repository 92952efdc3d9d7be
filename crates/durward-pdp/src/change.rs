//! Policies changed one by one: a new snapshot that shares all that did not change with the one before.
//!
//! What a change takes is lowering the documents that changed, and a small part of a microsecond for every document there
//! is. Documents that others refer to, settings, and whatever else says something about all documents are not changed like
//! that: then everything is built anew, as [`Pdp::replace`] does, and so it is where policies are few, or where too many
//! have changed since that was done last.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use durward_index::Index;
use durward_ir::combine::Algorithm;
use durward_ir::program::{Builder, Node, Program};
use durward_xacml_policies::policy::PolicyError;

use crate::became::Became;
use crate::class::Class;
use crate::documents::{Document, PolicyTrees, root};
use crate::edit::{Edit, PolicyChange};
use crate::in_force::{InForce, Spent};
use crate::language::Language;
use crate::recipe::Recipe;
use crate::register::Register;
use crate::snapshot::{Built, Snapshot};
use crate::warnings::Warnings;
use crate::{Pdp, PolicyText, SnapshotInfo};

/// How many documents one change may have; with more, rebuilding everything is as fast.
const EDITS_MAX: usize = 1_024;

/// From so many changes on it is worth building everything anew, where there is time ([`Pdp::settle`]).
const CHANGES_WORTH_SETTLING: usize = 256;

/// How many attributes policies may read to be changed document by document, because each change copies their slots;
/// with more, everything is rebuilt.
const SLOTS_MAX: usize = 4_096;

impl Pdp {
    /// Changes some of the policies in force, for every decision that begins after this returns. Decisions under way finish
    /// with the policies they began with. A document that is new stands where its name belongs in the order of paths, if the
    /// others stand in that order, and else behind them.
    ///
    /// The policies in force afterwards are those that [`Pdp::replace`] would have put in force with all documents, and every
    /// decision is the same. Where policies are many, this takes only as long as what is changed.
    ///
    /// ```
    /// use durward_pdp::{Pdp, PolicyChange, PolicyText, sapl::{Outcome, Subscription}};
    ///
    /// let reading = r#"policy "reading" permit action == "read";"#;
    /// let pdp = Pdp::builder().changing().policy("reading.sapl", reading).build().map_err(|errors| errors[0].to_string())?;
    /// let ask = Subscription::from_json(br#"{"subject":"alice","action":"write","resource":"record"}"#).map_err(|e| e.to_string())?;
    /// assert_eq!(pdp.decide_once(&ask).outcome, Outcome::Deny);
    ///
    /// let writing = br#"policy "writing" permit action == "write";"#.to_vec();
    /// let change = PolicyChange::Put(PolicyText { name: "writing.sapl".into(), text: writing });
    /// pdp.change(&[change]).map_err(|errors| errors[0].to_string())?;
    /// assert_eq!(pdp.decide_once(&ask).outcome, Outcome::Permit);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// Everything wrong with the new documents, one to be taken away that is not there, or a decision point that was not
    /// built with [`crate::PdpBuilder::changing`]. All policies then stay as they are.
    pub fn change(&self, changes: &[PolicyChange]) -> Result<SnapshotInfo, Vec<PolicyError>> {
        let (info, spent) = {
            let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
            self.changed(&mut in_force, changes)?
        };
        drop(spent);
        Ok(info)
    }

    fn changed(
        &self,
        in_force: &mut InForce,
        changes: &[PolicyChange],
    ) -> Result<(SnapshotInfo, Spent), Vec<PolicyError>> {
        let id = in_force.last_id + 1;
        let Some(register) = &mut in_force.register else {
            let message = "this decision point does not keep its policies, so none of them can be changed";
            let help = "build it with `Pdp::builder().changing()`, or replace all policies";
            return Err(vec![PolicyError::of_all(message.into(), Some(help.into()))]);
        };
        let edits = Edits::of(register, changes)?;
        let current = self.snapshot.load_full();
        let mut before = None;
        let snapshot = match extend(&current, id, register, &edits, &self.recipe)? {
            Some(extended) => {
                let snapshot = self.with_sources(extended.snapshot);
                self.check_clock(&snapshot)?;
                in_force.warnings.forget(edits.names(register));
                in_force.warnings.extend(extended.warnings);
                register.apply(&edits.all, extended.became);
                snapshot
            }
            None => {
                let texts = register.texts_after(&edits.all);
                let Built { snapshot, register: new, warnings } = self.built(id, &texts)?;
                in_force.warnings = warnings;
                before = std::mem::replace(&mut in_force.register, new);
                snapshot
            }
        };
        drop(current);
        let (info, spent) = self.put_in_force(in_force, Arc::new(snapshot));
        Ok((info, spent.with(before)))
    }

    /// How many documents came or went since everything was built in one go; a document that was changed counts twice.
    pub fn change_count(&self) -> usize {
        match &self.snapshot.load().index {
            Index::Changed(changed) => changed.new_count() + changed.gone_count(),
            Index::Scan(_) | Index::Bloom(_) | Index::Canonical(_) | Index::Diagram(_) => 0,
        }
    }

    /// Whether there were so many changes that building everything anew is worth it ([`Pdp::settle`]): decisions and changes
    /// are then faster, and take less memory.
    pub fn is_worth_settling(&self) -> bool {
        self.change_count() >= CHANGES_WORTH_SETTLING
    }

    /// Builds the policies in force anew, in one go, without changing any decision. Takes as long as [`Pdp::replace`]; policies
    /// can be changed meanwhile, and those changes stay. For a thread that has the time.
    ///
    /// # Errors
    /// What is in force cannot be built anew; nothing changes then.
    pub fn settle(&self) -> Result<SnapshotInfo, Vec<PolicyError>> {
        let (id, texts) = {
            let in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
            match &in_force.register {
                Some(register) => (in_force.last_id, register.texts_after(&[])),
                None => return Ok(self.snapshot()),
            }
        };
        let Built { snapshot, register, .. } = self.built(id, &texts)?;
        let Some(mut register) = register else { return Ok(self.snapshot()) };
        let base = Arc::new(snapshot);
        // Now, so that the next change need not.
        register.ground(&base);
        let (info, spent) = {
            let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
            self.settled(&mut in_force, base, register)?
        };
        self.drop_all(spent);
        Ok(info)
    }

    /// Puts the same policies in force that are, but made of `base`, with what has changed since it was begun.
    fn settled(
        &self,
        in_force: &mut InForce,
        base: Arc<Snapshot>,
        mut register: Register,
    ) -> Result<(SnapshotInfo, Spent), Vec<PolicyError>> {
        let nothing = |spent| Ok((self.snapshot(), spent));
        let Some(changes) = in_force.register.as_ref().and_then(|now| register.changes_to(now)) else {
            return nothing(Spent::default());
        };
        let edits = Edits::of(&register, &changes)?;
        let id = in_force.last_id;
        let mut snapshot = base;
        if !changes.is_empty() {
            let Some(extended) = extend(&snapshot, id, &mut register, &edits, &self.recipe)? else {
                return nothing(Spent::default());
            };
            register.apply(&edits.all, extended.became);
            snapshot = Arc::new(self.with_sources(extended.snapshot));
        } else if snapshot.info.id != id {
            // The same texts came back meanwhile.
            return nothing(Spent::default());
        }
        let before = in_force.register.replace(register);
        let (info, spent) = self.put_in_force(in_force, snapshot);
        Ok((info, spent.with(before)))
    }

    fn with_sources(&self, snapshot: Snapshot) -> Snapshot {
        let is_sourced = Snapshot::sourced(&snapshot.program, &self.sources);
        Snapshot { is_sourced, ..snapshot }
    }

    /// All documents, lowered and indexed, and what became of each.
    pub(crate) fn built(&self, id: u64, texts: &[Arc<PolicyText>]) -> Result<Built, Vec<PolicyError>> {
        let built = Built::of(id, texts, &self.recipe, &self.sources)?;
        self.check_clock(&built.snapshot)?;
        Ok(built)
    }

    /// For every decision that begins after this. Gives what is of no use any more.
    pub(crate) fn put_in_force(
        &self,
        in_force: &mut InForce,
        snapshot: Arc<Snapshot>,
    ) -> (SnapshotInfo, Spent) {
        let info = snapshot.info.clone();
        in_force.last_id = info.id;
        in_force.retired.push(self.snapshot.swap(snapshot));
        (info, in_force.spent())
    }

    /// Those that extended another one go first, and then that one.
    pub(crate) fn drop_all(&self, spent: Spent) {
        drop(spent);
        let spent = self.in_force.lock().unwrap_or_else(PoisonError::into_inner).spent();
        drop(spent);
    }
}

/// All of them, in the order of the documents.
#[derive(Debug)]
struct Edits {
    all: Vec<Edit>,
}

impl Edits {
    /// The names of the documents that are put, or taken away.
    fn names<'r>(&'r self, register: &'r Register) -> impl Iterator<Item = &'r str> {
        let old = move |edit: &Edit| register.entry(edit.at.ok()?).map(|entry| entry.text.name.as_str());
        let new = |edit: &'r Edit| edit.text.as_ref().map(|text| text.name.as_str());
        self.all.iter().filter_map(old).chain(self.all.iter().filter_map(new))
    }

    /// Of several changes of one document the last counts.
    ///
    /// # Errors
    /// A document to be taken away that is not there.
    fn of(register: &Register, changes: &[PolicyChange]) -> Result<Edits, Vec<PolicyError>> {
        let mut last: HashMap<&str, (usize, &PolicyChange)> = HashMap::with_capacity(changes.len());
        for (number, change) in changes.iter().enumerate() {
            last.insert(change.name(), (number, change));
        }
        let mut last: Vec<(usize, &PolicyChange)> = last.into_values().collect();
        last.sort_by_key(|(number, _)| *number);
        let is_put = |name: &String| {
            changes.iter().any(|change| matches!(change, PolicyChange::Put(text) if text.name == *name))
        };
        let mut all: Vec<Edit> = Vec::with_capacity(last.len());
        let mut errors = Vec::new();
        for (_, change) in last {
            let at = register.find(change.name());
            match change {
                PolicyChange::Put(text) => all.push(Edit { at, text: Some(Arc::new(text.clone())) }),
                PolicyChange::Remove(_) if at.is_ok() => all.push(Edit { at, text: None }),
                PolicyChange::Remove(name) if is_put(name) => {}
                PolicyChange::Remove(name) => {
                    errors.push(PolicyError::of_all(
                        format!("there is no document `{name}` to take away"),
                        None,
                    ));
                }
            }
        }
        let order = |edit: &Edit| match edit.at {
            Ok(at) => (at, true),
            Err(at) => (at, false),
        };
        let name = |edit: &Edit| edit.text.as_ref().map(|text| PathBuf::from(&text.name));
        match register.is_in_order() {
            true => all.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| name(a).cmp(&name(b)))),
            false => all.sort_by_key(order),
        }
        if errors.is_empty() { Ok(Edits { all }) } else { Err(errors) }
    }
}

/// A snapshot that extends another one, and what became of the documents that were put.
struct Extended {
    snapshot: Snapshot,
    became: Vec<Option<Became>>,
    /// What is odd in the documents that were put.
    warnings: Warnings,
}

/// `None` where everything has to be built anew, be it to find out what is wrong.
///
/// # Errors
/// Everything wrong with the new documents by themselves.
fn extend(
    current: &Arc<Snapshot>,
    id: u64,
    register: &mut Register,
    edits: &Edits,
    recipe: &Recipe,
) -> Result<Option<Extended>, Vec<PolicyError>> {
    let program = &current.program;
    let limits = recipe.changing.unwrap_or_default();
    if recipe.is_explaining
        || recipe.is_plain
        || recipe.lowering.root.is_some()
        || program.base_len() < limits.elements_min
        || program.added_len() > limits.added_max
        || edits.all.len() > EDITS_MAX
        || program.slots.len() > SLOTS_MAX
    {
        return Ok(None);
    }
    let Some(read) = read(edits, register, recipe)? else { return Ok(None) };
    let mut builder = Builder::extending(program);
    let warnings = warnings(&read, register, recipe);
    let became = lower(read, &mut builder, program.source_count() as u32, register, recipe)?;
    let Some((children, effects)) = register.children_after(program, &builder, &edits.all, &became) else {
        return Ok(None);
    };
    let algorithm = algorithm(program);
    let program = builder.finish(root(algorithm, children, effects));
    let ground = register.ground(current);
    let Some(index) = Index::change(&ground, Some(&current.index), &program) else { return Ok(None) };
    let became = register.counted(&program, became);
    let info = register.info_after(id, &edits.all, &became, &index);
    let snapshot = Snapshot::around(program, index, info, current);
    Ok(Some(Extended { snapshot, became, warnings }))
}

fn algorithm(program: &Program) -> Algorithm {
    match program.node(program.root()) {
        Node::Set(set) => set.algorithm,
        Node::Rule(_) => Algorithm::DenyOverrides,
    }
}

/// The documents that are put, in their order; `None` where something is to be taken away. `None` for all where
/// everything has to be built anew.
///
/// # Errors
/// Everything wrong with them.
fn read(
    edits: &Edits,
    register: &Register,
    recipe: &Recipe,
) -> Result<Option<Vec<Option<Document>>>, Vec<PolicyError>> {
    let mut errors = Vec::new();
    let mut documents = Vec::with_capacity(edits.all.len());
    for edit in &edits.all {
        let language = |text: &Arc<PolicyText>| Language::of(&text.name);
        let old = edit.at.ok().and_then(|at| register.entry(at)).map(|entry| language(&entry.text));
        let new = edit.text.as_ref().map(language);
        let is_policy = |language: Language| matches!(language, Language::Sapl | Language::Xacml);
        if !old.into_iter().chain(new).all(is_policy) {
            return Ok(None);
        }
        match edit.text.as_ref().map(|text| Document::read(text, recipe)).transpose() {
            Ok(document) => documents.push(document),
            Err(found) => errors.extend(found),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(register.admits(&edits.all, &documents).then_some(documents))
}

/// What is odd in the documents that are put.
fn warnings(read: &[Option<Document>], register: &Register, recipe: &Recipe) -> Warnings {
    let mut warnings = Warnings::default();
    for document in read.iter().flatten() {
        warnings.add(document, register.configuration(), recipe.checking.as_deref());
    }
    warnings
}

/// What becomes of each document that is put.
///
/// # Errors
/// Everything wrong with them.
fn lower(
    read: Vec<Option<Document>>,
    builder: &mut Builder,
    first_source: u32,
    register: &Register,
    recipe: &Recipe,
) -> Result<Vec<Option<Became>>, Vec<PolicyError>> {
    let mut became: Vec<Option<Became>> = Vec::with_capacity(read.len());
    let mut trees = PolicyTrees::default();
    for document in read {
        became.push(document.as_ref().map(Became::of));
        if let Some(document) = document {
            trees.add(document);
        }
    }
    let lowered = trees.lower(builder, register.configuration(), recipe)?;
    let first_of_sapl = first_source + trees.xacml.len() as u32;
    let (mut roots, mut lowered) = ((first_source..).zip(lowered.xacml), (first_of_sapl..).zip(lowered.sapl));
    let mut lower = |became: Became| match became.class {
        Class::Xacml => match roots.next() {
            Some((source, node)) => became.with_node(source, Some(node)),
            None => became,
        },
        Class::Sapl | Class::SaplConstant | Class::SaplStreaming => match lowered.next() {
            Some((source, lowered)) => became.with_lowered(source, lowered),
            None => became,
        },
    };
    Ok(became.into_iter().map(|became| became.map(&mut lower)).collect())
}
