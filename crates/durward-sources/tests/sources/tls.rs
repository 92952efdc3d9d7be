//! Services over TLS. Certificates are made on the spot, so that no key lies in the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use durward_pdp::stream::Surroundings;
use durward_sources::SourceSettings;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::world::{World, attribute};

/// A folder with an authority and a certificate for localhost; `None` without openssl.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn certificates() -> Option<Folder> {
    if !durward_testdata::has_openssl() {
        return None;
    }
    let folder = Folder(std::env::temp_dir().join(format!("durward-sources-tls-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join("own.ext"), "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE")
        .unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for arguments in [
        format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca"),
        format!("req {key} -keyout own.key -out own.csr -subj /CN=own"),
        "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile own.ext -out own.pem".into(),
    ] {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(&folder.0).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "{arguments}");
    }
    Some(folder)
}

async fn service(folder: &Path) -> u16 {
    let chain = vec![CertificateDer::from_pem_file(folder.join("own.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.join("own.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let acceptor =
        TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n7";
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    port
}

#[tokio::test]
async fn services_must_be_who_they_say_they_are() {
    let Some(folder) = certificates() else { return };
    let port = service(&folder.0).await;
    let trusting = SourceSettings { authorities: Some(folder.0.join("ca.pem")), ..SourceSettings::default() };
    let trusting = World::with(&trusting, Surroundings::default());
    let ask = |world: &World, host: &str| {
        world.ask(attribute(Some(&format!("\"https://{host}:{port}\"")), "http.get", &[]))
    };
    assert_eq!(ask(&trusting, "localhost").next().await, "7");
    let message = ask(&trusting, "127.0.0.1").next().await;
    assert!(message.contains("not valid for name"), "{message}");
    let message = ask(&World::new(), "localhost").next().await;
    assert!(message.contains("UnknownIssuer"), "{message}");
}

#[tokio::test]
async fn authorities_that_cannot_be_read_are_found_at_the_start() {
    let settings = SourceSettings { authorities: Some("missing.pem".into()), ..SourceSettings::default() };
    let error = durward_sources::Sources::start(&settings, &crate::world::clock()).unwrap_err();
    assert!(
        error.to_string().contains("sources.authorities") && error.to_string().contains("missing.pem"),
        "{error}"
    );
}
