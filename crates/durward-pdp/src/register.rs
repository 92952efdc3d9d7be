//! The documents in force, one by one, and what became of each: what is needed to change some of them.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use durward_index::{Ground, Index};
use durward_ir::combine::Effects;
use durward_ir::program::{Builder, Effect, Node, NodeId, Program};
use smol_str::SmolStr;

use crate::became::Became;
use crate::class::Class;
use crate::documents::Document;
use crate::documents::sapl::{self, Configuration};
use crate::edit::{Edit, PolicyChange};
use crate::language::{Language, Languages};
use crate::snapshot::Snapshot;
use crate::{PolicyText, SnapshotInfo};

/// The documents in force.
#[derive(Debug, Default)]
pub(crate) struct Register {
    /// In the order of the documents.
    entries: Vec<Entry>,
    /// Whether that is the order of their paths, each of which is there once.
    is_in_order: bool,
    /// There when there is any SAPL.
    configuration: Option<Configuration>,
    /// What no two documents may have in common.
    identities: HashSet<SmolStr>,
    /// How often documents refer to an identifier.
    referred: HashMap<SmolStr, usize>,
    counts: Counts,
    /// Why this index, where that was chosen.
    reason: String,
    /// What changed programs have in common; made with the first change.
    ground: Option<Arc<Ground>>,
}

/// One document.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) text: Arc<PolicyText>,
    /// `None` of what is no policy.
    became: Option<Box<Became>>,
}

/// What all documents come to.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// By class: how many have an element.
    elements: [usize; 4],
    /// How many have elements with an effect, in the order of [`EFFECTS`].
    effects: [usize; 3],
    policies: usize,
    rules: usize,
    sapl: usize,
    sapl_bytes: usize,
    xacml: usize,
}

const EFFECTS: [Effect; 3] = [Effect::Permit, Effect::Deny, Effect::Suspend];

impl Counts {
    fn add(&mut self, entry: &Entry) {
        self.count(entry, |all, one| *all += one);
    }

    fn remove(&mut self, entry: &Entry) {
        self.count(entry, |all, one| *all = all.saturating_sub(one));
    }

    fn count(&mut self, entry: &Entry, mut note: impl FnMut(&mut usize, usize)) {
        let Some(became) = &entry.became else { return };
        if became.node.is_some() {
            let (classes, effects) = (Class::ALL.iter(), EFFECTS.iter());
            for (all, _) in self.elements.iter_mut().zip(classes).filter(|(_, class)| **class == became.class)
            {
                note(all, 1);
            }
            for (all, _) in
                self.effects.iter_mut().zip(effects).filter(|(_, it)| became.effects.contains(**it))
            {
                note(all, 1);
            }
        }
        note(&mut self.policies, became.policies as usize);
        note(&mut self.rules, became.rules as usize);
        match became.class {
            Class::Xacml => note(&mut self.xacml, 1),
            Class::Sapl | Class::SaplConstant | Class::SaplStreaming => {
                note(&mut self.sapl, 1);
                note(&mut self.sapl_bytes, entry.text.text.len());
            }
        }
    }

    fn effects(&self) -> Effects {
        let has = self.effects.iter().zip(EFFECTS).filter(|(count, _)| **count > 0);
        has.fold(Effects::NONE, |all, (_, effect)| all.union(Effects::only(effect)))
    }
}

impl Register {
    /// Of a program built in one go of these texts; `became` is what became of those that are policies.
    pub(crate) fn of(
        texts: &[Arc<PolicyText>],
        mut became: impl Iterator<Item = Became>,
        configuration: Option<Configuration>,
        snapshot: &Snapshot,
    ) -> Register {
        let program = &snapshot.program;
        let reason =
            snapshot.info.index.strip_prefix(&snapshot.index.describe()).unwrap_or_default().to_owned();
        let mut register = Register { configuration, reason, ..Register::default() };
        let rules = rules_by_source(program.nodes());
        for text in texts {
            let became = match Language::of(&text.name) {
                Language::Xacml | Language::Sapl => became.next(),
                Language::SaplConfiguration
                | Language::Secrets
                | Language::SealedSecrets
                | Language::CriticalExtensions => None,
            };
            let became = became.map(|mut became| {
                became.count(program, &rules);
                Box::new(became)
            });
            register.entries.push(Entry { text: Arc::clone(text), became });
        }
        let mut paths = register.entries.iter().map(|entry| Path::new(&entry.text.name));
        register.is_in_order = paths.clone().zip(paths.by_ref().skip(1)).all(|(one, next)| one < next);
        let Register { entries, identities, referred, counts, .. } = &mut register;
        for entry in entries.iter() {
            counts.add(entry);
            note(entry, identities, referred);
        }
        register
    }

