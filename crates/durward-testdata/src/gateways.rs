//! Gateways of others as the manual sets them up: its pages are read, and only addresses and folders are put in their places. The same gateway
//! without its check of requests is what a check's cost is measured beside.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::{SetUpError, workspace};

/// A kind of gateway, by the way in which it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayKind {
    /// `auth_request`.
    Nginx,
    /// `forward_auth`.
    Caddy,
    /// A script in Lua.
    Haproxy,
    /// Envoy's `ext_authz` over gRPC.
    Envoy,
    /// The same over HTTP.
    EnvoyHttp,
}

/// What a gateway stands between.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Where it listens.
    pub gateway: SocketAddr,
    /// Whom it asks.
    pub durward: SocketAddr,
    /// To where it passes requests on.
    pub application: SocketAddr,
}

/// Whether a gateway asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// About each request, as the manual has it.
    Each,
    /// About none: the rest of its configuration is the same.
    None,
}

/// A page of the manual.
///
/// # Errors
/// It cannot be read.
pub fn page(name: &str) -> Result<String, SetUpError> {
    let path = workspace().join("docs").join(name);
    fs::read_to_string(&path).map_err(|error| format!("cannot read `{}`: {error}", path.display()).into())
}

/// The blocks of a page in a language.
///
/// ```
/// let page = "```sh\nls\n```\n\n```sh\npwd\n```\n";
/// assert_eq!(durward_testdata::gateways::blocks(page, "sh"), ["ls\n", "pwd\n"]);
/// ```
pub fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let behind = page.split(&fence).skip(1);
    behind.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

impl GatewayKind {
    /// All of them.
    pub const ALL: [GatewayKind; 5] = [
        GatewayKind::Nginx,
        GatewayKind::Caddy,
        GatewayKind::Haproxy,
        GatewayKind::Envoy,
        GatewayKind::EnvoyHttp,
    ];

