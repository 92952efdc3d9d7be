//! The policies in force: read at the start, watched while they serve.
//!
//! New policies are read and built on a thread of their own and swapped in whole; requests never wait for them. Of a
//! directory only the files that changed are read.
//! Broken ones leave the old ones in force, and everything says so: log, health, page and metrics.

mod checks;
mod fingerprint;
mod intake;
mod inventory;
mod local;
pub(crate) mod policy_watch;
mod remote;
mod tenants;
mod watch;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use durward_bundle::BundleError;
use durward_pdp::{Pdp, PdpBuilder, PolicyError, ReadError};

use crate::base::settings::{ConfigError, Settings};
use crate::policies::policy_watch::Announcement;
use crate::serve::server::StartError;
use crate::serve::state::{PolicyProblem, PolicyState, Shared};
use crate::sources::constants::Constants;
use crate::sources::xacml::Announced;
use fingerprint::Fingerprint;
use inventory::{Difference, Inventory, Looks, looks_of};
use watch::{Watched, settle};

pub(crate) use checks::Warned;
pub(crate) use intake::Intake;
pub(crate) use local::LocalTenants;
pub(crate) use remote::RemoteTenants;
pub(crate) use tenants::{Standing, TenantState, TenantTable};
pub(crate) use watch::Watch;

/// Most problems kept and told: more than anybody mends before trying again.
const PROBLEMS_MAX: usize = 50;

/// Where nothing has changed for so long, everything is built anew: decisions are a little faster then.
const QUIET: Duration = Duration::from_secs(10);

/// What is known of the policies on disk.
#[derive(Debug)]
pub(crate) struct Policies {
    /// How the files looked when they were read last.
    seen: Fingerprint,
    /// The files in force; `None` where there are none.
    in_force: Option<Inventory>,
    /// When some of the files were changed last; `None` where everything was built in one go since, or is being.
    changed: Option<Instant>,
    /// Whether a thread is building everything anew.
    is_settling: Arc<AtomicBool>,
    shared: Weak<Shared>,
}

impl Policies {
    /// Reads policies for the first time.
    ///
    /// # Errors
    /// Policies that cannot be read or are wrong, unless the settings say to wait for better ones.
    pub(crate) fn load_first(shared: &Arc<Shared>) -> Result<Policies, StartError> {
        let mut policies = Policies {
            seen: Fingerprint::default(),
            in_force: None,
            changed: None,
            is_settling: Arc::default(),
            shared: Arc::downgrade(shared),
        };
        match policies.load(shared) {
            Ok(()) => Ok(policies),
            Err(Refused::Config(error)) => Err(error.into()),
            Err(_) if shared.settings.policies.wait => Ok(policies),
            Err(Refused::Read(error)) => Err(StartError::Read(error)),
            Err(Refused::Policies(errors)) => Err(StartError::Policies(errors)),
            Err(Refused::Bundle(what, error)) => Err(StartError::Tenants(format!("{what}: {error}"))),
        }
    }

    /// Reads the policies and puts them in force, or says everywhere why not.
    fn load(&mut self, shared: &Shared) -> Result<(), Refused> {
        // Taken before reading: a file that changes meanwhile is seen as changed the next time.
        self.seen = Fingerprint::of(&shared.settings.policies.path);
        let now = (shared.clock)();
        let loaded = self.replace(shared);
        let before = shared.policies.load();
        let problems = match &loaded {
            Ok(_) => Vec::new(),
            Err(refused) => refused.problems(),
        };
        let came_into_force = matches!(loaded, Ok(Loaded::New));
        let warned = match shared.pdp.load().as_ref().filter(|_| came_into_force) {
            Some(pdp) => Warned::of(pdp.warnings()),
            None => before.warned.clone(),
        };
        warned.report(&before.warned, None);
        shared.policies.store(Arc::new(PolicyState {
            loaded: if came_into_force { Some(now) } else { before.loaded },
            tried: Some(now),
            problems,
            warned,
        }));
        match loaded {
            Ok(Loaded::New) => {
                shared.metrics.policies_loaded("ok");
                shared.policies_changed();
                if let Some(info) = shared.pdp.load().as_ref().map(|pdp| pdp.snapshot()) {
                    let (id, documents, policies) = (info.id, info.documents, info.policies);
                    tracing::info!(snapshot = id, documents, policies, rules = info.rules, index = %info.index, "policies in force");
                }
                Ok(())
            }
            Ok(Loaded::Same) => {
                shared.metrics.policies_loaded("unchanged");
                if !before.problems.is_empty() {
                    tracing::info!("the policies are again those in force");
                }
                Ok(())
            }
            Err(refused) => {
                shared.metrics.policies_loaded("failed");
                report(&refused.problems(), None, shared.pdp.load().is_some());
                Err(refused)
            }
        }
    }

