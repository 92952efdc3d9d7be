//! What ties a document to others: what it is called by, and what it refers to.

use smol_str::{SmolStr, format_smolstr};

use crate::tree::{Document, PolicyOrSet, PolicySet, PolicySetChild};

/// What ties a document to others. Documents without references, of whose identifiers nobody else's reference has one, can
/// be lowered by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ties {
    /// Kind, identifier and version of the document: no two may have the same.
    pub identity: SmolStr,
    /// The identifiers of the document and of everything nested in it, by which it can be referred to.
    pub identifiers: Box<[SmolStr]>,
    /// The identifiers that it refers to.
    pub references: Box<[SmolStr]>,
}

impl Ties {
    /// Those of a document.
    pub fn of(document: &Document) -> Ties {
        let (mut identifiers, mut references) = (Vec::new(), Vec::new());
        let (kind, id, version) = match &document.root {
            PolicyOrSet::Policy(policy) => ("policy", &policy.id, &policy.version),
            PolicyOrSet::PolicySet(set) => {
                collect(set, &mut identifiers, &mut references);
                ("set", &set.id, &set.version)
            }
        };
        identifiers.push(id.clone());
        Ties {
            identity: format_smolstr!("{kind} {version} {id}"),
            identifiers: identifiers.into(),
            references: references.into(),
        }
    }
}

fn collect(set: &PolicySet, identifiers: &mut Vec<SmolStr>, references: &mut Vec<SmolStr>) {
    for child in &set.children {
        match child {
            PolicySetChild::Policy(policy) => identifiers.push(policy.id.clone()),
            PolicySetChild::PolicySet(inner) => {
                identifiers.push(inner.id.clone());
                collect(inner, identifiers, references);
            }
            PolicySetChild::PolicyReference(reference) | PolicySetChild::PolicySetReference(reference) => {
                references.push(reference.id.clone());
            }
        }
    }
}
