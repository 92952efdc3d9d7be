//! Certificates made here, read by OpenSSL's rules where it matters, and what a server says of those that are shown to it.

use std::sync::Arc;
use std::time::Duration;

use durward_identity::Moment;
use durward_opcua::channel::{PeerRole, PeerTrust as _};
use durward_opcua::crypto::{Certificate, KeyLength};
use durward_opcua::pki::{
    CertificateAuthority, CertificateDirectory, CertificateDraft, TrustLists, self_signed, validate,
};
use durward_opcua::session::{ClientIdentity, ClientSession};
use opcua_types::StatusCode;

use crate::fixture::{
    CLIENT, NOW, OTHER, Running, SERVER, USUAL, channel_settings, client_settings, draft, server_settings,
    status, whoami,
};

const DAY: Duration = Duration::from_secs(86_400);

fn check(chain: &[&Certificate], lists: &TrustLists, moment: Moment) -> Result<(), StatusCode> {
    let chain: Vec<&[u8]> = chain.iter().map(|certificate| certificate.der()).collect();
    validate(&chain, lists, PeerRole::Server, moment).map_err(|error| error.status())
}

fn trusting(certificates: &[&Certificate]) -> TrustLists {
    TrustLists {
        trusted: certificates.iter().map(|certificate| certificate.der().to_vec()).collect(),
        ..TrustLists::default()
    }
}

