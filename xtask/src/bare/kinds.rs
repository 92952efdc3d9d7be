//! What is typed on a bare machine for each kind of package: as `docs/packages.md` and the READMEs of the packages say.

use crate::bare::base::On;
use crate::metadata;
use crate::process::run;
use crate::tools;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A kind of package, and a machine for it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) on: On,
    /// The folder among the packages that the machine has at `/mnt`.
    pub(crate) packages: &'static str,
    /// How to have them.
    pub(crate) made_by: &'static str,
    pub(crate) needs_java: bool,
    pub(crate) install: &'static str,
    pub(crate) decide: &'static str,
    /// What the decision must say.
    pub(crate) says: &'static [&'static str],
    pub(crate) remove: &'static str,
    /// Paths that stay, by their beginning, and why.
    pub(crate) stays: &'static [(&'static str, &'static str)],
}

/// The README's first policy in SAPL: one decision of the program, one over HTTP, one that is refused.
macro_rules! decided_by_program {
    ($before:literal, $serve:literal) => {
        concat!(
            $before,
            r#"
mkdir /tmp/policies
cat > /tmp/policies/records.sapl <<'POLICY'
policy "doctors read"
permit
    subject.role == "doctor";
    action == "read";
POLICY
durward decide --policies /tmp/policies -s '{"role":"doctor"}' -a '"read"' -r '"record 7"'
"#,
            $serve,
            r#" &
server=$!
ask='{"subject":{"role":"visitor"},"action":"read","resource":"record 7"}'
ask() {
    if command -v curl > /dev/null; then curl -s -d "$ask" http://127.0.0.1:8080/api/pdp/decide-once; return; fi
    exec 3<> /dev/tcp/127.0.0.1/8080 || return 1
    printf 'POST /api/pdp/decide-once HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %s\r\n\r\n%s' "${#ask}" "$ask" >&3
    cat <&3
}
tries=0
until ask 2> /dev/null; do
    tries=$((tries + 1))
    test "$tries" -lt 200
    sleep 0.05
done
kill "$server"
wait "$server"
"#
        )
    };
}

const PROGRAM_SAYS: &[&str] = &["{\"decision\":\"PERMIT\"}", "{\"decision\":\"DENY\"}"];
const DIST: &str = "`cargo xtask dist`";
const STATIC: &str = "`--static PATH` names a binary for x86_64-unknown-linux-musl";

