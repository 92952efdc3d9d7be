//! One connection to one server: TLS, a bound on what it may send, and the questions that are put to it.
//!
//! The protocol is the crate `ldap3`'s. It has no bound on the length of a message, and its own TLS brings more than we need; so it
//! speaks over a pair of sockets to a task here, which speaks to the server, under TLS, and hangs up when an answer becomes too long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use durward_identity::IdentityError;
use ldap3::controls::{Control, RawControl};
use ldap3::exop::PasswordModify;
use ldap3::result::ExopResult;
use ldap3::{
    Ldap, LdapConnAsync, LdapConnSettings, LdapResult, Scope, SearchEntry, SearchOptions, StdStream,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::address::{LdapAddress, TlsStart};
use super::policy::{self, PasswordPolicy, PolicyError};
use super::settings::LdapSettings;
use crate::directory::PasswordRejection;
use crate::seldom::Seldom;

/// How much a server may send for one answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// How long what a server says of an error may be, in our log.
const TEXT_LENGTH_MAX: usize = 200;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LdapFault {
    /// This server cannot say; another one may.
    Server(String),
    /// No server will say anything else.
    Settings(String),
}

/// Makes connections.
pub(super) struct LdapConnector {
    tls: TlsConnector,
    connect_within: Duration,
    answer_within: Duration,
    too_long: Arc<Seldom>,
}

/// An LDAP operation.
#[derive(Clone, Debug)]
pub(super) enum LdapOperation {
    Search {
        base: String,
        scope: Scope,
        filter: String,
        attributes: Vec<String>,
        entries_max: usize,
    },
    /// Whether this is the password of this entry.
    Bind {
        dn: String,
        password: String,
    },
    /// Another password for this entry, as the entry itself (RFC 3062).
    ChangePassword {
        dn: String,
        old: String,
        new: String,
    },
}

/// The reply of a server.
#[derive(Debug)]
pub(super) enum LdapReply {
    Found {
        entries: Vec<SearchEntry>,
        are_all: bool,
        referrals: Vec<String>,
    },
    /// It is the password; the directory's policy may have more to say.
    Bound(PasswordPolicy),
    /// The password was changed, or not.
    Changed(Result<(), PasswordRejection>),
    /// The password is wrong.
    WrongPassword,
    /// It is right and over: nobody gets in with it any more, not even to change it.
    PasswordOver,
    /// It may be right, but the user may not log in.
    NotAllowed,
    /// Another server knows.
    Elsewhere(Vec<String>),
}

trait LdapStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> LdapStream for T {}

/// A connection. Whoever gets a [`LdapFault::Server`] from it throws it away.
pub(super) struct LdapConnection {
    ldap: Ldap,
    /// How much the server may still send.
    budget: Arc<AtomicUsize>,
    /// They end with it.
    _tasks: JoinSet<()>,
}

impl LdapConnector {
    /// Reads the certificates that servers are held to.
    ///
    /// # Errors
    /// The file cannot be read or holds none.
    pub(super) fn new(settings: &LdapSettings) -> Result<LdapConnector, IdentityError> {
        let mut roots = RootCertStore::empty();
        let failed = |message: String| IdentityError::new(message).of("`ca_file`");
        match &settings.ca_file {
            Some(path) => {
                let certificates = CertificateDer::pem_file_iter(path);
                let certificates =
                    certificates.map_err(|error| failed(format!("{}: {error}", path.display())))?;
                for certificate in certificates {
                    let certificate =
                        certificate.map_err(|error| failed(format!("{}: {error}", path.display())))?;
                    roots.add(certificate).map_err(|error| failed(format!("{}: {error}", path.display())))?;
                }
                if roots.is_empty() {
                    return Err(failed(format!("{} holds no certificate", path.display())));
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| IdentityError::new(error.to_string()))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(LdapConnector {
            tls: TlsConnector::from(Arc::new(config)),
            connect_within: settings.connect_within,
            answer_within: settings.answer_within,
            too_long: Arc::default(),
        })
    }

    pub(super) async fn connect(&self, address: &LdapAddress) -> Result<LdapConnection, LdapFault> {
        let opened = timeout(self.connect_within, self.open(address)).await;
        let connection = match opened {
            Ok(opened) => opened,
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut)),
        };
        connection.map_err(|error| LdapFault::Server(format!("cannot connect to {address}: {error}")))
    }

    async fn open(&self, address: &LdapAddress) -> io::Result<LdapConnection> {
        let mut stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
        stream.set_nodelay(true)?;
        if address.security == TlsStart::StartTls {
            start_tls(&mut stream).await?;
        }
        let stream: Box<dyn LdapStream> = match address.security {
            TlsStart::DangerPlainText => Box::new(stream),
            TlsStart::Tls | TlsStart::StartTls => {
                let name = ServerName::try_from(address.host.clone()).map_err(io::Error::other)?;
                Box::new(self.tls.connect(name, stream).await?)
            }
        };
        LdapConnection::over(stream, Arc::clone(&self.too_long)).await
    }

    /// Puts a question, in the time that an answer may take.
    pub(super) async fn ask(
        &self,
        connection: &mut LdapConnection,
        question: &LdapOperation,
    ) -> Result<LdapReply, LdapFault> {
        connection.budget.store(ANSWER_BYTES_MAX, Ordering::Relaxed);
        let answer = async {
            match question {
                LdapOperation::Search { base, scope, filter, attributes, entries_max } => {
                    search(&mut connection.ldap, (base, *scope, filter), attributes, *entries_max).await
                }
                LdapOperation::Bind { dn, password } => bind(&mut connection.ldap, dn, password).await,
                LdapOperation::ChangePassword { dn, old, new } => {
                    change_password(&mut connection.ldap, dn, old, new).await
                }
            }
        };
        match timeout(self.answer_within, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(LdapFault::Server("the server does not answer in time".to_owned())),
        }
    }
}

impl LdapConnection {
    async fn over(stream: Box<dyn LdapStream>, too_long: Arc<Seldom>) -> io::Result<LdapConnection> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ours = UnixStream::from_std(ours)?;
        let budget = Arc::new(AtomicUsize::new(ANSWER_BYTES_MAX));
        let mut tasks = JoinSet::new();
        tasks.spawn(carry(stream, ours, Arc::clone(&budget), too_long));
        let settings = LdapConnSettings::new().set_std_stream(StdStream::Unix(theirs));
        // The path is not looked at: there is a socket already.
        let (driver, ldap) =
            LdapConnAsync::with_settings(settings, "ldapi://carried").await.map_err(io::Error::other)?;
        tasks.spawn(async move {
            if let Err(error) = driver.drive().await {
                tracing::debug!("a connection to a directory ended: {error}");
            }
        });
        Ok(LdapConnection { ldap, budget, _tasks: tasks })
    }

    pub(super) fn is_closed(&mut self) -> bool {
        self.ldap.is_closed()
    }
}

