//! Every route there is: the list the router looks in, and the one `docs/routes.md` is compared with.

mod callers;
mod decisions;
mod doors;
mod identity;
mod provisioning;
mod tokens;
mod who;

use std::collections::HashMap;
use std::sync::LazyLock;

use durward_logins::surfaces::oidc;
use durward_logins::surfaces::scim;
use durward_settings::{ListenSurface, Settings};
use foldhash::fast::FixedState;

use crate::surfaces::authzen;
use crate::surfaces::brokers;
use crate::surfaces::doors::{Door, ENVOY_HTTP};
use crate::surfaces::health::grpc::GrpcAsk;
use crate::surfaces::sapl::Ask;
use crate::surfaces::xacml::dialect::Dialect;
use durward_logins::surfaces::oauth;
use durward_logins::surfaces::v1::Act;

/// One path and what may be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path, exactly.
    pub path: &'static str,
    /// The methods it takes, as `Allow` lists them.
    pub methods: &'static [&'static str],
    /// Who may call it.
    pub who: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    pub(crate) endpoint: Endpoint,
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Home,
    Pdp(Dialect),
    Wso2Home,
    Live,
    Ready,
    Metrics,
    Sapl(Ask),
    Authzen(authzen::Ask),
    Brokers(brokers::Ask),
    Kubernetes,
    Door(Door),
    /// Envoy's check over gRPC.
    EnvoyCheck,
    GrpcHealth(GrpcAsk),
    Explain,
    Identity(Act),
    Oauth(oauth::Ask),
    Oidc(oidc::Ask),
    Scim(scim::Ask),
}

impl Endpoint {
    /// What a listener carries where this is to be had.
    pub(super) fn surface(self) -> ListenSurface {
        match self {
            Endpoint::Home
            | Endpoint::Pdp(_)
            | Endpoint::Wso2Home
            | Endpoint::Sapl(_)
            | Endpoint::Explain
            | Endpoint::Authzen(_)
            | Endpoint::Door(_)
            | Endpoint::Brokers(_)
            | Endpoint::Kubernetes
            | Endpoint::EnvoyCheck
            | Endpoint::GrpcHealth(_) => ListenSurface::Decisions,
            Endpoint::Live | Endpoint::Ready => ListenSurface::Health,
            Endpoint::Metrics => ListenSurface::Metrics,
            Endpoint::Identity(
                Act::AdminSessions
                | Act::AdminRevoke
                | Act::AdminForgive
                | Act::AdminRotate
                | Act::AdminPasskeys
                | Act::AdminPasskeysRemove
                | Act::AdminSecondStep
                | Act::AdminSecondStepRemove
                | Act::Users
                | Act::User
                | Act::UserReset,
            )
            | Endpoint::Scim(_) => ListenSurface::Administration,
            Endpoint::Identity(_) | Endpoint::Oauth(_) | Endpoint::Oidc(_) => ListenSurface::Login,
        }
    }
}

/// What stands for the domain in the paths of AuthzForce.
const DOMAIN: &str = "{domain}";

/// The routes of each kind, in the order in which they are looked through.
const KINDS: &[&[Route]] = &[
    decisions::FIRST,
    decisions::SAPL,
    decisions::AUTHZEN,
    doors::DOORS,
    identity::IDENTITY,
    tokens::OAUTH,
    decisions::XACML,
    callers::KUBERNETES,
    callers::BROKERS,
    provisioning::SCIM,
    decisions::AUTHZEN_TENANTS,
];

/// Every route. A path that is not here is answered with 404, a method that is not here with 405.
pub const ROUTES: &[Route] = &joined::<{ count(KINDS) }>(KINDS);

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when durward is compiled, where a place outside is an error"
)]
const fn count(kinds: &[&[Route]]) -> usize {
    let mut count = 0;
    let mut kind = 0;
    while kind < kinds.len() {
        count += kinds[kind].len();
        kind += 1;
    }
    count
}

/// The routes of all kinds in one array. It runs when durward is compiled.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when durward is compiled, where a place outside is an error"
)]
const fn joined<const COUNT: usize>(kinds: &[&[Route]]) -> [Route; COUNT] {
    let mut all = [kinds[0][0]; COUNT];
    let (mut number, mut kind) = (0, 0);
    while kind < kinds.len() {
        let mut place = 0;
        while place < kinds[kind].len() {
            all[number] = kinds[kind][place];
            number += 1;
            place += 1;
        }
        kind += 1;
    }
    all
}

/// What a request is counted under: its route, or what there is beside routes. A number, so that counting needs no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteName(usize);