const UNPACK: &str = r#"
cd /tmp
tar -xzf /mnt/durward-*.tar.gz
cd durward-*
install -d /usr/local/bin /usr/local/share/man/man1
install durward /usr/local/bin/
install -m 644 man/man1/* /usr/local/share/man/man1/
"#;
const UNPACKED_AWAY: &str = r#"
rm /usr/local/bin/durward /usr/local/share/man/man1/durward*
rmdir /usr/local/share/man/man1 2> /dev/null || true
rmdir /usr/local/share/man 2> /dev/null || true
"#;

pub(crate) const KINDS: &[Kind] = &[
    Kind {
        name: "archive on Debian",
        on: On::Debian(&[]),
        packages: "gnu",
        made_by: DIST,
        needs_java: false,
        install: UNPACK,
        decide: decided_by_program!("", "durward serve --policies /tmp/policies 2> /dev/null"),
        says: PROGRAM_SAYS,
        remove: UNPACKED_AWAY,
        stays: &[],
    },
    Kind {
        name: "package of Debian",
        on: On::Debian(&["systemd-standalone-sysusers"]),
        packages: "gnu",
        made_by: DIST,
        needs_java: false,
        install: "dpkg --install /mnt/durward_*_amd64.deb",
        // With the settings and as the user of the service; systemd does not run in there.
        decide: decided_by_program!(
            "",
            "cp /tmp/policies/* /etc/durward/policies/
setpriv --reuid durward --regid durward --clear-groups durward serve --config /etc/durward/durward.toml 2> /dev/null"
        ),
        says: PROGRAM_SAYS,
        remove: "rm /etc/durward/policies/records.sapl; dpkg --purge durward",
        stays: &[
            ("etc/passwd", "the user durward"),
            ("etc/shadow", "the user durward"),
            ("etc/group", "the user durward"),
            ("etc/gshadow", "the user durward"),
            ("var/lib/dpkg/", "what dpkg writes about itself"),
            ("var/log/", "what dpkg writes about itself"),
            ("var/cache/debconf/", "what dpkg writes about itself"),
        ],
    },
    Kind {
        name: "package of RPM",
        on: On::Debian(&["rpm", "passwd"]),
        packages: "gnu",
        made_by: DIST,
        needs_java: false,
        // Libraries belong to packages of Debian here, of which RPM knows nothing.
        install: "rpm --install --nodeps /mnt/durward-*.rpm",
        decide: decided_by_program!(
            "",
            "cp /tmp/policies/* /etc/durward/policies/
setpriv --reuid durward --regid durward --clear-groups durward serve --config /etc/durward/durward.toml 2> /dev/null"
        ),
        says: PROGRAM_SAYS,
        remove: "rm /etc/durward/policies/records.sapl; rpm --erase --nodeps durward",
        stays: &[
            ("etc/passwd", "the user durward"),
            ("etc/shadow", "the user durward"),
            ("etc/group", "the user durward"),
            ("etc/gshadow", "the user durward"),
            ("etc/subuid", "the user durward"),
            ("etc/subgid", "the user durward"),
            ("etc/.pwd.lock", "the user durward"),
            ("var/lib/rpm", "the database of rpm"),
            ("root/", "the database of rpm"),
            ("tmp/", "the database of rpm"),
        ],
    },
    Kind {
        name: "wheel of Python",
        on: On::Debian(&["python3-venv"]),
        packages: "python",
        made_by: "`cargo xtask package python`",
        needs_java: false,
        install: r#"
python3 -m venv /opt/environment
/opt/environment/bin/pip install --quiet --no-index --find-links /mnt durward
"#,
        decide: r#"
cat > /tmp/first.py <<'PROGRAM'
from durward import Pdp

pdp = Pdp.from_texts({"doctors.sapl": 'policy "doctors" permit subject.role == "doctor"'})
for role in "doctor", "visitor":
    print(role, pdp.decide({"subject": {"role": role}, "action": "read", "resource": "record 7"}).decision)
PROGRAM
PYTHONDONTWRITEBYTECODE=1 /opt/environment/bin/python /tmp/first.py
"#,
        says: &["doctor PERMIT", "visitor NOT_APPLICABLE"],
        remove: r#"
/opt/environment/bin/pip uninstall --quiet --yes durward
find /opt/environment -iname '*durward*'
test -z "$(find /opt/environment -iname '*durward*')"
"#,
        stays: &[("opt/environment/", "the environment, in which nothing is called durward")],
    },
    Kind {
        name: "packages of npm",
        on: On::Debian(&["nodejs", "npm"]),
        packages: "node",
        made_by: "`cargo xtask package node`",
        needs_java: false,
        install: r#"
mkdir /opt/program
cd /opt/program
echo '{ "private": true }' > package.json
npm install --offline --no-audit --no-fund --loglevel=error /mnt/*.tgz
"#,
        decide: r#"
cd /opt/program
cat > first.mjs <<'PROGRAM'
import { Pdp } from 'durward'

const pdp = Pdp.fromTexts({ 'doctors.sapl': 'policy "doctors" permit subject.role == "doctor"' })
for (const role of ['doctor', 'visitor']) {
  console.log(role, pdp.decide({ subject: { role }, action: 'read', resource: 'record 7' }).decision)
}
PROGRAM
node first.mjs
"#,
        says: &["doctor PERMIT", "visitor NOT_APPLICABLE"],
        remove: r#"
cd /opt/program
npm uninstall --offline --no-audit --no-fund --loglevel=error durward @durward/linux-x64-gnu
rm first.mjs
test -z "$(find . -path '*durward*')"
! grep durward package.json package-lock.json
"#,
        stays: &[("opt/", "the program's own files of npm, in which nothing is called durward")],
    },
    Kind {
        name: "library for C",
        on: On::Debian(&["gcc", "libc6-dev", "pkg-config"]),
        packages: "c",
        made_by: "`cargo xtask package c`",
        needs_java: false,
        install: r#"
cp -r /mnt/include /mnt/lib /mnt/share /usr/local/
ldconfig
"#,
        decide: r#"
cd /tmp
sed -n '/^```c$/,/^```$/p' /usr/local/share/doc/durward/README.md | sed '/^```/d' > first.c
cc first.c $(pkg-config --cflags --libs durward) -o first
./first
"#,
        says: &["{\"decision\":\"PERMIT\",\"obligations\":[{\"log\":\"record\"}]}"],
        remove: r#"
cd /mnt
find include lib share ! -type d | sed 's#^#/usr/local/#' | xargs rm
rmdir /usr/local/lib/cmake/durward /usr/local/lib/cmake /usr/local/lib/pkgconfig /usr/local/share/doc/durward /usr/local/share/doc 2> /dev/null || true
ldconfig
"#,
        stays: &[
            ("var/cache/ldconfig/", "what ldconfig knows"),
            ("etc/ld.so.cache", "what ldconfig knows"),
        ],
    },
    Kind {
        name: "jar of Java",
        on: On::Debian(&[]),
        packages: "java",
        made_by: "`cargo xtask package java`",
        needs_java: true,
        install: "install -d /opt/program; cp /mnt/durward-*.jar /opt/program/durward.jar; cp -r /mnt/classes /opt/program/",
        decide: "/srv/bin/java --enable-native-access=ALL-UNNAMED -cp /opt/program/durward.jar:/opt/program/classes Doctors",
        says: &["PERMIT [{\"log\":\"record\"}]"],
        remove: "rm -r /opt/program",
        stays: &[],
    },
    Kind {
        name: "archive on Alpine",
        on: On::Alpine,
        packages: "musl",
        made_by: STATIC,
        needs_java: false,
        install: UNPACK,
        decide: decided_by_program!("", "durward serve --policies /tmp/policies 2> /dev/null"),
        says: PROGRAM_SAYS,
        remove: UNPACKED_AWAY,
        stays: &[],
    },
    Kind {
        name: "binary without a system",
        on: On::Nothing,
        packages: "musl-alone",
        made_by: STATIC,
        needs_java: false,
        install: "/mnt/durward --version",
        decide: "/mnt/durward decide --policies /mnt/policies --request /mnt/doctor.json
/mnt/durward decide --policies /mnt/policies --request /mnt/visitor.json",
        says: &["{\"decision\":\"PERMIT\"}", "{\"decision\":\"DENY\"}"],
        remove: "/mnt/durward --version",
        stays: &[],
    },
];

/// The binary out of its archive, with a policy and questions: for a machine that has nothing to unpack or write with.
///
/// # Errors
/// The archive cannot be unpacked.
pub(crate) fn lay_out_alone(packages: &Path) -> Result<(), String> {
    let from = packages.join("musl");
    let to = packages.join("musl-alone");
    let archive = file_that_ends(&from, ".tar.gz")?;
    fs::create_dir_all(&to).map_err(|error| format!("cannot make `{}`: {error}", to.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(&to).args([
        "--strip-components=1",
        "--wildcards",
        "*/durward",
    ]);
    run(&mut tar)?;
    let ask = |role: &str| {
        format!("{{\"subject\":{{\"role\":\"{role}\"}},\"action\":\"read\",\"resource\":\"record 7\"}}\n")
    };
    let policy =
        "policy \"doctors read\" permit subject.role == \"doctor\"; action == \"read\";\n".to_owned();
    for (name, text) in [
        ("doctor.json", ask("doctor")),
        ("visitor.json", ask("visitor")),
        ("policies/records.sapl", policy),
        ("policies/pdp.json", "{\"algorithm\":{\"votingMode\":\"PRIORITY_DENY\",\"defaultDecision\":\"DENY\",\"errorHandling\":\"PROPAGATE\"}}\n".to_owned()),
    ] {
        let path = to.join(name);
        let written = fs::create_dir_all(path.parent().unwrap_or(&to)).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    }
    Ok(())
}

/// The program of the README for Java, compiled where a compiler is.
///
/// # Errors
/// It does not compile.
pub(crate) fn compile_for_java(packages: &Path) -> Result<(), String> {
    let folder = packages.join("java");
    if !folder.is_dir() {
        return Ok(());
    }
    let (home, jar) = (tools::java_home()?, file_that_ends(&folder, ".jar")?);
    let compiler = home.join("bin/javac");
    let mut command = if compiler.is_file() {
        let mut command = Command::new(compiler);
        command.args(["--release", "22", "-proc:none"]);
        command
    } else {
        let mut command = Command::new(home.join("bin/java"));
        command.arg("-jar").arg(home.join("ecj.jar")).args(["-22", "-proc:none", "-nowarn"]);
        command
    };
    command.arg("-cp").arg(jar).arg("-d").arg(folder.join("classes"));
    run(command.arg(metadata::root().join("bindings/java/src/test/java/Doctors.java")))
}

fn file_that_ends(folder: &Path, end: &str) -> Result<std::path::PathBuf, String> {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found = paths.find(|path| path.to_string_lossy().ends_with(end));
    found.ok_or_else(|| format!("no file `*{end}` in `{}`", folder.display()))
}
