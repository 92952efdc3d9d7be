//! `durward opcua read`, `write`, `call`, `browse`, `watch`, `token`: a client that gets its token by itself.

mod output;
mod refusal;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use durward_opcua::client::text::{explain, node_text, parse_node};
use durward_opcua::client::{BrowseFilter, TokenClient, TokenClientSettings};
use durward_opcua::error::Error;
use durward_opcua::permission::Permission;
use durward_opcua::session::{ClientIdentity, ExpectedServer, PinnedApplication};
use opcua_types::{NodeId, StatusCode};
use serde_json::{Value as Json, json};

use super::application::{self, OwnApplication, failure};
use super::settings::secret_text;
use crate::failure::{BAD_INPUT, CommandError, CommandResult, DIFFERENT, complain};
use crate::to_stdout;
use crate::users::password;

pub(super) const EXIT_CODES: &str = "\
A node is `ns=2;s=Boiler.Mode`, `nsu=urn:durward:plant;s=Boiler.Mode`, `i=2258`, or a path of browse names: /Objects/Plant/Boiler.
Exit codes: 0 done, 1 refused by the server, 2 bad input or no connection.";

/// Where to connect, and as whom.
#[derive(Debug, clap::Args)]
pub(super) struct ConnectionArguments {
    /// The gate, or another server that takes issued tokens: opc.tcp://host:4840
    #[arg(value_name = "URL")]
    url: String,
    /// The directory with this client's certificate, and those that it trusts
    #[arg(long, value_name = "DIR", default_value = "pki")]
    pki: PathBuf,
    /// The user; without one the application counts, by its certificate
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A file with the user's password, its first line; without it the terminal or standard input
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// A file with the token of a durward session, as whose user to connect; rights end with the session
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    session_file: Option<PathBuf>,
    /// A directory with a user certificate and its key, as `durward opcua pki` makes it, to log in with
    #[arg(long, value_name = "DIR", conflicts_with_all = ["user", "session_file"])]
    user_pki: Option<PathBuf>,
    /// The authorization service, where the server does not name the right one
    #[arg(long, value_name = "URL")]
    authority: Option<String>,
    /// Which application the server is; without it, one that is trusted and has a certificate for the host
    #[arg(long, value_name = "URI|THUMBPRINT")]
    pin: Option<String>,
    /// Which application the authorization service is; without it, the one that the server names
    #[arg(long, value_name = "URI|THUMBPRINT")]
    authority_pin: Option<String>,
    /// Do not compare the hosts of the URLs with those of the certificates
    #[arg(long)]
    danger_any_host_name: bool,
    /// How long to wait for a session
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    timeout: u32,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
    /// If something is refused, show what the token grants, and what the server says about the node
    #[arg(long)]
    explain: bool,
}

/// Read values
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct ReadArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// The nodes
    #[arg(value_name = "NODE", required = true)]
    nodes: Vec<String>,
}

/// Write a value, converted to the variable's data type
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct WriteArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// The variable
    #[arg(value_name = "NODE")]
    node: String,
    /// The value; arrays as JSON: [1, 2, 3]
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
}

/// Call a method, with arguments converted to its data types
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct CallArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// The object that has the method
    #[arg(value_name = "OBJECT")]
    object: String,
    /// The method
    #[arg(value_name = "METHOD")]
    method: String,
    /// Its arguments
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    inputs: Vec<String>,
}

/// List what is below a node
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct BrowseArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// The node
    #[arg(value_name = "NODE", default_value = "/Objects")]
    node: String,
}

/// Get a token, and show what it says
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct TokenArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// The token itself, a secret, and nothing else
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

pub(super) use watch::WatchArguments;

/// Why there is no result.
pub(super) enum ClientProblem {
    /// Something of this machine.
    Here(CommandError),
    /// The server said so, or nobody answered.
    There(String, Error),
}

impl From<CommandError> for ClientProblem {
    fn from(failure: CommandError) -> ClientProblem {
        ClientProblem::Here(failure)
    }
}

/// An error about this node, method or server.
fn about(what: &str) -> impl Fn(Error) -> ClientProblem {
    move |error| ClientProblem::There(what.to_owned(), error)
}

