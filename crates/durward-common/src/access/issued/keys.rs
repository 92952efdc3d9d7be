//! The keys that sign: for each algorithm one after the other, kept in a file; or made of the cluster's secret.
//!
//! A key is published `oauth.key_overlap_s` before it signs, so that those who keep the public keys for a while know it by then; and until
//! the last token under it has ended. Whoever needs a key looks whether one is due; nothing runs in between. Servers that share the
//! file take turns: the file is locked, read again, and written anew only by who finds a key due.
//!
//! Nodes of a cluster share no file. Each makes the same keys by itself, of the secret that they share and of the number of the period, so
//! that a token of one is believed by all, and whoever asks any of them for the public keys gets those of all.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError as Busy};
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use durward_files::{FileAccess, SecretFileError, SecretReaders, read_secret, read_secret_text};
use durward_session::identity::jwt::{Algorithm, Claims, Request, SigningKey, SigningKeys, TokenKind};
use durward_session::identity::{CLOCK_SKEW_MAX, IdentityError, Moment, SystemEntropy};
use durward_settings::{OauthSettings, TokenAlgorithm};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The longest file of keys that is read: 32 keys take a tenth of it.
const KEY_FILE_BYTES_MAX: u64 = 256 * 1024;

/// How often the file is looked at: another server may have put a key there.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// A moment that does not come: of keys that are published and do not sign.
const NEVER: Moment = Moment::from_ms(u64::MAX);

const NAME: &str = "signing-keys.json";

/// The keys of each algorithm.
type Rings = Vec<(Algorithm, SigningKeys)>;

/// Makes a secret of a purpose: the same for the same purpose, on all nodes.
type Secrets = Box<dyn Fn(&str) -> [u8; 32] + Send + Sync>;

/// Where keys come from.
pub enum Source {
    /// They are made, and end with the process.
    Process,
    /// They are made, and lie in this directory.
    Directory(PathBuf),
    /// They follow from the cluster's secret.
    Cluster(Secrets),
}

/// The keys in use.
pub struct Keys {
    period: Duration,
    overlap: Duration,
    lifetime: Duration,
    /// What keys are made for.
    made: Vec<Algorithm>,
    /// Whether keys of other algorithms, which somebody brought, stand in the ring of the first.
    takes_all: bool,
    first: Algorithm,
    source: Source,
    rings: ArcSwap<Rings>,
    /// Held by who looks whether a key is due.
    looking: Mutex<()>,
    /// When to look again, in milliseconds since 1970 began.
    look_at: AtomicU64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    keys: Vec<Kept>,
}

/// A key as it lies in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// From when on it signs, in milliseconds since 1970 began.
    signs_from: u64,
    /// Base64.
    pkcs8: String,
}

impl Keys {
    /// Reads the keys, and makes those that are missing.
    ///
    /// # Errors
    /// A file that cannot be used, or that others than its owner may read.
    pub fn open(settings: &OauthSettings, source: Source, now: Moment) -> Result<Keys, IdentityError> {
        let lifetime = settings.token_lifetime();
        let all = settings.algorithms.iter().map(|algorithm| algorithm.of_keys());
        let Some(first) = all.clone().next() else { return Err(IdentityError::new("no algorithm is named")) };
        let mut rings = Rings::new();
        if settings.algorithms.contains(&TokenAlgorithm::Rs256) {
            rings.push((Algorithm::Rs256, brought(&settings.rs256_key_paths, lifetime, now)?));
        }
        let keys = Keys {
            period: Duration::from_secs(settings.key_period_s),
            overlap: Duration::from_secs(settings.key_overlap_s),
            lifetime,
            takes_all: false,
            made: all.filter(|algorithm| *algorithm != Algorithm::Rs256).collect(),
            first,
            source,
            rings: ArcSwap::from_pointee(rings),
            looking: Mutex::new(()),
            look_at: AtomicU64::new(0),
        };
        let lock = keys.lock_file()?;
        if let Some(lock) = &lock {
            lock.lock().map_err(|error| IdentityError::new(format!("the keys cannot be locked: {error}")))?;
        }
        keys.look(now)?;
        Ok(keys)
    }

    /// The keys as they are now.
    fn current(&self, now: Moment) -> Arc<Rings> {
        if now.ms() >= self.look_at.load(Ordering::Relaxed) {
            // Who comes meanwhile takes the keys that there are: none is due at this very moment, since they come ahead.
            match self.looking.try_lock() {
                Ok(_looking) => self.look_again(now),
                Err(Busy::WouldBlock | Busy::Poisoned(_)) => {}
            }
        }
        self.rings.load_full()
    }

