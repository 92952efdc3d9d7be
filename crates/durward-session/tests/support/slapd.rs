//! A real OpenLDAP server, with its files in a folder that goes with it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::sleep;

use crate::certificates;

pub(crate) const BASE: &str = "ou=people,dc=example,dc=org";
pub(crate) const GROUPS: &str = "ou=groups,dc=example,dc=org";
pub(crate) const SEARCHER: &str = "cn=searcher,dc=example,dc=org";

const STARTS: usize = 5;

/// Salted SHA-1 of `secret`, as old directories have it.
const SECRET: &str = "{SSHA}1G904nLkTkGWjKNnQuB/hpWXC/hzYWx0c2FsdA==";

/// People with the password `secret`, two who share an address, groups, and a branch that is elsewhere.
const PEOPLE: &str = "\
dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
dc: example
o: example

dn: cn=searcher,dc=example,dc=org
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: searcher
userPassword: SECRET

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: uid=anna,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: anna
cn: Anna A
sn: A
mail: anna@example.org
mail: shared@example.org
title: doctor
memberOf: cn=doctors,ou=groups,dc=example,dc=org
memberOf: cn=administrators,ou=people,dc=example,dc=org
userPassword: SECRET

dn: uid=berta,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: berta
cn: Berta B
sn: B
mail: shared@example.org
memberOf: cn=doctors,ou=groups,dc=example,dc=org
memberOf: cn=administrators,ou=groups,dc=example,dc=org
userPassword: SECRET

dn: uid=a*b(c)\\5Cd\\2C e,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: a*b(c)\\d, e
cn: Odd O
sn: O
userPassword: SECRET

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: cn=doctors,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: doctors
member: uid=anna,ou=people,dc=example,dc=org
member: uid=berta,ou=people,dc=example,dc=org

dn: cn=administrators,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: administrators
member: uid=berta,ou=people,dc=example,dc=org

dn: cn=administrators,ou=people,dc=example,dc=org
objectClass: groupOfNames
cn: administrators
member: uid=anna,ou=people,dc=example,dc=org
";

/// What other directories say of users, as they say it.
const SCHEMA: &str = "\
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 2.16.840.1.113730.3.1.610 NAME 'nsAccountLock' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.4203.666.99.1 NAME 'ofOthers' SUP top AUXILIARY MAY ( userAccountControl $ nsAccountLock $ shadowExpire ) )
";

/// What only the second server has.
const ELSEWHERE: &str = "
dn: ou=far,ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: far

dn: uid=clara,ou=far,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: clara
cn: Clara C
sn: C
userPassword: SECRET
";

/// Policies for passwords, and people who have something to do with them: `reset` was given a password by an administrator, `grace` has one
/// that is over and lets in three times more, `over` has one that is over. The passwords of `aged` and all others last.
const POLICED: &str = "
dn: cn=policy,dc=example,dc=org
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdMustChange: TRUE
pwdCheckQuality: 2
pwdMinLength: 8
pwdInHistory: 2

dn: cn=grace,dc=example,dc=org
objectClass: device
objectClass: pwdPolicy
cn: grace
pwdAttribute: userPassword
pwdMaxAge: 864000
pwdGraceAuthNLimit: 3

dn: cn=over,dc=example,dc=org
objectClass: device
objectClass: pwdPolicy
cn: over
pwdAttribute: userPassword
pwdMaxAge: 864000
pwdGraceAuthNLimit: 0

dn: cn=locking,dc=example,dc=org
objectClass: device
objectClass: pwdPolicy
cn: locking
pwdAttribute: userPassword
pwdLockout: TRUE
pwdMaxFailure: 2

dn: uid=locked,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: locked
cn: Locked L
sn: L
pwdPolicySubentry: cn=locking,dc=example,dc=org
userPassword: SECRET

dn: uid=reset,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: reset
cn: Reset R
sn: R
pwdChangedTime: 20200101000000Z
pwdReset: TRUE
userPassword: SECRET

dn: uid=grace,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: grace
cn: Grace G
sn: G
pwdChangedTime: 20200101000000Z
pwdPolicySubentry: cn=grace,dc=example,dc=org
userPassword: SECRET

dn: uid=over,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: over
cn: Over O
sn: O
pwdChangedTime: 20200101000000Z
pwdPolicySubentry: cn=over,dc=example,dc=org
userPassword: SECRET

dn: uid=aged,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: aged
cn: Aged A
sn: A
pwdChangedTime: 20200101000000Z
userPassword: SECRET
";

