//! HTTP/2 against servers of others: nginx and Node.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use durward_lab::record::MeasuredPoint;
use durward_lab::run::RunOptions;

use super::server::{Server, run_text, run_with};

/// A server of others, with its files; it ends when this is dropped.
struct Other {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("durward-lab-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Starts a program and waits for its port; `None` where the program is not there.
fn start(mut command: Command, port: u16, folder: PathBuf) -> Option<Other> {
    let Ok(process) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        durward_testdata::skip(format_args!("{command:?} cannot be started"));
        return None;
    };
    let other = Other { process, port, folder };
    for _ in 0..200 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(other);
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{command:?} does not listen");
}

/// One nginx, of one process: killing a master would leave its workers. `listen` is what stands behind the port, `rest` the rest of the
/// server.
fn nginx(name: &str, listen: &str, rest: &str) -> Option<Other> {
    let (folder, port) = (folder(name), free_port());
    let config = format!(
        "daemon off; master_process off; error_log stderr crit; pid nginx.pid; events {{ worker_connections 1024; }}\n\
         http {{ access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n\
         server {{ listen 127.0.0.1:{port}{listen}; {rest}\nlocation / {{ return 200 \"hello\"; }} }} }}\n"
    );
    std::fs::write(folder.join("nginx.conf"), config).unwrap();
    // Not in the `PATH` of who does not administer.
    let administered = "/usr/sbin/nginx";
    let mut command = Command::new(if Path::new(administered).exists() { administered } else { "nginx" });
    command.arg("-p").arg(&folder).args(["-c", "nginx.conf"]);
    start(command, port, folder)
}

const NODE: &str = r#"
const http2 = require('http2');
const server = http2.createServer();
server.on('session', (session) => session.on('error', () => {}));
server.on('stream', (stream, headers) => {
  const path = headers[':path'];
  stream.on('error', () => {});
  if (path === '/refuse') return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  if (path === '/away') {
    const session = stream.session;
    session.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
    // Without the code, node takes the farewell back by another with NO_ERROR.
    return setTimeout(() => session.destroy(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM), 50);
  }
  if (path === '/big') { stream.respond({ ':status': 200 }); return stream.end(Buffer.alloc(3000000, 'x')); }
  if (path === '/events') {
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    const timer = setInterval(() => stream.write('data: {"n":1}\n\n'), 10);
    return stream.on('close', () => clearInterval(timer));
  }
  let body = '';
  stream.on('data', (part) => body += part);
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/json', 'x-token': 't1' });
    stream.end(JSON.stringify({ body, length: headers['content-length'] || null, token: headers['x-back'] || null, path }));
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');
"#;

fn node(name: &str) -> Option<Other> {
    let (folder, port) = (folder(name), free_port());
    std::fs::write(folder.join("server.js"), NODE).unwrap();
    let mut command = Command::new("node");
    command.arg(folder.join("server.js")).arg(port.to_string());
    start(command, port, folder)
}

fn point(address: &str, load: &str, steps: &str) -> MeasuredPoint {
    run_text(&format!(
        "[target]\naddresses = [\"{address}\"]\n[load]\nhttp = \"2\"\nthreads = 1\nwarm_up = \"100ms\"\nmeasure = \"600ms\"\nerror_pause = \"20ms\"\n{load}\n{steps}"
    ))
    .points
    .remove(0)
}

const LOOK: &str = "[[steps]]\npath = \"/\"\nexpect.contains = \"hello\"";

fn causes(point: &MeasuredPoint) -> Vec<&str> {
    point.steps.iter().flat_map(|step| step.failed.keys()).map(String::as_str).collect()
}

/// A worker that outlived its master would still listen.
#[test]
fn nginx_ends_as_a_whole_with_its_test() {
    let Some(server) = nginx("h2-ends", " http2", "") else { return };
    let port = server.port;
    drop(server);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn nginx_is_asked_over_few_connections() {
    let Some(server) = nginx("h2", " http2", "keepalive_requests 1000000;") else { return };
    let at = format!("http://127.0.0.1:{}", server.port);
    let one = point(&at, "users = 50", LOOK);
    assert!(one.answered() > 300 && one.failed() == 0, "{:?}", one.steps);
    assert_eq!(one.generator.connections, 1);
    let spread = point(&at, "users = 50\nconnections = 5", LOOK);
    assert!(spread.failed() == 0 && spread.generator.connections == 5, "{:?}", spread.steps);
    let few = point(&at, "users = 50\nstreams = 10", LOOK);
    assert!(few.failed() == 0 && few.generator.connections == 5, "{}", few.generator.connections);
}

#[test]
fn what_a_server_allows_and_takes_back_is_heeded() {
    // Two streams at a time, and a connection ends after 50 requests (GOAWAY): what was not looked at is asked again.
    let rest = "keepalive_requests 50; http2_max_concurrent_streams 2;";
    let Some(server) = nginx("h2-limits", " http2", rest) else { return };
    let point = point(&format!("http://127.0.0.1:{}", server.port), "users = 12", LOOK);
    assert!(point.answered() > 500 && point.failed() == 0, "{} {:?}", point.answered(), point.steps);
}

#[test]
fn alpn_decides_over_tls() {
    if !durward_testdata::has_openssl() {
        return;
    }
    let certificate = folder("h2-pem");
    let made = Command::new("openssl")
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost".split(' '))
        .current_dir(&certificate)
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    let tls = |folder: &PathBuf| {
        format!("ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem;", folder.display())
    };
    for (listen, expected) in [(" ssl http2", None), (" ssl", Some("no HTTP/2 by ALPN"))] {
        let name = if expected.is_none() { "h2-tls" } else { "h1-tls" };
        let Some(server) = nginx(name, listen, &tls(&certificate)) else { return };
        let steps = format!("[tls]\ndanger_any_certificate = true\n{LOOK}");
        let point = point(&format!("https://127.0.0.1:{}", server.port), "users = 5", &steps);
        match expected {
            None => assert!(point.answered() > 100 && point.failed() == 0, "{:?}", point.steps),
            Some(cause) => assert_eq!((point.answered(), causes(&point)), (0, vec![cause])),
        }
    }
    let _ = std::fs::remove_dir_all(certificate);
}

#[test]
fn node_gets_bodies_and_headers_and_gives_captures() {
    let Some(server) = node("h2-node") else { return };
    let at = format!("http://127.0.0.1:{}/base", server.port);
    let steps = r#"
        [[steps]]
        name = "send"
        path = "/a?user=${user}"
        json = { user = "u${user}" }
        expect.json = { "/length" = "13", "/body" = "{\"user\":\"u${user}\"}", "/path" = "/base/a?user=${user}" }
        capture.token = { header = "X-Token" }
        [[steps]]
        name = "back"
        path = "/b"
        headers.X-Back = "${token}"
        expect.json."/token" = "t1"
    "#;
    let point = point(&at, "users = 4", steps);
    let failed: Vec<_> = point.steps.iter().map(|step| (&step.name, &step.failed)).collect();
    assert!(point.steps[0].answered > 2 && point.steps[1].answered > 2, "{failed:?}");
    assert!(point.steps[0].failed.is_empty() && point.steps[1].failed.is_empty(), "{failed:?}");
}

#[test]
fn resets_and_farewells_are_causes_of_their_own() {
    let Some(server) = node("h2-causes") else { return };
    let at = format!("http://127.0.0.1:{}", server.port);
    for (path, cause) in [("/refuse", "RST_STREAM REFUSED_STREAM"), ("/away", "GOAWAY ENHANCE_YOUR_CALM")] {
        let point = point(&at, "users = 2", &format!("[[steps]]\npath = \"{path}\""));
        // Node's second farewell may name a later stream than its first (seen under load), which breaks RFC 9113, 6.8.
        let others = point.steps[0].failed.iter().filter(|(name, _)| name.as_str() != cause);
        let broken: u64 = others.map(|(_, count)| *count).sum();
        assert_eq!(point.answered(), 0, "{:?}", point.steps);
        assert!(causes(&point).contains(&cause) && 4 * broken < point.failed(), "{:?}", point.steps);
    }
    // Three megabytes come through the windows.
    let big = point(&at, "users = 2", "[[steps]]\npath = \"/big\"\nexpect.contains = \"xxxx\"");
    assert!(big.answered() > 1 && big.failed() == 0, "{:?}", big.steps);
    let events = point(
        &at,
        "users = 5",
        "[[steps]]\npath = \"/events\"\nevents = { hold = \"100ms\" }\nexpect.json.\"/n\" = 1",
    );
    assert!(events.answered() > 5 && events.failed() == 0, "{:?}", events.steps);
    assert!(events.steps[0].events > 3 * events.answered() && events.generator.connections == 1);
}

#[test]
fn the_generator_is_measured_over_http2() {
    let Some(server) = nginx("h2-own", " http2", "") else { return };
    let text = format!(
        "[target]\naddresses = [\"http://127.0.0.1:{}\"]\n[load]\nhttp = \"2\"\nusers = 1\nthreads = 1\nwarm_up = \"0s\"\nmeasure = \"100ms\"\n[[steps]]\npath = \"/\"\nbody = \"x\"",
        server.port
    );
    let options = RunOptions { generator_limit: Duration::from_millis(300), ..RunOptions::default() };
    let limit = run_with(&text, &options).generator_limit.unwrap();
    assert!(limit.requests_per_s > 1000.0, "{limit:?}");
}

#[test]
fn what_speaks_no_http2_is_told() {
    let old = Server::plain();
    let plain = point(&old.url, "users = 1", "[[steps]]\npath = \"/\"");
    // This server closes at what it cannot read, or answers as HTTP/1.1 does.
    assert!(plain.answered() == 0 && plain.failed() > 0, "{:?}", plain.steps);
    let raw = |bytes: &'static [u8]| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            let mut kept = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let mut line = String::new();
                let _ = BufReader::new(stream.try_clone().unwrap()).read_line(&mut line);
                let _ = stream.write_all(bytes);
                if bytes.is_empty() {
                    kept.push(stream);
                }
            }
        });
        url
    };
    for (bytes, cause) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "not HTTP/2"),
        // Settings, and then a frame that no server may send.
        (b"\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00x", "not HTTP/2"),
        (b"\x00\x00", "closed"),
        (b"", "timeout"),
    ] {
        let point = point(&raw(bytes), "users = 1\ntimeout = \"100ms\"", "[[steps]]\npath = \"/\"");
        assert_eq!((point.answered(), causes(&point)), (0, vec![cause]), "{bytes:?}");
    }
}
