//! Who is asking: the session service, made of the settings.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use durward_files::is_weak_key;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory, PasswordRules, UserWrites};
use durward_session::identity::{Entropy, IdentityError, Moment, SystemEntropy, hex};
use durward_session::ldap::LdapDirectory;
use durward_session::nats::{Nats, NatsUsers, Retention};
use durward_session::store::journal::Journal;
use durward_session::{
    AuditSettings, Beside, Builder, DirectoryFault, Embedded, Running, Service, ServiceSettings,
    UserDirectory, read_secret,
};
use durward_settings::{IdentitySettings, LdapUserSettings, SessionMode};

use crate::base::Clock;

/// The journal of sessions in `identity.data`.
const SESSIONS: &str = "sessions.journal";

/// The secret of the cluster in `identity.data`, where no other place is named.
const CLUSTER_KEY: &str = "cluster.key";

/// Starts the session service that the settings ask for; nothing where they name no users. `Server::bind` of `durward-server` does
/// this for a server; whoever has another surface for the same users and sessions does it alone. Needs a tokio runtime.
///
/// # Errors
/// A file that cannot be used, or costs of hashes that cannot be.
pub fn start_sessions(
    settings: &IdentitySettings,
    clock: &Clock,
) -> Result<Option<(Service, Running)>, IdentityError> {
    if !settings.is_on() {
        return Ok(None);
    }
    let service = settings.service();
    let retention = Retention::of(&service.node, &service.session);
    let (mut builder, directory) =
        with_users(Builder::new(service.clone(), moments(clock)), settings, &service, clock)?;
    let secret = cluster_secret(settings)?;
    if let Some(secret) = secret {
        builder = builder.cluster_secret(secret);
    }
    if let Some(nats) = &settings.nats {
        let secret =
            secret.ok_or_else(|| IdentityError::new("several nodes need a secret that they share"))?;
        if let Some(directory) = directory.filter(|_| nats.shares_users(service.node.mode)) {
            builder = builder.users(NatsUsers::new(nats.store()?, &secret, service.node.mode, &directory)?);
        }
        builder = builder.store(Nats::new(nats.store()?, &secret, retention, moments(clock))?);
    } else if let (Some(data), true) = (&settings.data, settings.mode != SessionMode::None) {
        make_folder(data)?;
        builder = builder.store(Journal::open(&data.join(SESSIONS))?);
    }
    if let Some(path) = &settings.audit {
        builder = builder.audit(AuditSettings {
            path: path.clone(),
            file_bytes_max: settings.audit_file_bytes_max,
            files_max: settings.audit_files_max,
            sync: settings.sync(),
        });
    }
    builder.start().map(Some)
}

/// The directories of all realms, and that of the file of users, which keeps second steps and passkeys of users of the others too.
fn with_users(
    mut builder: Builder,
    settings: &IdentitySettings,
    service: &ServiceSettings,
    clock: &Clock,
) -> Result<(Builder, Option<Arc<Directory>>), IdentityError> {
    let mut shared = None;
    if let Some(users) = &settings.users {
        let directory = Directory::open(users, settings.costs(), Arc::new(SystemEntropy))?
            .with_password_rules(settings.password_rules()?);
        if settings.hashing_at_once() < settings.hashing_threads {
            let (threads, wanted) = (settings.hashing_at_once(), settings.hashing_threads);
            tracing::warn!(
                threads,
                wanted,
                "fewer threads hash passwords than `identity.hashing_threads` says: see `identity.hashing_memory_kib_max`"
            );
        }
        let directory = Arc::new(directory);
        if !settings.passkeys.is_on() {
            warn_of_passkeys(&directory);
        }
        shared = Some(Arc::clone(&directory));
        let embedded = Arc::new(Embedded::new(directory, service.pool)?);
        for realm in &settings.realms {
            builder = builder.realm(realm, embedded.clone())?;
        }
    }
    for ldap in &settings.ldap {
        let directory = ldap.directory()?;
        let rules =
            if directory.change_passwords { settings.password_rules()? } else { PasswordRules::default() };
        let users: Arc<dyn UserDirectory> =
            Arc::new(LdapDirectory::with_password_rules(directory, rules, moments(clock))?);
        // Also without passkeys: a second step that cannot be taken any more is no reason to let somebody in without one. By realm: of a
        // directory with several, the password alone would be enough in the next one.
        let kept = shared.as_ref().filter(|_| ldap.realms.len() == 1);
        let directory: Arc<dyn UserDirectory> = match kept {
            Some(kept) => Arc::new(Beside::new(users, Arc::clone(kept))),
            None => users,
        };
        for realm in &ldap.realms {
            builder = builder.realm(realm, directory.clone())?;
        }
    }
    Ok((builder, shared))
}