impl RouteName {
    /// Names beside those of routes.
    const MORE: [&str; 3] = ["openam", "opa", "other"];

    /// One of the paths of OpenAM.
    pub(crate) const OPENAM: RouteName = RouteName(ROUTES.len());

    /// One of the paths of OPA.
    pub(crate) const OPA: RouteName = RouteName(ROUTES.len() + 1);

    /// Nothing that has a name.
    pub(crate) const OTHER: RouteName = RouteName(ROUTES.len() + 2);

    /// All names, each in the place of its number.
    pub(crate) fn all() -> Vec<&'static str> {
        ROUTES.iter().map(|route| route.path).chain(RouteName::MORE).collect()
    }

    /// What a listener carries where it is a route.
    pub(crate) fn surface(self) -> Option<ListenSurface> {
        ROUTES.get(self.0).map(|route| route.endpoint.surface())
    }

    /// The path of the route, or the name of what it is.
    pub(crate) fn as_str(self) -> &'static str {
        let more = self.0.checked_sub(ROUTES.len()).and_then(|number| RouteName::MORE.get(number));
        ROUTES.get(self.0).map_or_else(|| more.copied().unwrap_or_default(), |route| route.path)
    }

    /// From 0 on, below as many as there are of [`RouteName::all`].
    pub(crate) fn number(self) -> usize {
        self.0
    }
}

/// The route of a path, and what it is counted under.
pub(crate) fn find(path: &str, settings: &Settings) -> Option<(RouteName, &'static Route)> {
    let number = FIXED
        .get(path)
        .copied()
        .or_else(|| ROUTES.iter().position(|route| !route.is_fixed() && route.is_at(path, settings)))?;
    let route = ROUTES.get(number)?;
    route.is_on(settings).then_some((RouteName(number), route))
}

/// The route of a path that is compared as it is, whether the settings let it be there or not.
pub(crate) fn fixed(path: &str) -> Option<(RouteName, &'static Route)> {
    let number = FIXED.get(path).copied()?;
    Some((RouteName(number), ROUTES.get(number)?))
}

/// The numbers of routes whose paths are compared as they are: one look, in the place of a comparison with each of a hundred.
static FIXED: LazyLock<HashMap<&str, usize, FixedState>> = LazyLock::new(|| {
    let fixed = ROUTES.iter().enumerate().filter(|(_, route)| route.is_fixed());
    fixed.map(|(number, route)| (route.path, number)).collect()
});