/// Whether the server and openssl are there; without them the tests are passed over, except on the build machine.
fn program() -> Option<PathBuf> {
    let is_there = |name: &Path, argument: &str| {
        Command::new(name).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    let places = ["slapd", "/usr/sbin/slapd", "/usr/local/sbin/slapd"].map(PathBuf::from);
    let slapd = places.into_iter().find(|path| is_there(path, "-VV"));
    if let Some(slapd) = slapd {
        return certificates::can_be_made().then_some(slapd);
    }
    durward_testdata::skip("no slapd: apt-get install slapd");
    None
}

fn run(program: &str, arguments: &str, folder: &Path) {
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server. It ends when this is dropped, and when this process is gone.
pub(crate) struct Slapd {
    program: PathBuf,
    pub(crate) folder: Folder,
    pub(crate) port: u16,
    pub(crate) tls_port: u16,
    keeper: Option<Child>,
}

/// Where the entries of a branch are.
pub(crate) enum Far<'u> {
    Nowhere,
    Here,
    /// At this address.
    There(&'u str),
}

impl Slapd {
    /// Starts one whose certificate is for `localhost`.
    pub(crate) async fn start(far: Far<'_>) -> Option<Slapd> {
        Slapd::start_with(far, false).await
    }

    /// The same with policies for passwords, which users may change.
    pub(crate) async fn start_policed() -> Option<Slapd> {
        Slapd::start_with(Far::Nowhere, true).await
    }

    async fn start_with(far: Far<'_>, is_policed: bool) -> Option<Slapd> {
        let program = program()?;
        for _ in 0..STARTS {
            let mut slapd = Slapd::prepare(&program, &far, is_policed);
            slapd.begin();
            if slapd.listens().await {
                return Some(slapd);
            }
        }
        panic!("slapd does not listen");
    }

    fn prepare(program: &Path, far: &Far<'_>, is_policed: bool) -> Slapd {
        let held = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, tls_port] = held.map(|listener| listener.local_addr().unwrap().port());
        let folder = std::env::temp_dir().join(format!("durward-slapd-{}-{port}", std::process::id()));
        let folder = Folder(folder);
        std::fs::create_dir_all(folder.0.join("data")).unwrap();
        certificates::authority(&folder.0);
        certificates::certificate(&folder.0, "own", "DNS:localhost");
        let password = folder.0.join("password");
        std::fs::write(&password, "secret\n").unwrap();
        std::fs::set_permissions(&password, PermissionsExt::from_mode(0o600)).unwrap();
        let path = folder.0.display();
        let (module, change, overlay, policed) = if is_policed {
            // Whoever has the name of the root may write what the policy counts.
            let overlay = "rootdn \"cn=root,dc=example,dc=org\"\noverlay ppolicy\n\
                           ppolicy_default \"cn=policy,dc=example,dc=org\"\n";
            ("moduleload ppolicy\n", "by self write ", overlay, POLICED)
        } else {
            ("", "", "", "")
        };
        let config = format!(
            "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
             include /etc/ldap/schema/inetorgperson.schema\ninclude /etc/ldap/schema/nis.schema\n{SCHEMA}\
             modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload memberof\n{module}\
             pidfile {path}/pid\n\
             TLSCACertificateFile {path}/ca.pem\nTLSCertificateFile {path}/own.pem\nTLSCertificateKeyFile {path}/own.key\n\
             access to attrs=userPassword {change}by anonymous auth by * none\n\
             access to * by dn.exact=\"{SEARCHER}\" read by * none\n\
             database mdb\nsuffix \"dc=example,dc=org\"\ndirectory {path}/data\n\
             overlay memberof\n{overlay}"
        );
        std::fs::write(folder.0.join("slapd.conf"), config).unwrap();
        let far = match far {
            Far::Nowhere => String::new(),
            Far::Here => ELSEWHERE.to_owned(),
            Far::There(url) => format!(
                "\ndn: ou=far,ou=people,dc=example,dc=org\nobjectClass: referral\nobjectClass: extensibleObject\n\
                 ou: far\nref: {url}/ou=far,ou=people,dc=example,dc=org\n"
            ),
        };
        let entries = format!("{PEOPLE}{far}{policed}").replace("SECRET", SECRET);
        std::fs::write(folder.0.join("people.ldif"), entries).unwrap();
        let slapadd = program.with_file_name("slapadd");
        run(&slapadd.display().to_string(), "-f slapd.conf -l people.ldif", &folder.0);
        Slapd { program: program.to_owned(), folder, port, tls_port, keeper: None }
    }

    /// Starts it, with the files that it has.
    pub(crate) fn begin(&mut self) {
        let _ = std::fs::remove_file(self.folder.0.join("pid"));
        let urls = format!("ldap://127.0.0.1:{} ldaps://127.0.0.1:{}", self.port, self.tls_port);
        let keeper = Command::new("sh")
            .args(["-c", "\"$0\" -f slapd.conf -h \"$1\" -d 0 & read gone; kill -9 $!; wait"])
            .arg(&self.program)
            .arg(urls)
            .current_dir(&self.folder.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.keeper = Some(keeper);
    }

    pub(crate) async fn listens(&self) -> bool {
        for _ in 0..250 {
            let is_listening = tokio::net::TcpStream::connect(("127.0.0.1", self.tls_port)).await.is_ok();
            if is_listening && self.folder.0.join("pid").exists() {
                return true;
            }
            sleep(Duration::from_millis(20)).await;
        }
        false
    }

    /// Ends it for now.
    pub(crate) fn end(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            // Its input ends, and it kills the server.
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }

    /// Removes an entry while it does not run.
    pub(crate) fn remove(&self, entry: &str) {
        self.tool("slapmodify", &format!("dn: {entry}\nchangetype: delete\n"));
    }

    /// Adds an entry while it does not run: another one, also where there was one of the same name. The password is `secret`.
    pub(crate) fn add(&self, entry: &str) {
        self.tool("slapadd", &entry.replace("SECRET", SECRET));
    }

    /// Changes it, and starts it again.
    pub(crate) async fn changed(&mut self, change: impl FnOnce(&Slapd)) {
        self.end();
        change(self);
        self.begin();
        assert!(self.listens().await);
    }

    /// Gives an entry these values of attributes in the place of those that it has, and starts it again. The entry stays the same:
    /// `slapmodify` would give it another `entryUUID`.
    pub(crate) async fn set(&mut self, entry: &str, values: &[(&str, &str)]) {
        self.changed(|slapd| slapd.write_anew(entry, values)).await;
    }

    fn write_anew(&self, entry: &str, values: &[(&str, &str)]) {
        let slapcat = self.program.with_file_name("slapcat");
        let output =
            Command::new(slapcat).args(["-f", "slapd.conf"]).current_dir(&self.folder.0).output().unwrap();
        assert!(output.status.success(), "slapcat: {}", String::from_utf8_lossy(&output.stderr));
        // Long lines go on behind a blank.
        let dump = String::from_utf8(output.stdout).unwrap().replace("\n ", "");
        let is_set = |line: &&str| values.iter().any(|(name, _)| line.starts_with(&format!("{name}: ")));
        let changed = |text: &str| {
            if !text.starts_with(&format!("dn: {entry}\n")) {
                return text.to_owned();
            }
            let mut lines: Vec<String> =
                text.lines().filter(|line| !is_set(line)).map(str::to_owned).collect();
            lines.extend(values.iter().map(|(name, value)| format!("{name}: {value}")));
            lines.join("\n")
        };
        let entries: Vec<String> = dump.trim_end().split("\n\n").map(changed).collect();
        std::fs::remove_dir_all(self.folder.0.join("data")).unwrap();
        std::fs::create_dir(self.folder.0.join("data")).unwrap();
        self.tool("slapadd", &(entries.join("\n\n") + "\n"));
    }

    fn tool(&self, name: &str, content: &str) {
        std::fs::write(self.folder.0.join("change.ldif"), content).unwrap();
        let tool = self.program.with_file_name(name);
        run(&tool.display().to_string(), "-f slapd.conf -l change.ldif", &self.folder.0);
    }

    fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.folder.0.join("pid")).unwrap();
        assert!(Command::new("kill").args([signal, pid.trim()]).status().unwrap().success());
    }

    /// It is there, and says nothing.
    pub(crate) fn stop(&self) {
        self.signal("-STOP");
        // A thread that runs just now may say something yet.
        while !self.is_stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_stopped(&self) -> bool {
        let pid = std::fs::read_to_string(self.folder.0.join("pid")).unwrap();
        let threads = std::fs::read_dir(format!("/proc/{}/task", pid.trim())).unwrap();
        threads
            .map(|thread| std::fs::read_to_string(thread.unwrap().path().join("stat")).unwrap_or_default())
            .all(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T')))
    }

    pub(crate) fn go_on(&self) {
        self.signal("-CONT");
    }

    /// Under TLS after a question in plain text.
    pub(crate) fn url(&self) -> String {
        format!("ldap://localhost:{}", self.port)
    }

    /// Under TLS from the beginning.
    pub(crate) fn tls_url(&self) -> String {
        format!("ldaps://localhost:{}", self.tls_port)
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.folder.0.join("ca.pem")
    }

    pub(crate) fn password(&self) -> PathBuf {
        self.folder.0.join("password")
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.end();
    }
}
