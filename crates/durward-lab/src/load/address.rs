//! Where a node is: host, port, and whether TLS is spoken there.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

use crate::run::RunError;
use crate::target::RSOCKET_PORT;

/// A node that requests go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetNode {
    /// As the scenario or the target says it.
    pub(crate) name: String,
    /// Host without brackets.
    pub(crate) host: String,
    /// What is written behind `Host:`.
    pub(crate) authority: String,
    /// Path before the paths of steps; empty or from `/` on, without a slash at the end.
    pub(crate) base: String,
    /// Whether TLS is spoken.
    pub(crate) is_tls: bool,
    /// Whether RSocket is spoken, not HTTP.
    pub(crate) is_rsocket: bool,
    /// Where connections go.
    pub(crate) address: SocketAddr,
}

impl TargetNode {
    /// Reads `http://host:port/base`, `https://host`, `rsocket://host:port`, `rsockets://host`, or `host:port`, and resolves the host.
    ///
    /// # Errors
    /// Text that is no address, and a host that cannot be resolved.
    pub(crate) fn resolve(text: &str) -> Result<TargetNode, RunError> {
        let wrong = |problem: String| RunError::Address { address: text.to_owned(), problem };
        let (is_rsocket, is_tls, rest) = match text.split_once("://") {
            None => (false, false, text),
            Some(("http", rest)) => (false, false, rest),
            Some(("https", rest)) => (false, true, rest),
            Some(("rsocket", rest)) => (true, false, rest),
            Some(("rsockets", rest)) => (true, true, rest),
            Some((scheme, _)) => {
                return Err(wrong(format!("`{scheme}` is neither http nor https, rsocket nor rsockets")));
            }
        };
        let (authority, base) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, port.parse().map_err(|_| wrong(format!("`{port}` is no port")))?)
            }
            _ => (
                authority,
                if is_rsocket {
                    RSOCKET_PORT
                } else if is_tls {
                    443
                } else {
                    80
                },
            ),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if is_rsocket && !base.trim_end_matches('/').is_empty() {
            return Err(wrong("has a path, which RSocket does not".to_owned()));
        }
        if host.is_empty() || host.contains(['@', ' ']) {
            return Err(wrong("has no host; write `http://host:port`".to_owned()));
        }
        let mut addresses =
            (host, port).to_socket_addrs().map_err(|error| wrong(format!("cannot be resolved: {error}")))?;
        let address = addresses.next().ok_or_else(|| wrong("resolves to no address".to_owned()))?;
        Ok(TargetNode {
            name: text.to_owned(),
            host: host.to_owned(),
            authority: authority.to_owned(),
            base: base.trim_end_matches('/').to_owned(),
            is_tls,
            is_rsocket,
            address,
        })
    }

    /// Whether it is this machine: a loopback address, or one of its own.
    pub(crate) fn is_local(&self) -> bool {
        let ip = self.address.ip();
        ip.is_loopback() || ip.is_unspecified() || is_own(ip)
    }
}

/// Whether a socket can be bound to it, which is so of a machine's own addresses only.
fn is_own(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let table = [
            ("http://127.0.0.1:80/a/", "127.0.0.1", "127.0.0.1:80", "/a", false, 80),
            ("https://localhost", "localhost", "localhost", "", true, 443),
            ("127.0.0.1:8080", "127.0.0.1", "127.0.0.1:8080", "", false, 8080),
            ("http://[::1]:81", "::1", "[::1]:81", "", false, 81),
        ];
        for (text, host, authority, base, is_tls, port) in table {
            let node = TargetNode::resolve(text).unwrap();
            assert_eq!(
                (node.host.as_str(), node.authority.as_str(), node.base.as_str()),
                (host, authority, base)
            );
            assert_eq!((node.is_tls, node.address.port(), node.is_local()), (is_tls, port, true), "{text}");
        }
    }

    #[test]
    fn addresses_of_rsocket_are_told_apart() {
        let node = TargetNode::resolve("rsocket://127.0.0.1").unwrap();
        assert!(node.is_rsocket && !node.is_tls && node.address.port() == 7000);
        let node = TargetNode::resolve("rsockets://127.0.0.1:7001/").unwrap();
        assert!(node.is_rsocket && node.is_tls && node.address.port() == 7001);
        assert!(!TargetNode::resolve("127.0.0.1:7000").unwrap().is_rsocket);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, said) in [
            ("ftp://a", "`ftp` is neither http nor https"),
            ("rsocket://a/path", "has a path"),
            ("http://", "has no host"),
            ("http://a:b", "`b` is no port"),
            ("http://no-such-host.invalid", "cannot be resolved"),
        ] {
            let error = TargetNode::resolve(text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn other_machines_are_not_this_one() {
        // TEST-NET-1 (RFC 5737) belongs to nobody; nothing is sent there.
        assert!(!TargetNode::resolve("http://192.0.2.1").unwrap().is_local());
    }
}
