//! The policies that references can reach: every top-level document, then everything nested in one.

use std::collections::{HashMap, HashSet};

use smol_str::SmolStr;

use crate::policy::PolicyError;
use crate::tree::{
    Document, IdReference, Policy, PolicyOrSet, PolicySet, PolicySetChild, Version, XmlLocation,
};

/// A policy or policy set in some tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element<'t> {
    Policy(&'t Policy),
    PolicySet(&'t PolicySet),
}

/// An element and the document it stands in.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyDefinition<'t> {
    pub(super) source: usize,
    pub(super) element: Element<'t>,
}

/// All elements by identifier.
#[derive(Debug)]
pub(super) struct Repository<'t> {
    documents: &'t [Document],
    top: HashMap<&'t str, Vec<PolicyDefinition<'t>>>,
    nested: HashMap<&'t str, Vec<PolicyDefinition<'t>>>,
}

impl<'t> Element<'t> {
    /// Which element this is.
    pub(super) fn address(self) -> *const () {
        match self {
            Element::Policy(policy) => std::ptr::from_ref(policy).cast(),
            Element::PolicySet(set) => std::ptr::from_ref(set).cast(),
        }
    }

    pub(super) fn id(self) -> &'t str {
        match self {
            Element::Policy(policy) => &policy.id,
            Element::PolicySet(set) => &set.id,
        }
    }

    fn version(self) -> &'t Version {
        match self {
            Element::Policy(policy) => &policy.version,
            Element::PolicySet(set) => &set.version,
        }
    }

    fn place(self) -> XmlLocation {
        match self {
            Element::Policy(policy) => policy.place,
            Element::PolicySet(set) => set.place,
        }
    }

    fn is_policy(self) -> bool {
        match self {
            Element::Policy(_) => true,
            Element::PolicySet(_) => false,
        }
    }
}

impl<'t> Repository<'t> {
    pub(super) fn of(documents: &'t [Document]) -> Repository<'t> {
        let mut repository = Repository { documents, top: HashMap::new(), nested: HashMap::new() };
        for (source, document) in documents.iter().enumerate() {
            let element = match &document.root {
                PolicyOrSet::Policy(policy) => Element::Policy(policy),
                PolicyOrSet::PolicySet(set) => Element::PolicySet(set),
            };
            repository.top.entry(element.id()).or_default().push(PolicyDefinition { source, element });
            if let Element::PolicySet(set) = element {
                repository.add_nested(source, set);
            }
        }
        repository
    }

    fn add_nested(&mut self, source: usize, set: &'t PolicySet) {
        for child in &set.children {
            let element = match child {
                PolicySetChild::Policy(policy) => Element::Policy(policy),
                PolicySetChild::PolicySet(set) => {
                    self.add_nested(source, set);
                    Element::PolicySet(set)
                }
                PolicySetChild::PolicyReference(_) | PolicySetChild::PolicySetReference(_) => continue,
            };
            self.nested.entry(element.id()).or_default().push(PolicyDefinition { source, element });
        }
    }

    /// Policies, or policy sets, of the same identifier and version: nobody could say which one is meant. Within one
    /// document none may be repeated, and no two documents may be the same; that a document repeats what another one
    /// nests is common, and references mean the document.
    pub(super) fn duplicates(&self) -> Vec<PolicyError> {
        let mut errors = Vec::new();
        for (all, are_nested) in [(&self.top, false), (&self.nested, true)] {
            let mut groups: Vec<&Vec<PolicyDefinition<'_>>> =
                all.values().filter(|group| group.len() > 1).collect();
            groups.sort_by_key(|group| group.first().map(|definition| definition.element.id()));
            groups.into_iter().for_each(|group| self.duplicates_among(group, are_nested, &mut errors));
        }
        errors
    }

    fn duplicates_among(
        &self,
        group: &[PolicyDefinition<'t>],
        are_nested: bool,
        errors: &mut Vec<PolicyError>,
    ) {
        let mut seen: HashMap<(bool, &Version, Option<usize>), PolicyDefinition<'t>> = HashMap::new();
        for definition in group {
            let element = definition.element;
            let within = are_nested.then_some(definition.source);
            let Some(first) = seen.insert((element.is_policy(), element.version(), within), *definition)
            else {
                continue;
            };
            errors.push(PolicyError::at(
                self.source(definition.source),
                element.place(),
                format!(
                    "`{}` version {} is already defined in {}:{}",
                    element.id(),
                    element.version(),
                    self.source(first.source),
                    first.element.place().line
                ),
                Some("give one of them another identifier or version, or remove it".into()),
            ));
        }
    }

    fn source(&self, at: usize) -> SmolStr {
        self.documents.get(at).map(|document| document.source.clone()).unwrap_or_default()
    }

    /// The newest element a reference accepts (XACML 3.0, 5.11); top-level documents come before nested elements.
    pub(super) fn resolve(&self, child: &PolicySetChild) -> Option<PolicyDefinition<'t>> {
        let (reference, wants_policy) = reference(child)?;
        let newest = |candidates: Option<&Vec<PolicyDefinition<'t>>>| {
            candidates?
                .iter()
                .filter(|definition| definition.element.is_policy() == wants_policy)
                .filter(|definition| reference.accepts(definition.element.version()))
                .max_by_key(|definition| definition.element.version())
                .copied()
        };
        let id = reference.id.as_str();
        newest(self.top.get(id)).or_else(|| newest(self.nested.get(id)))
    }

