//! Envoy's external authorization over HTTP: the client's method and target, behind a prefix, and the fields that Envoy is told to pass on.

use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, Call, text_of};
use hyper::header;

use super::super::http::{PROXY_CREDENTIALS, address, only, written};
use super::super::{Door, DoorRequest, Named, Reason, Surface};

/// What stands before the client's target (`path_prefix`).
pub(crate) const ENVOY_HTTP: &str = "/doors/envoy";

impl Surface {
    /// Answers Envoy over HTTP.
    pub(in super::super) async fn check_http(
        &self,
        call: &Call,
        request: hyper::Request<Incoming>,
    ) -> Answer {
        let headers = request.headers();
        let target =
            request.uri().path_and_query().and_then(|target| target.as_str().strip_prefix(ENVOY_HTTP));
        let fields = (
            target,
            only(headers, header::HOST.as_str()),
            only(headers, "x-forwarded-proto"),
            address(headers),
        );
        let (Some(target), Some(host), Some(scheme), Some(client)) = fields else {
            let answer = Reason::Fields.into();
            self.tell(Door::EnvoyHttp, call, &answer);
            return written(Door::EnvoyHttp, answer);
        };
        let answer = self
            .ask(&DoorRequest {
                door: Door::EnvoyHttp,
                call,
                proxy_credentials: text_of(headers, &PROXY_CREDENTIALS),
                method: request.method().as_str(),
                scheme,
                host,
                target,
                client,
                headers,
                extensions: None,
                named: Named::default(),
            })
            .await;
        written(Door::EnvoyHttp, answer)
    }
}
