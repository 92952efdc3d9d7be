//! What only all documents together show: policies nobody asks, identifiers used twice, references that lead
//! nowhere, and root policies that surprise.

use std::collections::{HashMap, HashSet};

use durward_ir::combine::{Algorithm, Combines};
use durward_ir::near::nearest;
use smol_str::SmolStr;

use super::finding::{Finding, Findings, Severity};
use crate::tree::{
    Document, IdReference, Policy, PolicyOrSet, PolicySet, PolicySetChild, Version, XmlLocation,
};

/// More identifiers than this are not searched for a near one, and for no more references than this: each search
/// compares letter by letter.
const NEAR_NAMES_MAX: usize = 10_000;
const NEAR_SEARCHES_MAX: usize = 100;

/// A policy or policy set, in whatever depth of a document.
#[derive(Clone, Copy)]
struct Entry<'t> {
    document: usize,
    is_policy: bool,
    is_top: bool,
    version: &'t Version,
    place: XmlLocation,
}

/// All policies and policy sets by identifier.
pub(super) struct Library<'t> {
    documents: &'t [Document],
    entries: HashMap<&'t str, Vec<Entry<'t>>>,
}

impl<'t> Library<'t> {
    pub(super) fn of(documents: &'t [Document]) -> Library<'t> {
        let mut library = Library { documents, entries: HashMap::new() };
        for (number, document) in documents.iter().enumerate() {
            match &document.root {
                PolicyOrSet::Policy(policy) => library.add_policy(number, policy, true),
                PolicyOrSet::PolicySet(set) => library.add_set(number, set, true),
            }
        }
        library
    }

    fn add_policy(&mut self, document: usize, policy: &'t Policy, is_top: bool) {
        let entry =
            Entry { document, is_policy: true, is_top, version: &policy.version, place: policy.place };
        self.entries.entry(&policy.id).or_default().push(entry);
    }

    fn add_set(&mut self, document: usize, set: &'t PolicySet, is_top: bool) {
        let entry = Entry { document, is_policy: false, is_top, version: &set.version, place: set.place };
        self.entries.entry(&set.id).or_default().push(entry);
        for child in &set.children {
            match child {
                PolicySetChild::Policy(policy) => self.add_policy(document, policy, false),
                PolicySetChild::PolicySet(inner) => self.add_set(document, inner, false),
                PolicySetChild::PolicyReference(_) | PolicySetChild::PolicySetReference(_) => {}
            }
        }
    }

    /// What a reference leads to: the newest that fits, documents before what is nested in one (XACML 3.0, 5.11).
    fn resolve(&self, reference: &IdReference, wants_policy: bool) -> Option<Entry<'t>> {
        let fitting =
            |entry: &&Entry<'_>| entry.is_policy == wants_policy && reference.accepts(entry.version);
        let entries = self.entries.get(reference.id.as_str())?.iter().filter(fitting);
        entries.max_by_key(|entry| (entry.is_top, entry.version)).copied()
    }

    /// The documents in the order given, each with what references of it lead to.
    fn references(&self, document: usize) -> Vec<(&'t IdReference, bool)> {
        let mut found = Vec::new();
        if let Some(PolicyOrSet::PolicySet(set)) = self.documents.get(document).map(|document| &document.root)
        {
            collect_references(set, &mut found);
        }
        found
    }

    /// References that lead nowhere.
    pub(super) fn missing_references(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut searches = 0;
        for (number, document) in self.documents.iter().enumerate() {
            let mut here = Findings::of(document);
            for (reference, wants_policy) in self.references(number) {
                if self.resolve(reference, wants_policy).is_none() {
                    let what = if wants_policy { "policy" } else { "policy set" };
                    let message = format!("no {what} `{}` of a fitting version is known", reference.id);
                    searches += 1;
                    let help = self.way_out(reference, wants_policy, searches <= NEAR_SEARCHES_MAX);
                    here.add(Severity::Error, "missing-reference", reference.place, message, &help);
                }
            }
            findings.extend(here.into_list());
        }
        findings
    }

    fn way_out(&self, reference: &IdReference, wants_policy: bool, search: bool) -> String {
        let Some(entries) = self.entries.get(reference.id.as_str()) else {
            let near = if search { self.near(&reference.id, wants_policy) } else { None };
            return near.map_or_else(
                || "add the document that defines it".to_owned(),
                |name| format!("did you mean `{name}`?"),
            );
        };
        let versions: Vec<String> = entries
            .iter()
            .filter(|entry| entry.is_policy == wants_policy)
            .map(|entry| entry.version.to_string())
            .collect();
        match (versions.is_empty(), wants_policy) {
            (false, _) => format!("there is version {}", versions.join(", ")),
            (true, true) => "it is a policy set: use `PolicySetIdReference`".to_owned(),
            (true, false) => "it is a policy: use `PolicyIdReference`".to_owned(),
        }
    }

    fn near(&self, id: &str, wants_policy: bool) -> Option<&str> {
        let is_wanted = |entries: &[Entry]| entries.iter().any(|entry| entry.is_policy == wants_policy);
        let candidates = self.entries.iter().filter(|(name, entries)| {
            name.len().abs_diff(id.len()) <= id.len().div_ceil(3) && is_wanted(entries)
        });
        let mut names: Vec<&str> = candidates.map(|(name, _)| *name).take(NEAR_NAMES_MAX).collect();
        names.sort_unstable();
        nearest(id, names)
    }

