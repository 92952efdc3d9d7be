//! The policies in force: read at the start, watched while they serve.
//!
//! New policies are read and built on a thread of their own and swapped in whole; requests never wait for them. Of a
//! directory only the files that changed are read.
//! Broken ones leave the old ones in force, and everything says so: log, health, page and metrics.

mod checks;
mod error;
mod fingerprint;
mod in_force;
mod intake;
mod inventory;
mod loaded;
mod local;
pub mod policy_watch;
mod remote;
mod state;
mod tenants;
mod watch;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use durward_bundle::BundleError;
use durward_pdp::{Pdp, PolicyError, ReadError};

use durward_settings::ConfigError;
use fingerprint::Fingerprint;
pub use fingerprint::look_of;
use inventory::{Difference, Inventory, Looks, looks_of};
use watch::{Watched, settle};

pub use checks::Warned;
pub use error::PolicyLoadError;
pub use in_force::InForce;
pub use loaded::{Loaded, Watching};
pub use state::{PolicyProblem, PolicyState, PolicyWarning};
pub use tenants::TenantState;

/// Problems that are kept and reported: more than anybody corrects before the next try.
const PROBLEMS_MAX: usize = 50;

/// Where nothing has changed for so long, everything is built anew: decisions are a little faster then.
const QUIET: Duration = Duration::from_secs(10);

/// What is known of the policies on disk.
#[derive(Debug)]
pub struct Policies {
    /// How the files looked when they were read last.
    seen: Fingerprint,
    /// The files in force; `None` where there are none.
    inventory: Option<Inventory>,
    /// When some of the files were changed last; `None` where everything was built in one go since, or is being.
    changed: Option<Instant>,
    /// Whether a thread is building everything anew.
    is_settling: Arc<AtomicBool>,
    in_force: Weak<InForce>,
}

impl Policies {
    /// Reads policies for the first time.
    ///
    /// # Errors
    /// Policies that cannot be read or are wrong, unless the settings say to wait for better ones.
    pub fn load_first(in_force: &Arc<InForce>) -> Result<Policies, PolicyLoadError> {
        let mut policies = Policies {
            seen: Fingerprint::default(),
            inventory: None,
            changed: None,
            is_settling: Arc::default(),
            in_force: Arc::downgrade(in_force),
        };
        match policies.load(in_force) {
            Ok(()) => Ok(policies),
            Err(Refused::Config(error)) => Err(error.into()),
            Err(_) if in_force.settings.policies.wait => Ok(policies),
            Err(Refused::Read(error)) => Err(PolicyLoadError::Read(error)),
            Err(Refused::Policies(errors)) => Err(PolicyLoadError::Policies(errors)),
            Err(Refused::Bundle(what, error)) => Err(PolicyLoadError::Tenants(format!("{what}: {error}"))),
        }
    }

    /// Reads the policies and puts them in force, or says everywhere why not.
    fn load(&mut self, in_force: &InForce) -> Result<(), Refused> {
        // Taken before reading: a file that changes meanwhile is seen as changed the next time.
        self.seen = Fingerprint::of(&in_force.settings.policies.path);
        let now = (in_force.clock)();
        let loaded = self.replace(in_force);
        let before = in_force.state.load();
        let problems = match &loaded {
            Ok(_) => Vec::new(),
            Err(refused) => refused.problems(),
        };
        let came_into_force = matches!(loaded, Ok(Replaced::New));
        let warned = match in_force.pdp.load().as_ref().filter(|_| came_into_force) {
            Some(pdp) => Warned::of(pdp.warnings()),
            None => before.warned.clone(),
        };
        warned.report(&before.warned, None);
        in_force.state.store(Arc::new(PolicyState {
            loaded: if came_into_force { Some(now) } else { before.loaded },
            tried: Some(now),
            problems,
            warned,
        }));
        match loaded {
            Ok(Replaced::New) => {
                in_force.metrics.policies_loaded("ok");
                in_force.tell_all();
                if let Some(info) = in_force.pdp.load().as_ref().map(|pdp| pdp.snapshot()) {
                    let (id, documents, policies) = (info.id, info.documents, info.policies);
                    tracing::info!(snapshot = id, documents, policies, rules = info.rules, index = %info.index, "policies in force");
                }
                Ok(())
            }
            Ok(Replaced::Same) => {
                in_force.metrics.policies_loaded("unchanged");
                if !before.problems.is_empty() {
                    tracing::info!("the policies are again those in force");
                }
                Ok(())
            }
            Err(refused) => {
                in_force.metrics.policies_loaded("failed");
                report(&refused.problems(), None, in_force.pdp.load().is_some());
                Err(refused)
            }
        }
    }

