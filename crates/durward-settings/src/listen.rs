//! `[[listen]]`: further addresses to listen on, and what is answered there.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{ConfigError, TlsSettings};

/// What a listener can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListenSurface {
    /// Decisions of XACML, SAPL and AuthZEN, and the home document.
    Decisions,
    /// Logins and sessions, OpenAM's calls, tokens of OAuth.
    Login,
    /// `/v1/admin/...`.
    Administration,
    /// `/metrics`.
    Metrics,
    /// `/health/...`.
    Health,
}

impl ListenSurface {
    /// All of them.
    pub(super) const ALL: [ListenSurface; 5] = [
        ListenSurface::Decisions,
        ListenSurface::Login,
        ListenSurface::Administration,
        ListenSurface::Metrics,
        ListenSurface::Health,
    ];

    /// As settings write it.
    pub fn as_str(self) -> &'static str {
        match self {
            ListenSurface::Decisions => "decisions",
            ListenSurface::Login => "login",
            ListenSurface::Administration => "administration",
            ListenSurface::Metrics => "metrics",
            ListenSurface::Health => "health",
        }
    }
}

/// One further address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenSettings {
    /// The address and port; port 0 takes a free one.
    pub address: SocketAddr,
    /// What is answered there.
    pub surfaces: Vec<ListenSurface>,
    /// The certificate to show. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSettings>,
}

/// What one listener carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceSet(u8);

impl SurfaceSet {
    /// The set of those that are listed.
    pub fn of(surfaces: &[ListenSurface]) -> SurfaceSet {
        SurfaceSet(surfaces.iter().fold(0, |set, surface| set | (1 << *surface as u8)))
    }

    /// Whether one is in the set.
    #[inline]
    pub fn has(self, surface: ListenSurface) -> bool {
        (self.0 & (1 << surface as u8)) != 0
    }
}

impl ListenSettings {
    /// `before` are the addresses that are listened on besides.
    pub(super) fn check(&self, before: &[SocketAddr]) -> Result<(), ConfigError> {
        if self.address.port() != 0 && before.contains(&self.address) {
            let message = format!("has {}, where another listener is already", self.address);
            return Err(ConfigError::of_setting("listen.address", message));
        }
        check_surfaces("listen.surfaces", &self.surfaces)
    }

    /// Whether decisions are to be had there from other machines.
    pub(super) fn brings_others_to_decisions(&self) -> bool {
        !self.address.ip().is_loopback() && self.surfaces.contains(&ListenSurface::Decisions)
    }

    pub(super) fn weaknesses(&self) -> Option<String> {
        if self.address.ip().is_loopback() || self.tls.is_some() {
            return None;
        }
        Some(format!(
            "`[[listen]]` is {} without TLS: what is asked and answered can be read and changed on the way; set `listen.tls`, or \
             put a proxy with TLS in front",
            self.address
        ))
    }
}

/// A listener that carries nothing would answer nobody.
pub(super) fn check_surfaces(setting: &str, surfaces: &[ListenSurface]) -> Result<(), ConfigError> {
    if surfaces.is_empty() {
        return Err(ConfigError::of_setting(setting, "is empty: nothing would be answered there".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    #[test]
    fn a_set_has_what_it_was_made_of() {
        for chosen in ListenSurface::ALL {
            let set = SurfaceSet::of(&[chosen]);
            assert!(ListenSurface::ALL.iter().all(|surface| set.has(*surface) == (*surface == chosen)));
        }
        assert!(ListenSurface::ALL.iter().all(|surface| SurfaceSet::of(&ListenSurface::ALL).has(*surface)));
    }

    #[test]
    fn listeners_that_make_no_sense_are_refused() {
        let wrong = |text: &str| Settings::from_toml(text, "t").unwrap_err().to_string();
        let one = |address: &str| format!("[[listen]]\naddress = '{address}'\nsurfaces = ['health']\n");
        assert!(Settings::from_toml(&(one("127.0.0.1:0") + &one("127.0.0.1:0")), "t").is_ok());
        assert!(wrong(&one("127.0.0.1:8080")).contains("where another listener is already"));
        assert!(wrong(&(one("127.0.0.1:1") + &one("127.0.0.1:1"))).contains("another listener"));
        assert!(wrong("[[listen]]\naddress = '127.0.0.1:1'\nsurfaces = []").contains("is empty"));
        assert!(wrong("[[listen]]\naddress = '127.0.0.1:1'\nsurfaces = ['helth']").contains("`health`"));
        assert!(wrong("[[listen]]\naddress = '127.0.0.1:1'").contains("`surfaces` is missing"));
        assert!(wrong("server.surfaces = []").contains("`server.surfaces` is empty"));
    }

    #[test]
    fn sapl_is_open_by_default_only_where_no_listener_brings_others() {
        let read = |text: &str| Settings::from_toml(text, "t").unwrap();
        let beyond = |surface: &str| {
            read(&format!("[[listen]]\naddress = '0.0.0.0:1'\nsurfaces = ['{surface}']")).answers_sapl()
        };
        assert!(read("").answers_sapl() && beyond("metrics") && !beyond("decisions"));
    }
}