impl ConnectionArguments {
    fn settings(&self) -> Result<TokenClientSettings, CommandError> {
        let application = OwnApplication::open(&self.pki)?;
        let mut settings = TokenClientSettings::new(&self.url, application.client("durward"));
        settings.patience = Duration::from_secs(u64::from(self.timeout));
        let expected = |pin: &Option<String>| ExpectedServer {
            pin: pin.as_deref().map(PinnedApplication::parse),
            danger_any_host_name: self.danger_any_host_name,
        };
        settings.session.server = expected(&self.pin);
        settings.authority.server = expected(&self.authority_pin);
        settings.authority.url.clone_from(&self.authority);
        if let Some(name) = &self.user {
            let password = password::read_known(self.password_file.as_deref())?;
            settings.authority.identity =
                ClientIdentity::UserName { name: name.clone(), password: password.into() };
        }
        if let Some(path) = &self.user_pki {
            let own = OwnApplication::open(path)?.channel.own;
            settings.authority.identity = ClientIdentity::Certificate(own);
        }
        if let Some(path) = &self.session_file {
            let token = secret_text(path)?.trim().as_bytes().to_vec().into();
            settings.authority.identity = ClientIdentity::Issued { token };
        }
        Ok(settings)
    }

    /// Explains why the server refused, where it did and that is asked for.
    async fn refused(
        &self,
        client: &TokenClient,
        text: &str,
        node: &NodeId,
        permission: Permission,
        error: &Error,
    ) -> Result<(), CommandError> {
        match code_of(error.status()) {
            DIFFERENT => refusal::explain(self, client, text, Some(node), permission).await,
            _ => Ok(()),
        }
    }

    /// Connects, does something, and ends the session.
    fn with<W>(&self, work: W) -> CommandResult
    where
        W: AsyncFnOnce(&TokenClient) -> Result<ExitCode, ClientProblem>,
    {
        let settings = self.settings()?;
        let done = application::run(async {
            let done = match TokenClient::connect(settings).await {
                Ok(client) => {
                    let done = work(&client).await;
                    client.stop().await;
                    done
                }
                Err(error) => Err(ClientProblem::There(self.url.clone(), error)),
            };
            Ok(done)
        })?;
        match done {
            Ok(code) => Ok(code),
            Err(ClientProblem::Here(failure)) => Err(failure),
            Err(ClientProblem::There(what, error)) => {
                complain(format_args!("{what}: {}", explain(&error)));
                Ok(ExitCode::from(code_of(error.status())))
            }
        }
    }
}

/// The exit code for a status: whether the server refused, or nothing came of it.
pub(super) fn code_of(status: StatusCode) -> u8 {
    const NOT_REFUSED: &[StatusCode] = &[
        // What was typed.
        StatusCode::BadNodeIdInvalid,
        StatusCode::BadTypeMismatch,
        StatusCode::BadInvalidArgument,
        StatusCode::BadArgumentsMissing,
        StatusCode::BadTooManyArguments,
        StatusCode::BadConfigurationError,
        StatusCode::BadTcpEndpointUrlInvalid,
        // No connection.
        StatusCode::BadCertificateUntrusted,
        StatusCode::BadCertificateChainIncomplete,
        StatusCode::BadCertificateTimeInvalid,
        StatusCode::BadCertificateUriInvalid,
        StatusCode::BadCertificateHostNameInvalid,
        StatusCode::BadCertificateInvalid,
        StatusCode::BadCertificateUseNotAllowed,
        StatusCode::BadSecurityChecksFailed,
        StatusCode::BadSecurityPolicyRejected,
        StatusCode::BadCommunicationError,
        StatusCode::BadConnectionClosed,
        StatusCode::BadConnectionRejected,
        StatusCode::BadNotConnected,
        StatusCode::BadSecureChannelClosed,
        StatusCode::BadTimeout,
    ];
    let base = StatusCode::from(status.bits() & 0xffff_0000);
    if NOT_REFUSED.contains(&base) { BAD_INPUT } else { DIFFERENT }
}

/// Looks at texts before anybody is asked: what is no node needs no connection.
fn check_nodes<'t>(texts: impl IntoIterator<Item = &'t String>) -> Result<(), CommandError> {
    texts.into_iter().try_for_each(|text| parse_node(text).map(drop).map_err(failure))
}

async fn node(client: &TokenClient, text: &str) -> Result<NodeId, ClientProblem> {
    client.node(text).await.map_err(about(text))
}

