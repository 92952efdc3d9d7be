//! Checks whose bytes alone decide them: most are answered where their connection is read.
//!
//! Most checks are of browsers with the cookie of a session, on routes whose policies look at no more than what a gateway and the session say.
//! Policies are then given what they ask for, with no subscription between, and nothing is waited for. Everything else (tokens,
//! credentials, what is refused, records of decisions, policies that look at a whole subject) goes the long way of [`Surface::check`], which
//! comes to the same answer.
//!
//! What a check touches: its bytes, once; the session and the account; what policies ask for of these; four numbers that count it.

use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use bytes::Bytes;
use durward_common::access::auth::Identity;
use durward_common::question::Verdict;
use durward_common::surfaces::http::grpc;
use durward_wire::ext_authz::{CheckRequest, Limits, read_request};
use durward_wire::grpc::read_one;
use hyper::header::HeaderMap;

use super::super::http::PROXY_CREDENTIALS;
use super::super::obligations::Carrier;
use super::super::target::Target;
use super::super::{Asking, Door, DoorAnswer, OVERRIDES, Surface};
use super::known::Known;
use super::{EXTENSIONS_MAX, HEADERS_MAX, write};

impl Surface {
    /// The answer to a check whose bytes alone decide it, with its prefix; `None` where they do not, and then nothing was counted.
    pub(crate) fn check_here(
        &self,
        asking: &Asking,
        own: &HeaderMap,
        bytes: &Bytes,
        now: Instant,
    ) -> Option<Bytes> {
        let is_plain = self.has_default_words && !self.asker.is_recorded();
        // Credentials are looked at by the other way, also where they are not needed.
        if !is_plain || !self.is_proxy(asking) || own.keys().any(|name| *name == PROXY_CREDENTIALS) {
            return None;
        }
        if !self.bodies.may_have(bytes.len()) {
            return None;
        }
        let limits = Limits { headers_max: HEADERS_MAX, extensions_max: EXTENSIONS_MAX };
        let check = read_request(read_one(bytes, bytes.len()).ok()?, &limits).ok()?;
        if !check.extensions.is_empty() || !check.source.principal.is_empty() || !check.sni.is_empty() {
            return None;
        }
        let answer = self.decided_here(&check, now)?;
        self.metrics.door_answered(Door::Envoy.name(), answer.result());
        Some(grpc::framed(|out| write(&answer, out)))
    }

    fn decided_here(&self, check: &CheckRequest<'_>, now: Instant) -> Option<DoorAnswer> {
        let http = &check.http;
        if !http.headers.iter().all(|header| is_plain(header.name, header.value)) {
            return None;
        }
        let client = check.source.address.parse::<IpAddr>().ok()?.to_canonical();
        let target = Target::read(http.method, http.scheme, http.host, http.path).ok()?;
        let route = self.routes.find(&target).ok()?;
        let asker = &self.asker;
        let caller = Identity::of_gateway(route.tenant.clone(), Door::Envoy.name());
        if asker.is_set_to_xacml(&route.tenant) || !asker.has_room(&caller, client, now) {
            return None;
        }
        let cookies = http.values(COOKIE).filter_map(|value| str::from_utf8(value).ok());
        let subject = self.people.of_cookies(cookies)?;
        let identity = self.people.headers_of(&subject).ok()?;
        let decider = asker.decider()?;
        let known = Known::new(&subject, &target, &route, client);
        let begun = Instant::now();
        let decide = || decider.decide_known(&route.tenant, &known);
        let decision = catch_unwind(AssertUnwindSafe(decide)).ok().flatten()?;
        let took = begun.elapsed();
        if !known.is_enough() {
            return None;
        }
        let carrier = Carrier {
            identity,
            listed: &self.listed,
            copies_by_name: Door::Envoy.copies_by_name(),
            host: &target.host,
            redirect_hosts: &self.settings.redirect_hosts,
        };
        let answer = carrier.answer(&Verdict::of_sapl(&decision));
        // Operators who look closely are told why a request does not pass, with its name.
        let is_told = !matches!(answer, DoorAnswer::Allow(_)) && tracing::enabled!(tracing::Level::DEBUG);
        if is_told || !asker.takes(&caller, client, now) {
            return None;
        }
        self.metrics.told(&decision, Some(took));
        Some(answer)
    }
}

const COOKIE: &str = "cookie";

/// Whether a client's field is nothing that has to be looked at, or a cookie that libraries would give as a text.
fn is_plain(name: &str, value: &[u8]) -> bool {
    match name {
        COOKIE => is_visible(value),
        "authorization" => false,
        // A name with `_` may look like a header that is believed.
        _ if name.bytes().any(|byte| byte == b'_' || byte.is_ascii_uppercase()) => false,
        _ => !(name.starts_with("x-") && OVERRIDES.contains(&name)),
    }
}

fn is_visible(value: &[u8]) -> bool {
    // Without an early end, which would be slower.
    value.iter().fold(true, |are_visible, byte| are_visible & matches!(byte, b' '..=b'~' | b'\t'))
}

// What has another beginning would not be looked for.
#[expect(clippy::indexing_slicing, reason = "it is checked when it is compiled")]
const _: () = {
    let mut at = 0;
    while at < OVERRIDES.len() {
        assert!(matches!(OVERRIDES[at].as_bytes(), [b'x', b'-', ..]));
        at += 1;
    }
};