    /// What it is called on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            GatewayKind::Nginx => "nginx",
            GatewayKind::Caddy => "caddy",
            GatewayKind::Haproxy => "haproxy",
            GatewayKind::Envoy => "envoy",
            GatewayKind::EnvoyHttp => "envoy-http",
        }
    }

    /// The name of its program.
    pub const fn program(self) -> &'static str {
        match self {
            GatewayKind::Nginx => "nginx",
            GatewayKind::Caddy => "caddy",
            GatewayKind::Haproxy => "haproxy",
            GatewayKind::Envoy | GatewayKind::EnvoyHttp => "envoy",
        }
    }

    /// Files of the manual's configuration, by name, for a gateway that runs in this folder. `change` gets each block of the manual, placed.
    ///
    /// # Errors
    /// The manual does not have what is expected of it.
    pub fn configuration(
        self,
        folder: &Path,
        places: &Places,
        asking: Asking,
        change: impl Fn(&str) -> String,
    ) -> Result<Vec<(&'static str, String)>, SetUpError> {
        let manual = page(self.page())?;
        let placed = |block: &str| -> Result<String, SetUpError> {
            let block = match asking {
                Asking::Each => block.to_owned(),
                Asking::None => self.without_asking(block)?,
            };
            Ok(change(&self.placed(&block, folder, places)))
        };
        let first = |language: &str| -> Result<String, SetUpError> {
            let none = || SetUpError(format!("`{}` has no block of `{language}`", self.page()));
            blocks(&manual, language).into_iter().next().ok_or_else(none)
        };
        Ok(match self {
            GatewayKind::Nginx => vec![("nginx.conf", nginx(&placed(&first("nginx")?)?))],
            GatewayKind::Caddy => {
                let sites = placed(&first("caddyfile")?)?;
                vec![("Caddyfile", format!("{{\n\tadmin off\n\tauto_https off\n}}\n{sites}"))]
            }
            GatewayKind::Haproxy => {
                let config = ("haproxy.cfg", placed(&first("haproxy")?)?);
                match asking {
                    Asking::Each => vec![config, ("durward.lua", placed(&first("lua")?)?)],
                    Asking::None => vec![config],
                }
            }
            GatewayKind::Envoy => vec![("envoy.yaml", placed(&first("yaml")?)?)],
            GatewayKind::EnvoyHttp => vec![("envoy.yaml", placed(&over_http(&blocks(&manual, "yaml"))?)?)],
        })
    }

    /// Starts its program with those files: one process, which ends when it is killed.
    pub fn command(self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        match self {
            GatewayKind::Nginx => command.arg("-p").arg(folder).args(["-c", "nginx.conf"]),
            GatewayKind::Caddy => {
                command
                    .env("XDG_DATA_HOME", folder.join("data"))
                    .env("XDG_CONFIG_HOME", folder.join("config"));
                command.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.join("Caddyfile"))
            }
            GatewayKind::Haproxy => command.arg("-db").arg("-f").arg(folder.join("haproxy.cfg")),
            GatewayKind::Envoy | GatewayKind::EnvoyHttp => {
                command.arg("-c").arg(folder.join("envoy.yaml"));
                command.args(["--use-dynamic-base-id", "--concurrency", "1", "-l", "warning"])
            }
        };
        command
    }

    const fn page(self) -> &'static str {
        match self {
            GatewayKind::Nginx | GatewayKind::Caddy | GatewayKind::Haproxy => "gateways.md",
            GatewayKind::Envoy | GatewayKind::EnvoyHttp => "gateways-envoy.md",
        }
    }

    fn placed(self, block: &str, folder: &Path, places: &Places) -> String {
        let Places { gateway, durward, application } = places;
        match self {
            GatewayKind::Nginx | GatewayKind::Caddy | GatewayKind::Haproxy => block
                .replace("127.0.0.1:8080", &durward.to_string())
                .replace("127.0.0.1:3000", &application.to_string())
                .replace("listen 8000", &format!("listen {gateway}"))
                .replace("bind :8000", &format!("bind {gateway}"))
                .replace(":8000 {", &format!("http://:{} {{\n\tbind {}", gateway.port(), gateway.ip()))
                .replace("/etc/haproxy/durward.lua", &folder.join("durward.lua").display().to_string()),
            GatewayKind::Envoy | GatewayKind::EnvoyHttp => block
                .replace(
                    "0.0.0.0, port_value: 8000",
                    &format!("{}, port_value: {}", gateway.ip(), gateway.port()),
                )
                .replace("127.0.0.1:8080", &durward.to_string())
                .replace("port_value: 8080", &format!("port_value: {}", durward.port()))
                .replace("port_value: 3000", &format!("port_value: {}", application.port())),
        }
    }

    /// A block of the manual without what asks.
    fn without_asking(self, block: &str) -> Result<String, SetUpError> {
        match self {
            GatewayKind::Nginx => {
                let block = without_block(block, "location = /_durward {")?;
                let block = without_block(&block, "location @login {")?;
                Ok(without_lines(&block, &["auth_request", "error_page", "$durward_"]))
            }
            GatewayKind::Caddy => without_block(block, "forward_auth "),
            GatewayKind::Haproxy => Ok(without_lines(block, &["lua-load", "lua.durward", "durward_allowed"])),
            GatewayKind::Envoy | GatewayKind::EnvoyHttp => {
                let (before, rest) = parted(block, FILTER)?;
                let (_, behind) = parted(rest, ROUTER)?;
                let (clusters, _) = parted(behind, CLUSTER)?;
                Ok(format!("{before}{ROUTER}{clusters}"))
            }
        }
    }
}

const FILTER: &str = "                  - name: envoy.filters.http.ext_authz\n";
const ROUTER: &str = "                  - name: envoy.filters.http.router\n";
const CLUSTER: &str = "    - name: durward\n";