    /// What to do about a reference that resolves to nothing.
    pub(super) fn hint(&self, child: &PolicySetChild) -> String {
        let Some((reference, wants_policy)) = reference(child) else { return String::new() };
        let id = reference.id.as_str();
        let same_id = self.top.get(id).into_iter().chain(self.nested.get(id)).flatten();
        let (same_kind, other_kind): (Vec<PolicyDefinition<'_>>, Vec<PolicyDefinition<'_>>) =
            same_id.partition(|definition| definition.element.is_policy() == wants_policy);
        if !same_kind.is_empty() {
            let versions: Vec<String> =
                same_kind.iter().map(|definition| definition.element.version().to_string()).collect();
            return format!("there is version {}", versions.join(", "));
        }
        match other_kind.first().map(|definition| definition.element) {
            Some(Element::Policy(_)) => "it is a policy: use `PolicyIdReference`".into(),
            Some(Element::PolicySet(_)) => "it is a policy set: use `PolicySetIdReference`".into(),
            None => format!("add the document that defines it; there are: {}", self.top_level_ids(5)),
        }
    }

    /// The documents no other document refers to, in order; of several versions of one, the newest.
    pub(super) fn unreferenced(&self) -> Vec<usize> {
        let mut referenced = HashSet::new();
        for (source, document) in self.documents.iter().enumerate() {
            if let PolicyOrSet::PolicySet(set) = &document.root {
                self.note_references(source, set, &mut referenced);
            }
        }
        let is_newest = |source: usize, document: &Document| {
            let versions = self.top.get(document.root.id().as_str());
            versions
                .into_iter()
                .flatten()
                .all(|other| other.source == source || other.element.version() <= document.root.version())
        };
        let open = self.documents.iter().enumerate();
        open.filter(|(source, document)| !referenced.contains(source) && is_newest(*source, document))
            .map(|(source, _)| source)
            .collect()
    }

    fn note_references(&self, from: usize, set: &PolicySet, referenced: &mut HashSet<usize>) {
        for child in &set.children {
            match child {
                PolicySetChild::PolicySet(nested) => self.note_references(from, nested, referenced),
                PolicySetChild::PolicyReference(_) | PolicySetChild::PolicySetReference(_) => {
                    referenced.extend(
                        self.resolve(child).map(|definition| definition.source).filter(|to| *to != from),
                    );
                }
                PolicySetChild::Policy(_) => {}
            }
        }
    }

    /// The newest element with this identifier, to start from.
    pub(super) fn find_root(&self, id: &str) -> Option<PolicyDefinition<'t>> {
        let newest = |candidates: Option<&Vec<PolicyDefinition<'t>>>| {
            candidates?.iter().max_by_key(|definition| definition.element.version()).copied()
        };
        newest(self.top.get(id)).or_else(|| newest(self.nested.get(id)))
    }

    /// The identifiers of the documents, for messages.
    pub(super) fn top_level_ids(&self, count_max: usize) -> String {
        let ids: Vec<String> = self
            .documents
            .iter()
            .take(count_max)
            .map(|document| format!("`{}`", document.root.id()))
            .collect();
        let more = if self.documents.len() > count_max { ", ..." } else { "" };
        format!("{}{more}", ids.join(", "))
    }
}

fn reference(child: &PolicySetChild) -> Option<(&IdReference, bool)> {
    match child {
        PolicySetChild::PolicyReference(reference) => Some((reference, true)),
        PolicySetChild::PolicySetReference(reference) => Some((reference, false)),
        PolicySetChild::Policy(_) | PolicySetChild::PolicySet(_) => None,
    }
}
