//! In which language documents are.

use std::ffi::OsStr;
use std::path::Path;

/// What a document is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    Xacml,
    Sapl,
    SaplConfiguration,
    /// `secrets.json`
    Secrets,
    /// `secrets.sealed.json`: nothing that can be used before somebody has opened it.
    SealedSecrets,
    /// `critical-extensions.json`: what has to be known by whoever uses the policies.
    CriticalExtensions,
}

impl Language {
    /// By the name of its file.
    pub(crate) fn of(name: &str) -> Language {
        let path = Path::new(name);
        match path.file_name().and_then(OsStr::to_str) {
            Some("pdp.json") => return Language::SaplConfiguration,
            Some("secrets.json") => return Language::Secrets,
            Some("secrets.sealed.json") => return Language::SealedSecrets,
            Some("critical-extensions.json") => return Language::CriticalExtensions,
            Some(_) | None => {}
        }
        match path.extension() {
            Some(extension) if extension == "sapl" => Language::Sapl,
            Some(_) | None => Language::Xacml,
        }
    }

    /// Whether this is no policy, and says nothing of how policies are combined.
    pub(crate) fn is_beside_policies(self) -> bool {
        match self {
            Language::Secrets | Language::SealedSecrets | Language::CriticalExtensions => true,
            Language::Xacml | Language::Sapl | Language::SaplConfiguration => false,
        }
    }
}

/// The languages of the policies of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Languages {
    pub(crate) xacml: bool,
    pub(crate) sapl: bool,
}
