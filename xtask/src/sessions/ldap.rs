//! `cargo xtask sessions ldap`: logins and the study's mix, of users in an OpenLDAP directory that keeps their passwords as salted
//! SHA-1. The directory shares the core of the node, as it did in the server that the figures are compared with.

use crate::process::{self, run};
use crate::release;
use crate::tools::SLAPD;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How many people are in the directory.
const PEOPLE: usize = 1_000;

/// `password`, with salt and SHA-1.
const PASSWORD: &str = "{SSHA}uXYlMx+Gtk31MWDHVnriWAZrgR1kdXJ3YXJkcw==";

/// Longest until the directory listens.
const START_TIME_MAX: Duration = Duration::from_secs(20);

/// The cores of nodes and of the load, unless the flags say otherwise.
const CORES: &str = "0,1";

/// The flags go to `durward bench sessions`.
pub(super) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let slapd = SLAPD.get()?;
    let binary = release::dist()?;
    let directory = Directory::start(&slapd, core_of_nodes(words))?;
    let (config, logins) = directory.files().map_err(|error| error.to_string())?;
    let mut command = Command::new(&binary);
    command.args(["bench", "sessions", "--measure", "login,mix"]);
    command.arg("--config").arg(config).arg("--logins").arg(logins);
    run(command.args(words))?;
    Ok(ExitCode::SUCCESS)
}

/// The core that the flags give to nodes; `None` where nothing is pinned.
fn core_of_nodes<'w>(words: &[&'w str]) -> Option<&'w str> {
    let given = words.iter().skip_while(|word| **word != "--cores").nth(1);
    let (nodes, _) = given.copied().unwrap_or(CORES).split_once(',')?;
    Some(nodes)
}

/// A directory with its files, which go with it.
struct Directory {
    folder: PathBuf,
    port: u16,
    child: Child,
}

impl Directory {
    fn start(slapd: &Path, core: Option<&str>) -> Result<Directory, String> {
        let in_words = |error: io::Error| error.to_string();
        let folder = std::env::temp_dir().join(format!("durward-sessions-ldap-{}", std::process::id()));
        fs::create_dir_all(folder.join("entries")).map_err(in_words)?;
        let port = super::free_ports(1).map_err(in_words)?.first().copied().unwrap_or_default();
        let settings = folder.join("slapd.conf");
        fs::write(&settings, configuration(&folder)).map_err(in_words)?;
        fs::write(folder.join("people.ldif"), people()).map_err(in_words)?;
        let mut fill = Command::new(slapd.with_file_name("slapadd"));
        run(fill.arg("-q").arg("-f").arg(&settings).arg("-l").arg(folder.join("people.ldif")))?;
        let mut command = match core {
            Some(core) => {
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", core]).arg(slapd);
                command
            }
            None => Command::new(slapd),
        };
        // With `-d` it stays our child.
        command.arg("-f").arg(&settings).args(["-h", &format!("ldap://127.0.0.1:{port}"), "-d", "0"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        println!("$ {}", process::shown(&command));
        let child = command.spawn().map_err(in_words)?;
        let directory = Directory { folder, port, child };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begun.elapsed() > START_TIME_MAX {
                return Err(format!("slapd does not listen at {port}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(directory)
    }

    /// What a node is told, and who can log in.
    fn files(&self) -> io::Result<(PathBuf, PathBuf)> {
        let folder = &self.folder;
        fs::create_dir_all(folder.join("policies"))?;
        fs::write(folder.join("policies/all.sapl"), "policy \"all\"\npermit\n")?;
        fs::write(folder.join("password"), "password\n")?;
        // As it must be to be used.
        fs::set_permissions(folder.join("password"), PermissionsExt::from_mode(0o600))?;
        let (config, logins) = (folder.join("durward.toml"), folder.join("people.jsonl"));
        let port = self.port;
        let settings = format!(
            "policies.path = 'policies'\nauth.danger_allow_no_auth = true\nserver.workers = 1\n\
             [identity]\nmode = 'none'\naudit = 'audit'\ndata = 'data'\n\
             [[identity.ldap]]\nservers = ['ldap://127.0.0.1:{port}']\ndanger_plain_text = true\n\
             base = 'ou=people,dc=example,dc=org'\nsearch_as = 'cn=durward,dc=example,dc=org'\n\
             search_password_path = 'password'\n"
        );
        fs::write(&config, settings)?;
        let line = |number| format!("{{\"user\":\"person-{number}\",\"password\":\"password\"}}\n");
        fs::write(&logins, (0..PEOPLE).map(line).collect::<String>())?;
        Ok((config, logins))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Passwords are for binding only; entries are read by who searches.
fn configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\n\
         modulepath /usr/lib/ldap\nmoduleload back_mdb\n\
         pidfile {folder}/pid\nloglevel 0\n\
         access to attrs=userPassword by anonymous auth by * none\n\
         access to * by dn.exact=\"cn=durward,dc=example,dc=org\" read by * none\n\
         database mdb\nsuffix \"dc=example,dc=org\"\ndirectory {folder}/entries\nindex uid eq\n"
    )
}

fn people() -> String {
    let mut entries = format!(
        "dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n\n\
         dn: cn=durward,dc=example,dc=org\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\n\
         cn: durward\nuserPassword: {PASSWORD}\n\n\
         dn: ou=people,dc=example,dc=org\nobjectClass: organizationalUnit\nou: people\n"
    );
    for number in 0..PEOPLE {
        // Writing to a text does not fail.
        let _ = write!(
            entries,
            "\ndn: uid=person-{number},ou=people,dc=example,dc=org\nobjectClass: inetOrgPerson\nuid: person-{number}\n\
             cn: Person {number}\nsn: {number}\nuserPassword: {PASSWORD}\n"
        );
    }
    entries
}
