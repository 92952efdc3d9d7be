//! A server on a free port with policies in a directory of its own, and two clients: an ordinary one and one that
//! sends whatever bytes it is told to.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use durward_server::decider::Decider;
use durward_server::{Clock, Served, Server, Settings, StartError};
use tokio::sync::oneshot;

/// How long anything may take: machines that run tests are busy, and what never comes never comes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Doctors read, nobody else does anything.
pub(crate) const DOCTORS_READ: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17"
    PolicyId="doctors" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
  <Target/>
  <Rule RuleId="doctors-read" Effect="Permit">
    <Target><AnyOf><AllOf>
      <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
          AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>
      </Match>
    </AllOf></AnyOf></Target>
  </Rule>
</Policy>"#;

/// The same for nurses, and for nobody else.
pub(crate) fn nurses_read() -> String {
    DOCTORS_READ.replace("doctor", "nurse")
}

pub(crate) fn request_xml(role: &str) -> String {
    format!(
        r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
  ReturnPolicyIdList="false"><Attributes
  Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"><Attribute AttributeId="role"
  IncludeInResult="false"><AttributeValue
  DataType="http://www.w3.org/2001/XMLSchema#string">{role}</AttributeValue></Attribute></Attributes></Request>"#
    )
}

pub(crate) fn request_json(role: &str) -> String {
    format!(
        r#"{{"Request":{{"AccessSubject":{{"Attribute":[{{"AttributeId":"role","Value":"{role}"}}]}}}}}}"#
    )
}

/// A directory that is gone when dropped.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("durward-server-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A file that only its owner may read.
    pub(crate) fn write_secret(&self, name: &str, text: &str) {
        self.write(name, text);
        self.permit(name, 0o600);
    }

    /// Says who may read a file.
    pub(crate) fn permit(&self, name: &str, mode: u32) {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(self.path(name), permissions).unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    /// Of all listeners for HTTP.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) rsocket: Option<SocketAddr>,
    pub(crate) directory: Directory,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<Served, StartError>>>,
}

#[expect(clippy::disallowed_methods, reason = "a test is the caller who brings the clock")]
pub(crate) fn clock() -> Clock {
    Arc::new(std::time::SystemTime::now)
}

/// Settings out of a text, with a free port and, unless it says otherwise, the policies of `directory`.
pub(crate) fn settings(directory: &Directory, text: &str) -> Settings {
    let mut settings = Settings::from_toml(text, "test.toml").unwrap();
    settings.server.listen.set_port(0);
    settings.policies.path = directory.path("policies");
    let in_directory = |path: &mut Option<PathBuf>| {
        *path = path.take().map(|path| directory.path(path.to_str().unwrap()));
    };
    in_directory(&mut settings.identity.users);
    in_directory(&mut settings.identity.data);
    in_directory(&mut settings.identity.audit);
    if settings.decision_log.to == "file" {
        settings.decision_log.to = directory.path("decisions.jsonl").display().to_string();
    }
    settings
}

impl TestServer {
    pub(crate) fn start(text: &str) -> TestServer {
        let directory = Directory::new();
        directory.write("policies/doctors.xml", DOCTORS_READ);
        TestServer::start_in(directory, text).unwrap()
    }

    pub(crate) fn start_in(directory: Directory, text: &str) -> Result<TestServer, StartError> {
        TestServer::start_with(directory, text, |_| {})
    }

    /// With somebody who decides what SAPL's clients ask.
    pub(crate) fn start_deciding(
        directory: Directory,
        text: &str,
        decider: impl Decider,
    ) -> Result<TestServer, StartError> {
        directory.write("policies/doctors.xml", DOCTORS_READ);
        TestServer::start_with(directory, text, |server| assert!(server.set_decider(Arc::new(decider))))
    }

    /// With what a test does to the server before it answers.
    pub(crate) fn start_with(
        directory: Directory,
        text: &str,
        prepare: impl FnOnce(&Server) + Send + 'static,
    ) -> Result<TestServer, StartError> {
        let settings = settings(&directory, text);
        TestServer::start_at(directory, settings, clock(), prepare)
    }

    /// With a clock that a test turns.
    pub(crate) fn start_at(
        directory: Directory,
        settings: Settings,
        clock: Clock,
        prepare: impl FnOnce(&Server) + Send + 'static,
    ) -> Result<TestServer, StartError> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let server = match Server::bind(settings, clock) {
                    Ok(server) => server,
                    Err(error) => {
                        tell.send(Err(error)).unwrap();
                        return Ok(Served { connections_cut: 0 });
                    }
                };
                prepare(&server);
                tell.send(Ok((server.addresses().to_vec(), server.rsocket_address()))).unwrap();
                server.serve(async { drop(stopped.await) }).await
            })
        });
        let (addresses, rsocket) = told.recv().unwrap()?;
        let address = addresses[0];
        Ok(TestServer { address, addresses, rsocket, directory, stop: Some(stop), thread: Some(thread) })
    }

    /// Asks it to stop and does not wait.
    pub(crate) fn begin_stop(&mut self) {
        self.stop.take();
    }

    pub(crate) fn stop(mut self) -> Served {
        self.begin_stop();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
        self.send("POST", "/pdp", headers, body.as_ref())
    }

    pub(crate) fn decide(&self, role: &str) -> String {
        let reply = self.post(&[("Content-Type", "application/xacml+json")], request_json(role));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let json: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        json["Response"][0]["Decision"].as_str().unwrap().into()
    }

    pub(crate) fn ready(&self) -> serde_json::Value {
        serde_json::from_slice(&self.get("/health/ready").body).unwrap()
    }

    /// Waits until something holds; a busy machine gets a minute for what takes an idle one a second.
    pub(crate) fn eventually(&self, what: &str, holds: impl Fn(&TestServer) -> bool) -> Duration {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if holds(self) {
                return begun.elapsed();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("never: {what}; {}", self.ready());
    }

    /// The value of a metric, its labels included in the name as they are written.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .allow_non_standard_methods(true)
            .build()
            .into();
        let mut request =
            ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = match body {
            b"" => agent.run(request.body(()).unwrap()),
            body => agent.run(request.body(body).unwrap()),
        };
        let mut response = response.unwrap();
        let headers = response.headers().iter();
        let headers =
            headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_string())).collect();
        let body = response.body_mut().read_to_vec().unwrap();
        Reply { status: response.status().as_u16(), headers, body }
    }

    /// A connection to write bytes to.
    pub(crate) fn connect(&self) -> Raw {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Raw(stream)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value)
    }
}

/// A connection over which anything can be sent.
pub(crate) struct Raw(pub(crate) TcpStream);

impl Raw {
    pub(crate) fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// A whole request to decide, keeping the connection.
    pub(crate) fn ask(&mut self, body: &str) {
        self.send(&format!(
            "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
    }

    /// One answer: status and body, by its `Content-Length`.
    pub(crate) fn answer(&mut self) -> (u16, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(
                self.0.read(&mut byte).unwrap(),
                1,
                "closed after {:?}",
                String::from_utf8_lossy(&head)
            );
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.0.read_exact(&mut body).unwrap();
        (head[9..12].parse().unwrap(), String::from_utf8(body).unwrap())
    }

    /// Everything until the other side closes; how long that took.
    pub(crate) fn rest(&mut self) -> (String, Duration) {
        let begun = Instant::now();
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = self.0.read_to_end(&mut rest);
        (String::from_utf8_lossy(&rest).into_owned(), begun.elapsed())
    }
}

/// A path of this workspace.
pub(crate) fn workspace(path: &str) -> PathBuf {
    durward_testdata::workspace().join(path)
}
