//! The `given` section: that of the requirement, extended or overridden by the scenario.

use std::sync::Arc;

use durward_pdp::Value;
use durward_pdp::ir::combine::{ErrorHandling, Mode, Voting};
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_pdp::sapl::syntax::Span;
use durward_pdp::sapl::syntax::sapltest::tree::{Given, GivenKind, Requirement, Scenario};
use durward_pdp::sapl::syntax::tree::{Algorithm, Expr, Text};
use durward_pdp::sapl::{Configuration, Problem, lower};

use crate::documents::{ScenarioFiles, TestDocuments};
use crate::error::TestError;
use crate::literal;
use crate::mocks::{AttributeMock, FunctionMock, STAND_INS_MAX};

/// How many documents one scenario may have in force: each scenario lowers its own, and a test of ten thousand scenarios
/// over ten thousand documents would take hours.
pub const SCENARIO_DOCUMENTS_MAX: usize = 10_000;

/// One document alone is not combined with anything: its own vote is the decision.
const ALONE: Voting = Voting { mode: Mode::Unique, default: None, errors: ErrorHandling::Propagate };

/// What is in force in a scenario.
#[derive(Debug)]
pub(crate) struct ScenarioSetup {
    /// The documents, by number.
    pub(crate) documents: Vec<usize>,
    pub(crate) configuration: Configuration,
    pub(crate) functions: Vec<FunctionMock>,
    pub(crate) attributes: Vec<AttributeMock>,
    pub(crate) subscribing: AttributeSubscription,
}

/// When attributes are asked for (`low-latency-mode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum AttributeSubscription {
    /// All of a policy together, those that the decision turns out not to need included: no decision comes before each
    /// has a value, and one comes whenever one of them changes.
    #[default]
    Eagerly,
    /// One that the decision needs after the other.
    Lazily,
}

/// The items that count, each the last of its kind.
#[derive(Default)]
struct GivenItems<'t> {
    document: Option<&'t Text>,
    documents: Option<&'t [Text]>,
    algorithm: Option<Algorithm>,
    variables: Option<&'t Expr>,
    folder: Option<&'t Text>,
    configuration: Option<&'t Text>,
    functions: Vec<FunctionMock>,
    attributes: Vec<AttributeMock>,
    subscribing: AttributeSubscription,
}

impl<'t> GivenItems<'t> {
    fn add(&mut self, given: &'t Given) -> Result<(), TestError> {
        if self.functions.len() + self.attributes.len() > STAND_INS_MAX {
            let message = format!("a scenario replaces at most {STAND_INS_MAX} functions and attributes");
            return Err(TestError::at(given.span)(message));
        }
        match &given.kind {
            GivenKind::Document(name) => (self.document, self.documents) = (Some(name), None),
            GivenKind::Documents(names) => {
                (self.document, self.documents) = (None, Some(names.as_slice()));
            }
            GivenKind::Algorithm(algorithm) => self.algorithm = Some(*algorithm),
            GivenKind::Variables(object) => self.variables = Some(object),
            // Only attribute finders read secrets, and in a test none is asked. They must be readable all the same.
            GivenKind::Secrets(object) => {
                literal::value(object).map_err(TestError::at(object.span))?;
            }
            GivenKind::Configuration(path) => self.folder = Some(path),
            GivenKind::PdpConfiguration(path) => self.configuration = Some(path),
            GivenKind::LowLatencyMode(true) => self.subscribing = AttributeSubscription::Eagerly,
            GivenKind::LowLatencyMode(false) => self.subscribing = AttributeSubscription::Lazily,
            GivenKind::Function(mock) => {
                self.functions.push(FunctionMock::new(mock).map_err(TestError::at(given.span))?);
            }
            GivenKind::Attribute(mock) => self.attribute(mock, given.span)?,
        }
        Ok(())
    }

    fn attribute(
        &mut self,
        mock: &durward_pdp::sapl::syntax::sapltest::tree::AttributeMock,
        span: Span,
    ) -> Result<(), TestError> {
        let mock_id = &mock.id;
        if mock_id.text.trim().is_empty() {
            return Err(TestError::at(mock_id.span)(
                "an attribute needs a name that is not blank".to_owned(),
            ));
        }
        if self.attributes.iter().any(|other| other.id == mock_id.text) {
            let message = format!("another attribute is called `{}` already", mock_id.text);
            return Err(TestError::at(mock_id.span)(message));
        }
        self.attributes.push(AttributeMock::new(mock).map_err(TestError::at(span))?);
        Ok(())
    }

