//! Documents of all languages into one program.
//!
//! What a document is, its name says: `*.sapl` is SAPL, `pdp.json` how SAPL's documents are combined and their variables,
//! `secrets.json` what only attribute finders may read, anything else XACML. Where there is any SAPL, its algorithm combines
//! all documents: SAPL's first, then XACML's.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use durward_ir::combine::{Algorithm, Effects};
use durward_ir::program::{Builder, Place, Program, Set, SetKind};
use durward_ir::value::Object;
use durward_sapl::{Configuration, Document, Problem};
use durward_xacml::lower::lower_into;
use durward_xacml::policy::{PolicyError, read_policy};
use durward_xacml::tree;
use smol_str::SmolStr;

use crate::PolicyText;
use crate::secrets::{Secrets, check_extensions};
use crate::snapshot::Recipe;

/// Documents as a program.
pub(crate) struct Lowered {
    pub(crate) program: Program,
    /// How many there were, configurations not counted.
    pub(crate) documents: usize,
    /// SAPL's variables, which attribute finders may read.
    pub(crate) variables: Arc<Object>,
    /// What nobody but attribute finders may read.
    pub(crate) secrets: Secrets,
}

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

/// Reads and lowers all documents.
///
/// # Errors
/// Everything that is wrong with any of them.
pub(crate) fn lower(texts: &[PolicyText], recipe: &Recipe) -> Result<Lowered, Vec<PolicyError>> {
    let read = Documents::read(texts, recipe)?;
    let mut builder = Builder::new();
    if recipe.is_plain {
        builder.stay_plain();
    }
    if recipe.is_explaining {
        builder.keep_written();
    }
    let mut errors = Vec::new();
    let mut children = Vec::new();
    let xacml = lower_into(&mut builder, &read.xacml, &recipe.lowering);
    let mut algorithm = recipe.lowering.combining;
    let mut variables = Arc::default();
    if let Some(configuration) = &read.configuration {
        variables = Arc::clone(configuration.variables());
        algorithm = Algorithm::Voting(configuration.voting);
        match durward_sapl::lower::lower(&read.sapl, configuration, &mut builder) {
            Ok(roots) => children.extend(roots),
            Err(problems) => errors.extend(problems.into_iter().map(to_error)),
        }
    }
    match xacml {
        Ok(roots) => children.extend(roots),
        Err(found) => errors.extend(found),
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let effects = children.iter().filter_map(|child| builder.effects(*child));
    let root = Set {
        id: SmolStr::new_static("root"),
        version: SmolStr::default(),
        kind: SetKind::Root,
        target: None,
        algorithm,
        effects: effects.fold(Effects::NONE, Effects::union),
        children,
        duties: Vec::new(),
        place: Place::default(),
    };
    Ok(Lowered {
        program: builder.finish(root),
        documents: read.xacml.len() + read.sapl.len(),
        variables,
        secrets: read.secrets.unwrap_or_default(),
    })
}

#[derive(Default)]
struct Documents {
    xacml: Vec<tree::Document>,
    sapl: Vec<Document>,
    /// There when there is any SAPL.
    configuration: Option<Configuration>,
    secrets: Option<Secrets>,
}

impl Documents {
    fn read(texts: &[PolicyText], recipe: &Recipe) -> Result<Documents, Vec<PolicyError>> {
        let mut documents = Documents::default();
        let mut errors = Vec::new();
        for text in texts {
            documents.add(text, recipe).unwrap_or_else(|found| errors.extend(found));
        }
        if !documents.sapl.is_empty() {
            let configuration = documents.configuration.get_or_insert_default();
            let sapl = texts.iter().filter(|text| Language::of(&text.name) == Language::Sapl);
            let bytes = sapl.map(|text| text.text.len()).sum();
            errors.extend(configuration.check_size(documents.sapl.len(), bytes).err().map(to_error));
        }
        if errors.is_empty() { Ok(documents) } else { Err(errors) }
    }

    fn add(&mut self, text: &PolicyText, recipe: &Recipe) -> Result<(), Vec<PolicyError>> {
        match Language::of(&text.name) {
            Language::Xacml => self.xacml.push(read_policy(&text.name, &text.text, &recipe.limits)?),
            Language::Sapl => self.sapl.push(Document::read(&text.name, &text.text).map_err(to_errors)?),
            Language::SaplConfiguration if self.configuration.is_some() => {
                let message = "there is another `pdp.json` already".to_owned();
                return Err(vec![to_error(Problem::of(&text.name, message))]);
            }
            Language::SaplConfiguration => {
                let Ok(json) = std::str::from_utf8(&text.text) else {
                    let message = "the text is not UTF-8".to_owned();
                    return Err(vec![to_error(Problem::of(&text.name, message))]);
                };
                self.configuration = Some(Configuration::read(&text.name, json).map_err(to_errors)?);
            }
            Language::Secrets if self.secrets.is_some() => {
                return Err(refused(text, "there is another `secrets.json` already", None));
            }
            Language::Secrets => self.secrets = Some(Secrets::read(text).map_err(|error| vec![error])?),
            Language::SealedSecrets => {
                let help = "open them with `durward bundle unseal`, or let `durward serve` do so: `policies.secret_keys`";
                return Err(refused(text, "these secrets are sealed", Some(help)));
            }
            Language::CriticalExtensions => check_extensions(text).map_err(|error| vec![error])?,
        }
        Ok(())
    }
}

fn refused(text: &PolicyText, message: &str, help: Option<&str>) -> Vec<PolicyError> {
    let problem = Problem {
        line: 1,
        column: 1,
        help: help.map(str::to_owned),
        ..Problem::of(&text.name, message.to_owned())
    };
    vec![to_error(problem)]
}

fn to_errors(problems: Vec<Problem>) -> Vec<PolicyError> {
    problems.into_iter().map(to_error).collect()
}

fn to_error(problem: Problem) -> PolicyError {
    let Problem { source, line, column, message, help } = problem;
    PolicyError { source, line, column, message, help }
}
