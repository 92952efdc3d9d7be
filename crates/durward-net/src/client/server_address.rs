//! Where a server is.

use std::fmt;
use std::path::PathBuf;

use hyper::Uri;

use super::{ClientError, Credentials, Security, Settings};
use crate::connect::{Endpoint, is_this_machine};

/// Where a server is, and which protocol it speaks.
#[derive(Clone, Debug)]
pub enum ServerAddress {
    /// SAPL's decisions over HTTP.
    Http(Base),
    /// SAPL's decisions over RSocket.
    Rsocket(RsocketAddress),
}

/// The address that `/api/pdp/...` lies below.
#[derive(Clone, Debug)]
pub struct Base {
    pub(super) uri: Uri,
    host: String,
}

/// Where a server speaks RSocket.
#[derive(Clone, Debug)]
pub struct RsocketAddress(pub(super) Where);

#[derive(Clone)]
pub(super) enum Where {
    Tcp(Endpoint),
    Unix(PathBuf),
}

/// Why a text names no server. The text is not repeated: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerAddressError(&'static str);

impl fmt::Display for ServerAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ServerAddressError {}

impl fmt::Debug for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Where::Tcp(endpoint) => endpoint.fmt(f),
            Where::Unix(path) => path.display().fmt(f),
        }
    }
}

impl ServerAddress {
    /// A server at an address such as `https://pdp.example.org` or `http://127.0.0.1:8080/prefix`.
    ///
    /// # Errors
    /// A text that is no such address. It is not repeated: it may hold a password.
    pub fn http(url: &str) -> Result<ServerAddress, ServerAddressError> {
        let uri: Uri = url.parse().map_err(|_| ServerAddressError("the address cannot be read"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(ServerAddressError("the address begins with neither `http://` nor `https://`"));
        }
        let authority = uri.authority().ok_or(ServerAddressError("the address has no host"))?;
        if authority.as_str().contains('@') {
            return Err(ServerAddressError("the address holds a user; name credentials apart from it"));
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(ServerAddressError(
                "the address has a query or a fragment; only a path can lead to a server",
            ));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(ServerAddressError("the address has no host"));
        }
        Ok(ServerAddress::Http(Base { uri, host }))
    }

    /// A server at `host:port`, with or without TLS, or at a path of the file system, which holds a `/`.
    ///
    /// # Errors
    /// A text that is neither; TLS over a path.
    pub fn rsocket(text: &str, is_encrypted: bool) -> Result<ServerAddress, ServerAddressError> {
        if text.contains('/') {
            if is_encrypted {
                return Err(ServerAddressError("a Unix socket has no TLS"));
            }
            return Ok(ServerAddress::Rsocket(RsocketAddress(Where::Unix(text.into()))));
        }
        let (host, port) =
            text.rsplit_once(':').ok_or(ServerAddressError("neither `host:port` nor a path with a `/`"))?;
        let port =
            port.parse().ok().filter(|port| *port > 0).ok_or(ServerAddressError("the port is none"))?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() || (bare.contains(':') && bare == host) {
            return Err(ServerAddressError("neither `host:port` nor a path with a `/`"));
        }
        let endpoint = Endpoint { is_encrypted, host: bare.to_owned(), port };
        Ok(ServerAddress::Rsocket(RsocketAddress(Where::Tcp(endpoint))))
    }

    /// # Errors
    /// Credentials that would go over the network in the clear, or cannot be written.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), ClientError> {
        let failed = |message: &str| Err(ClientError::Settings(message.to_owned()));
        match &settings.credentials {
            Credentials::None => return Ok(()),
            Credentials::Bearer(token)
                if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                return failed("the token is empty, or holds blanks or other characters that no token has");
            }
            Credentials::Basic { user, .. } if user.contains(':') || user.is_empty() => {
                return failed("the user name is empty or holds a colon");
            }
            Credentials::Bearer(_) | Credentials::Basic { .. } => {}
        }
        if self.keeps_secrets() || settings.security == Security::DangerInsecure {
            return Ok(());
        }
        failed("these credentials would be sent unencrypted, for everybody on the way to read")
    }

    /// Whether nobody on the way can read along.
    fn keeps_secrets(&self) -> bool {
        match self {
            ServerAddress::Http(base) => {
                base.uri.scheme_str() == Some("https") || is_this_machine(&base.host)
            }
            ServerAddress::Rsocket(RsocketAddress(Where::Tcp(endpoint))) => {
                endpoint.is_encrypted || is_this_machine(&endpoint.host)
            }
            ServerAddress::Rsocket(RsocketAddress(Where::Unix(_))) => true,
        }
    }
}

impl Base {
    /// The address of one of SAPL's routes.
    ///
    /// # Errors
    /// None for an address that could be read.
    pub(super) fn route(&self, route: &str) -> Result<Uri, ClientError> {
        let base = self.uri.to_string();
        let text = format!("{}/api/pdp/{route}", base.trim_end_matches('/'));
        text.parse().map_err(|_| ClientError::Settings("the address cannot be read".into()))
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.uri.to_string().trim_end_matches('/'))
    }
}