impl ReadArguments {
    pub(super) fn run(&self) -> CommandResult {
        check_nodes(&self.nodes)?;
        self.connection.with(async |client| {
            let mut code = ExitCode::SUCCESS;
            let mut found = Vec::new();
            for text in &self.nodes {
                match client.node(text).await {
                    Ok(node) => found.push((text, node)),
                    Err(error) => {
                        complain(format_args!("{text}: {}", explain(&error)));
                        code = ExitCode::from(code_of(error.status()));
                        refusal::explain(&self.connection, client, text, None, Permission::Read).await?;
                    }
                }
            }
            let nodes: Vec<NodeId> = found.iter().map(|(_, node)| node.clone()).collect();
            let values = client.read_values(&nodes).await.map_err(about(&self.connection.url))?;
            for ((text, node), value) in found.iter().zip(&values) {
                if let Some(line) = output::refused(text, value) {
                    complain(line);
                    code = ExitCode::from(DIFFERENT);
                    refusal::explain(&self.connection, client, text, Some(node), Permission::Read).await?;
                }
                let named = (self.nodes.len() > 1).then_some(text.as_str());
                if let Some(line) = output::value_line(text, named, value, self.connection.json) {
                    to_stdout(&line)?;
                }
            }
            Ok(code)
        })
    }
}

impl WriteArguments {
    pub(super) fn run(&self) -> CommandResult {
        check_nodes([&self.node])?;
        self.connection.with(async |client| {
            let node = node(client, &self.node).await?;
            if let Err(error) = client.write_text(&node, &self.value).await {
                self.connection.refused(client, &self.node, &node, Permission::Write, &error).await?;
                return Err(about(&self.node)(error));
            }
            if self.connection.json {
                to_stdout(&format!("{}\n", json!({"node": self.node, "status": "Good"})))?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

impl CallArguments {
    pub(super) fn run(&self) -> CommandResult {
        check_nodes([&self.object, &self.method])?;
        self.connection.with(async |client| {
            let (object, method) = (node(client, &self.object).await?, node(client, &self.method).await?);
            let outputs = match client.call_text(&object, &method, &self.inputs).await {
                Ok(outputs) => outputs,
                Err(error) => {
                    self.connection.refused(client, &self.method, &method, Permission::Call, &error).await?;
                    return Err(about(&self.method)(error));
                }
            };
            to_stdout(&output::outputs(&outputs, self.connection.json))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

impl BrowseArguments {
    pub(super) fn run(&self) -> CommandResult {
        check_nodes([&self.node])?;
        self.connection.with(async |client| {
            let from = node(client, &self.node).await?;
            let below = match client.browse(&from, &BrowseFilter::below()).await {
                Ok(below) => below,
                Err(error) => {
                    self.connection.refused(client, &self.node, &from, Permission::Browse, &error).await?;
                    return Err(about(&self.node)(error));
                }
            };
            for reference in below {
                let id = node_text(&reference.node_id.node_id);
                let name = reference.browse_name.name.as_ref().to_owned();
                let class = format!("{:?}", reference.node_class);
                let line = match self.connection.json {
                    true => json!({"node": id, "name": name, "class": class}).to_string(),
                    false => format!("{id}\t{class}\t{name}"),
                };
                to_stdout(&(line + "\n"))?;
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

impl TokenArguments {
    pub(super) fn run(&self) -> CommandResult {
        self.connection.with(async |client| {
            let token =
                client.token().ok_or_else(|| CommandError::new("the server was content without a token"))?;
            let claims = token.unverified_claims();
            let text = match (self.raw, self.connection.json) {
                (true, _) => token.text().to_owned(),
                (false, true) => claims.to_string(),
                (false, false) => claim_lines(claims),
            };
            to_stdout(&format!("{}\n", text.trim_end()))?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Claims for people, one a line.
fn claim_lines(claims: &Json) -> String {
    let line = |(name, value): (&String, &Json)| {
        let texts = value.as_array().map(|all| all.iter().map(Json::as_str).collect::<Option<Vec<_>>>());
        match (value.as_str(), texts.flatten()) {
            (Some(text), _) => format!("{name}\t{text}\n"),
            (None, Some(texts)) => format!("{name}\t{}\n", texts.join(", ")),
            (None, None) => format!("{name}\t{value}\n"),
        }
    };
    claims.as_object().map(|claims| claims.iter().map(line).collect()).unwrap_or_default()
}
