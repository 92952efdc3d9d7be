//! Frames over TLS 1.3: a length of four bytes, then JSON.
//!
//! The agent's TLS key is made for the occasion and proves nothing. Who is at the other end is proven by the shared key, over
//! what only the two ends of this one TLS connection know (its exporter, RFC 8446, 7.5): somebody in the middle would have two
//! connections with two such values.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, PeerMisbehaved, ServerConfig,
    ServerConnection, SignatureScheme,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is spoken within TLS: others do not even get through the handshake.
const ALPN: &[u8] = b"durward-lab-agent";
/// The label of the exporter.
const EXPORTER: &[u8] = b"EXPORTER-durward-lab-agent";
/// The most bytes of a frame until the other side has proven to have the key.
const GREETING_BYTES_MAX: usize = 4 * 1024;
/// The most bytes of a frame after that: what was measured at one point, with all histograms.
pub(super) const FRAME_BYTES_MAX: usize = 64 << 20;
/// Whoever takes nothing for so long is given up.
const WRITE_TIME_MAX: Duration = Duration::from_secs(5);
/// The shortest wait that sockets know.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// Why a channel is of no use any more.
#[derive(Debug)]
pub(super) enum ChannelError {
    /// The other side closed it.
    Closed,
    /// The other side was too slow.
    Late,
    /// It sent a frame of so many bytes.
    TooLong(usize),
    /// It does not speak TLS as agents do.
    Tls(rustls::Error),
    /// It sent something that is no message.
    NoMessage(String),
    /// The system.
    Io(io::Error),
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelError::Closed => f.write_str("closed the connection"),
            ChannelError::Late => f.write_str("was too slow"),
            ChannelError::TooLong(bytes) => write!(f, "sent a message of {bytes} bytes, which is too long"),
            ChannelError::Tls(error) => write!(f, "does not speak as agents and leaders do ({error})"),
            ChannelError::NoMessage(problem) => write!(f, "sent what is no message: {problem}"),
            ChannelError::Io(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for ChannelError {
    fn from(error: io::Error) -> ChannelError {
        let kind = error.kind();
        if matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut) {
            ChannelError::Late
        } else if matches!(
            kind,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
        ) {
            ChannelError::Closed
        } else {
            ChannelError::Io(error)
        }
    }
}

/// One end of a connection. Calls block for no longer than they are told.
#[derive(Debug)]
pub(super) struct AgentChannel {
    tls: Connection,
    socket: TcpStream,
    /// What has come of the next frames.
    inbox: Vec<u8>,
    frame_bytes_max: usize,
}

/// How agents speak TLS: with a key that is made now.
///
/// # Errors
/// A system without random numbers.
pub(super) fn server_config() -> io::Result<Arc<ServerConfig>> {
    let random = ring::rand::SystemRandom::new();
    let wrong = |what: &'static str| move || io::Error::other(what);
    let key = ring::signature::Ed25519KeyPair::generate_pkcs8(&random)
        .map_err(|_| wrong("the system gives no random numbers")())?;
    let key = PrivatePkcs8KeyDer::from(key.as_ref().to_vec());
    let key = provider::sign::any_eddsa_type(&key).map_err(io::Error::other)?;
    let public = key.public_key().ok_or_else(wrong("a key has no public part"))?;
    let public = CertificateDer::from(public.as_ref().to_vec());
    let key = Arc::new(CertifiedKey::new(vec![public], key));
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    // Each connection proves the key anew.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn client_config() -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(provider::default_provider());
    let any = Arc::new(AnyKey(Arc::clone(&provider)));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(any)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

impl AgentChannel {
    /// Speaks to an agent.
    ///
    /// # Errors
    /// As of [`AgentChannel::accept`].
    pub(super) fn connect(socket: TcpStream, deadline: Instant) -> Result<AgentChannel, ChannelError> {
        let name = ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into());
        let config = client_config().map_err(ChannelError::Tls)?;
        let tls = ClientConnection::new(config, name).map_err(ChannelError::Tls)?;
        AgentChannel::begin(tls.into(), socket, deadline)
    }

    /// Speaks to a leader.
    ///
    /// # Errors
    /// Somebody who does not get through the handshake by the deadline.
    pub(super) fn accept(
        socket: TcpStream,
        config: Arc<ServerConfig>,
        deadline: Instant,
    ) -> Result<AgentChannel, ChannelError> {
        let tls = ServerConnection::new(config).map_err(ChannelError::Tls)?;
        AgentChannel::begin(tls.into(), socket, deadline)
    }

    fn begin(
        mut tls: Connection,
        socket: TcpStream,
        deadline: Instant,
    ) -> Result<AgentChannel, ChannelError> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(WRITE_TIME_MAX))?;
        // Frames are bounded here.
        tls.set_buffer_limit(None);
        let mut channel =
            AgentChannel { tls, socket, inbox: Vec::new(), frame_bytes_max: GREETING_BYTES_MAX };
        channel.flush()?;
        while channel.tls.is_handshaking() {
            let wait = deadline.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                return Err(ChannelError::Late);
            }
            let _ = channel.take(wait)?;
        }
        Ok(channel)
    }

    /// What only the two ends of this connection know.
    pub(super) fn binding(&self) -> Result<[u8; 32], ChannelError> {
        self.tls.export_keying_material([0; 32], EXPORTER, None).map_err(ChannelError::Tls)
    }

    /// The other side has proven to have the key: longer frames are allowed.
    pub(super) fn trust(&mut self) {
        self.frame_bytes_max = FRAME_BYTES_MAX;
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Somebody who is gone, or takes nothing for five seconds.
    pub(super) fn send(&mut self, message: &impl Serialize) -> Result<(), ChannelError> {
        let body = serde_json::to_vec(message).map_err(|error| ChannelError::NoMessage(error.to_string()))?;
        let length = u32::try_from(body.len()).map_err(|_| ChannelError::TooLong(body.len()))?;
        if body.len() > FRAME_BYTES_MAX {
            return Err(ChannelError::TooLong(body.len()));
        }
        let mut writer = self.tls.writer();
        writer.write_all(&length.to_be_bytes())?;
        writer.write_all(&body)?;
        self.flush()
    }

    /// Sends bytes as they are.
    #[cfg(test)]
    pub(super) fn send_raw(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.tls.writer().write_all(bytes)?;
        self.flush()
    }

    /// The next message; `None` where none has come whole within this time.
    ///
    /// # Errors
    /// Somebody who is gone, or sends what is no message.
    pub(super) fn receive<M: DeserializeOwned>(&mut self, time: Duration) -> Result<Option<M>, ChannelError> {
        let deadline = Instant::now() + time;
        loop {
            if let Some(body) = self.frame()? {
                let message = serde_json::from_slice(&body);
                // What was sent may be secret: the error tells its place, no more.
                return message
                    .map(Some)
                    .map_err(|error| ChannelError::NoMessage(format!("wrong at byte {}", error.column())));
            }
            let wait = deadline.saturating_duration_since(Instant::now());
            if wait.is_zero() || !self.take(wait)? {
                return Ok(None);
            }
        }
    }

    /// The next whole frame of what has come.
    fn frame(&mut self) -> Result<Option<Vec<u8>>, ChannelError> {
        let Some((length, rest)) = self.inbox.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > self.frame_bytes_max {
            return Err(ChannelError::TooLong(length));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let body = body.to_vec();
        self.inbox.drain(..length + 4);
        Ok(Some(body))
    }

    /// Reads once; whether anything came within this time.
    fn take(&mut self, wait: Duration) -> Result<bool, ChannelError> {
        self.socket.set_read_timeout(Some(wait.max(WAIT_MIN)))?;
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => return Err(ChannelError::Closed),
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        let processed = self.tls.process_new_packets();
        // Answers of the handshake, and alerts that say what is wrong.
        let flushed = self.flush();
        let state = processed.map_err(ChannelError::Tls)?;
        flushed?;
        let length = self.inbox.len();
        self.inbox.resize(length + state.plaintext_bytes_to_read(), 0);
        if let Some(room) = self.inbox.get_mut(length..) {
            self.tls.reader().read_exact(room)?;
        }
        if state.peer_has_closed() && self.inbox.is_empty() {
            return Err(ChannelError::Closed);
        }
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        while self.tls.wants_write() {
            let _ = self.tls.write_tls(&mut self.socket)?;
        }
        Ok(())
    }
}

/// Says good-bye, as far as the other side still listens.
impl Drop for AgentChannel {
    fn drop(&mut self) {
        self.tls.send_close_notify();
        let _ = self.flush();
    }
}

/// Takes any key: who the agent is, the shared key proves. That the handshake was signed by it is checked all the same.
#[derive(Debug)]
struct AnyKey(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyKey {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(key.as_ref()),
            signature,
            known,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
