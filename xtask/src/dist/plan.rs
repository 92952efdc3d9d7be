//! What `cargo xtask dist` is asked for.

use crate::dist::product::Origin;
use std::path::PathBuf;

const USAGE: &str = "`cargo xtask dist [--release] [--target TRIPLE] [--binary PATH] [--out DIR] [--generator PATH] \
                     [--maintainer TEXT] [--repository URL] [--key FILE] [--url URL]`, or `cargo xtask dist collect DIR \
                     [--repository URL] [--key FILE] [--url URL]`";

/// The flags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// For whom; by default for the machine that runs this.
    pub(crate) target: Option<String>,
    /// A binary that is there already.
    pub(crate) binary: Option<PathBuf>,
    /// Where the packages go.
    pub(crate) out: Option<PathBuf>,
    /// A durward that runs here, where the binary does not.
    pub(crate) generator: Option<PathBuf>,
    /// A secret key of minisign.
    pub(crate) key: Option<PathBuf>,
    /// Where archives will be fetched from.
    pub(crate) url: Option<String>,
    /// Who answers for the packages: `Name <name@host>`.
    pub(crate) maintainer: Option<String>,
    /// The address of the project, whose releases will have the archives.
    pub(crate) repository: Option<String>,
    /// Whether the packages are to be published: then both must be said.
    pub(crate) is_release: bool,
}

impl Plan {
    /// Reads flags.
    ///
    /// # Errors
    /// One is unknown, or lacks its value.
    pub(crate) fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan::default();
        let mut words = words.iter().copied();
        while let Some(flag) = words.next() {
            if flag == "--release" {
                plan.is_release = true;
                continue;
            }
            let value = words.next().ok_or(USAGE)?;
            match flag {
                "--target" => plan.target = Some(value.to_owned()),
                "--binary" => plan.binary = Some(PathBuf::from(value)),
                "--out" => plan.out = Some(PathBuf::from(value)),
                "--generator" => plan.generator = Some(PathBuf::from(value)),
                "--key" => plan.key = Some(PathBuf::from(value)),
                "--url" => plan.url = Some(value.to_owned()),
                "--maintainer" => plan.maintainer = Some(maintainer(value)?),
                "--repository" => plan.repository = Some(repository(value)?),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(plan)
    }

    /// Who answers for the packages, and where they come from.
    ///
    /// # Errors
    /// They are to be published, and nobody has said it.
    pub(crate) fn origin(&self) -> Result<Origin, String> {
        let lacks =
            |flag: &str| Err(format!("packages of a release need `{flag}`: nothing is made up for it"));
        match (self.is_release, &self.maintainer, &self.repository) {
            (true, None, _) => lacks("--maintainer 'NAME <NAME@HOST>'"),
            (true, _, None) => lacks("--repository URL"),
            _ => Ok(Origin {
                maintainer: self.maintainer.clone().unwrap_or_else(|| Origin::none().maintainer),
                repository: self.repository.clone(),
            }),
        }
    }
}

/// `Name <name@host>`, in one line.
fn maintainer(text: &str) -> Result<String, String> {
    let address = text.strip_suffix('>').and_then(|text| text.split_once(" <"));
    match address {
        Some((name, address)) if !name.trim().is_empty() && address.contains('@') && is_plain(text) => {
            Ok(text.to_owned())
        }
        _ => Err(format!("`--maintainer` is a name and an address, as in `Name <name@host>`, not `{text}`")),
    }
}

/// An address of the web, without a slash at its end: paths are put behind it.
fn repository(text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    let is_address = text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    if is_address && is_plain(text) && !text.contains([' ', '\'', '"']) {
        Ok(text.to_owned())
    } else {
        Err(format!("`--repository` is an address `https://...`, not `{text}`"))
    }
}

/// Whether it fits into a line of a description.
fn is_plain(text: &str) -> bool {
    !text.contains(|character: char| character.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_values() {
        let plan = Plan::of(&["--target", "a-b", "--url", "https://a.example"]).unwrap();
        assert_eq!((plan.target.as_deref(), plan.url.as_deref()), (Some("a-b"), Some("https://a.example")));
        assert_eq!(Plan::of(&["--key"]), Err(USAGE.to_owned()));
        assert_eq!(Plan::of(&["--keys", "a"]), Err(USAGE.to_owned()));
    }

    #[test]
    fn packages_of_a_release_say_who_answers_for_them() {
        assert_eq!(Plan::default().origin(), Ok(Origin::none()));
        let maintainer = ["--release", "--maintainer", "A B <a@b.example>"];
        let lacks = |words: &[&str]| Plan::of(words).unwrap().origin().unwrap_err();
        assert!(lacks(&["--release"]).contains("--maintainer"));
        assert!(lacks(&maintainer).contains("--repository"));
        let all = [&maintainer[..], &["--repository", "https://a.example/b/"]].concat();
        let origin = Plan::of(&all).unwrap().origin().unwrap();
        assert_eq!(origin.maintainer, "A B <a@b.example>");
        assert_eq!(origin.line("Homepage"), "Homepage: https://a.example/b\n");
    }

    #[test]
    fn what_is_no_maintainer_or_repository_is_refused() {
        for wrong in ["", "A B", "<a@b.example>", "A <b>", "A\n <a@b.example>"] {
            assert!(Plan::of(&["--maintainer", wrong]).is_err(), "{wrong}");
        }
        for wrong in ["", "https://", "a.example/b", "https://a.example/'b"] {
            assert!(Plan::of(&["--repository", wrong]).is_err(), "{wrong}");
        }
    }
}
