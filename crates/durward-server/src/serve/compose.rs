//! All parts of a server, made of its settings and put together: the one place where what is shared is given to whoever uses it.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Instant;

use durward_common::access::auth::{Authenticator, Tokens};
use durward_common::access::issued::Issued;
use durward_common::access::rates::Rates;
use durward_common::access::subject::Subjects;
use durward_common::access::subject::fence::Fence;
use durward_common::base::Clock;
use durward_common::base::limits::{Memory, Places};
use durward_common::base::metrics::Metrics;
use durward_common::base::request_ids::RequestIds;
use durward_common::base::traces::Traces;
use durward_common::decider::DeciderSlot;
use durward_common::decision_log::{DecisionLog, Recorder};
use durward_common::entities::EntityStore;
use durward_common::policies::InForce;
use durward_common::question::{self, Asker};
use durward_common::surfaces::http::body::Bodies;
use durward_common::telemetry::Telemetry;
use durward_logins::surfaces::login_page::LoginPages;
use durward_logins::surfaces::{oauth, oidc, openam, scim, v1};
use durward_pdp::AttributeSource;
use durward_session::Service;
use durward_settings::{AttributeSettings, ConfigError, Guarded, JwtSettings, Settings};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;

use super::places::ConnectionPlaces;
use super::routes::RouteName;
use super::server::StartError;
use super::state::{HTTP2_REQUESTS_PER_CONNECTION, Http};
use crate::surfaces::{
    authzen, brokers, callers, doors, explain, health, kubernetes, opa, rsocket, sapl, xacml,
};
use durward_sources::{Announced, AttributeSources, Issuers, TokenIssuer};

/// A server's parts. Only what starts and ends a server holds them all.
pub(super) struct Parts {
    pub(super) settings: Arc<Settings>,
    pub(super) clock: Clock,
    pub(super) http: Arc<Http>,
    pub(super) rsocket: Arc<rsocket::Surface>,
    pub(super) policies: Arc<InForce>,
    /// Who verifies the callers of SAPL's protocols.
    pub(super) authenticator: Arc<Authenticator>,
    /// Whoever decides what SAPL's clients ask.
    pub(super) decider: DeciderSlot,
    /// Who shows tokens, where there are any.
    pub(super) subjects: Option<Subjects>,
    /// Who is asking, where there are users.
    pub(super) service: Option<Service>,
    /// What searches look among.
    pub(super) entities: Arc<EntityStore>,
    pub(super) decision_log: Option<Arc<DecisionLog>>,
    pub(super) telemetry: Option<Arc<Telemetry>>,
    pub(super) recorder: Recorder,
    /// Becomes true when the end was asked for.
    pub(super) stop: watch::Sender<bool>,
}

/// Who is told what is asked and decided.
pub(super) struct Observers {
    pub(super) traces: Arc<Traces>,
    pub(super) telemetry: Option<Arc<Telemetry>>,
    pub(super) decision_log: Option<Arc<DecisionLog>>,
}

impl Observers {
    /// # Errors
    /// A collector, or a log, that cannot be used.
    pub(super) fn open(settings: &Settings, metrics: &Arc<Metrics>) -> Result<Observers, StartError> {
        let traces = Arc::new(Traces::new(settings.otlp.sends_traces()));
        let telemetry = Telemetry::open(&settings.otlp, &traces, metrics)?;
        let decision_log = DecisionLog::open(&settings.decision_log, telemetry.as_ref(), metrics)
            .map_err(|error| StartError::DecisionLog(settings.decision_log.to.clone(), error))?;
        Ok(Observers { traces, telemetry, decision_log: decision_log.map(Arc::new) })
    }
}

