//! `durward pages`: the login pages, for the author of a theme or a translation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_server::login_page::{LoginPages, PreviewFile};

use crate::failure::{CommandError, CommandResult, warn, without_number};
use crate::serve::read_settings;
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward pages preview
  durward pages preview --theme theme.toml --out preview
  durward pages preview --theme theme.toml --languages languages/

Writes each page in each language, and index.html, which leads to them: open it in a browser. Files of these names are
replaced. Colours that are hard to read and keys that a language lacks are warned of. Without flags, theme, languages and
product are those that durward.toml names in [identity.pages].

Exit codes: 0 written, 2 a theme or a language that cannot be used, or files that cannot be written.";

/// See the login pages as a theme and languages make them
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: PagesCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PagesCommand {
    /// Write each page as a file
    Preview(PreviewArguments),
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct PreviewArguments {
    /// The theme
    #[arg(long, value_name = "FILE")]
    theme: Option<PathBuf>,
    /// The directory with a file for each further language
    #[arg(long, value_name = "DIR")]
    languages: Option<PathBuf>,
    /// What users sign in to
    #[arg(long, value_name = "NAME")]
    product: Option<String>,
    /// Where the files go; durward makes the directory if it is missing
    #[arg(long, value_name = "DIR", default_value = "login-pages")]
    out: PathBuf,
    /// The configuration that names what no flag does
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        PagesCommand::Preview(preview) => preview.run()?,
    }
    Ok(ExitCode::SUCCESS)
}

impl PreviewArguments {
    fn run(&self) -> Result<(), CommandError> {
        let mut settings = read_settings(self.config.as_deref())?.identity.pages;
        settings.theme = self.theme.clone().or(settings.theme);
        settings.languages = self.languages.clone().or(settings.languages);
        settings.product = self.product.clone().or(settings.product);
        let pages = LoginPages::load(&settings)?;
        pages.warnings().iter().for_each(warn);
        fs::create_dir_all(&self.out).map_err(|error| unwritable(&self.out, &error))?;
        let files = pages.preview();
        for PreviewFile { name, html } in &files {
            let path = self.out.join(name);
            fs::write(&path, html).map_err(|error| unwritable(&path, &error))?;
        }
        let index = self.out.join("index.html");
        to_stdout(&format!("{} files; open {}\n", files.len(), index.display()))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::new(format!("cannot write {}: {}", path.display(), without_number(&error.to_string())))
        .hint("name another directory with `--out DIR`")
}