    pub(crate) fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    pub(crate) fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    pub(crate) fn configuration(&self) -> Option<&Configuration> {
        self.configuration.as_ref()
    }

    /// Where the document with this name is, or where it would come before.
    pub(crate) fn find(&self, name: &str) -> Result<usize, usize> {
        if self.is_in_order {
            let path = Path::new(name);
            return self.entries.binary_search_by(|entry| Path::new(&entry.text.name).cmp(path));
        }
        self.entries.iter().position(|entry| entry.text.name == name).ok_or(self.entries.len())
    }

    /// What changed programs have in common; `current` is one of them, or what they begin with.
    pub(crate) fn ground(&mut self, current: &Arc<Snapshot>) -> Arc<Ground> {
        let ground = self.ground.get_or_insert_with(|| Arc::new(Ground::of(Arc::clone(current) as Arc<_>)));
        Arc::clone(ground)
    }

    /// The places of the documents in force by their numbers in the program.
    pub(crate) fn places(&self) -> HashMap<u32, usize> {
        let number = |(at, entry): (usize, &Entry)| Some((entry.became.as_deref()?.source, at));
        self.entries.iter().enumerate().filter_map(number).collect()
    }

    /// All texts, in order, once these edits are made.
    pub(crate) fn texts_after(&self, edits: &[Edit]) -> Vec<Arc<PolicyText>> {
        let mut texts = Vec::with_capacity(self.entries.len() + edits.len());
        let mut edits = edits.iter().peekable();
        for at in 0..=self.entries.len() {
            while let Some(edit) = edits.next_if(|edit| edit.at == Err(at)) {
                texts.extend(edit.text.clone());
            }
            match edits.next_if(|edit| edit.at == Ok(at)) {
                Some(edit) => texts.extend(edit.text.clone()),
                None => texts.extend(self.entries.get(at).map(|entry| Arc::clone(&entry.text))),
            }
        }
        texts
    }

