//! What a server says when it creates a session, compared with what discovery said without security (Part 4, 5.7.2).

use opcua_types::{CreateSessionResponse, EndpointDescription, StatusCode, UserTokenPolicy};

use super::discover::offer_of;
use crate::channel::TRANSPORT_PROFILE_URI;
use crate::crypto::{self, Certificate, NONCE_BYTES};
use crate::error::Error;

/// What the server says on the secured channel proves what discovery said without security: that the chosen endpoint is as it was said to be, and
/// that nobody left one out.
///
/// Of an endpoint only those fields are compared that servers are to send here: ApplicationUri, mode, policy, user token policies, transport
/// profile and level. URLs are told by the name under which a server was asked, and servers may list the endpoints of the one URL only.
///
/// # Errors
/// `BadSecurityChecksFailed`, `BadNonceInvalid`.
pub(super) fn check_created(
    response: &CreateSessionResponse,
    server: &Certificate,
    endpoint: &EndpointDescription,
    discovered: &[EndpointDescription],
) -> Result<(), Error> {
    let sent = crypto::split_chain(response.server_certificate.value.as_deref().unwrap_or_default())?;
    if sent.first() != Some(&server.der()) {
        return Err(Error::security("the session's certificate is not that of the channel"));
    }
    let nonce_bytes = response.server_nonce.value.as_ref().map_or(0, Vec::len);
    if nonce_bytes < NONCE_BYTES {
        return Err(Error::new(StatusCode::BadNonceInvalid, "the server's nonce is too short"));
    }
    let endpoints = response.server_endpoints.as_deref().unwrap_or_default();
    if !endpoints.iter().any(|now| is_same_endpoint(now, endpoint)) {
        return Err(Error::security("the endpoint is not among those that the server now says it has"));
    }
    let was_discovered =
        |now: &&EndpointDescription| discovered.iter().any(|before| is_same_offer(now, before));
    let was_hidden = |now: &&EndpointDescription| is_usable(now) && !was_discovered(now);
    match endpoints.iter().find(was_hidden).filter(|_| !discovered.is_empty()) {
        None => Ok(()),
        Some(hidden) => Err(Error::security(format!(
            "the server has an endpoint with {} and {:?}, which discovery did not tell: somebody changes its answers",
            hidden.security_policy_uri.as_ref().escape_debug(),
            hidden.security_mode
        ))),
    }
}

/// Whether the endpoint could have been chosen.
fn is_usable(endpoint: &EndpointDescription) -> bool {
    transport_of(endpoint) == TRANSPORT_PROFILE_URI
        && offer_of(endpoint).is_ok_and(|offer| offer.policy.is_secure())
}

fn transport_of(endpoint: &EndpointDescription) -> &str {
    Some(endpoint.transport_profile_uri.as_ref())
        .filter(|uri| !uri.is_empty())
        .unwrap_or(TRANSPORT_PROFILE_URI)
}

fn is_same_offer(left: &EndpointDescription, right: &EndpointDescription) -> bool {
    left.security_mode == right.security_mode
        && left.security_policy_uri == right.security_policy_uri
        && left.security_level == right.security_level
        && transport_of(left) == transport_of(right)
}

fn is_same_endpoint(left: &EndpointDescription, right: &EndpointDescription) -> bool {
    let (left_tokens, right_tokens) = (tokens(left), tokens(right));
    is_same_offer(left, right)
        && left.server.application_uri == right.server.application_uri
        && left_tokens.len() == right_tokens.len()
        && left_tokens.iter().all(|token| right_tokens.contains(token))
        && right_tokens.iter().all(|token| left_tokens.contains(token))
}