/// What stands before and behind a line of the manual's file for Envoy.
fn parted<'t>(text: &'t str, line: &str) -> Result<(&'t str, &'t str), SetUpError> {
    text.split_once(line).ok_or_else(|| format!("gateways-envoy.md has no line `{}`", line.trim()).into())
}

/// The file for Envoy with the filter and the cluster of the section "Over HTTP".
fn over_http(blocks: &[String]) -> Result<String, SetUpError> {
    let [whole, _, filter, cluster, ..] = blocks else {
        return Err("gateways-envoy.md has not four blocks of yaml".to_owned().into());
    };
    let (before, rest) = parted(whole, FILTER)?;
    let (_, behind) = parted(rest, ROUTER)?;
    let (between, _) = parted(behind, CLUSTER)?;
    let (filter, cluster) = (indented(filter, 18), indented(cluster, 4));
    Ok(format!("{before}{filter}{ROUTER}{between}{cluster}"))
}

fn indented(text: &str, count: usize) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{:count$}{line}\n", "") };
    text.lines().map(line).collect()
}

/// One process: killing a master would leave its workers.
fn nginx(server: &str) -> String {
    format!(
        "daemon off; master_process off; error_log stderr crit; pid nginx.pid; events {{ worker_connections 1024; }}\n\
         http {{ access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n\
         {server} }}\n"
    )
}

fn without_lines(text: &str, words: &[&str]) -> String {
    let kept = text.lines().filter(|line| !words.iter().any(|word| line.contains(word)));
    kept.map(|line| format!("{line}\n")).collect()
}

/// A text without the block whose first line begins so; its last line is a brace as far to the right.
fn without_block(text: &str, begins: &str) -> Result<String, SetUpError> {
    let mut end: Option<String> = None;
    let (mut kept, mut is_found) = (String::new(), false);
    for line in text.lines() {
        let bare = line.trim_start();
        if let Some(last) = &end {
            if line == last {
                end = None;
            }
        } else if bare.starts_with(begins) {
            let indentation = line.strip_suffix(bare).unwrap_or_default();
            end = Some(format!("{indentation}}}"));
            is_found = true;
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    match (is_found, end) {
        (true, None) => Ok(kept),
        (true, Some(_)) => Err(format!("the manual's block `{begins}` has no end").into()),
        (false, _) => Err(format!("the manual has no block `{begins}`").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places = Places {
        gateway: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4001),
        durward: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4002),
        application: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4003),
    };

    fn text(kind: GatewayKind, asking: Asking) -> String {
        let files = kind.configuration(Path::new("/tmp/g"), &PLACES, asking, str::to_owned).unwrap();
        files.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn every_address_of_the_manual_is_put_in_its_place() {
        for kind in GatewayKind::ALL {
            let text = text(kind, Asking::Each);
            for port in ["4001", "4002", "4003"] {
                assert!(text.contains(port), "{kind:?} {port}: {text}");
            }
            for port in ["8000", "8080", "3000"] {
                assert!(!text.contains(port), "{kind:?} {port}: {text}");
            }
        }
    }

    #[test]
    fn without_its_check_a_gateway_still_passes_requests_on() {
        for kind in GatewayKind::ALL {
            let text = text(kind, Asking::None);
            assert!(text.contains("4001") && text.contains("4003"), "{kind:?}: {text}");
            for word in ["durward", "4002", "authz", "auth_request", "forward_auth", "lua"] {
                assert!(!text.contains(word), "{kind:?} {word}: {text}");
            }
            let count = |brace: char| text.chars().filter(|other| *other == brace).count();
            assert_eq!(count('{'), count('}'), "{kind:?}: {text}");
        }
    }

    #[test]
    fn a_block_ends_where_its_indentation_does_and_must_be_there() {
        let text = "a {\n    b {\n        c {\n        }\n    }\n    d\n}\n";
        assert_eq!(without_block(text, "b {").unwrap(), "a {\n    d\n}\n");
        assert!(without_block(text, "e {").is_err());
        assert!(without_block("a {\n    b\n", "a {").is_err());
    }
}
