//! What `cargo xtask dist` is asked for.

use std::path::PathBuf;

const USAGE: &str = "`cargo xtask dist [--target TRIPLE] [--binary PATH] [--out DIR] [--generator PATH] [--key FILE] [--url URL]`, \
                     or `cargo xtask dist collect DIR [--key FILE] [--url URL]`";

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
}

impl Plan {
    /// Reads flags.
    ///
    /// # Errors
    /// One is unknown, or lacks its value.
    pub(crate) fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan::default();
        for pair in words.chunks(2) {
            match pair {
                ["--target", triple] => plan.target = Some((*triple).to_owned()),
                ["--binary", path] => plan.binary = Some(PathBuf::from(path)),
                ["--out", path] => plan.out = Some(PathBuf::from(path)),
                ["--generator", path] => plan.generator = Some(PathBuf::from(path)),
                ["--key", path] => plan.key = Some(PathBuf::from(path)),
                ["--url", url] => plan.url = Some((*url).to_owned()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(plan)
    }
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
}