/// Carries bytes both ways until one side ends or the server says too much.
async fn carry(
    server: Box<dyn LdapStream>,
    ours: UnixStream,
    budget: Arc<AtomicUsize>,
    too_long: Arc<Seldom>,
) {
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (mut from_us, mut to_us) = ours.into_split();
    let there = async { tokio::io::copy(&mut from_us, &mut to_server).await.map(|_| ()) };
    let back = async {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let count = from_server.read(&mut buffer).await?;
            let left = budget.load(Ordering::Relaxed);
            if count == 0 || count > left {
                if count > left && too_long.is_due() {
                    tracing::warn!(
                        "a directory sends more than {ANSWER_BYTES_MAX} bytes for one answer: hung up"
                    );
                }
                return io::Result::Ok(());
            }
            budget.fetch_sub(count, Ordering::Relaxed);
            to_us.write_all(buffer.get(..count).unwrap_or_default()).await?;
        }
    };
    tokio::select! {
        _ = there => {}
        _ = back => {}
    }
}

/// Asks whether TLS may begin (RFC 4511, 4.14). Reads not a byte more than the answer: whatever an attacker adds to it in plain
/// text then meets TLS, which does not understand it.
async fn start_tls(stream: &mut TcpStream) -> io::Result<()> {
    /// Message 1, an extended request, named by an object identifier.
    const QUESTION: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
    stream.write_all(QUESTION).await?;
    let wrong = || io::Error::other("the server does not begin TLS when asked to (StartTLS)");
    if stream.read_u8().await? != 0x30 {
        return Err(wrong());
    }
    let length = match stream.read_u8().await? {
        short @ 0..=0x7f => usize::from(short),
        0x81 => usize::from(stream.read_u8().await?),
        0x82 => usize::from(stream.read_u16().await?),
        // Active Directory writes all lengths with four bytes.
        0x84 => usize::try_from(stream.read_u32().await?).unwrap_or(usize::MAX),
        _ => return Err(wrong()),
    };
    if length > 4096 {
        return Err(wrong());
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).await?;
    if is_success(&answer) { Ok(()) } else { Err(wrong()) }
}

/// Message 1, an extended response, its result 0.
fn is_success(answer: &[u8]) -> bool {
    let Some(rest) = answer.strip_prefix(b"\x02\x01\x01\x78") else { return false };
    let rest = match rest.split_first() {
        Some((0..=0x7f, rest)) => Some(rest),
        Some((0x81, rest)) => rest.get(1..),
        Some((0x82, rest)) => rest.get(2..),
        Some((0x84, rest)) => rest.get(4..),
        Some(_) | None => None,
    };
    rest.is_some_and(|rest| rest.starts_with(b"\x0a\x01\x00"))
}