    fn replace(&mut self, shared: &Shared) -> Result<Loaded, Refused> {
        let path = &shared.settings.policies.path;
        let looks = path.is_dir().then(|| looks_of(path)).transpose().map_err(Refused::Read)?;
        if let (Some(pdp), Some(before), Some(looks)) = (shared.pdp.load_full(), &self.in_force, &looks) {
            let bytes_max = shared.settings.limits.of_policies().bytes_max;
            match before.difference(looks.clone(), bytes_max).map_err(Refused::Read)? {
                Difference::None(inventory) => {
                    self.in_force = Some(inventory);
                    return Ok(Loaded::Same);
                }
                Difference::Some(changes, inventory) => {
                    pdp.change(&changes).map_err(Refused::Policies)?;
                    self.in_force = Some(inventory);
                    self.changed = Some(Instant::now());
                    if pdp.is_worth_settling() {
                        self.settle(&pdp);
                    }
                    return Ok(Loaded::New);
                }
                Difference::Unclear => {}
            }
        }
        self.replace_all(shared, looks.unwrap_or_default())
    }

    fn replace_all(&mut self, shared: &Shared, looks: Looks) -> Result<Loaded, Refused> {
        let texts = shared.intake.directory(&shared.settings.policies.path)?.texts;
        let inventory = Inventory::of(looks, &texts);
        let is_same = self.in_force.as_ref().is_some_and(|before| before.has_texts_of(&inventory));
        let loaded = match shared.pdp.load_full() {
            Some(_) if is_same => Loaded::Same,
            Some(pdp) => {
                pdp.replace(&texts).map_err(Refused::Policies)?;
                Loaded::New
            }
            None => {
                let builder = builder(&shared.settings, shared).map_err(Refused::Config)?;
                let pdp = builder.changing().policies(texts).build();
                // Only this place fills it, from one thread at a time.
                shared.pdp.store(Some(Arc::new(pdp.map_err(Refused::Policies)?)));
                Loaded::New
            }
        };
        self.in_force = Some(inventory);
        Ok(loaded)
    }

    /// Builds everything anew where nothing has changed for a while since something did.
    fn settle_when_quiet(&mut self, shared: &Shared) {
        if self.changed.is_none_or(|changed| changed.elapsed() < QUIET) {
            return;
        }
        match shared.pdp.load_full() {
            Some(pdp) if pdp.change_count() > 0 => self.settle(&pdp),
            Some(_) | None => self.changed = None,
        }
    }

    /// Builds everything anew on a thread of its own.
    fn settle(&mut self, pdp: &Arc<Pdp>) {
        if self.is_settling.swap(true, Ordering::AcqRel) {
            return;
        }
        // If something changes meanwhile, that is noted again.
        self.changed = None;
        let (pdp, shared, is_settling) =
            (Arc::clone(pdp), Weak::clone(&self.shared), Arc::clone(&self.is_settling));
        let settle = move || {
            match pdp.settle() {
                Ok(info) => tracing::debug!(index = %info.index, "the policies in force were built anew"),
                Err(errors) => {
                    let error = errors.first().map(ToString::to_string).unwrap_or_default();
                    tracing::warn!(
                        error,
                        "the policies in force cannot be built anew; they stay as they are"
                    );
                }
            }
            // Streams of decisions hold on to the policies that they were told of.
            if let Some(shared) = shared.upgrade() {
                shared.policies_changed();
            }
            is_settling.store(false, Ordering::Release);
        };
        if thread::Builder::new().name("settling".into()).spawn(settle).is_err() {
            self.is_settling.store(false, Ordering::Release);
        }
    }
}

