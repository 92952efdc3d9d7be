//! Documents of all languages into one program.
//!
//! What a document is, its name says: `*.sapl` is SAPL, `pdp.json` how SAPL's documents are combined and their variables,
//! `secrets.json` what only attribute finders may read, anything else XACML. Where there is any SAPL, its algorithm combines
//! all documents: SAPL's first, then XACML's. Documents of a language whose feature this build leaves out are refused.

mod document;
#[cfg_attr(not(feature = "sapl"), path = "documents/no_sapl.rs")]
pub(crate) mod sapl;

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use durward_ir::combine::{Algorithm, Effects};
use durward_ir::program::{Builder, NodeId, Program, Set, SetKind, SourceLocation, Voters};
use durward_ir::value::Object;
use durward_xacml_policies::lower::lower_into;
use durward_xacml_policies::policy::PolicyError;
use durward_xacml_policies::tree;
use smol_str::SmolStr;

use crate::PolicyText;
use crate::became::Became;
use crate::language::Language;
use crate::recipe::Recipe;
use crate::warnings::Warnings;
pub(crate) use document::Document;
use document::refusal;
use sapl::{Configuration, Secrets};

/// Documents as a program.
pub(crate) struct Lowered {
    pub(crate) program: Program,
    /// What became of each policy document, where somebody wants to know.
    pub(crate) became: Vec<Became>,
    /// There when there is any SAPL, or a `pdp.json`.
    pub(crate) configuration: Option<Configuration>,
    /// What is odd in documents of SAPL, where somebody wants to know.
    pub(crate) warnings: Warnings,
    /// How many there were, configurations not counted.
    pub(crate) documents: usize,
    /// SAPL's variables, which attribute finders may read.
    pub(crate) variables: Arc<Object>,
    /// What nobody but attribute finders may read.
    pub(crate) secrets: Secrets,
}

/// Reads and lowers all documents.
///
/// # Errors
/// Everything that is wrong with any of them.
pub(crate) fn lower<T: Borrow<PolicyText>>(
    texts: &[T],
    recipe: &Recipe,
) -> Result<Lowered, Vec<PolicyError>> {
    let mut read = Documents::read(texts, recipe)?;
    let mut builder = Builder::new();
    if recipe.is_plain {
        builder.stay_plain();
    }
    if recipe.is_explaining {
        builder.keep_written();
    }
    if recipe.changing.is_some() {
        builder.keep_extensible();
    }
    let LoweredTrees { xacml, sapl: lowered } =
        read.trees.lower(&mut builder, read.configuration.as_ref(), recipe)?;
    let mut algorithm = recipe.lowering.combining;
    let mut variables = Arc::default();
    if let Some(configuration) = &read.configuration {
        variables = Arc::clone(configuration.variables());
        algorithm = Algorithm::Voting(sapl::voting(configuration));
    }
    let children: Vec<NodeId> = sapl::in_order(&lowered).chain(xacml.iter().copied()).collect();
    let effects = children.iter().filter_map(|child| builder.effects(*child));
    let effects = effects.fold(Effects::NONE, Effects::union);
    let documents = read.trees.xacml.len() + read.trees.sapl.len();
    let first_of_sapl = read.trees.xacml.len() as u32;
    let became = if recipe.changing.is_some() { read.became(texts) } else { Vec::new() };
    // Trees are larger than the program, which is copied once more now.
    read.trees = PolicyTrees::default();
    let program = builder.finish(root(algorithm, children, effects));
    let became = placed(became, &program, &xacml, first_of_sapl, &lowered);
    let secrets = read.secrets.unwrap_or_default();
    let configuration = read.configuration;
    let warnings = read.warnings;
    Ok(Lowered { program, became, configuration, warnings, documents, variables, secrets })
}

/// The set of all root documents.
pub(crate) fn root(algorithm: Algorithm, children: Vec<NodeId>, effects: Effects) -> Set {
    Set {
        id: SmolStr::new_static("root"),
        version: SmolStr::default(),
        kind: SetKind::Root,
        target: None,
        algorithm,
        effects,
        children,
        voters: Voters::default(),
        duties: Vec::new(),
        place: SourceLocation::default(),
    }
}

/// Policy documents that were read, by language, each in their order.
#[derive(Default)]
pub(crate) struct PolicyTrees {
    pub(crate) xacml: Vec<tree::Document>,
    pub(crate) sapl: Vec<sapl::Document>,
}

/// What became of them, in the same order.
pub(crate) struct LoweredTrees {
    /// The root elements.
    pub(crate) xacml: Vec<NodeId>,
    /// `None` for a document that can never apply.
    pub(crate) sapl: Vec<Option<sapl::Lowered>>,
}

impl PolicyTrees {
    pub(crate) fn add(&mut self, document: Document) {
        match document {
            Document::Xacml(document) => self.xacml.push(document),
            Document::Sapl(document) => self.sapl.push(*document),
        }
    }