    /// What goes wrong here is tried again: the keys that there are go on signing.
    fn look_again(&self, now: Moment) {
        self.look_at.store(now.plus(LOOK_EVERY).ms(), Ordering::Relaxed);
        let looked = match self.lock_file() {
            Ok(None) => self.look(now),
            Ok(Some(lock)) => match lock.try_lock() {
                Ok(()) => self.look(now),
                Err(TryLockError::WouldBlock) => Ok(()),
                Err(TryLockError::Error(error)) => Err(IdentityError::new(error.to_string())),
            },
            Err(error) => Err(error),
        };
        if let Err(error) = looked {
            tracing::error!(%error, "the signing keys cannot be looked at; those in use go on: see `oauth.data`");
        }
    }

    /// Sees to it that there are the keys of this moment.
    fn look(&self, now: Moment) -> Result<(), IdentityError> {
        let known = self.rings.load_full();
        let mut rings = Rings::new();
        for algorithm in &self.made {
            let ring = known.iter().find(|(other, _)| other == algorithm).map(|(_, ring)| ring.clone());
            rings.push((*algorithm, ring.unwrap_or(SigningKeys::new(self.lifetime))));
        }
        match &self.source {
            Source::Process => {
                self.make_due(&mut rings, now)?;
            }
            Source::Directory(data) => self.look_into(&data.join(NAME), &mut rings, now)?,
            Source::Cluster(secrets) => {
                for (algorithm, ring) in &mut rings {
                    self.follow(secrets, *algorithm, ring, now)?;
                }
            }
        }
        rings.extend(known.iter().filter(|(algorithm, _)| *algorithm == Algorithm::Rs256).cloned());
        self.rings.store(Arc::new(rings));
        Ok(())
    }

    /// The keys of all periods in which tokens may live that live now, and of the next one when it is near.
    fn follow(
        &self,
        secrets: &Secrets,
        algorithm: Algorithm,
        ring: &mut SigningKeys,
        now: Moment,
    ) -> Result<(), IdentityError> {
        let period = self.period.as_secs().max(1);
        let seconds = |time: Moment| time.ms() / 1000;
        let first =
            seconds(now).saturating_sub(self.lifetime.as_secs() + 2 * CLOCK_SKEW_MAX.as_secs()) / period;
        let last = seconds(now.plus(self.overlap)) / period;
        for number in first..=last {
            let from = Moment::from_ms(number * period * 1000);
            if ring.iter().any(|(other, _)| other == from) {
                continue;
            }
            let purpose = format!("oauth {} key {number} of {period} s", algorithm.name());
            let key = SigningKey::of_secret(algorithm, &secrets(&purpose))?;
            *ring = ring.with(key, from, now)?;
        }
        Ok(())
    }

