//! `[identity.pages]`: how the login pages look and speak.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How the login pages look and speak. `docs/login-page.md` has what the files hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PagesSettings {
    /// The file of the theme: colours, logo, links. Default: durward's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<PathBuf>,
    /// The directory with a file for each further language. Default: none, English and German are built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub languages: Option<PathBuf>,
    /// What users sign in to. Default: what the theme says, or `durward`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Whether applications may open the pages in a window of their own that they watch. Default: no, the pages have no opener.
    pub popups: bool,
}

impl PagesSettings {
    /// Every file and directory that is named.
    pub(super) fn paths(&mut self) -> [&mut Option<PathBuf>; 2] {
        [&mut self.theme, &mut self.languages]
    }
}
