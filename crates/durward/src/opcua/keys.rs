//! The keys by which the authorization service signs tokens, and `durward opcua keys`: one is put beside another while both run, is published
//! in `jwks.json` before it signs, and the old one stays there until its last token has ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use durward_files::{FileAccess, SecretReaders, read_secret};
use durward_opcua::channel::Clock;
use durward_opcua::wire::datetime;
use durward_server::{KeyStore, OpcuaAuthoritySettings};
use durward_session::identity::jwt::{Algorithm, SigningKey, SigningKeys, VerifyingKeys};
use durward_session::identity::{IdentityError, Moment};
use serde_json::json;

use super::application::clock;
use super::settings;
use crate::failure::{CommandError, CommandResult, without_number};
use crate::to_stdout;

/// How often the keys are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The longest file with a private key.
const KEY_BYTES_MAX: u64 = 64 * 1024;

/// A key of the operator's own.
const OWN: &str = "signing.key";
/// The public keys.
const PUBLIC: &str = "jwks.json";

const EXAMPLES: &str = "\
Examples:
  durward opcua keys rotate
  durward opcua keys rotate --key new.pem
  durward opcua keys show

A new key stands in jwks.json at once, and signs after `opcua.authority.key_overlap_s`: carry jwks.json to all gates in between. An authorization
service that runs takes it up by itself, and so does a gate whose file changes.";

/// Replace the keys that sign tokens
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: KeysCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KeysCommand {
    /// Put a new key beside those there are
    Rotate(RotateKeys),
    /// List the keys, and from when on each signs
    Show(ShowKeys),
}

