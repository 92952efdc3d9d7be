//! What `cargo xtask package static` is asked for.

use crate::package_static::Kind;
use std::path::PathBuf;

const USAGE: &str =
    "`cargo xtask package static|minimal [--target TRIPLE]... [--profile NAME] [--out DIR] [--reproducible]`";

/// Static targets, those of edge devices among them.
const TARGETS: [&str; 3] =
    ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "armv7-unknown-linux-musleabihf"];

/// The profile of what ships.
pub(crate) const PROFILE_SHIPPED: &str = "dist";

/// The flags.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StaticPlan {
    pub(crate) kind: Kind,
    pub(crate) targets: Vec<String>,
    /// A profile of cargo.
    pub(crate) profile: String,
    /// Where packages go, a directory for each target.
    pub(crate) out: Option<PathBuf>,
    /// Whether each binary is built a second time, elsewhere, and compared.
    pub(crate) is_built_twice: bool,
}

impl StaticPlan {
    /// Reads flags.
    ///
    /// # Errors
    /// One is unknown, or lacks its value; a target is none of ours.
    pub(crate) fn of(kind: Kind, words: &[&str]) -> Result<StaticPlan, String> {
        let mut plan = StaticPlan {
            kind,
            targets: Vec::new(),
            profile: PROFILE_SHIPPED.to_owned(),
            out: None,
            is_built_twice: false,
        };
        let mut rest = words;
        loop {
            rest = match rest {
                [] => break,
                ["--target", triple, rest @ ..] => {
                    plan.targets.push(known(triple)?);
                    rest
                }
                ["--profile", name, rest @ ..] => {
                    plan.profile = (*name).to_owned();
                    rest
                }
                ["--out", path, rest @ ..] => {
                    plan.out = Some(PathBuf::from(path));
                    rest
                }
                ["--reproducible", rest @ ..] => {
                    plan.is_built_twice = true;
                    rest
                }
                _ => return Err(USAGE.to_owned()),
            };
        }
        if plan.targets.is_empty() {
            plan.targets = TARGETS.map(str::to_owned).to_vec();
        }
        Ok(plan)
    }
}

fn known(triple: &str) -> Result<String, String> {
    let found = TARGETS.iter().find(|target| **target == triple);
    found
        .map(|target| (*target).to_owned())
        .ok_or_else(|| format!("no static binary for `{triple}`: {}", TARGETS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_flags_all_targets_are_built_as_they_ship() {
        let plan = StaticPlan::of(Kind::Full, &[]).unwrap();
        assert_eq!((plan.targets.len(), plan.profile.as_str(), plan.is_built_twice), (3, "dist", false));
    }

    #[test]
    fn flags_are_read_in_any_order() {
        let words = [
            "--reproducible",
            "--target",
            "aarch64-unknown-linux-musl",
            "--profile",
            "release",
            "--out",
            "a",
        ];
        let plan = StaticPlan::of(Kind::Minimal, &words).unwrap();
        assert_eq!(plan.targets, ["aarch64-unknown-linux-musl"]);
        assert_eq!((plan.profile.as_str(), plan.is_built_twice), ("release", true));
        assert_eq!(plan.out, Some(PathBuf::from("a")));
    }

    #[test]
    fn other_flags_and_targets_are_refused() {
        for words in [&["--profile"][..], &["--fast"]] {
            assert_eq!(StaticPlan::of(Kind::Full, words), Err(USAGE.to_owned()));
        }
        let refused = StaticPlan::of(Kind::Full, &["--target", "x86_64-unknown-linux-gnu"]).unwrap_err();
        assert!(refused.starts_with("no static binary for `x86_64-unknown-linux-gnu`"), "{refused}");
    }
}
