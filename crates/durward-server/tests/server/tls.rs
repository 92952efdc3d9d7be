//! TLS ended by the server itself. Certificates are made on the spot, so that no key lies in the repository.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use tokio_rustls::TlsConnector;

use durward_net::client::{ClientError, Security, ServerAddress, Settings as ClientSettings};
use durward_server::decider::{Outcome, Subscription};
use durward_wire::rsocket::frame::Interaction;

use crate::rsocket::Client;
use crate::support::{DOCTORS_READ, Directory, PATIENCE, TestServer, request_json, request_xml};

/// Runs openssl in the directory.
fn openssl(directory: &Directory, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(directory.path("")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An authority that signs a server called localhost and a client; `None` without openssl.
pub(crate) fn certificates() -> Option<Directory> {
    if !durward_testdata::has_openssl() {
        return None;
    }
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    directory.write("server.ext", "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE");
    directory.write("client.ext", "extendedKeyUsage=clientAuth\nbasicConstraints=CA:FALSE");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&directory, &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca"));
    for name in ["server", "client"] {
        openssl(&directory, &format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
        let sign = format!("x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2");
        openssl(&directory, &format!("{sign} -extfile {name}.ext -out {name}.pem"));
    }
    Some(directory)
}

fn settings(directory: &Directory, more: &str) -> String {
    let path = |name: &str| directory.path(name).display().to_string();
    format!("[server.tls]\ncertificate = '{}'\nkey = '{}'\n{more}", path("server.pem"), path("server.key"))
}

/// What a client without a certificate of its own believes.
fn client_of(authority: &Path) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    builder.with_root_certificates(roots).with_no_client_auth()
}

/// What a server called localhost shows.
pub(crate) fn server_of(directory: &Directory) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let chain = vec![CertificateDer::from_pem_file(directory.path("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(directory.path("server.key")).unwrap();
    builder.with_no_client_auth().with_single_cert(chain, key).unwrap()
}

#[test]
fn rsocket_is_encrypted_where_it_is_asked_for() {
    let Some(directory) = certificates() else { return };
    let path = |name: &str| directory.path(name).display().to_string();
    let text = format!(
        "auth.danger_allow_no_auth = true\nrsocket.listen = '127.0.0.1:0'\n[rsocket.tls]\ncertificate = '{}'\n\
         key = '{}'",
        path("server.pem"),
        path("server.key")
    );
    let (server, _) = crate::sapl::start(&text);
    let connection = ClientConnection::new(
        Arc::new(client_of(&directory.path("ca.pem"))),
        "localhost".try_into().unwrap(),
    );
    let stream = TcpStream::connect(server.rsocket.unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut client = Client::over(StreamOwned::new(connection.unwrap(), stream), None);
    client.ask(1, Interaction::Response, "decide-once", "alice");
    assert_eq!(client.outcome(1, true), Outcome::Permit);
    // Whoever speaks in clear is not understood.
    let mut clear = Client::open(&server, None);
    clear.expect_no_frame();
    let broken = text.replace("server.key", "missing.key");
    let refused = TestServer::start_deciding(Directory::new(), &broken, crate::decider::World::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("rsocket.tls.key")));
}

/// Asks over TLS, with or without a certificate of one's own; the answer, or why there is none.
fn ask(
    server: &TestServer,
    authority: &Path,
    client: Option<(&Path, &Path)>,
) -> Result<String, std::io::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match client {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap()
        }
    };
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(server.address)?);
    let body = request_xml("doctor");
    write!(
        stream,
        "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn decisions_come_encrypted() {
    let Some(directory) = certificates() else { return };
    let settings = settings(&directory, "");
    let server = TestServer::start_in(directory, &settings).unwrap();
    let answer = ask(&server, &server.directory.path("ca.pem"), None).unwrap();
    assert!(answer.contains("Permit"), "{answer}");
    // Whoever does not encrypt gets nothing.
    let mut plain = server.connect();
    plain.send("GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(!plain.rest().0.contains("HTTP/1.1"));
}

#[test]
fn only_callers_with_a_certificate_are_answered_where_one_is_asked_for() {
    let Some(directory) = certificates() else { return };
    let authorities = format!("client_authorities = '{}'", directory.path("ca.pem").display());
    let settings = settings(&directory, &authorities);
    let server = TestServer::start_in(directory, &settings).unwrap();
    let path = |name: &str| server.directory.path(name);
    assert!(ask(&server, &path("ca.pem"), None).is_err());
    let answer = ask(&server, &path("ca.pem"), Some((&path("client.pem"), &path("client.key")))).unwrap();
    assert!(answer.contains("Permit"), "{answer}");
}

#[test]
fn certificates_that_cannot_be_used_are_no_start() {
    let Some(directory) = certificates() else { return };
    directory.write("server.pem", "no certificate");
    let settings = settings(&directory, "");
    let error = TestServer::start_in(directory, &settings).err().unwrap().to_string();
    assert!(error.contains("server.tls.certificate"), "{error}");
}

#[test]
fn our_client_believes_who_it_is_told_to() {
    let Some(directory) = certificates() else { return };
    let path = |name: &str| directory.path(name).display().to_string();
    let files = format!("certificate = '{}'\nkey = '{}'", path("server.pem"), path("server.key"));
    let text = format!(
        "auth.danger_allow_no_auth = true\nrsocket.listen = '127.0.0.1:0'\nsapl.http = true\n\
         [rsocket.tls]\n{files}\n[server.tls]\n{files}"
    );
    let (server, _) = crate::sapl::start(&text);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = |text: &str| durward_pdp::Value::Text(text.into());
    let question = Subscription::new(text("alice"), text("read"), text("x"), durward_pdp::Value::Undefined);
    let addresses = [
        ServerAddress::http(&format!("https://localhost:{}", server.address.port())).unwrap(),
        ServerAddress::rsocket(&format!("localhost:{}", server.rsocket.unwrap().port()), true).unwrap(),
    ];
    for address in addresses {
        let ask = |settings: &ClientSettings| {
            let mut client = durward_net::client::Client::new(address.clone(), settings).unwrap();
            runtime.block_on(client.decide_once(&question)).map(|decision| decision.outcome)
        };
        let nobody = ClientSettings { answer_time_max: PATIENCE, ..ClientSettings::default() };
        assert!(matches!(ask(&nobody), Err(ClientError::Network(_))));
        let ours = ClientSettings { authorities: Some(directory.path("ca.pem")), ..nobody.clone() };
        assert_eq!(ask(&ours), Ok(Outcome::Permit));
        let anybody = ClientSettings { security: Security::DangerInsecure, ..nobody };
        assert_eq!(ask(&anybody), Ok(Outcome::Permit));
    }
}

#[test]
fn a_client_that_offers_http2_is_given_it() {
    let Some(directory) = certificates() else { return };
    let text = settings(&directory, "");
    let server = TestServer::start_in(directory, &text).unwrap();
    for (offered, chosen) in [(&["h2", "http/1.1"][..], "h2"), (&["http/1.1"], "http/1.1")] {
        let mut config = client_of(&server.directory.path("ca.pem"));
        config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
        let mut connection =
            ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).unwrap();
        }
        assert_eq!(connection.alpn_protocol(), Some(chosen.as_bytes()));
    }
}

#[test]
fn decisions_come_over_http2_within_tls() {
    let Some(directory) = certificates() else { return };
    let text = settings(&directory, "");
    let server = TestServer::start_in(directory, &text).unwrap();
    let mut config = client_of(&server.directory.path("ca.pem"));
    config.alpn_protocols = vec![b"h2".to_vec()];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let decisions = async {
        let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (send, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let ask = async |role: &str| {
            let request =
                Request::post("https://localhost/pdp").header("content-type", "application/xacml+json");
            let request = request.body(Full::<bytes::Bytes>::from(request_json(role))).unwrap();
            let answer = send.clone().send_request(request).await.unwrap();
            assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            String::from_utf8(body.to_vec()).unwrap()
        };
        // At the same time.
        tokio::join!(ask("doctor"), ask("visitor"))
    };
    let (doctor, visitor) =
        runtime.block_on(async { tokio::time::timeout(PATIENCE, decisions).await.unwrap() });
    assert!(doctor.contains("Permit") && visitor.contains("Deny"), "{doctor} {visitor}");
}

#[test]
fn a_key_that_others_may_read_stops_the_start() {
    let Some(directory) = certificates() else { return };
    directory.permit("server.key", 0o644);
    let text = settings(&directory, "");
    let error = TestServer::start_in(directory, &text).err().unwrap().to_string();
    assert!(error.contains("server.tls.key") && error.contains("chmod 600"), "{error}");
}