/// Users who have a passkey are asked for it also where there are none any more, and cannot log in.
fn warn_of_passkeys(directory: &Directory) {
    let mut count = 0;
    UserWrites::visit(directory, &mut |account| count += usize::from(!account.passkeys.is_empty()));
    if count > 0 {
        tracing::error!(
            users = count,
            "users have passkeys, and there is no `[identity.passkeys]` any more: those who have no device for codes cannot log in until \
             it is back, or an administrator has removed their passkeys (`durward users passkeys`)"
        );
    }
}

/// What an LDAP directory knows of a user, for commands that keep something beside it: under the name under which that is kept.
/// Needs a tokio runtime.
///
/// # Errors
/// The settings cannot be used, or the directory cannot be asked.
pub async fn account_in(
    ldap: &LdapUserSettings,
    user: &User,
    clock: &Clock,
) -> Result<Option<Account>, IdentityError> {
    let directory =
        LdapDirectory::with_password_rules(ldap.directory()?, PasswordRules::default(), moments(clock))?;
    let found = directory.account(user).await.map_err(|fault| match fault {
        DirectoryFault::Busy { .. } => IdentityError::new("too many ask the directory; try again later"),
        DirectoryFault::Failed(error) => error,
    })?;
    Ok(found.map(|account| {
        let subject = directory.folded(&account.subject).unwrap_or_else(|| account.subject.clone());
        Account { subject, ..account }
    }))
}

/// The server's clock, as sessions count.
fn moments(clock: &Clock) -> durward_session::Clock {
    let clock = Arc::clone(clock);
    Arc::new(move || Moment::of(clock()))
}

/// The secret of the cluster, where it is kept: nothing where each start makes another one.
///
/// # Errors
/// The file cannot be read, or holds none.
pub fn read_cluster_secret(settings: &IdentitySettings) -> Result<Option<[u8; 32]>, IdentityError> {
    if let Some(path) = &settings.cluster_key_path {
        return read_cluster_key(path).map(Some);
    }
    let path = settings.data.as_ref().map(|data| data.join(CLUSTER_KEY));
    path.filter(|path| path.exists()).map(|path| read_cluster_key(&path)).transpose()
}

/// The secret in the file that is named, or in `data`, where one is made if there is none.
fn cluster_secret(settings: &IdentitySettings) -> Result<Option<[u8; 32]>, IdentityError> {
    if let Some(path) = &settings.cluster_key_path {
        return read_cluster_key(path).map(Some);
    }
    let Some(data) = &settings.data else { return Ok(None) };
    make_folder(data)?;
    let path = data.join(CLUSTER_KEY);
    if !path.exists() {
        // Sessions are sealed under keys that are sealed under this one: a new one would open none of them.
        if data.join(SESSIONS).exists() {
            return Err(IdentityError::new(format!(
                "`{}` is gone, and `{SESSIONS}` beside it is of no use without it: bring it back, or remove that as well, \
                 which ends all sessions",
                path.display()
            )));
        }
        make_secret(&path).map_err(|error| {
            IdentityError::new(format!("cannot write a key in `{}`: {error}", data.display()))
        })?;
    }
    read_cluster_key(&path).map(Some)
}

/// Makes the directory of `identity.data` where there is none.
fn make_folder(data: &Path) -> Result<(), IdentityError> {
    fs::create_dir_all(data)
        .map_err(|error| IdentityError::new(format!("cannot make `{}`: {error}", data.display())))
}

fn read_cluster_key(path: &Path) -> Result<[u8; 32], IdentityError> {
    let text = read_secret(path).map_err(|error| error.of("the cluster key"))?;
    let digits = text.trim();
    let is_secret = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut secret = [0; 32];
    for (at, byte) in secret.iter_mut().enumerate() {
        let digits = digits.get(2 * at..2 * at + 2).filter(|_| is_secret);
        let read = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        *byte = read.ok_or_else(|| {
            IdentityError::new(format!("the cluster key `{}` is not 64 hexadecimal digits", path.display()))
        })?;
    }
    if is_weak_key(&secret) {
        return Err(IdentityError::new(format!(
            "the cluster key `{}` can be guessed: draw one, such as by `openssl rand -hex 32`",
            path.display()
        )));
    }
    Ok(secret)
}

/// A new secret, for its owner's eyes only.
fn make_secret(path: &Path) -> std::io::Result<()> {
    let mut secret = [0; 32];
    SystemEntropy.fill(&mut secret).map_err(std::io::Error::other)?;
    let text = hex(&secret);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}