    fn check(&self) -> Result<(), TestError> {
        let Some(folder) = self.folder else { return Ok(()) };
        let with = if self.document.is_some() || self.documents.is_some() {
            "`document` or `documents`: the folder brings all of its documents"
        } else if self.configuration.is_some() {
            "`pdp-configuration`: the folder brings its `pdp.json`"
        } else {
            return Ok(());
        };
        Err(TestError::at(folder.span)(format!("`configuration` cannot stand with {with}")))
    }
}

impl ScenarioSetup {
    /// What is given to a scenario of a requirement.
    ///
    /// # Errors
    /// What contradicts itself, or cannot be found or read.
    pub(crate) fn of(
        requirement: &Requirement,
        scenario: &Scenario,
        documents: &mut TestDocuments,
        files: &dyn ScenarioFiles,
    ) -> Result<ScenarioSetup, TestError> {
        let mut items = GivenItems::default();
        for given in requirement.given.iter().chain(&scenario.given) {
            items.add(given)?;
        }
        items.check()?;
        let (numbers, configured) = chosen(&items, documents, files)?;
        if numbers.len() > SCENARIO_DOCUMENTS_MAX {
            let message = format!("a scenario can have at most {SCENARIO_DOCUMENTS_MAX} documents in force");
            return Err(TestError::at(scenario.name.span)(message));
        }
        let voting = voting(&items, configured.as_ref())?;
        let variables = variables(configured.as_ref(), items.variables)?;
        Ok(ScenarioSetup {
            documents: numbers,
            configuration: Configuration::new(voting, variables),
            functions: items.functions,
            attributes: items.attributes,
            subscribing: items.subscribing,
        })
    }
}

/// The documents in force, and the configuration that was read, if any was.
fn chosen(
    items: &GivenItems<'_>,
    documents: &mut TestDocuments,
    files: &dyn ScenarioFiles,
) -> Result<(Vec<usize>, Option<Configuration>), TestError> {
    if let Some(path) = items.folder {
        let folder = files.folder(&path.text).map_err(TestError::at(path.span))?;
        let mut found: Vec<_> = folder.documents;
        found.sort();
        let numbers = found.iter().map(|(path, text)| documents.add(path, "", text)).collect();
        let configured = folder.configuration.map(|(source, text)| configuration(&source, &text, path.span));
        return Ok((numbers, Some(configured.transpose()?.unwrap_or_default())));
    }
    let configured = match items.configuration {
        Some(path) => {
            let (source, text) = files.configuration(&path.text).map_err(TestError::at(path.span))?;
            Some(configuration(&source, &text, path.span)?)
        }
        None => None,
    };
    let numbers = match (items.document, items.documents) {
        (Some(name), _) => vec![documents.find(&name.text).map_err(TestError::at(name.span))?],
        (None, Some(names)) => {
            let find = |name: &Text| documents.find(&name.text).map_err(TestError::at(name.span));
            names.iter().map(find).collect::<Result<_, _>>()?
        }
        (None, None) => documents.named_ones(),
    };
    Ok((numbers, configured))
}

fn configuration(source: &str, text: &[u8], span: Span) -> Result<Configuration, TestError> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(TestError::at(span)(format!("{source}: the text is not UTF-8")));
    };
    Configuration::read(source, text).map_err(|problems| TestError::at(span)(joined(&problems)))
}

/// What is wrong with documents, for a message of several lines.
pub(crate) fn joined(problems: &[Problem]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown = problems.iter().take(SHOWN_MAX).map(ToString::to_string);
    shown.collect::<Vec<_>>().join("\n")
}

fn voting(items: &GivenItems<'_>, configured: Option<&Configuration>) -> Result<Voting, TestError> {
    let said = items.algorithm.map(|algorithm| lower::voting(algorithm, ErrorHandling::Propagate));
    if items.document.is_some() && configured.is_none() {
        return match items.algorithm {
            None => Ok(ALONE),
            Some(algorithm) => {
                let message = "one document alone is not combined; write `documents` to say how it would be";
                Err(TestError::at(algorithm.span)(message.to_owned()))
            }
        };
    }
    Ok(said.or(configured.map(|configuration| configuration.voting)).unwrap_or(Voting::DEFAULT))
}

/// The variables of the configuration, and those of the test, which win.
fn variables(configured: Option<&Configuration>, given: Option<&Expr>) -> Result<Object, TestError> {
    let mut variables = ObjectBuilder::new();
    let configured =
        configured.map(|configuration| Arc::clone(configuration.variables())).unwrap_or_default();
    for (name, value) in configured.iter() {
        variables.insert(name.clone(), value.clone());
    }
    if let Some(given) = given
        && let Value::Object(object) = literal::value(given).map_err(TestError::at(given.span))?
    {
        for (name, value) in object.iter() {
            variables.insert(name.clone(), value.clone());
        }
    }
    Ok(variables.finish())
}