    /// Makes elements of them. Those of SAPL need a configuration.
    ///
    /// # Errors
    /// Everything that is wrong with any of them; that of SAPL comes first.
    pub(crate) fn lower(
        &self,
        builder: &mut Builder,
        configuration: Option<&Configuration>,
        recipe: &Recipe,
    ) -> Result<LoweredTrees, Vec<PolicyError>> {
        let xacml = lower_into(builder, &self.xacml, &recipe.lowering);
        let sapl = configuration.map(|configuration| sapl::lower_each(&self.sapl, configuration, builder));
        match (sapl.transpose(), xacml) {
            (Ok(sapl), Ok(xacml)) => Ok(LoweredTrees { xacml, sapl: sapl.unwrap_or_default() }),
            (Err(mut errors), xacml) => {
                errors.extend(xacml.err().into_iter().flatten());
                Err(errors)
            }
            (Ok(_), Err(errors)) => Err(errors),
        }
    }
}

#[derive(Default)]
struct Documents {
    trees: PolicyTrees,
    /// There when there is any SAPL.
    configuration: Option<Configuration>,
    secrets: Option<Secrets>,
    /// What is odd in documents of SAPL, where somebody wants to know.
    warnings: Warnings,
}

/// With their places in the program, which has the documents' numbers: first those of XACML, then those of SAPL.
fn placed(
    became: Vec<(Language, Became)>,
    program: &Program,
    xacml: &[NodeId],
    first_of_sapl: u32,
    sapl: &[Option<sapl::Lowered>],
) -> Vec<Became> {
    let of_source: HashMap<u32, NodeId> =
        xacml.iter().map(|node| (program.node(*node).place().source, *node)).collect();
    let (mut of_xacml, mut of_sapl) = (0u32.., (first_of_sapl..).zip(sapl));
    let place = |(language, became): (Language, Became)| match language {
        Language::Xacml => {
            let source = of_xacml.next()?;
            Some(became.with_node(source, of_source.get(&source).copied()))
        }
        Language::Sapl => {
            let (number, lowered) = of_sapl.next()?;
            Some(became.with_lowered(number, *lowered))
        }
        Language::SaplConfiguration
        | Language::Secrets
        | Language::SealedSecrets
        | Language::CriticalExtensions => None,
    };
    became.into_iter().filter_map(place).collect()
}

impl Documents {
    fn read<T: Borrow<PolicyText>>(texts: &[T], recipe: &Recipe) -> Result<Documents, Vec<PolicyError>> {
        let mut documents = Documents::default();
        let mut errors = Vec::new();
        // First what all documents are checked with: each is checked as soon as it was read, as long as it is in the cache.
        let is_first = |text: &&T| Language::of(&(*text).borrow().name) == Language::SaplConfiguration;
        for text in texts.iter().filter(is_first).chain(texts.iter().filter(|text| !is_first(text))) {
            documents.add(text.borrow(), recipe).unwrap_or_else(|found| errors.extend(found));
        }
        if !documents.trees.sapl.is_empty() {
            let sapl = texts.iter().map(T::borrow).filter(|text| Language::of(&text.name) == Language::Sapl);
            let bytes = sapl.map(|text| text.text.len()).sum();
            let configured = sapl::configure(&mut documents.configuration, documents.trees.sapl.len(), bytes);
            errors.extend(configured.err());
        }
        if errors.is_empty() { Ok(documents) } else { Err(errors) }
    }

    /// What will have become of each policy document, in the order of the texts.
    fn became<T: Borrow<PolicyText>>(&self, texts: &[T]) -> Vec<(Language, Became)> {
        let (mut xacml, mut sapl) = (self.trees.xacml.iter(), self.trees.sapl.iter());
        let became = |text: &T| {
            let language = Language::of(&text.borrow().name);
            match language {
                Language::Xacml => xacml.next().map(|document| (language, Became::of_xacml(document))),
                Language::Sapl => sapl.next().map(|document| (language, Became::of_sapl(document))),
                Language::SaplConfiguration
                | Language::Secrets
                | Language::SealedSecrets
                | Language::CriticalExtensions => None,
            }
        };
        texts.iter().filter_map(became).collect()
    }

    fn add(&mut self, text: &PolicyText, recipe: &Recipe) -> Result<(), Vec<PolicyError>> {
        match Language::of(&text.name) {
            Language::Xacml | Language::Sapl => {
                let document = Document::read(text, recipe)?;
                self.warnings.add(&document, self.configuration.as_ref(), recipe.checking.as_deref());
                self.trees.add(document);
            }
            Language::SaplConfiguration if self.configuration.is_some() => {
                let message = "there is another `pdp.json` already".to_owned();
                let source = text.name.as_str().into();
                return Err(vec![PolicyError { source, line: 0, column: 0, message, help: None }]);
            }
            Language::SaplConfiguration => self.configuration = Some(sapl::read_configuration(text)?),
            Language::Secrets if self.secrets.is_some() => {
                return Err(refused(text, "there is another `secrets.json` already", None));
            }
            Language::Secrets => self.secrets = Some(Secrets::read(text).map_err(|error| vec![error])?),
            Language::SealedSecrets => {
                let help = "open them with `durward bundle unseal`, or let `durward serve` do so: `policies.secret_keys`";
                return Err(refused(text, "these secrets are sealed", Some(help)));
            }
            Language::CriticalExtensions => sapl::check_extensions(text).map_err(|error| vec![error])?,
        }
        Ok(())
    }
}

fn refused(text: &PolicyText, message: &str, help: Option<&str>) -> Vec<PolicyError> {
    vec![refusal(text, message.to_owned(), help.map(str::to_owned))]
}
