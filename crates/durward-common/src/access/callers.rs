//! Programs that ask about users of their own, such as an API server or a broker: which of them are believed. By credentials of `[auth]`, by
//! a certificate that their listener verified, or by the address that they connect from, where settings say so; nobody else, also where
//! `[auth]` asks for nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use durward_settings::{CallerSettings, Network};
use hyper::header::{HeaderMap, HeaderName};
use smol_str::SmolStr;

use super::auth::{Authenticator, Denied, Identity, Presented};

/// Fields by which proxies say for whom they ask. Brokers and API servers send none of them.
const OF_PROXIES: [HeaderName; 4] = [
    HeaderName::from_static("forwarded"),
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("via"),
];

/// Which programs are believed.
pub struct KnownCallers {
    authenticator: Arc<Authenticator>,
    from: Vec<Network>,
    takes_certificates: bool,
    tenant: SmolStr,
    /// What those are called in logs who bring no credentials.
    name: &'static str,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Who calls; without a port where a proxy said it.
    pub client: SocketAddr,
    /// Whether the listener verified a certificate of whoever connected.
    pub has_certificate: bool,
}

/// Why somebody may not ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKnown {
    /// Credentials are wrong, or there are none and nothing else to believe.
    Refused,
    /// Too many credentials are being verified.
    Busy,
}

impl KnownCallers {
    /// `settings` say who is believed; `name` is what logs call those without credentials.
    pub fn new(
        settings: &CallerSettings,
        default_tenant: &str,
        name: &'static str,
        authenticator: &Arc<Authenticator>,
    ) -> KnownCallers {
        KnownCallers {
            authenticator: Arc::clone(authenticator),
            from: settings.from.clone(),
            takes_certificates: settings.client_certificates,
            tenant: settings.tenant.as_deref().unwrap_or(default_tenant).into(),
            name,
        }
    }

    /// How callers may authenticate, as `WWW-Authenticate` says it.
    pub fn ways(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.authenticator.ways()
    }

    /// Who asks. Credentials count where there are some: wrong ones are not made good by an address.
    ///
    /// # Errors
    /// Whoever may not ask.
    pub async fn identify(
        &self,
        origin: Origin,
        presented: Presented,
        headers: &HeaderMap,
    ) -> Result<Identity, NotKnown> {
        if matches!(presented, Presented::Nothing) {
            return if self.believes(origin, headers) { Ok(self.believed()) } else { Err(NotKnown::Refused) };
        }
        match self.authenticator.verify(presented).await {
            Ok(identity) if identity.is_authenticated() => Ok(identity),
            Ok(_) | Err(Denied::Wrong) => Err(NotKnown::Refused),
            Err(Denied::Busy) => Err(NotKnown::Busy),
        }
    }

    fn believes(&self, origin: Origin, headers: &HeaderMap) -> bool {
        // Behind a proxy that `server.trusted_proxies` does not name, everybody has the proxy's address and certificate.
        let is_said_by_proxy = origin.client.port() == 0;
        if !is_said_by_proxy && OF_PROXIES.iter().any(|name| headers.contains_key(name)) {
            return false;
        }
        let has_certificate = self.takes_certificates && origin.has_certificate && !is_said_by_proxy;
        has_certificate || self.from.iter().any(|network| network.contains(origin.client.ip()))
    }

    /// Whoever is believed without credentials.
    fn believed(&self) -> Identity {
        Identity::of_program(self.tenant.clone(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use hyper::header::HeaderValue;

    use super::*;
    use crate::base::Clock;
    use crate::base::metrics::Metrics;
    use durward_settings::Settings;

    fn callers(settings: &str) -> KnownCallers {
        let settings = Settings::from_toml(settings, "t").unwrap();
        let clock: Clock = Arc::new(|| SystemTime::UNIX_EPOCH);
        let metrics = Arc::new(Metrics::new(Vec::new()));
        let authenticator = Arc::new(Authenticator::new(&settings.callers(), &metrics, &clock).unwrap());
        KnownCallers::new(&settings.kubernetes.callers, "default", "kubernetes", &authenticator)
    }

    fn asks(callers: &KnownCallers, client: &str, has_certificate: bool, header: Option<HeaderName>) -> bool {
        let mut headers = HeaderMap::new();
        if let Some(name) = header {
            headers.insert(name, HeaderValue::from_static("203.0.113.9"));
        }
        let origin = Origin { client: client.parse().unwrap(), has_certificate };
        callers.believes(origin, &headers)
    }

    #[test]
    fn by_default_nobody_is_believed_without_credentials() {
        let none = callers("auth.danger_allow_no_auth = true");
        assert!(!asks(&none, "127.0.0.1:4711", false, None) && !asks(&none, "127.0.0.1:4711", true, None));
    }

    #[test]
    fn an_address_or_a_certificate_is_believed_and_no_proxy_in_between() {
        let here = callers("kubernetes.callers = { from = ['127.0.0.0/8'], client_certificates = true }");
        assert!(asks(&here, "127.0.0.1:4711", false, None));
        assert!(asks(&here, "[::ffff:127.0.0.1]:4711", false, None));
        assert!(!asks(&here, "10.0.0.1:4711", false, None));
        assert!(asks(&here, "10.0.0.1:4711", true, None));
        for name in OF_PROXIES {
            assert!(!asks(&here, "127.0.0.1:4711", true, Some(name.clone())), "{name}");
        }
        // A proxy that is trusted says who it is; the certificate is the proxy's.
        assert!(asks(&here, "127.0.0.1:0", false, Some(OF_PROXIES[1].clone())));
        assert!(!asks(&here, "10.0.0.1:0", true, Some(OF_PROXIES[1].clone())));
    }
}