    /// One identifier and version in two places: nobody can say which one a reference means.
    pub(super) fn duplicates(&self) -> Vec<Finding> {
        let mut ids: Vec<_> = self.entries.iter().filter(|(_, entries)| entries.len() > 1).collect();
        ids.sort_unstable_by_key(|(id, _)| **id);
        let mut findings = Vec::new();
        for (id, entries) in ids {
            let mut seen: HashMap<(bool, &Version), Entry<'_>> = HashMap::new();
            for entry in entries {
                match seen.get(&(entry.is_policy, entry.version)) {
                    Some(first) => findings.extend(self.duplicate(id, *first, *entry)),
                    None => drop(seen.insert((entry.is_policy, entry.version), *entry)),
                }
            }
        }
        findings
    }

    fn duplicate(&self, id: &str, first: Entry<'_>, second: Entry<'_>) -> Option<Finding> {
        let (one, other) = (self.documents.get(first.document)?, self.documents.get(second.document)?);
        let is_refused = match (first.is_top, second.is_top) {
            (true, true) => true,
            (false, false) => first.document == second.document,
            (true, false) | (false, true) => false,
        };
        let severity = if is_refused { Severity::Error } else { Severity::Warning };
        let message = format!(
            "`{id}` version {} is already defined in {}:{}",
            second.version, one.source, first.place.line
        );
        let mut findings = Findings::of(other);
        let help = "give one of them another identifier or version, or remove it";
        findings.add(severity, "duplicate-id", second.place, message, help);
        findings.into_list().pop()
    }

    /// The documents evaluation starts from: the one named, or those no other refers to, of several versions the
    /// newest.
    fn roots(&self, root: Option<&str>) -> Vec<usize> {
        if let Some(id) = root {
            let entries = self.entries.get(id).into_iter().flatten();
            return entries
                .max_by_key(|it| (it.is_top, it.version))
                .map(|it| it.document)
                .into_iter()
                .collect();
        }
        let referenced: HashSet<usize> =
            (0..self.documents.len()).flat_map(|from| self.referred(from)).collect();
        let is_newest = |document: &Document| {
            let versions = self.entries.get(document.root.id().as_str()).into_iter().flatten();
            versions.filter(|entry| entry.is_top).all(|entry| entry.version <= document.root.version())
        };
        let open = self.documents.iter().enumerate();
        open.filter(|(at, document)| !referenced.contains(at) && is_newest(document))
            .map(|(at, _)| at)
            .collect()
    }

    /// The other documents a document refers to.
    fn referred(&self, from: usize) -> Vec<usize> {
        let targets = self.references(from).into_iter().filter_map(|(it, policy)| self.resolve(it, policy));
        targets.map(|entry| entry.document).filter(|to| *to != from).collect()
    }

    /// Documents that no decision ever looks at, and root policies that are silent where people expect a Deny.
    pub(super) fn use_of_documents(&self, root: Option<&str>) -> Vec<Finding> {
        let roots = self.roots(root);
        let mut reached: HashSet<usize> = roots.iter().copied().collect();
        let mut open = roots.clone();
        while let Some(document) = open.pop() {
            open.extend(self.referred(document).into_iter().filter(|to| reached.insert(*to)));
        }
        let mut findings = Vec::new();
        for (number, document) in self.documents.iter().enumerate() {
            let mut here = Findings::of(document);
            if !reached.contains(&number) {
                never_used(document, &mut here);
            }
            if roots.contains(&number) {
                silent_root(document, &mut here);
            }
            findings.extend(here.into_list());
        }
        findings
    }
}

fn collect_references<'t>(set: &'t PolicySet, found: &mut Vec<(&'t IdReference, bool)>) {
    for child in &set.children {
        match child {
            PolicySetChild::Policy(_) => {}
            PolicySetChild::PolicySet(inner) => collect_references(inner, found),
            PolicySetChild::PolicyReference(reference) => found.push((reference, true)),
            PolicySetChild::PolicySetReference(reference) => found.push((reference, false)),
        }
    }
}

fn never_used(document: &Document, findings: &mut Findings) {
    let message = format!(
        "`{}` version {} is never used: it is no root, and no policy that is used refers to it",
        document.root.id(),
        document.root.version()
    );
    findings.warn("never-used", place(&document.root), message, "remove it, or refer to it");
}

/// People who write deny-unless-permit expect never to get NotApplicable; outside its target they do.
fn silent_root(document: &Document, findings: &mut Findings) {
    let (algorithm, combines, target): (&SmolStr, _, _) = match &document.root {
        PolicyOrSet::Policy(policy) => (&policy.combining_algorithm, Combines::Rules, &policy.target),
        PolicyOrSet::PolicySet(set) => (&set.combining_algorithm, Combines::Policies, &set.target),
    };
    let (name, effect) = match Algorithm::from_uri(algorithm, combines) {
        Some(Algorithm::DenyUnlessPermit) => ("deny-unless-permit", "Deny"),
        Some(Algorithm::PermitUnlessDeny) => ("permit-unless-deny", "Permit"),
        Some(_) | None => return,
    };
    if !target.any_of.is_empty() {
        let message =
            format!("`{name}` says nothing outside the target: the answer is NotApplicable, not {effect}");
        let help = format!("for a {effect} everywhere, move the target to the rules or policies inside");
        findings.warn("silent-outside-target", target.place, message, &help);
    }
}

fn place(root: &PolicyOrSet) -> XmlLocation {
    match root {
        PolicyOrSet::Policy(policy) => policy.place,
        PolicyOrSet::PolicySet(set) => set.place,
    }
}