struct Temporary(std::path::PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("durward-opcua-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn made_certificates_say_what_the_standard_wants() {
    let own = self_signed(&draft("urn:test:made"), KeyLength::Rsa2048).unwrap();
    let certificate = own.certificate();
    assert_eq!(certificate.application_uri(), Some("urn:test:made"));
    assert_eq!(certificate.host_names(), ["localhost", "127.0.0.1"]);
    assert_eq!(certificate.subject(), "CN=made,O=durward");
    assert_eq!(certificate.valid_until(), NOW.plus(365 * DAY));
    assert!(certificate.valid_from() < NOW);
    assert_eq!(check(&[certificate], &trusting(&[certificate]), NOW), Ok(()));
}

#[test]
fn names_that_a_certificate_cannot_hold_are_refused() {
    let refused = |change: &dyn Fn(&mut CertificateDraft)| {
        let mut draft = draft("urn:test:made");
        change(&mut draft);
        status(self_signed(&draft, KeyLength::Rsa2048))
    };
    assert_eq!(refused(&|draft| draft.common_name = String::new()), StatusCode::BadConfigurationError);
    assert_eq!(refused(&|draft| draft.common_name = "x".repeat(65)), StatusCode::BadConfigurationError);
    assert_eq!(refused(&|draft| draft.organization = "a\nb".to_owned()), StatusCode::BadConfigurationError);
    assert_eq!(refused(&|draft| draft.application_uri = String::new()), StatusCode::BadConfigurationError);
    assert_eq!(
        refused(&|draft| draft.application_uri = "urn:ä".to_owned()),
        StatusCode::BadConfigurationError
    );
    assert_eq!(refused(&|draft| draft.hosts.push("a b".to_owned())), StatusCode::BadConfigurationError);
}

#[test]
fn a_self_signed_certificate_is_trusted_when_it_is_listed_and_valid() {
    let (client, other) = (CLIENT.certificate(), OTHER.certificate());
    let lists = trusting(&[client]);
    assert_eq!(check(&[client], &lists, NOW), Ok(()));
    assert_eq!(check(&[other], &lists, NOW), Err(StatusCode::BadCertificateUntrusted));
    assert_eq!(check(&[client], &TrustLists::default(), NOW), Err(StatusCode::BadCertificateUntrusted));
    // Listing it among the issuers does not trust it.
    let issuers = TrustLists { issuers: lists.trusted.clone(), ..TrustLists::default() };
    assert_eq!(check(&[client], &issuers, NOW), Err(StatusCode::BadCertificateUntrusted));
    let time = Err(StatusCode::BadCertificateTimeInvalid);
    assert_eq!(check(&[client], &lists, Moment::from_ms(client.valid_from().ms() - 1)), time);
    assert_eq!(check(&[client], &lists, client.valid_from()), Ok(()));
    assert_eq!(check(&[client], &lists, client.valid_until()), Ok(()));
    assert_eq!(check(&[client], &lists, client.valid_until().plus(Duration::from_secs(1))), time);
    // An untrusted certificate beside a trusted one gains nothing.
    assert_eq!(check(&[other, client], &lists, NOW), Err(StatusCode::BadCertificateUntrusted));
    assert_eq!(
        validate(&[b"junk"], &lists, PeerRole::Client, NOW).unwrap_err().status(),
        StatusCode::BadCertificateInvalid
    );
    assert_eq!(
        validate(&[], &lists, PeerRole::Client, NOW).unwrap_err().status(),
        StatusCode::BadCertificateInvalid
    );
}

#[test]
fn a_forged_self_signed_certificate_is_found_out() {
    // Same names, one bit of the signature changed: not listed, and not signed by itself.
    let mut der = CLIENT.certificate().der().to_vec();
    let last = der.len() - 1;
    der[last] ^= 1;
    let forged = Certificate::from_der(&der).unwrap();
    assert_eq!(
        check(&[&forged], &trusting(&[CLIENT.certificate()]), NOW),
        Err(StatusCode::BadSecurityChecksFailed)
    );
}

struct Plant {
    root: CertificateAuthority,
    between: CertificateAuthority,
    device: durward_opcua::crypto::OwnCertificate,
    lists: TrustLists,
}

/// A root, an authority below it, a device below that; everything known, the root trusted, nothing revoked.
fn plant() -> Plant {
    let root = CertificateAuthority::new(&draft("urn:test:root"), KeyLength::Rsa2048).unwrap();
    let between = root.issue_authority(&draft("urn:test:between"), KeyLength::Rsa2048).unwrap();
    let device = between.issue(&draft("urn:test:device"), KeyLength::Rsa2048).unwrap();
    let until = NOW.plus(30 * DAY);
    let lists = TrustLists {
        trusted: vec![root.certificate().der().to_vec()],
        issuers: vec![between.certificate().der().to_vec()],
        revocation_lists: vec![
            root.revoke(&[], NOW, until).unwrap(),
            between.revoke(&[], NOW, until).unwrap(),
        ],
    };
    Plant { root, between, device, lists }
}

#[test]
fn a_chain_is_trusted_by_any_of_its_members() {
    let Plant { root, between, device, lists } = plant();
    let device = device.certificate();
    assert_eq!(check(&[device], &lists, NOW), Ok(()));
    assert_eq!(check(&[device, between.certificate(), root.certificate()], &lists, NOW), Ok(()));
    // The chain that was sent is enough, when the root is known.
    let only_root = TrustLists { issuers: Vec::new(), ..lists.clone() };
    assert_eq!(check(&[device], &only_root, NOW), Err(StatusCode::BadCertificateChainIncomplete));
    assert_eq!(check(&[device, between.certificate()], &only_root, NOW), Ok(()));
    // Trusting the device itself is enough, and its issuers need not be trusted: but they must be known.
    let mut direct = lists.clone();
    direct.issuers.append(&mut direct.trusted);
    assert_eq!(check(&[device], &direct, NOW), Err(StatusCode::BadCertificateUntrusted));
    direct.trusted.push(device.der().to_vec());
    assert_eq!(check(&[device], &direct, NOW), Ok(()));
    // Nobody is trusted for bringing a root of their own.
    let rogue = CertificateAuthority::new(&draft("urn:test:root"), KeyLength::Rsa2048).unwrap();
    let intruder = rogue.issue(&draft("urn:test:device"), KeyLength::Rsa2048).unwrap();
    let refused = check(&[intruder.certificate(), rogue.certificate()], &TrustLists::default(), NOW);
    assert_eq!(refused, Err(StatusCode::BadCertificateUntrusted));
    // Not even under the name of the trusted one.
    assert!(check(&[intruder.certificate()], &lists, NOW).is_err());
}

#[test]
fn revoked_certificates_and_missing_lists_are_told_apart() {
    let Plant { root, between, device, lists } = plant();
    let device = device.certificate();
    let until = NOW.plus(30 * DAY);
    let with = |revocation_lists: Vec<Vec<u8>>| TrustLists { revocation_lists, ..lists.clone() };
    let (none_root, none_between) = (lists.revocation_lists[0].clone(), lists.revocation_lists[1].clone());

    let revoked = between.revoke(&[device], NOW, until).unwrap();
    let refused = check(&[device], &with(vec![none_root.clone(), revoked.clone()]), NOW);
    assert_eq!(refused, Err(StatusCode::BadCertificateRevoked));
    // An older list that does not name it does not help.
    let both = with(vec![none_root.clone(), revoked, none_between.clone()]);
    assert_eq!(check(&[device], &both, NOW), Err(StatusCode::BadCertificateRevoked));
    let issuer = root.revoke(&[between.certificate()], NOW, until).unwrap();
    assert_eq!(
        check(&[device], &with(vec![issuer, none_between.clone()]), NOW),
        Err(StatusCode::BadCertificateIssuerRevoked)
    );
    assert_eq!(
        check(&[device], &with(vec![none_root.clone()]), NOW),
        Err(StatusCode::BadCertificateRevocationUnknown)
    );
    assert_eq!(
        check(&[device], &with(vec![none_between.clone()]), NOW),
        Err(StatusCode::BadCertificateIssuerRevocationUnknown)
    );
    // A list is current until its next update.
    assert_eq!(check(&[device], &lists, until), Ok(()));
    assert_eq!(
        check(&[device], &lists, until.plus(Duration::from_secs(1))),
        Err(StatusCode::BadCertificateRevocationUnknown)
    );
    // A list of somebody else with the same name says nothing.
    let rogue = CertificateAuthority::new(&draft("urn:test:between"), KeyLength::Rsa2048).unwrap();
    let forged = rogue.revoke(&[device], NOW, until).unwrap();
    assert_eq!(check(&[device], &with(vec![none_root, none_between, forged]), NOW), Ok(()));
}

#[test]
fn usage_counts() {
    let Plant { root, between, device, lists } = plant();
    // An authority's certificate is none of an application.
    assert_eq!(check(&[root.certificate()], &lists, NOW), Err(StatusCode::BadCertificateUseNotAllowed));
    assert_eq!(check(&[between.certificate()], &lists, NOW), Err(StatusCode::BadCertificateUseNotAllowed));
    assert_eq!(check(&[device.certificate()], &lists, NOW), Ok(()));
}

#[test]
fn directories_keep_own_trusted_and_rejected_certificates() {
    let path = Temporary::new("directory");
    let directory = CertificateDirectory::open(&path.0).unwrap();
    assert!(directory.own().unwrap().is_none());
    directory.store_own(&SERVER).unwrap();
    let own = directory.own().unwrap().unwrap();
    assert_eq!(own.certificate(), SERVER.certificate());
    assert!(directory.store_own(&OTHER).unwrap_err().to_string().contains("already"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let key = std::fs::metadata(path.0.join("own/private/application.der")).unwrap();
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
        let permit = |mode| {
            let key = path.0.join("own/private/application.der");
            std::fs::set_permissions(key, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        permit(0o644);
        assert!(directory.own().unwrap_err().to_string().contains("chmod 600"), "others may read the key");
        permit(0o600);
    }

    let client = CLIENT.certificate();
    assert_eq!(
        status(directory.check(&[client.der()], PeerRole::Client, NOW)),
        StatusCode::BadCertificateUntrusted
    );
    assert_eq!(directory.rejected().unwrap(), [client.as_ref().clone()]);
    assert_eq!(
        status(directory.check(&[client.der()], PeerRole::Client, NOW)),
        StatusCode::BadCertificateUntrusted
    );
    assert_eq!(directory.rejected().unwrap().len(), 1);
    // Moved by hand, under another name, as an operator does.
    let rejected = std::fs::read_dir(path.0.join("rejected/certs")).unwrap().next().unwrap().unwrap().path();
    std::fs::rename(&rejected, path.0.join("trusted/certs/client.crt")).unwrap();
    directory.check(&[client.der()], PeerRole::Client, NOW).unwrap();
    directory.check(&[OTHER.certificate().der()], PeerRole::Client, NOW).unwrap_err();
    directory.trust(OTHER.certificate()).unwrap();
    assert!(directory.rejected().unwrap().is_empty());
    directory.check(&[OTHER.certificate().der()], PeerRole::Client, NOW).unwrap();
    // A file that is none is left out.
    std::fs::write(path.0.join("trusted/certs/readme.txt"), "-----BEGIN nothing").unwrap();
    directory.check(&[client.der()], PeerRole::Client, NOW).unwrap();
}

/// Whoever can connect can have certificates written: so many and no more.
#[test]
fn rejected_certificates_are_bounded() {
    let path = Temporary::new("rejected");
    let directory = CertificateDirectory::open(&path.0).unwrap();
    for number in 0..80 {
        std::fs::write(path.0.join(format!("rejected/certs/{number}.der")), CLIENT.certificate().der())
            .unwrap();
    }
    directory.check(&[OTHER.certificate().der()], PeerRole::Client, NOW).unwrap_err();
    assert_eq!(std::fs::read_dir(path.0.join("rejected/certs")).unwrap().count(), 64);
    assert!(directory.rejected().unwrap().contains(OTHER.certificate()));
}

#[tokio::test]
async fn a_server_takes_clients_whose_certificates_are_trusted_and_a_client_such_servers() {
    let (server_path, client_path) = (Temporary::new("server"), Temporary::new("client"));
    let for_server = Arc::new(CertificateDirectory::open(&server_path.0).unwrap());
    let for_client = Arc::new(CertificateDirectory::open(&client_path.0).unwrap());
    let mut settings = server_settings();
    settings.channel.trust = Arc::clone(&for_server) as Arc<_>;
    let running = Running::with(settings).await;
    let mut own = client_settings();
    let mut channel = channel_settings(&CLIENT);
    channel.trust = Arc::clone(&for_client) as Arc<_>;
    own.channel = Arc::new(channel);
    let connect = async || ClientSession::connect(&running.url(), Some(USUAL), own.clone()).await;

    assert_eq!(status(connect().await), StatusCode::BadCertificateUntrusted);
    for_client.trust(SERVER.certificate()).unwrap();
    // The server tells a stranger no more than that (Part 4, 6.1.3); its operator finds the certificate.
    assert_eq!(status(connect().await), StatusCode::BadSecurityChecksFailed);
    let rejected = for_server.rejected().unwrap();
    assert_eq!(rejected, [CLIENT.certificate().as_ref().clone()]);
    for_server.trust(&rejected[0]).unwrap();
    let session = connect().await.unwrap();
    session.activate(&ClientIdentity::Anonymous).await.unwrap();
    assert_eq!(whoami(&session).await.unwrap(), "anonymous");
}

/// Client and server know the root only: each shows the authority between that issued its certificate.
#[tokio::test]
async fn chains_are_shown_both_ways() {
    let root = CertificateAuthority::new(&draft("urn:test:root"), KeyLength::Rsa2048).unwrap();
    let (server_path, client_path) = (Temporary::new("chain-server"), Temporary::new("chain-client"));
    let mut directories = Vec::new();
    let mut lists = vec![root.revoke(&[], NOW, NOW.plus(30 * DAY)).unwrap()];
    for (path, uri) in [(&server_path, "urn:test:server"), (&client_path, "urn:test:client")] {
        let between = root.issue_authority(&draft(&format!("{uri}:authority")), KeyLength::Rsa2048).unwrap();
        lists.push(between.revoke(&[], NOW, NOW.plus(30 * DAY)).unwrap());
        let directory = CertificateDirectory::open(&path.0).unwrap();
        directory.store_own(&between.issue(&draft(uri), KeyLength::Rsa2048).unwrap()).unwrap();
        directory.trust(root.certificate()).unwrap();
        directory.add_issuer(between.certificate()).unwrap();
        directories.push(directory);
    }
    for (path, list) in
        [&server_path, &client_path].into_iter().flat_map(|path| lists.iter().map(move |list| (path, list)))
    {
        let name = format!(
            "trusted/crl/{:x}.crl",
            list.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
        );
        std::fs::write(path.0.join(name), list).unwrap();
    }
    let channel = |directory: &CertificateDirectory| {
        let mut channel = channel_settings(&directory.own().unwrap().unwrap());
        channel.trust = Arc::new(directory.clone());
        channel
    };
    let mut server = server_settings();
    server.channel = channel(&directories[0]);
    let running = Running::with(server).await;
    let mut client = client_settings();
    client.channel = Arc::new(channel(&directories[1]));
    let session = ClientSession::connect(&running.url(), Some(USUAL), client).await.unwrap();
    session.activate(&ClientIdentity::Anonymous).await.unwrap();
    assert_eq!(whoami(&session).await.unwrap(), "anonymous");
    // Whoever shows only its own certificate is a stranger.
    let alone = directories[1].own().unwrap().unwrap().with_issuers(Vec::new());
    let mut client = client_settings();
    client.channel = Arc::new(channel_settings(&alone));
    let refused = ClientSession::connect(&running.url(), Some(USUAL), client).await;
    assert_eq!(status(refused), StatusCode::BadSecurityChecksFailed);
}

fn replaced(der: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = der.windows(from.len()).position(|window| window == from).unwrap();
    [&der[..at], to, &der[at + from.len()..]].concat()
}

/// With two URIs it would be the certificate of two applications.
#[test]
fn a_certificate_is_of_one_application() {
    let hosts = vec!["urn:test:two".to_owned()];
    let own = self_signed(&CertificateDraft { hosts, ..draft("urn:test:one") }, KeyLength::Rsa2048).unwrap();
    assert!(own.certificate().is_of_application("urn:test:one"));
    // The host becomes a URI.
    let two = replaced(own.certificate().der(), b"\x82\x0curn:test:two", b"\x86\x0curn:test:two");
    let two = Certificate::from_der(&two).unwrap();
    assert_eq!(two.application_uri(), None);
    assert!(!two.is_of_application("urn:test:one") && !two.is_of_application("urn:test:two"));
}

#[test]
fn critical_extensions_that_are_not_known_are_refused() {
    // Basic constraints, which are critical, become name constraints.
    let der = replaced(CLIENT.certificate().der(), &[0x55, 0x1d, 19], &[0x55, 0x1d, 30]);
    let lists = TrustLists { trusted: vec![der.clone()], ..TrustLists::default() };
    let refused = validate(&[&der], &lists, PeerRole::Client, NOW).unwrap_err();
    assert_eq!(refused.status(), StatusCode::BadCertificateInvalid);
    assert!(refused.reason().contains("2.5.29.30"), "{refused}");
}