    fn replace(&mut self, in_force: &InForce) -> Result<Replaced, Refused> {
        let path = &in_force.settings.policies.path;
        let looks = path.is_dir().then(|| looks_of(path)).transpose().map_err(Refused::Read)?;
        if let (Some(pdp), Some(before), Some(looks)) = (in_force.pdp.load_full(), &self.inventory, &looks) {
            let bytes_max = in_force.settings.limits.of_policies().bytes_max;
            match before.difference(looks.clone(), bytes_max).map_err(Refused::Read)? {
                Difference::None(inventory) => {
                    self.inventory = Some(inventory);
                    return Ok(Replaced::Same);
                }
                Difference::Some(changes, inventory) => {
                    pdp.change(&changes).map_err(Refused::Policies)?;
                    self.inventory = Some(inventory);
                    self.changed = Some(Instant::now());
                    if pdp.is_worth_settling() {
                        self.settle(&pdp);
                    }
                    return Ok(Replaced::New);
                }
                Difference::Unclear => {}
            }
        }
        self.replace_all(in_force, looks.unwrap_or_default())
    }

    /// Whether the node is there for its users alone. Policies that were in force and are gone stay: somebody removed them by mistake.
    fn goes_without(&self, in_force: &InForce) -> bool {
        let settings = &in_force.settings;
        settings.identity.is_on()
            && settings.policies.are_not_there()
            && self.inventory.as_ref().is_none_or(Inventory::is_empty)
    }

    fn replace_all(&mut self, in_force: &InForce, looks: Looks) -> Result<Replaced, Refused> {
        let texts = if self.goes_without(in_force) {
            tracing::warn!("{NO_POLICIES}");
            Vec::new()
        } else {
            in_force.intake.directory(&in_force.settings.policies.path)?.texts
        };
        let inventory = Inventory::of(looks, &texts);
        let is_same = self.inventory.as_ref().is_some_and(|before| before.has_texts_of(&inventory));
        let loaded = match in_force.pdp.load_full() {
            Some(_) if is_same => Replaced::Same,
            Some(pdp) => {
                pdp.replace(&texts).map_err(Refused::Policies)?;
                Replaced::New
            }
            None => {
                let builder = in_force.builder().map_err(Refused::Config)?;
                let pdp = builder.changing().policies(texts).build();
                // Only this place fills it, from one thread at a time.
                in_force.pdp.store(Some(Arc::new(pdp.map_err(Refused::Policies)?)));
                Replaced::New
            }
        };
        self.inventory = Some(inventory);
        Ok(loaded)
    }

    /// Builds everything anew where nothing has changed for a while since something did.
    fn settle_when_quiet(&mut self, in_force: &InForce) {
        if self.changed.is_none_or(|changed| changed.elapsed() < QUIET) {
            return;
        }
        match in_force.pdp.load_full() {
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
        let (pdp, in_force, is_settling) =
            (Arc::clone(pdp), Weak::clone(&self.in_force), Arc::clone(&self.is_settling));
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
            if let Some(in_force) = in_force.upgrade() {
                in_force.tell_all();
            }
            is_settling.store(false, Ordering::Release);
        };
        if thread::Builder::new().name("settling".into()).spawn(settle).is_err() {
            self.is_settling.store(false, Ordering::Release);
        }
    }
}

/// What operators read of a node that has users and no policies.
pub const NO_POLICIES: &str = "there are no policies: every decision is NotApplicable. Make a directory `policies` beside \
                                      `durward.toml`, or name another one as `policies.path`";

/// What came of reading policies.
enum Replaced {
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
    fn path(&self, in_force: &InForce) -> std::path::PathBuf {
        in_force.settings.policies.path.clone()
    }

    fn look(&mut self, in_force: &InForce) -> bool {
        let path: &Path = &in_force.settings.policies.path;
        let now = Fingerprint::of(path);
        if now == self.seen {
            self.settle_when_quiet(in_force);
            return false;
        }
        settle(now, in_force.settings.policies.settle_time(), || Fingerprint::of(path));
        // What is wrong has been said everywhere it can be seen.
        let _ = self.load(in_force);
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