fn tokens(endpoint: &EndpointDescription) -> &[UserTokenPolicy] {
    endpoint.user_identity_tokens.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use durward_identity::Moment;
    use opcua_types::{ByteString, MessageSecurityMode, UserTokenType};

    use super::*;
    use crate::crypto::{KeyLength, SecurityPolicy};
    use crate::pki::{CertificateDraft, self_signed};

    fn certificate() -> Certificate {
        let draft = CertificateDraft {
            application_uri: "urn:test:plc".to_owned(),
            common_name: "plc".to_owned(),
            organization: String::new(),
            hosts: Vec::new(),
            valid_from: Moment::from_s(1_780_000_000),
            valid_for: Duration::from_secs(86_400),
        };
        self_signed(&draft, KeyLength::Rsa2048).unwrap().certificate().as_ref().clone()
    }

    fn endpoint(policy: SecurityPolicy, level: u8, host: &str) -> EndpointDescription {
        let token = |id: &str, token_type| UserTokenPolicy {
            policy_id: id.into(),
            token_type,
            ..UserTokenPolicy::default()
        };
        let mut endpoint = EndpointDescription {
            endpoint_url: format!("opc.tcp://{host}:4840").into(),
            security_mode: MessageSecurityMode::SignAndEncrypt,
            security_policy_uri: policy.uri().into(),
            security_level: level,
            server_certificate: vec![1, 2, 3].into(),
            transport_profile_uri: TRANSPORT_PROFILE_URI.into(),
            user_identity_tokens: Some(vec![
                token("a", UserTokenType::Anonymous),
                token("u", UserTokenType::UserName),
            ]),
            ..EndpointDescription::default()
        };
        endpoint.server.application_uri = "urn:test:plc".into();
        endpoint
    }

    struct Case {
        server: Certificate,
        discovered: Vec<EndpointDescription>,
        now: Vec<EndpointDescription>,
    }

    impl Case {
        fn check(&self) -> Result<(), StatusCode> {
            let response = CreateSessionResponse {
                server_certificate: self.server.der().to_vec().into(),
                server_nonce: vec![7; NONCE_BYTES].into(),
                server_endpoints: Some(self.now.clone()),
                ..CreateSessionResponse::default()
            };
            check_created(&response, &self.server, &self.discovered[0], &self.discovered)
                .map_err(|error| error.status())
        }
    }

    /// Two hosts, two policies; the first endpoint is the chosen one.
    fn case() -> Case {
        let hosts = ["plc", "10.0.0.5"];
        let of = |host: &str| {
            [
                endpoint(SecurityPolicy::Aes256Sha256RsaPss, 20, host),
                endpoint(SecurityPolicy::Basic256Sha256, 10, host),
            ]
        };
        let all: Vec<_> = hosts.into_iter().flat_map(of).collect();
        Case { server: certificate(), discovered: all.clone(), now: all }
    }

    #[test]
    fn servers_may_tell_less_than_discovery_did() {
        let mut case = case();
        assert_eq!(case.check(), Ok(()));
        // Only the endpoints of the URL that was used.
        case.now.truncate(2);
        assert_eq!(case.check(), Ok(()));
        // Under another name, without what need not be sent, tokens in another order.
        for now in &mut case.now {
            now.endpoint_url = "opc.tcp://other:4840".into();
            now.server_certificate = ByteString::null();
            now.user_identity_tokens.as_mut().unwrap().reverse();
        }
        assert_eq!(case.check(), Ok(()));
        case.now.pop();
        assert_eq!(case.check(), Ok(()));
    }

    #[test]
    fn what_somebody_changed_is_found_out() {
        let refused = |change: &dyn Fn(&mut Case)| {
            let mut case = case();
            change(&mut case);
            case.check()
        };
        let failed = Err(StatusCode::BadSecurityChecksFailed);
        assert_eq!(refused(&|case| case.now.clear()), failed);
        // The better endpoints were kept from the client.
        assert_eq!(refused(&|case| case.discovered.retain(|endpoint| endpoint.security_level == 10)), failed);
        let chosen: [&dyn Fn(&mut EndpointDescription); 5] = [
            &|chosen| chosen.user_identity_tokens.as_mut().unwrap()[1].issuer_endpoint_url = "{}".into(),
            &|chosen| drop(chosen.user_identity_tokens.as_mut().unwrap().pop()),
            &|chosen| chosen.security_mode = MessageSecurityMode::Sign,
            &|chosen| chosen.server.application_uri = "urn:test:other".into(),
            &|chosen| chosen.security_level = 21,
        ];
        for (index, change) in chosen.into_iter().enumerate() {
            assert_eq!(refused(&|case| change(&mut case.discovered[0])), failed, "{index}");
        }
        let other = certificate();
        let mut case = case();
        case.server = other;
        assert_eq!(case.check(), Ok(()), "the certificate is the channel's, whatever discovery said");
    }
}
