//! The binary: that it builds, the one that ships, and how much that weighs.

use crate::metadata::Metadata;
use crate::process::{cargo, locked, run, run_unwarned};
use crate::report::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most bytes of the binary that ships. It is carried to edge devices over slow lines. SAPL's libraries, clients, bundles and policy
/// tests took it from 7 to 15 MiB; users, sessions, and the clients of NATS and LDAP to 19.7; OAuth, OpenAM's calls and the load that
/// measures sessions to 20.6; geometries, attribute sources for XACML, one decision log and the check of SAPL's names to 22.9; the lab to 32.1,
/// much of it what drew PNG and PDF (now the feature `pictures`, which is not shipped); agents, the live page, the
/// dashboard, pushes of figures, HTTP/2 and the studies to 35.1; certificates of OPC UA with aws-lc's RSA to 37.9, and its
/// commands and benchmark on top of that to 43.6; doors for gateways, brokers and Kubernetes, AuthZEN, plans, browsers' logins, SCIM,
/// OpenTelemetry and PostgreSQL to 47.3.
const BINARY_BYTES_MAX: u64 = 50 << 20;

/// Most bytes of what `release` builds, with few features: what it does not optimise is larger, and symbols would add 20 MiB.
const RELEASE_BYTES_MAX: u64 = 54 << 20;

/// The features of the binary that ships.
const SHIPPED: [&str; 2] = ["--features", "full"];

/// Builds what the README's first command builds, with few features; its commands are run with it. A command that is left out names the
/// feature that brings it.
pub(crate) fn check() -> Outcome {
    let built = built("release", &[]).and_then(|binary| {
        names_what_is_missing(&binary)?;
        Ok(binary)
    });
    built.map_or_else(Outcome::Failed, |binary| weigh_within(&binary, RELEASE_BYTES_MAX))
}

fn names_what_is_missing(binary: &Path) -> Result<(), String> {
    let commands: [(&[&str], &str); 4] = [
        (&["lab", "run"], "lab"),
        (&["bench", "--help"], "lab"),
        (&["opcua"], "opcua"),
        (&["demo", "opcua"], "opcua"),
    ];
    for (words, feature) in commands {
        let output =
            Command::new(binary).args(words).output().map_err(|error| format!("does not start: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !said.contains(&format!("without the feature `{feature}`")) {
            return Err(format!("`durward {}` does not say which feature it needs: {said}", words.join(" ")));
        }
    }
    Ok(())
}

/// The binary of `cargo build --release`, where cargo puts it.
pub(crate) fn binary() -> Result<PathBuf, String> {
    path("release")
}

/// The profile in which all is optimised and nothing linked as a whole: packages for other languages, and parts that figures are taken of.
pub(crate) const OPTIMISED: &str = "optimised";

/// Builds the binary in that profile, with few features.
pub(crate) fn optimised() -> Result<PathBuf, String> {
    built(OPTIMISED, &[])
}

/// Builds the binary that ships, of which figures are taken.
pub(crate) fn dist() -> Result<PathBuf, String> {
    built("dist", &SHIPPED)
}

/// Builds the binary that ships for a target, by default this machine, and for the releases of a repository, where it has any.
pub(crate) fn dist_for(target: Option<&str>, repository: Option<&str>) -> Result<PathBuf, String> {
    let mut command = build("dist", &SHIPPED);
    if let Some(repository) = repository {
        command.env("DURWARD_REPOSITORY", repository);
    }
    let Some(target) = target else {
        run(&mut command)?;
        return path("dist");
    };
    run(command.args(["--target", target]))?;
    Ok(Metadata::read()?.target_directory.join(target).join("dist/durward"))
}

fn built(profile: &str, features: &[&str]) -> Result<PathBuf, String> {
    run_unwarned(&mut build(profile, features))?;
    path(profile)
}

fn build(profile: &str, features: &[&str]) -> Command {
    let mut command = cargo(&["build", "--profile", profile, "--package", "durward"]);
    command.args(features).args(locked());
    command
}

fn path(profile: &str) -> Result<PathBuf, String> {
    Ok(Metadata::read()?.target_directory.join(profile).join("durward"))
}

/// Passes unless a binary is larger than the one that ships may be.
pub(crate) fn weigh(binary: &Path) -> Outcome {
    weigh_within(binary, BINARY_BYTES_MAX)
}

fn weigh_within(binary: &Path, bytes_max: u64) -> Outcome {
    match size_of(binary) {
        Ok(bytes) if bytes <= bytes_max => Outcome::Passed(mebibytes(bytes)),
        Ok(bytes) => Outcome::Failed(format!("{}, more than {}", mebibytes(bytes), mebibytes(bytes_max))),
        Err(message) => Outcome::Failed(message),
    }
}

fn size_of(binary: &Path) -> Result<u64, String> {
    let data = std::fs::metadata(binary);
    data.map(|data| data.len()).map_err(|error| format!("cannot see `{}`: {error}", binary.display()))
}

fn mebibytes(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::metadata;

    /// What a profile of the workspace says of `opt-level`, by package.
    fn levels<'m>(manifest: &'m str, profile: &str) -> BTreeMap<&'m str, &'m str> {
        let heading = format!("[profile.{profile}.package.");
        let sections = manifest.split(&heading).skip(1);
        let level = |section: &'m str| {
            let (name, rest) = section.split_once(']')?;
            let own = rest.split("\n[").next()?;
            let level = own.lines().find_map(|line| line.strip_prefix("opt-level = "))?;
            Some((name, level))
        };
        sections.filter_map(level).collect()
    }

    /// Both inherit from `release` what it does not optimise.
    #[test]
    fn what_ships_is_optimised_where_release_is_not() {
        let manifest = std::fs::read_to_string(metadata::root().join("Cargo.toml")).unwrap();
        let [release, dist, web] = ["release", "dist", "web"].map(|profile| levels(&manifest, profile));
        let unoptimised: Vec<_> =
            release.iter().filter(|(_, level)| **level == "0").map(|(name, _)| *name).collect();
        assert!(unoptimised.contains(&"durward-sapl"), "{unoptimised:?}");
        for name in unoptimised {
            assert_eq!(dist.get(name), Some(&"3"), "[profile.dist.package.{name}]");
            assert_eq!(web.get(name), Some(&"\"s\""), "[profile.web.package.{name}]");
        }
    }
}