/// The setting that opens a path of the table where the settings do not let it be there; `None` where there is no such path, or
/// nothing to set.
pub(crate) fn opened_by(path: &str, settings: &Settings) -> Option<&'static str> {
    let is_openam = |path: &str| {
        path.strip_prefix(settings.openam.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    if !settings.openam.on && is_openam(path) {
        return Some("`openam.on`");
    }
    if !settings.opa.on && ["/v1/data/", "/v0/data/"].iter().any(|data| path.contains(data)) {
        return Some("`opa.on`");
    }
    let route = ROUTES.iter().find(|route| route.has_form_of(path))?;
    match route.endpoint {
        Endpoint::Sapl(Ask::Plan) => Some("`plan.columns`, together with `sapl.http` and `[auth]`,"),
        Endpoint::Sapl(_) => Some("`sapl.http`, together with `[auth]`,"),
        Endpoint::Authzen(_) => Some("`authzen.on`, together with `[auth]`,"),
        Endpoint::Brokers(ask) => {
            Some(if ask.is_of_emqx() { "`brokers.emqx`" } else { "`brokers.rabbitmq`" })
        }
        Endpoint::Kubernetes => Some("`kubernetes.on`"),
        Endpoint::Door(_) | Endpoint::EnvoyCheck | Endpoint::GrpcHealth(_) => Some("`doors.on`"),
        Endpoint::Explain => Some("`auth.explain`"),
        Endpoint::Identity(_) => Some("`identity.users` or `[[identity.ldap]]`"),
        Endpoint::Oauth(_) => Some("`oauth.issuer`"),
        Endpoint::Oidc(oidc::Ask::UpstreamCallback | oidc::Ask::UpstreamLogout) => {
            Some("`identity.upstreams`")
        }
        Endpoint::Oidc(_) => Some("`oauth.issuer`, together with `identity.users` or `[[identity.ldap]]`,"),
        Endpoint::Scim(_) => Some("`identity.scim.on`"),
        Endpoint::Pdp(Dialect::Wso2(_)) | Endpoint::Wso2Home => Some("`xacml.wso2_paths`"),
        // Which domain it is, is not for everybody to know.
        Endpoint::Pdp(Dialect::Authzforce) => {
            settings.xacml.authzforce_domain.is_none().then_some("`xacml.authzforce_domain`")
        }
        Endpoint::Home
        | Endpoint::Pdp(Dialect::Rest)
        | Endpoint::Live
        | Endpoint::Ready
        | Endpoint::Metrics => None,
    }
}

impl Route {
    /// Whether this is its path, with anything in the place of what stands in braces.
    fn has_form_of(&self, path: &str) -> bool {
        let parts =
            self.path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?.1)));
        let Some((before, behind)) = parts else { return self.path == path };
        let named = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        named.is_some_and(|named| !named.is_empty() && !named.contains('/'))
    }

    /// Whether it has one path, the same with all settings.
    fn is_fixed(&self) -> bool {
        !self.path.contains('{')
    }

    /// Whether this is its path.
    fn is_at(&self, path: &str, settings: &Settings) -> bool {
        // Behind this one is any path.
        if self.endpoint == Endpoint::Door(Door::EnvoyHttp) {
            return path.strip_prefix(ENVOY_HTTP).is_some_and(|rest| rest.starts_with('/'));
        }
        if self.endpoint != Endpoint::Pdp(Dialect::Authzforce) {
            return self.has_form_of(path);
        }
        let domain = settings.xacml.authzforce_domain.as_deref();
        domain.is_some_and(|domain| self.path.replace(DOMAIN, domain) == path)
    }

    /// Whether the settings let it be there.
    pub(crate) fn is_on(&self, settings: &Settings) -> bool {
        match self.endpoint {
            Endpoint::Sapl(Ask::Plan) => settings.answers_sapl() && !settings.plan.columns.is_empty(),
            Endpoint::Sapl(_) => settings.answers_sapl(),
            Endpoint::Authzen(_) => settings.answers_authzen(),
            Endpoint::Brokers(ask) if ask.is_of_emqx() => settings.brokers.emqx,
            Endpoint::Brokers(_) => settings.brokers.rabbitmq,
            Endpoint::Kubernetes => settings.kubernetes.on,
            Endpoint::Door(_) | Endpoint::EnvoyCheck | Endpoint::GrpcHealth(_) => settings.doors.on,
            Endpoint::Explain => settings.auth.explain,
            Endpoint::Identity(_) => settings.identity.is_on(),
            Endpoint::Oauth(_) => settings.oauth.is_on(),
            Endpoint::Oidc(oidc::Ask::UpstreamCallback | oidc::Ask::UpstreamLogout) => {
                !settings.identity.upstreams.is_empty()
            }
            Endpoint::Oidc(_) => settings.oauth.is_on() && settings.identity.is_on(),
            Endpoint::Scim(_) => settings.identity.scim.on,
            Endpoint::Pdp(Dialect::Wso2(_)) | Endpoint::Wso2Home => settings.xacml.wso2_paths,
            Endpoint::Pdp(Dialect::Authzforce) => settings.xacml.authzforce_domain.is_some(),
            Endpoint::Home
            | Endpoint::Pdp(Dialect::Rest)
            | Endpoint::Live
            | Endpoint::Ready
            | Endpoint::Metrics => true,
        }
    }

    /// Whether callers are told decisions there, or what decisions come to.
    pub fn decides(&self) -> bool {
        match self.endpoint {
            Endpoint::Pdp(_)
            | Endpoint::Sapl(_)
            | Endpoint::Explain
            | Endpoint::Brokers(_)
            | Endpoint::Kubernetes
            | Endpoint::Door(_)
            | Endpoint::EnvoyCheck => true,
            Endpoint::Authzen(ask) => ask != authzen::Ask::Metadata,
            Endpoint::Home
            | Endpoint::Wso2Home
            | Endpoint::Live
            | Endpoint::Ready
            | Endpoint::Metrics
            | Endpoint::Identity(_)
            | Endpoint::Oauth(_)
            | Endpoint::Oidc(_)
            | Endpoint::GrpcHealth(_)
            | Endpoint::Scim(_) => false,
        }
    }

    pub(crate) fn allows(&self, method: &str) -> bool {
        self.methods.contains(&method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those with one path are looked for first.
    #[test]
    fn no_fixed_path_is_one_of_another_route() {
        for route in ROUTES.iter().filter(|route| route.is_fixed()) {
            let others: Vec<&str> =
                ROUTES.iter().filter(|other| other.has_form_of(route.path)).map(|other| other.path).collect();
            assert_eq!(others, [route.path]);
        }
    }
}