    /// Reads the file, makes what is due, and writes it down before it is used.
    fn look_into(&self, path: &Path, rings: &mut Rings, now: Moment) -> Result<(), IdentityError> {
        let found = read(path)?;
        for (algorithm, ring) in &mut *rings {
            for kept in &found {
                let (key, from) = (kept.key()?, Moment::from_ms(kept.signs_from));
                let is_known = ring.iter().any(|(_, other)| other.id() == key.id());
                if (key.algorithm() == *algorithm || self.takes_all) && !is_known {
                    *ring = ring.with(key, from, now)?;
                }
            }
        }
        if self.make_due(rings, now)? {
            write(path, rings)
                .map_err(|error| IdentityError::new(format!("cannot write `{}`: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Makes the keys for which it is time. Whether there were any.
    fn make_due(&self, rings: &mut Rings, now: Moment) -> Result<bool, IdentityError> {
        let mut is_new = false;
        for (algorithm, ring) in rings {
            if let Some(from) = self.due(ring, now) {
                let key = SigningKey::generate(*algorithm)?;
                tracing::info!(algorithm = algorithm.name(), key = key.id(), "a new signing key");
                *ring = ring.with(key, from, now)?;
                is_new = true;
            }
        }
        Ok(is_new)
    }

    /// From when on the next key is to sign, where it is time for one.
    fn due(&self, ring: &SigningKeys, now: Moment) -> Option<Moment> {
        match ring.iter().next_back() {
            // Nobody knows any keys yet.
            None => Some(now),
            Some((newest, _)) => {
                let ahead = now.plus(self.overlap);
                let next = newest.plus(self.period);
                // After a long rest it is published as long before as usual; the old one signs meanwhile.
                (ahead >= next).then_some(next.max(ahead))
            }
        }
    }

    fn lock_file(&self) -> Result<Option<File>, IdentityError> {
        let Source::Directory(data) = &self.source else { return Ok(None) };
        let path = data.join(NAME).with_extension("lock");
        private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(&path)
            .map(Some)
            .map_err(|error| IdentityError::new(format!("cannot open `{}`: {error}", path.display())))
    }

    /// Makes a token, with the first algorithm where none is named.
    ///
    /// # Errors
    /// As of [`SigningKeys::issue`].
    pub fn issue(
        &self,
        algorithm: Option<TokenAlgorithm>,
        now: Moment,
        request: Request<'_>,
    ) -> Result<String, IdentityError> {
        self.ring(algorithm, now)?.issue(now, request, &SystemEntropy)
    }

    /// Signs a token that is no access token.
    ///
    /// # Errors
    /// As of [`SigningKeys::sign`].
    pub fn sign(
        &self,
        algorithm: Option<TokenAlgorithm>,
        now: Moment,
        kind: TokenKind,
        claims: &Map<String, Value>,
    ) -> Result<String, IdentityError> {
        self.ring(algorithm, now)?.sign(now, kind, claims)
    }

    /// How tokens are signed, by the first algorithm where none is named.
    pub fn algorithm(&self, algorithm: Option<TokenAlgorithm>) -> Algorithm {
        algorithm.map_or(self.first, TokenAlgorithm::of_keys)
    }

    fn ring(&self, algorithm: Option<TokenAlgorithm>, now: Moment) -> Result<SigningKeys, IdentityError> {
        let algorithm = self.algorithm(algorithm);
        let rings = self.current(now);
        let ring = rings.iter().find(|(other, _)| *other == algorithm).map(|(_, ring)| ring.clone());
        ring.ok_or_else(|| IdentityError::new("there is no key for this algorithm"))
    }

    /// What an ID token of this issuer says, also one that has ended.
    pub fn read_id_token(&self, token: &str, issuer: &str, now: Moment) -> Option<Map<String, Value>> {
        self.current(now).iter().find_map(|(_, ring)| ring.read_id_token(now, token, issuer).ok())
    }

    /// What a token of this issuer says, whomever it is for. `None` where it may not be believed.
    pub fn verify(&self, token: &str, issuer: &str, now: Moment) -> Option<Claims> {
        self.current(now).iter().find_map(|(_, ring)| ring.verify_own(now, token, issuer).ok())
    }

    /// The public keys, those to come as well.
    pub fn to_jwks(&self, now: Moment) -> Value {
        let rings = self.current(now);
        let keys = rings.iter().filter_map(|(_, ring)| ring.to_jwks(now).get("keys")?.as_array().cloned());
        json!({ "keys": keys.flatten().collect::<Vec<_>>() })
    }
}

/// Keys in a directory that are replaced when somebody says so, and not by themselves: of services whose public keys are carried from
/// machine to machine as files. The file is that of `oauth.data`, and other processes may put keys there as well.
pub struct KeyStore(Keys);

impl KeyStore {
    /// Opens the keys of a directory. Where there are none yet, the first is `brought`, or made. New keys are published for `overlap`
    /// before they sign; tokens live for `lifetime` at most.
    ///
    /// # Errors
    /// A file that cannot be used, or that others than its owner may read.
    pub fn open(
        directory: &Path,
        algorithm: Algorithm,
        brought: Option<SigningKey>,
        lifetime: Duration,
        overlap: Duration,
        now: Moment,
    ) -> Result<KeyStore, IdentityError> {
        let store = KeyStore(Keys {
            // They do not end by themselves.
            period: Duration::MAX,
            overlap,
            lifetime,
            takes_all: true,
            made: vec![algorithm],
            first: algorithm,
            source: Source::Directory(directory.to_owned()),
            rings: ArcSwap::default(),
            looking: Mutex::new(()),
            look_at: AtomicU64::new(0),
        });
        let path = directory.join(NAME);
        {
            let _lock = store.lock()?;
            if let Some(key) = brought
                && read(&path)?.is_empty()
            {
                // From the beginning of time: it signs even where the clock was set back since.
                store.put(&path, SigningKeys::new(lifetime).with(key, Moment::default(), now)?)?;
            }
            store.0.look(now)?;
        }
        Ok(store)
    }

    fn lock(&self) -> Result<Option<File>, IdentityError> {
        let lock = self.0.lock_file()?;
        if let Some(lock) = &lock {
            lock.lock().map_err(|error| IdentityError::new(format!("the keys cannot be locked: {error}")))?;
        }
        Ok(lock)
    }

    fn put(&self, path: &Path, keys: SigningKeys) -> Result<(), IdentityError> {
        let rings = vec![(self.0.first, keys)];
        write(path, &rings)
            .map_err(|error| IdentityError::new(format!("cannot write `{}`: {error}", path.display())))?;
        self.0.rings.store(Arc::new(rings));
        Ok(())
    }

    /// The keys as they are now. Looks into the file every few seconds.
    pub fn current(&self, now: Moment) -> SigningKeys {
        let rings = self.0.current(now);
        rings.first().map_or(SigningKeys::new(self.0.lifetime), |(_, keys)| keys.clone())
    }

    /// Puts a key beside those there are: it is published at once and signs after the overlap, when the one before it only verifies any
    /// more. Without a key, one is made. Gives its name and from when on it signs; of a key that is there already, what was settled before.
    ///
    /// # Errors
    /// There are too many keys, or they cannot be written.
    pub fn replace(&self, key: Option<SigningKey>, now: Moment) -> Result<(String, Moment), IdentityError> {
        let Source::Directory(directory) = &self.0.source else {
            return Err(IdentityError::new("these keys lie in no directory"));
        };
        let key = key.map_or_else(|| SigningKey::generate(self.0.first), Ok)?;
        let name = key.id().to_owned();
        let _lock = self.lock()?;
        self.0.look(now)?;
        let keys = self.current(now);
        if let Some((from, _)) = keys.iter().find(|(_, known)| known.id() == name) {
            return Ok((name, from));
        }
        let from = now.plus(self.0.overlap);
        self.put(&directory.join(NAME), keys.with(key, from, now)?)?;
        Ok((name, from))
    }
}

impl Kept {
    fn key(&self) -> Result<SigningKey, IdentityError> {
        let der = STANDARD.decode(&self.pkcs8);
        SigningKey::from_pkcs8(&der.map_err(|_| IdentityError::new("a signing key is no Base64"))?)
    }
}

/// RSA keys: the first signs, the others are published, before their time or after it.
fn brought(paths: &[PathBuf], lifetime: Duration, now: Moment) -> Result<SigningKeys, IdentityError> {
    let mut ring = SigningKeys::new(lifetime);
    for (number, path) in paths.iter().enumerate() {
        let pem = read_secret_text(path, SecretReaders::OwnerAndGroup, KEY_FILE_BYTES_MAX)
            .map_err(|error| IdentityError::new(format!("`{}`: {error}", path.display())))?;
        let key = SigningKey::read(&pem).map_err(|error| error.of(format!("`{}`", path.display())))?;
        if key.algorithm() != Algorithm::Rs256 {
            return Err(IdentityError::new(format!("`{}` is no RSA key", path.display())));
        }
        let from = if number == 0 { Moment::default() } else { NEVER };
        ring = ring.with(key, from, now)?;
    }
    Ok(ring)
}

fn read(path: &Path) -> Result<Vec<Kept>, IdentityError> {
    let wrong = |why: String| IdentityError::new(format!("`{}` {why}", path.display()));
    let text = match read_secret(path, SecretReaders::Owner, KEY_FILE_BYTES_MAX) {
        Ok(text) => text,
        Err(SecretFileError::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error @ SecretFileError::Unreadable(_)) => return Err(wrong(format!("cannot be read: {error}"))),
        Err(error) => return Err(wrong(error.to_string())),
    };
    // What is wrong with it may hold a part of a key.
    let file: KeyFile = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("is no file of keys (line {})", error.line())))?;
    Ok(file.keys)
}

/// Writes the file in one go: who reads it finds the old keys or the new ones.
fn write(path: &Path, rings: &Rings) -> io::Result<()> {
    let kept = |(from, key): (Moment, &SigningKey)| Kept {
        signs_from: from.ms(),
        pkcs8: STANDARD.encode(key.expose()),
    };
    let keys = rings.iter().flat_map(|(_, ring)| ring.iter()).map(kept).collect();
    let text = serde_json::to_string_pretty(&KeyFile { keys })? + "\n";
    durward_files::replace(path, text.as_bytes(), FileAccess::Owner)
}

/// For the owner's eyes only.
fn private(options: &mut OpenOptions) -> &OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