async fn search(
    ldap: &mut Ldap,
    (base, scope, filter): (&str, Scope, &str),
    attributes: &[String],
    entries_max: usize,
) -> Result<LdapReply, LdapFault> {
    let size = i32::try_from(entries_max + 1).unwrap_or(i32::MAX);
    ldap.with_search_options(SearchOptions::new().sizelimit(size));
    let mut found = ldap.streaming_search(base, scope, filter, attributes).await.map_err(broken)?;
    let (mut entries, mut referrals, mut are_all) = (Vec::new(), Vec::new(), true);
    while let Some(entry) = found.next().await.map_err(broken)? {
        if entry.is_ref() {
            referrals.extend(ldap3::parse_refs(entry.0));
        } else if entries.len() >= entries_max {
            are_all = false;
        } else if !entry.is_intermediate() {
            entries.push(SearchEntry::construct(entry));
        }
    }
    let result = found.finish().await;
    match result.rc {
        0 => {}
        4 => are_all = false,
        10 => referrals.extend(result.refs),
        32 => return Err(LdapFault::Settings(format!("there is no entry `{base}` to search below"))),
        _ => return Err(fault(&result)),
    }
    Ok(LdapReply::Found { entries, are_all, referrals })
}

async fn bind(ldap: &mut Ldap, dn: &str, password: &str) -> Result<LdapReply, LdapFault> {
    // Not critical: a server that does not know it answers as usual.
    let asked = RawControl { ctype: policy::CONTROL.to_owned(), crit: false, val: None };
    let result = ldap.with_controls(asked).simple_bind(dn, password).await.map_err(broken)?;
    let policy = policy_of(&result);
    let says = |codes: &[&str]| codes.iter().any(|why| result.text.contains(why));
    match result.rc {
        0 => Ok(LdapReply::Bound(policy)),
        10 => Ok(LdapReply::Elsewhere(result.refs)),
        // Servers say so to whoever has the password, and to nobody else.
        49 if policy.error == Some(PolicyError::Expired) => Ok(LdapReply::PasswordOver),
        // Active Directory says in words why: expired, to be changed.
        49 if says(&["data 532", "data 773"]) => Ok(LdapReply::PasswordOver),
        // Disabled, expired, locked.
        49 if says(&["data 533", "data 701", "data 775"]) => Ok(LdapReply::NotAllowed),
        // 32: it was there a moment ago. 48: it has no password.
        32 | 48 | 49 => Ok(LdapReply::WrongPassword),
        // 19: a policy for passwords. 50: not by this way. 53: the server will not, for this entry.
        19 | 50 | 53 => Ok(LdapReply::NotAllowed),
        _ => Err(fault(&result)),
    }
}

fn policy_of(result: &LdapResult) -> PasswordPolicy {
    let of_policy = |control: &&Control| control.1.ctype == policy::CONTROL;
    let value = result.ctrls.iter().find(of_policy).and_then(|control| control.1.val.as_deref());
    value.map(PasswordPolicy::read).unwrap_or_default()
}

/// As the user, who must be let in for it: of a password that must be changed, directories let them do this and nothing else.
async fn change_password(ldap: &mut Ldap, dn: &str, old: &str, new: &str) -> Result<LdapReply, LdapFault> {
    match bind(ldap, dn, old).await? {
        LdapReply::Bound(_) => {}
        other @ (LdapReply::Found { .. }
        | LdapReply::Changed(_)
        | LdapReply::WrongPassword
        | LdapReply::PasswordOver
        | LdapReply::NotAllowed
        | LdapReply::Elsewhere(_)) => return Ok(other),
    }
    let asked = RawControl { ctype: policy::CONTROL.to_owned(), crit: false, val: None };
    // Whose it is, is who is bound.
    let change = PasswordModify { user_id: None, old_pass: Some(old), new_pass: Some(new) };
    let ExopResult(_, result) = ldap.with_controls(asked).extended(change).await.map_err(broken)?;
    if result.rc == 0 {
        return Ok(LdapReply::Changed(Ok(())));
    }
    match policy::rejection(result.rc, policy_of(&result)) {
        Some(why) => Ok(LdapReply::Changed(Err(why))),
        None => Err(fault(&result)),
    }
}

fn broken(error: ldap3::LdapError) -> LdapFault {
    LdapFault::Server(error.to_string())
}

/// A result that is no answer. 1: operations error, of Active Directory for a search without a name. 3, 11: limits. 51, 52, 80: busy,
/// unavailable, other.
fn fault(result: &LdapResult) -> LdapFault {
    let text: String = result.text.chars().filter(|c| !c.is_control()).take(TEXT_LENGTH_MAX).collect();
    let message = format!("the directory answers with result {}: {text}", result.rc);
    match result.rc {
        3 | 11 | 51 | 52 | 80 => LdapFault::Server(message),
        8 | 13 => LdapFault::Settings(format!("{message}; it wants TLS")),
        1 | 50 => LdapFault::Settings(format!("{message}; set `search_as`")),
        _ => LdapFault::Settings(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_begins_tls() {
        assert!(is_success(b"\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00"));
        assert!(is_success(b"\x02\x01\x01\x78\x84\x00\x00\x00\x07\x0a\x01\x00\x04\x00\x04\x00"));
        for no in [
            &b"\x02\x01\x01\x78\x07\x0a\x01\x02\x04\x00\x04\x00"[..],
            b"\x02\x01\x02\x78\x07\x0a\x01\x00\x04\x00\x04\x00",
            b"\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00",
            b"\x02\x01\x01\x78",
            b"",
        ] {
            assert!(!is_success(no), "{no:x?}");
        }
    }
}
