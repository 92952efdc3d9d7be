//! The address of a database of PostgreSQL: read once and strictly, so that what is checked is what is connected to.

use std::fmt;
use std::path::PathBuf;

use durward_net::connect::is_this_machine;
use durward_wire::percent::{Stray, decoded};

/// Where servers of PostgreSQL listen unless they are told otherwise.
const PORT: u16 = 5432;

/// How an address is written.
const FORM: &str = "write it as `postgres://USER@HOST/DATABASE`";

/// A database: `postgres://USER@HOST:PORT/DATABASE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseAddress {
    /// The user that durward logs in as.
    pub user: String,
    /// Servers with the same content, in the order in which they are tried. There is one at least.
    pub servers: Vec<DatabaseServer>,
    /// The name of the database.
    pub database: String,
    /// As messages name it: without the user.
    pub shown: String,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseServer {
    /// A name or an address without brackets, and a port.
    Tcp(String, u16),
    /// A socket in the file system.
    Socket(PathBuf),
}

/// What is wrong with the text that an operator gave as an address; goes on after the name of the setting. The text is not in it: that may hold a
/// password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseAddressError(String);

impl fmt::Display for DatabaseAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DatabaseAddressError {}

impl DatabaseAddress {
    /// Reads an address. Several hosts are separated by commas; a host whose name is encoded and begins with `/` is the folder of a socket.
    ///
    /// # Errors
    /// A text that is no such address, names no user, or holds a password.
    pub fn read(text: &str) -> Result<DatabaseAddress, DatabaseAddressError> {
        DatabaseAddress::parts(text).map_err(DatabaseAddressError)
    }

    fn parts(text: &str) -> Result<DatabaseAddress, String> {
        let rest = ["postgres://", "postgresql://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or_else(|| format!("is no address of a database of PostgreSQL; {FORM}"))?;
        if rest.contains(['?', '#']) {
            return Err(
                "has a `?` or a `#`; what follows one has settings of its own beside `database`".into()
            );
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = authority.rsplit_once('@').ok_or_else(|| format!("names no user; {FORM}"))?;
        if user.contains(':') {
            return Err("holds a password; put it into a file, and name that with `password_path`".into());
        }
        let servers = hosts.split(',').map(server).collect::<Result<Vec<_>, _>>()?;
        let (user, database) = (part(user, "user")?, part(database, "database")?);
        Ok(DatabaseAddress { shown: format!("postgres://{hosts}/{database}"), user, servers, database })
    }
}

impl DatabaseServer {
    /// Whether nobody can read along on the way.
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            DatabaseServer::Tcp(host, _) => is_this_machine(host),
            DatabaseServer::Socket(_) => true,
        }
    }
}

impl fmt::Display for DatabaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseServer::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            DatabaseServer::Tcp(host, port) => write!(f, "{host}:{port}"),
            DatabaseServer::Socket(path) => path.display().fmt(f),
        }
    }
}

/// A part that is not empty, decoded. What is decoded goes to the server behind its length and before a zero.
fn part(text: &str, what: &str) -> Result<String, String> {
    let bytes = decoded(text.as_bytes(), Stray::Refused);
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.filter(|text| !text.is_empty() && !text.contains('\0'));
    text.ok_or_else(|| format!("names no {what}, or one with a `%` that is no escape; {FORM}"))
}

fn server(text: &str) -> Result<DatabaseServer, String> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or_default())),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Ok(PORT), |port| port.parse().map_err(|_| "has a port that is none"))?;
    let host = part(host, "host")?;
    Ok(if host.starts_with('/') {
        DatabaseServer::Socket(PathBuf::from(host).join(format!(".s.PGSQL.{port}")))
    } else {
        DatabaseServer::Tcp(host.to_ascii_lowercase(), port)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> DatabaseServer {
        DatabaseServer::Tcp(host.to_owned(), port)
    }

    #[test]
    fn an_address_is_read_into_its_parts() {
        let socket = DatabaseServer::Socket("/run/postgresql/.s.PGSQL.5433".into());
        for (text, user, servers, database) in [
            ("postgres://ada@db.example/records", "ada", vec![tcp("db.example", 5432)], "records"),
            ("postgresql://a%40b@DB:6000/r%20s", "a@b", vec![tcp("db", 6000)], "r s"),
            ("postgres://a@one,[::1]:2/r", "a", vec![tcp("one", 5432), tcp("::1", 2)], "r"),
            ("postgres://a@%2Frun%2Fpostgresql:5433/r", "a", vec![socket], "r"),
        ] {
            let address = DatabaseAddress::read(text).unwrap();
            assert_eq!(
                (address.user.as_str(), address.servers, address.database.as_str()),
                (user, servers, database)
            );
        }
        assert_eq!(
            DatabaseAddress::read("postgres://a@one,two:2/r").unwrap().shown,
            "postgres://one,two:2/r"
        );
    }

    #[test]
    fn what_is_no_address_is_said_without_its_text() {
        for (text, words) in [
            ("mysql://a@SECRET/r", "is no address"),
            ("host=SECRET user=a", "is no address"),
            ("postgres://a:SECRET@db/r", "holds a password"),
            ("postgres://a:SEC/RET@db/r", "names no user"),
            ("postgres://SECRET/r", "names no user"),
            ("postgres://a@db/r?password=SECRET", "has a `?`"),
            ("postgres://a@/SECRET", "names no host"),
            ("postgres://a@db/", "names no database"),
            ("postgres://@db/r", "names no user"),
            ("postgres://a@db:SECRET/r", "has a port"),
            ("postgres://a@db:/r", "has a port"),
            ("postgres://a@[::1]x/r", "has a port"),
            ("postgres://a@db/SECRET%zz", "no escape"),
            ("postgres://a%00@db/r", "names no user"),
        ] {
            let error = DatabaseAddress::read(text).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("SEC"), "{text}: {error}");
        }
    }

    #[test]
    fn what_stays_on_this_machine_is_known() {
        let is_here = |host: &str| server(host).unwrap().is_on_this_machine();
        assert!(["localhost", "127.0.0.9:1", "[::1]", "%2Ftmp"].into_iter().all(is_here));
        assert!(!["db", "10.0.0.1", "localhost.example", "[::2]"].into_iter().any(is_here));
    }
}