#[derive(Debug, clap::Args)]
struct RotateKeys {
    #[command(flatten)]
    place: KeyDirectory,
    /// A private key, PKCS #8 as PEM, of P-256, Ed25519 or RSA; otherwise one of P-256 is made
    #[arg(long, value_name = "FILE.pem")]
    key: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct ShowKeys {
    #[command(flatten)]
    place: KeyDirectory,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Where the keys lie.
#[derive(Debug, clap::Args)]
struct KeyDirectory {
    /// The configuration of the authorization service; without it durward.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl KeyDirectory {
    fn keys(&self) -> Result<AuthorityKeys, CommandError> {
        let settings = settings::read(self.config.as_deref())?;
        AuthorityKeys::open(&settings.opcua.authority, clock())
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        KeysCommand::Rotate(rotate) => {
            let keys = rotate.place.keys()?;
            let key = rotate.key.as_deref().map(read_key).transpose()?;
            let (name, from) = keys.store.replace(key, (keys.clock)()).map_err(failed)?;
            keys.publish()?;
            to_stdout(&format!("{name} signs from {} on; {}\n", at(from), keys.public.display()))?;
        }
        KeysCommand::Show(show) => {
            let keys = show.place.keys()?;
            for (from, key) in keys.store.current((keys.clock)()).iter() {
                let (name, algorithm, from) = (key.id(), key.algorithm().name(), at(from));
                let line = match show.json {
                    true => json!({"key": name, "algorithm": algorithm, "signs_from": from}).to_string(),
                    false => format!("{name}\t{algorithm}\t{from}"),
                };
                to_stdout(&(line + "\n"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A moment for people and programs (RFC 3339).
fn at(moment: Moment) -> String {
    datetime(moment).to_rfc3339()
}

fn failed(error: IdentityError) -> CommandError {
    CommandError::new(without_number(&error.to_string()))
}

/// The keys of an authorization service.
pub(super) struct AuthorityKeys {
    store: KeyStore,
    /// A file that an operator may replace by a key of their own.
    own: PathBuf,
    public: PathBuf,
    clock: Clock,
    shared: Arc<ArcSwap<SigningKeys>>,
}

impl AuthorityKeys {
    /// Opens the keys, makes the first where there is none, and publishes them.
    ///
    /// # Errors
    /// Files that cannot be read, written, or used.
    pub(super) fn open(
        settings: &OpcuaAuthoritySettings,
        clock: Clock,
    ) -> Result<AuthorityKeys, CommandError> {
        let data = &settings.data;
        fs::create_dir_all(data).map_err(|error| cannot_write(data, &error))?;
        let (lifetime, overlap) =
            (Duration::from_secs(settings.token_lifetime_s), Duration::from_secs(settings.key_overlap_s));
        let own = data.join(OWN);
        let brought = own.exists().then(|| read_key(&own)).transpose()?;
        let now = clock();
        let store =
            KeyStore::open(data, Algorithm::Es256, brought, lifetime, overlap, now).map_err(failed)?;
        let shared = Arc::new(ArcSwap::from_pointee(store.current(now)));
        let keys = AuthorityKeys { store, own, public: data.join(PUBLIC), clock, shared };
        keys.publish()?;
        Ok(keys)
    }

    /// The keys, as whoever signs has them.
    pub(super) fn shared(&self) -> Arc<ArcSwap<SigningKeys>> {
        Arc::clone(&self.shared)
    }

    /// Hands the keys of this moment to whoever signs, and writes the public ones where the file has others. Whether they have changed.
    fn publish(&self) -> Result<bool, CommandError> {
        let now = (self.clock)();
        let keys = self.store.current(now);
        let text = format!("{}\n", keys.to_jwks(now));
        let names = |keys: &SigningKeys| keys.iter().map(|(_, key)| key.id().to_owned()).collect::<Vec<_>>();
        let have_changed = names(&keys) != names(&self.shared.load());
        self.shared.store(Arc::new(keys));
        if !fs::read_to_string(&self.public).is_ok_and(|before| before == text) {
            replace(&self.public, &text).map_err(|error| cannot_write(&self.public, &error))?;
        }
        Ok(have_changed)
    }

    /// Takes in keys that were put into the store, or in the place of the operator's own; publishes them, and takes those out whose last token
    /// has ended. For ever.
    pub(super) async fn follow(self) {
        let keys = Arc::new(self);
        let mut told = String::new();
        loop {
            tokio::time::sleep(LOOK).await;
            let looking = Arc::clone(&keys);
            let Ok(looked) = tokio::task::spawn_blocking(move || looking.look()).await else { continue };
            let problem = looked.err().map(|failure| failure.to_string()).unwrap_or_default();
            // Once for each problem, not each second.
            if problem != told && !problem.is_empty() {
                tracing::error!("the signing keys cannot be looked at, those in use go on: {problem}");
            }
            told = problem;
        }
    }

    fn look(&self) -> Result<(), CommandError> {
        if self.own.exists() {
            let now = (self.clock)();
            let key = read_key(&self.own)?;
            let is_known = self.store.current(now).iter().any(|(_, known)| known.id() == key.id());
            // One that is there no more was replaced, and its last token has ended.
            if !is_known && self.is_newer_than_the_store() {
                let (name, from) = self.store.replace(Some(key), now).map_err(failed)?;
                tracing::info!(key = name, signs_from = at(from), "a signing key was brought");
            }
        }
        if self.publish()? {
            let keys = self.shared.load();
            let names: Vec<&str> = keys.iter().map(|(_, key)| key.id()).collect();
            tracing::info!(
                keys = names.join(" "),
                path = %self.public.display(),
                "the public keys have changed: gates on other machines need this file"
            );
        }
        Ok(())
    }

    /// Whether the operator's own key was written after the store was.
    fn is_newer_than_the_store(&self) -> bool {
        let written = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let store = self.own.with_file_name("signing-keys.json");
        written(&self.own).zip(written(&store)).is_none_or(|(own, store)| own > store)
    }
}

/// A private key. Of the operator's own it is PEM; earlier versions of durward wrote PKCS #8 as it is.
fn read_key(path: &Path) -> Result<SigningKey, CommandError> {
    let bytes = read_secret(path, SecretReaders::OwnerAndGroup, KEY_BYTES_MAX)
        .map_err(|error| CommandError::unreadable(path, &error.into()))?;
    let key = match std::str::from_utf8(&bytes).ok().filter(|text| text.contains("-----BEGIN ")) {
        Some(pem) => SigningKey::read(pem),
        None => SigningKey::from_pkcs8(&bytes),
    };
    key.map_err(|error| failed(error).at(path))
}

/// Writes a file in one go: who reads it finds the old text or the new one.
pub(super) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    durward_files::replace(path, text.as_bytes(), FileAccess::Usual)
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::new(format!("cannot write {}: {}", path.display(), without_number(&error.to_string())))
}

/// The public keys in a file.
///
/// # Errors
/// It cannot be read, or holds none.
pub(super) fn read_public(path: &Path) -> Result<VerifyingKeys, CommandError> {
    let hint = "take the `jwks.json` that `durward opcua authority` writes into its directory of data at its first start";
    let text = settings::text(path).map_err(|failure| failure.hint(hint))?;
    let jwks = serde_json::from_str(&text)
        .map_err(|error| CommandError::new(format!("it is no JSON: {error}")).hint(hint).at(path))?;
    VerifyingKeys::read(&jwks).map_err(|error| CommandError::new(error.to_string()).hint(hint).at(path))
}

/// The public keys of a file that changes while a gate runs.
pub(super) struct PublicKeyFile {
    path: PathBuf,
    /// The text that is in force.
    text: String,
    /// What was said last.
    told: String,
}

impl PublicKeyFile {
    pub(super) fn new(path: PathBuf) -> PublicKeyFile {
        let text = fs::read_to_string(&path).unwrap_or_default();
        PublicKeyFile { path, text, told: String::new() }
    }

    /// The keys, if they are others than before. What cannot be read leaves the old ones in force, and is said once.
    pub(super) fn changed(&mut self) -> Option<VerifyingKeys> {
        let found = settings::text(&self.path);
        if found.as_ref().is_ok_and(|text| *text == self.text) {
            self.told.clear();
            return None;
        }
        match found.and_then(|text| Ok((read_public(&self.path)?, text))) {
            Ok((keys, text)) => {
                self.text = text;
                self.told.clear();
                tracing::info!(path = %self.path.display(), "the public keys of the authorization service have changed");
                Some(keys)
            }
            Err(failure) => {
                let problem = failure.to_string();
                if problem != self.told {
                    tracing::error!("changed public keys are not in force, the old ones are: {problem}");
                    self.told = problem;
                }
                None
            }
        }
    }

    /// Hands changed keys on, for ever.
    pub(super) async fn follow(mut self, take: impl Fn(VerifyingKeys)) {
        loop {
            tokio::time::sleep(LOOK).await;
            // A small file, once a second.
            if let Some(keys) = self.changed() {
                take(keys);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("durward-opcua-keys-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A clock that is set by hand, in seconds.
    fn hand() -> (Arc<std::sync::atomic::AtomicU64>, Clock) {
        let time = Arc::new(std::sync::atomic::AtomicU64::new(1_780_272_000));
        let hand = Arc::clone(&time);
        let read = move || Moment::from_ms(hand.load(std::sync::atomic::Ordering::Relaxed) * 1000);
        (time, Arc::new(read))
    }

    fn settings(data: &Path) -> OpcuaAuthoritySettings {
        OpcuaAuthoritySettings {
            data: data.to_owned(),
            token_lifetime_s: 3_600,
            key_overlap_s: 600,
            ..OpcuaAuthoritySettings::default()
        }
    }

    fn published(folder: &Path) -> Vec<String> {
        let jwks: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(folder.join(PUBLIC)).unwrap()).unwrap();
        let keys = jwks["keys"].as_array().unwrap();
        keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    }

    /// The key that signs.
    fn signing(keys: &AuthorityKeys) -> String {
        let request = durward_session::identity::jwt::Request {
            issuer: "urn:a",
            subject: "anna",
            audience: &["urn:b"],
            lifetime: Duration::from_secs(60),
            client: None,
            scope: None,
            session: None,
            more: serde_json::Map::new(),
        };
        let entropy = durward_session::identity::SystemEntropy;
        let token = keys.shared().load().issue((keys.clock)(), request, &entropy).unwrap();
        use base64::Engine as _;
        let header = token.split('.').next().unwrap();
        let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(header).unwrap();
        let header: serde_json::Value = serde_json::from_slice(&header).unwrap();
        header["kid"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_new_key_is_published_before_it_signs_and_the_old_one_after() {
        let folder = folder("rotate");
        let (time, clock) = hand();
        let keys = AuthorityKeys::open(&settings(&folder), Arc::clone(&clock)).unwrap();
        let old = signing(&keys);
        assert_eq!(published(&folder), [old.as_str()]);

        // Another process, as the command is.
        let other = AuthorityKeys::open(&settings(&folder), Arc::clone(&clock)).unwrap();
        let (new, _) = other.store.replace(None, clock()).unwrap();
        let after = |seconds: u64| {
            time.fetch_add(seconds, std::sync::atomic::Ordering::Relaxed);
            keys.look().unwrap();
        };
        after(11);
        assert_eq!(published(&folder), [old.clone(), new.clone()]);
        assert_eq!(signing(&keys), old, "gates do not know the new one yet");
        after(600);
        assert_eq!(signing(&keys), new);
        assert_eq!(published(&folder), [old.clone(), new.clone()], "its tokens live");
        after(3_600 + 600);
        assert_eq!(published(&folder), [new.as_str()]);

        // After a restart.
        let again = AuthorityKeys::open(&settings(&folder), clock).unwrap();
        assert_eq!(signing(&again), new);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_key_of_the_operators_own_is_the_first_and_another_in_its_place_follows() {
        let folder = folder("own");
        let (time, clock) = hand();
        let write = |key: &SigningKey| {
            durward_files::replace(&folder.join(OWN), key.expose(), FileAccess::Owner).unwrap();
        };
        let (first, second) = (
            SigningKey::generate(Algorithm::EdDsa).unwrap(),
            SigningKey::generate(Algorithm::Es256).unwrap(),
        );
        write(&first);
        let keys = AuthorityKeys::open(&settings(&folder), clock).unwrap();
        assert_eq!(
            (published(&folder), signing(&keys)),
            (vec![first.id().to_owned()], first.id().to_owned())
        );

        std::thread::sleep(Duration::from_millis(20));
        write(&second);
        time.fetch_add(11, std::sync::atomic::Ordering::Relaxed);
        keys.look().unwrap();
        assert_eq!(published(&folder), [first.id(), second.id()]);
        assert_eq!(signing(&keys), first.id());
        time.fetch_add(600, std::sync::atomic::Ordering::Relaxed);
        keys.look().unwrap();
        assert_eq!(signing(&keys), second.id());
        durward_files::replace(&folder.join(OWN), b"no key", FileAccess::Owner).unwrap();
        assert!(keys.look().unwrap_err().to_string().contains(OWN));
        assert_eq!(signing(&keys), second.id());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_gate_takes_up_keys_that_can_be_read_and_no_others() {
        let folder = folder("public");
        let (_, clock) = hand();
        let keys = AuthorityKeys::open(&settings(&folder), Arc::clone(&clock)).unwrap();
        let mut public = PublicKeyFile::new(folder.join(PUBLIC));
        assert!(public.changed().is_none());
        fs::write(folder.join(PUBLIC), "{}").unwrap();
        assert!(public.changed().is_none());
        keys.store.replace(None, clock()).unwrap();
        keys.publish().unwrap();
        assert!(public.changed().is_some());
        assert!(public.changed().is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