    /// The changes that make the documents those of another register; `None` where that takes more than changes of
    /// documents that stand in the order of their paths.
    pub(crate) fn changes_to(&self, other: &Register) -> Option<Vec<PolicyChange>> {
        let is_same = |(one, other): (&Entry, &Entry)| Arc::ptr_eq(&one.text, &other.text);
        if self.entries.len() == other.entries.len() && self.entries.iter().zip(&other.entries).all(is_same) {
            return Some(Vec::new());
        }
        if !self.is_in_order || !other.is_in_order {
            return None;
        }
        // Most are the very same, so that paths are hardly ever compared.
        let (mut left, mut right) = (self.entries.iter().peekable(), other.entries.iter().peekable());
        let path = |entry: &&Entry| PathBuf::from(&entry.text.name);
        let remove = |entry: &Entry| PolicyChange::Remove(entry.text.name.clone());
        let put = |entry: &Entry| PolicyChange::Put(PolicyText::clone(&entry.text));
        let mut changes = Vec::new();
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Some(changes),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) if is_same((one, other)) => {
                    left.next();
                    right.next();
                    continue;
                }
                (Some(one), Some(other)) => path(one).cmp(&path(other)),
            };
            match order {
                Ordering::Less => changes.extend(left.next().map(remove)),
                Ordering::Greater => changes.extend(right.next().map(put)),
                Ordering::Equal => {
                    left.next();
                    changes.extend(right.next().map(put));
                }
            }
        }
    }

    /// Whether these documents can come in the places of the others by themselves. Where not, building everything anew tells
    /// what is wrong, if anything is.
    pub(crate) fn admits(&self, edits: &[Edit], documents: &[Option<Document>]) -> bool {
        let old: Vec<&Entry> = edits.iter().filter_map(|edit| self.entry(edit.at.ok()?)).collect();
        let new: Vec<Became> = documents.iter().flatten().map(Became::of).collect();
        let is_tied = |became: &Became| {
            !became.references().is_empty()
                || became.identifiers().iter().any(|id| self.referred.contains_key(id))
        };
        if new.iter().any(is_tied) || old.iter().any(|entry| entry.became.as_deref().is_none_or(is_tied)) {
            return false;
        }
        let leaving: Vec<SmolStr> =
            old.iter().filter_map(|entry| entry.became.as_deref()).map(Became::key).collect();
        let coming: Vec<SmolStr> = new.iter().map(Became::key).collect();
        let is_taken = |(number, key): (usize, &SmolStr)| {
            self.identities.contains(key) && !leaving.contains(key)
                || coming.iter().skip(number + 1).any(|other| other == key)
        };
        if coming.iter().enumerate().any(is_taken) {
            return false;
        }
        let mut counts = self.counts;
        old.iter().for_each(|entry| counts.remove(entry));
        let sapl =
            |edit: &&Edit| edit.text.as_ref().is_some_and(|text| Language::of(&text.name) == Language::Sapl);
        for text in edits.iter().filter(sapl).filter_map(|edit| edit.text.as_ref()) {
            counts.sapl += 1;
            counts.sapl_bytes += text.text.len();
        }
        match &self.configuration {
            // The last one takes the algorithm along.
            Some(configuration) => {
                counts.sapl > 0 && sapl::allows(configuration, counts.sapl, counts.sapl_bytes)
            }
            None => counts.sapl == 0,
        }
    }

    /// The children of the root once these edits are made, and what effects they may have. `became` is what became of the
    /// documents that are put, in the same order. `None` if that cannot be told.
    pub(crate) fn children_after(
        &self,
        program: &Program,
        builder: &Builder,
        edits: &[Edit],
        became: &[Option<Became>],
    ) -> Option<(Vec<NodeId>, Effects)> {
        let Node::Set(root) = program.node(program.root()) else { return None };
        let mut counts = self.counts;
        let leaving = |edit: &Edit| self.entry(edit.at.ok()?)?.became.as_ref()?.node;
        let gone: Vec<NodeId> = edits.iter().filter_map(leaving).collect();
        let mut arrivals: Vec<(usize, Class, NodeId)> = Vec::with_capacity(edits.len());
        for (edit, became) in edits.iter().zip(became) {
            if let Some(entry) = edit.at.ok().and_then(|at| self.entry(at)) {
                counts.remove(entry);
            }
            if let Some(Became { node: Some(node), class, .. }) = became {
                let (Ok(at) | Err(at)) = edit.at;
                arrivals.push((self.place_of(at, *class, &root.children)?, *class, *node));
                let effects = builder.effects(*node)?;
                for (count, effect) in counts.effects.iter_mut().zip(EFFECTS) {
                    *count += usize::from(effects.contains(effect));
                }
            }
        }
        // One class ends where the next begins. Of the same class those of documents that come first are first.
        arrivals.sort_by_key(|(place, class, _)| (*place, *class));
        let mut children = Vec::with_capacity(root.children.len() + arrivals.len());
        let mut done = 0;
        for (place, _, node) in arrivals {
            children.extend_from_slice(root.children.get(done..place)?);
            children.push(node);
            done = place;
        }
        children.extend_from_slice(root.children.get(done..)?);
        if !gone.is_empty() {
            children.retain(|child| !gone.contains(child));
        }
        Some((children, counts.effects()))
    }

    /// Where among the children of the root an element of this class comes that is of a document before that at `at`.
    fn place_of(&self, at: usize, class: Class, children: &[NodeId]) -> Option<usize> {
        let node = |entry: &Entry| {
            let became = entry.became.as_deref()?;
            (became.class == class).then_some(became.node?)
        };
        // Whoever is there before it in the same class; else where the class begins.
        match self.entries.get(..at)?.iter().rev().find_map(node) {
            Some(before) => Some(children.iter().position(|child| *child == before)? + 1),
            None => {
                let before = Class::ALL.iter().zip(self.counts.elements).filter(|(other, _)| **other < class);
                Some(before.map(|(_, count)| count).sum())
            }
        }
    }

    /// The same with all that there is to count.
    pub(crate) fn counted(&self, program: &Program, mut became: Vec<Option<Became>>) -> Vec<Option<Became>> {
        let rules = rules_by_source(program.later_nodes());
        became.iter_mut().flatten().for_each(|one| one.count(program, &rules));
        became
    }

    /// What there is to tell of the policies once these edits are made.
    pub(crate) fn info_after(
        &self,
        id: u64,
        edits: &[Edit],
        became: &[Option<Became>],
        index: &Index,
    ) -> SnapshotInfo {
        let mut counts = self.counts;
        for (edit, became) in edits.iter().zip(became) {
            if let Some(entry) = edit.at.ok().and_then(|at| self.entry(at)) {
                counts.remove(entry);
            }
            if let (Some(text), Some(became)) = (&edit.text, became) {
                counts.add(&Entry { text: Arc::clone(text), became: Some(Box::new(became.clone())) });
            }
        }
        SnapshotInfo {
            id,
            documents: counts.sapl + counts.xacml,
            policies: counts.policies,
            rules: counts.rules,
            index: format!("{}{}", index.describe(), self.reason),
            languages: Languages { xacml: counts.xacml > 0, sapl: counts.sapl > 0 },
        }
    }

    /// Makes these edits; `became` is what became of the documents that are put.
    pub(crate) fn apply(&mut self, edits: &[Edit], became: Vec<Option<Became>>) {
        let Register { entries, identities, referred, counts, .. } = self;
        // From the end, so that places stay what they are; those that leave make room before others come.
        for entry in edits.iter().filter_map(|edit| entries.get(edit.at.ok()?)) {
            counts.remove(entry);
            forget(entry, identities, referred);
        }
        for (edit, became) in edits.iter().zip(became).rev() {
            let entry =
                edit.text.as_ref().map(|text| Entry { text: Arc::clone(text), became: became.map(Box::new) });
            if let Some(entry) = &entry {
                counts.add(entry);
                note(entry, identities, referred);
            }
            match (edit.at, entry) {
                (Ok(at), Some(entry)) => {
                    if let Some(place) = entries.get_mut(at) {
                        *place = entry;
                    }
                }
                (Ok(at), None) => drop(entries.remove(at)),
                (Err(at), Some(entry)) => entries.insert(at, entry),
                (Err(_), None) => {}
            }
        }
    }
}

fn note(entry: &Entry, identities: &mut HashSet<SmolStr>, referred: &mut HashMap<SmolStr, usize>) {
    let Some(became) = &entry.became else { return };
    identities.insert(became.key());
    became.references().iter().for_each(|id| *referred.entry(id.clone()).or_default() += 1);
}

fn forget(entry: &Entry, identities: &mut HashSet<SmolStr>, referred: &mut HashMap<SmolStr, usize>) {
    let Some(became) = &entry.became else { return };
    identities.remove(&became.key());
    for id in became.references() {
        if let Some(count) = referred.get_mut(id) {
            *count -= 1;
            if *count == 0 {
                referred.remove(id);
            }
        }
    }
}

/// How many rules each document has among these, by its number.
fn rules_by_source<'p>(nodes: impl Iterator<Item = (NodeId, &'p Node)>) -> HashMap<u32, u32> {
    let mut rules = HashMap::new();
    for (_, node) in nodes {
        if let Node::Rule(rule) = node {
            *rules.entry(rule.place.source).or_default() += 1;
        }
    }
    rules
}
