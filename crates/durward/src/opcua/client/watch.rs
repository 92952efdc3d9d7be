//! `durward opcua watch`: values as they change, until somebody ends it or the server refuses them.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;

use durward_opcua::client::text::{advice, explain, status_text};
use durward_opcua::client::{TokenClient, WatchEvent, WatchGap, WatchSettings};
use opcua_types::{NodeId, StatusCode};
use serde_json::json;

use super::{ClientProblem, ConnectionArguments, EXIT_CODES, check_nodes, node, output};
use crate::failure::{CommandResult, DIFFERENT, complain, warn};
use crate::serve::stop_signal;
use crate::to_stdout;

/// Watch values: print each that changes, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(in crate::opcua) struct WatchArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// The nodes
    #[arg(value_name = "NODE", required = true)]
    nodes: Vec<String>,
    /// End after so many values
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// The publishing interval
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=3_600_000))]
    interval: u32,
}

/// Whether it helps nobody to ask again: the user may not come in any more, or never could.
fn is_refusal(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BadUserAccessDenied
            | StatusCode::BadIdentityTokenRejected
            | StatusCode::BadIdentityTokenInvalid
    )
}

/// What has come so far.
struct WatchCounts<'w> {
    watch: &'w WatchArguments,
    values: u64,
    /// Nodes that the server does not let us watch now.
    refused: HashSet<usize>,
}

impl WatchArguments {
    pub(in crate::opcua) fn run(&self) -> CommandResult {
        check_nodes(&self.nodes)?;
        self.connection.with(async |client| self.follow(client).await)
    }

    async fn follow(&self, client: &TokenClient) -> Result<ExitCode, ClientProblem> {
        let stop = stop_signal()?;
        tokio::pin!(stop);
        let mut nodes: Vec<NodeId> = Vec::new();
        for text in &self.nodes {
            nodes.push(node(client, text).await?);
        }
        let publishing = Duration::from_millis(u64::from(self.interval));
        let settings = WatchSettings { publishing, sampling: publishing / 2, ..WatchSettings::default() };
        let mut watch = client.watch(nodes, settings);
        let mut seen = WatchCounts { watch: self, values: 0, refused: HashSet::new() };
        loop {
            let event = tokio::select! {
                event = watch.next() => event,
                () = &mut stop => return Ok(ExitCode::SUCCESS),
            };
            let Some(event) = event else { return Ok(ExitCode::SUCCESS) };
            if let Some(code) = seen.take(&event)? {
                return Ok(code);
            }
        }
    }

    fn name(&self, index: usize) -> &str {
        self.nodes.get(index).map_or("", String::as_str)
    }
}

impl WatchCounts<'_> {
    /// Takes an event; gives the exit code where it was the last one.
    fn take(&mut self, event: &WatchEvent) -> Result<Option<ExitCode>, ClientProblem> {
        match event {
            WatchEvent::Value { index, value } => {
                let text = self.watch.name(*index);
                if let Some(line) = output::refused(text, value) {
                    complain(line);
                    return Ok(self.refuse(*index));
                }
                self.refused.remove(index);
                let named = (self.watch.nodes.len() > 1).then_some(text);
                if let Some(line) = output::value_line(text, named, value, self.watch.connection.json) {
                    to_stdout(&line)?;
                }
                self.values += 1;
                Ok((self.watch.count == Some(self.values)).then_some(ExitCode::SUCCESS))
            }
            WatchEvent::Refused { index, status } => {
                let text = self.watch.name(*index);
                if self.watch.connection.json {
                    to_stdout(&format!("{}\n", json!({"node": text, "status": status_text(*status)})))?;
                }
                let advice = advice(*status).map(|advice| format!(": {advice}")).unwrap_or_default();
                complain(format_args!("{text}: {}{advice}", status_text(*status)));
                Ok(self.refuse(*index))
            }
            WatchEvent::Status(status) => {
                warn(format_args!("the subscription: {}", status_text(*status)));
                Ok(None)
            }
            WatchEvent::Waiting(error) if is_refusal(error.status()) => {
                complain(format_args!("the rights have ended: {}", explain(error)));
                Ok(Some(ExitCode::from(DIFFERENT)))
            }
            WatchEvent::Waiting(error) => {
                warn(format_args!("there is no subscription at the moment: {}", explain(error)));
                Ok(None)
            }
            WatchEvent::Gap(WatchGap::Anew) => {
                warn("the subscription was made anew: values may be missing");
                self.refused.clear();
                Ok(None)
            }
            WatchEvent::Gap(WatchGap::Lost(count)) => {
                warn(format_args!("{count} messages were lost: values are missing"));
                Ok(None)
            }
            WatchEvent::Resumed => Ok(None),
        }
    }

    /// The end, where nothing is left to watch.
    fn refuse(&mut self, index: usize) -> Option<ExitCode> {
        self.refused.insert(index);
        (self.refused.len() == self.watch.nodes.len()).then(|| ExitCode::from(DIFFERENT))
    }
}