impl Shared {
    /// Takes a decision point made elsewhere.
    pub(crate) fn put_in_place(&self, pdp: Arc<Pdp>) {
        let now = Some((self.clock)());
        self.policies.store(Arc::new(PolicyState {
            loaded: now,
            tried: now,
            problems: Vec::new(),
            warned: Warned::of(pdp.warnings()),
        }));
        self.pdp.store(Some(pdp));
    }
}

/// What came of reading policies.
enum Loaded {
    New,
    Same,
}

/// Why policies are not in force.
enum Refused {
    Config(ConfigError),
    Read(ReadError),
    Policies(Vec<PolicyError>),
    /// A bundle that is none, or not to be believed; or secrets that cannot be opened. First what it is about.
    Bundle(String, BundleError),
}

impl Watched for Policies {
    fn path(&self, shared: &Shared) -> std::path::PathBuf {
        shared.settings.policies.path.clone()
    }

    fn look(&mut self, shared: &Shared) -> bool {
        let path: &Path = &shared.settings.policies.path;
        let now = Fingerprint::of(path);
        if now == self.seen {
            self.settle_when_quiet(shared);
            return false;
        }
        settle(now, shared.settings.policies.settle_time(), || Fingerprint::of(path));
        // What is wrong has been said everywhere it can be seen.
        let _ = self.load(shared);
        true
    }
}

impl Refused {
    fn problems(&self) -> Vec<PolicyProblem> {
        let of =
            |file: String, reason: String| PolicyProblem { file, line: 0, column: 0, reason, help: None };
        match self {
            Refused::Config(error) => vec![of(String::new(), error.to_string())],
            Refused::Read(error) => vec![of(error.path.display().to_string(), error.message.clone())],
            Refused::Policies(errors) => {
                errors.iter().take(PROBLEMS_MAX).cloned().map(PolicyProblem::from).collect()
            }
            Refused::Bundle(what, error) => vec![of(what.clone(), error.to_string())],
        }
    }
}

/// Says in the log what is wrong.
fn report(problems: &[PolicyProblem], tenant: Option<&str>, older_are_in_force: bool) {
    let consequence = match older_are_in_force {
        true => "the newest policies are broken; older ones stay in force",
        false => "the policies are broken; none are in force",
    };
    for PolicyProblem { file, line, column, reason, help } in problems {
        let help = help.as_deref().unwrap_or_default();
        match tenant {
            Some(tenant) => tracing::error!(tenant, file, line, column, reason, help, "{consequence}"),
            None => tracing::error!(file, line, column, reason, help, "{consequence}"),
        }
    }
}

/// A decision point as the settings describe it, without policies.
fn builder(settings: &Settings, shared: &Shared) -> Result<PdpBuilder, ConfigError> {
    let clock = Arc::clone(&shared.clock);
    let mut builder = Pdp::builder()
        .combining(settings.policies.combining)
        .index(settings.policies.index)
        .index_settings(settings.policies.index_settings())
        .limits(settings.limits.of_policies())
        .clock(move || clock());
    if let Some(root) = &settings.policies.root {
        builder = builder.root(root);
    }
    if let Some(checks) = &shared.checks {
        builder = builder.checking(Arc::clone(checks));
    }
    let constants = Constants::new(&settings.attributes)?;
    if let Some(sources) = &shared.attribute_sources {
        builder = builder.source(Announced(Arc::clone(sources)));
    }
    if let Some(announced) = &shared.announced {
        builder = builder.source(Announcement(Arc::clone(announced)));
    }
    Ok(if constants.is_empty() { builder } else { builder.source(constants) })
}