impl Parts {
    /// # Errors
    /// Settings that name what cannot be used.
    pub(super) fn new(
        settings: Settings,
        clock: Clock,
        metrics: Arc<Metrics>,
        observers: Observers,
        service: Option<Service>,
    ) -> Result<Parts, ConfigError> {
        let settings = Arc::new(settings);
        let stop = watch::Sender::new(false);
        let memory = Memory::new(settings.server.body_memory_bytes_max);
        let bodies = Arc::new(Bodies::new(&settings.server, &memory, &metrics));
        let request_ids = Arc::new(RequestIds::new(clock()));
        let Observers { traces, telemetry, decision_log } = observers;
        let recorder = Recorder::new(decision_log.clone(), &clock);
        let authenticator = Arc::new(Authenticator::new(&settings.callers(), &metrics, &clock)?);
        let rates = Arc::new(Rates::new(&settings.auth, &metrics, Instant::now()));
        let issued = Issued::new(&settings, clock(), service.as_ref())?.map(Arc::new);
        let issuers = issuers(&settings)?;
        let sources =
            AttributeSources::start(&settings.attributes, &settings.sources, issuers, &clock)?.map(Arc::new);
        let subjects = Subjects::new(service.as_ref(), issued.as_ref(), &clock);
        let fence = Fence::new(&settings.identity, subjects.as_ref());
        let announced = sources
            .iter()
            .map(|sources| -> Arc<dyn AttributeSource> { Arc::new(Announced(Arc::clone(sources))) });
        let policies = Arc::new(InForce::new(&settings, &clock, &metrics, announced.collect())?);
        let decider: DeciderSlot = Arc::new(OnceLock::new());
        let pages = login_pages(&settings)?;
        let oidc = oidc::Surface::new(&settings, issued.as_ref(), &bodies, pages.clone(), &metrics, &clock)?;
        let entities = Arc::new(EntityStore::open(&settings, &metrics)?);
        let asker = Arc::new(Asker::new(
            &settings.authzen,
            &question::Parts {
                decider: &decider,
                policies: &policies,
                sources: sources.as_ref(),
                subjects: subjects.as_ref(),
                fence: &fence,
                rates: &rates,
                recorder: &recorder,
                metrics: &metrics,
            },
        ));
        let authzen = authzen::Surface::new(
            &settings,
            &authzen::Parts {
                authenticator: &authenticator,
                asker: &asker,
                rates: &rates,
                entities: &entities,
                service: service.as_ref(),
                issued: issued.as_ref(),
                bodies: &bodies,
                metrics: &metrics,
                clock: &clock,
            },
        );
        let callers = callers::Parts {
            authenticator: &authenticator,
            default_tenant: &settings.auth.default_tenant,
            bodies: &bodies,
            metrics: &metrics,
        };
        let brokers = brokers::Surface::new(
            &settings,
            &brokers::Parts {
                callers: &callers,
                asker: &asker,
                service: service.as_ref(),
                subjects: subjects.as_ref(),
                clock: &clock,
                #[cfg(feature = "nats")]
                traces: &traces,
            },
        );
        let oauth =
            issued.map(|issued| oauth::Surface::new(&issued, &bodies, &metrics, &clock)).transpose()?;
        let rsocket = rsocket::Surface::new(
            &settings,
            &rsocket::Parts {
                authenticator: &authenticator,
                rates: &rates,
                fence: &fence,
                decider: &decider,
                recorder: &recorder,
                memory: &memory,
                metrics: &metrics,
                request_ids: &request_ids,
                traces: &traces,
            },
        );
        let http = Http {
            started: Instant::now(),
            clock: Arc::clone(&clock),
            xacml: xacml::Surface::new(
                &settings,
                &xacml::Parts {
                    policies: &policies,
                    sources: sources.as_ref(),
                    subjects: subjects.as_ref(),
                    fence: &fence,
                    authenticator: &authenticator,
                    rates: &rates,
                    recorder: &recorder,
                    bodies: &bodies,
                    metrics: &metrics,
                },
            ),
            sapl: sapl::Surface::new(
                &settings,
                sapl::Parts {
                    authenticator: &authenticator,
                    rates: &rates,
                    fence: &fence,
                    decider: &decider,
                    recorder: &recorder,
                    bodies: &bodies,
                    metrics: &metrics,
                    clock: &clock,
                    stop: stop.subscribe(),
                },
            ),
            authzen,
            explain: explain::Surface::new(
                &settings,
                &explain::Parts {
                    authenticator: &authenticator,
                    rates: &rates,
                    fence: &fence,
                    subjects: subjects.as_ref(),
                    policies: &policies,
                    recorder: &recorder,
                    bodies: &bodies,
                    metrics: &metrics,
                    clock: &clock,
                },
            ),
            brokers,
            opa: opa::Surface::new(&settings, &asker, &callers),
            kubernetes: kubernetes::Surface::new(&settings, &asker, &callers),
            doors: doors::Surface::new(
                &settings,
                &doors::Parts {
                    asker: &asker,
                    authenticator: &authenticator,
                    subjects: subjects.as_ref(),
                    bodies: &bodies,
                    metrics: &metrics,
                },
            ),
            v1: v1::Surface::new(&settings.identity, service.as_ref(), &bodies),
            openam: openam::Surface::new(
                &settings,
                &openam::Parts {
                    bodies: &bodies,
                    pages: &pages,
                    policies: &policies,
                    sources: sources.as_ref(),
                    subjects: subjects.as_ref(),
                    fence: &fence,
                    decider: &decider,
                    rates: &rates,
                    recorder: &recorder,
                    metrics: &metrics,
                },
            )?,
            oauth,
            oidc,
            scim: scim::Surface::new(&settings.identity.scim, service.as_ref(), &authenticator, &bodies),
            health: health::Surface::new(
                &settings,
                &health::Parts {
                    policies: &policies,
                    entities: &entities,
                    service: service.as_ref(),
                    bodies: &bodies,
                    metrics: &metrics,
                },
                stop.subscribe(),
            ),
            metrics_guard: settings.auth.guards(Guarded::Metrics).then(|| Arc::clone(&authenticator)),
            settings: Arc::clone(&settings),
            rates,
            traces,
            telemetry: telemetry.clone(),
            request_ids,
            connections: ConnectionPlaces::new(&settings.server, metrics.connections_open.clone()),
            // `requests_in_flight` counts them.
            http2_requests: Places::new(
                HTTP2_REQUESTS_PER_CONNECTION * settings.server.connections_max,
                Gauge::default(),
            ),
            metrics,
        };
        if let Some(service) = service.clone().filter(|_| settings.openam.on) {
            http.openam.set_sessions(service);
        }
        let (http, rsocket) = (Arc::new(http), Arc::new(rsocket));
        Ok(Parts {
            settings,
            clock,
            http,
            rsocket,
            policies,
            authenticator,
            decider,
            subjects,
            service,
            entities,
            decision_log,
            telemetry,
            recorder,
            stop,
        })
    }

    /// The counters of a server.
    pub(super) fn metrics() -> Arc<Metrics> {
        Arc::new(Metrics::new(RouteName::all()))
    }
}

/// Mistakes in the files of the login pages are told at the start, and not to the first user.
fn login_pages(settings: &Settings) -> Result<LoginPages, ConfigError> {
    let pages = LoginPages::load(&settings.identity.pages)?;
    for warning in pages.warnings() {
        tracing::warn!("login pages: {warning}");
    }
    Ok(pages)
}

/// Verifiers of the tokens that attributes are read from.
fn issuers(settings: &Settings) -> Result<Issuers, ConfigError> {
    let issuer = |(name, jwt): (&String, &JwtSettings)| {
        let wrong = |error: ConfigError| {
            ConfigError::of_setting(&format!("sources.jwt.{name}"), format!("cannot be used: {error}"))
        };
        let tokens: Arc<dyn TokenIssuer> = Arc::new(Tokens::new(jwt).map_err(wrong)?);
        Ok((name.clone(), tokens))
    };
    // Keys are opened only where an attribute reads tokens.
    let is_read = settings.attributes.iter().any(AttributeSettings::is_asked_for);
    settings.sources.jwt.iter().filter(|_| is_read).map(issuer).collect()
}
