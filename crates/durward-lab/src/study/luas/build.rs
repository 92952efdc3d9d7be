//! The engines in Java, as servers: their source lies in this program, the engines come from Maven Central, and what is built of
//! both lies in the user's cache, where it is built once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::engine::EngineFile;

/// An engine from Maven Central, with what makes a server of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct JavaEngine {
    /// The name of its folder, and of the engine.
    pub(super) name: &'static str,
    /// Name and version, as the Maven file has it.
    pub(super) title: &'static str,
    /// What the name of the engine's own jar begins with.
    jar: &'static str,
    pom: &'static str,
    peer: &'static str,
}

/// A Java engine's folder of `crates/durward-lab/peers`.
macro_rules! java {
    ($name:literal, $title:literal, $jar:literal) => {
        JavaEngine {
            name: $name,
            title: $title,
            jar: $jar,
            pom: include_str!(concat!("../../../peers/", $name, "/pom.xml")),
            peer: include_str!(concat!("../../../peers/", $name, "/Peer.java")),
        }
    };
}

/// All of them.
pub(super) const ALL: [JavaEngine; 3] = [
    java!("balana", "Balana 1.2.24", "org.wso2.balana-"),
    java!("att", "AT&T XACML 4.0.0", "xacml-"),
    java!("authzforce", "AuthzForce 21.0.1", "authzforce-ce-"),
];

/// What they share.
const COMMON: [(&str, &str); 2] = [
    ("Harness.java", include_str!("../../../peers/common/Harness.java")),
    ("HttpFront.java", include_str!("../../../peers/common/HttpFront.java")),
];

/// The virtual machine takes its limits for what it sees: one core and 512 MB, as in a container, also where the control group
/// could not be set.
pub(super) const FLAGS: [&str; 3] = ["-XX:MaxRAM=512m", "-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC"];
/// Maven fetches some 20 MB.
const BUILD_TIME_MAX: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(50);

impl JavaEngine {
    /// Where it lies, once it is built. Another version of it lies elsewhere.
    fn place(self, cache: &Path) -> PathBuf {
        let texts = [self.pom, self.peer].into_iter().chain(COMMON.map(|(_, text)| text));
        cache.join(format!("{}-{}", self.name, super::fingerprint(texts)))
    }

    /// What starts it, whether or not it is built; it listens at `{port}` and reads the policies of this folder. `flag` is what
    /// `HttpFront.java` knows.
    pub(super) fn command(self, cache: &Path, policies: &str, flag: &str) -> Vec<String> {
        let place = self.place(cache);
        let classes = format!("{}:{}/*", place.join("classes").display(), place.join("lib").display());
        let mut command = vec!["java".to_owned()];
        command.extend(FLAGS.map(str::to_owned));
        command.extend(["-cp", &classes, "Peer", policies, flag, "{port}"].map(str::to_owned));
        command
    }

    /// Builds it, unless that was done before.
    ///
    /// # Errors
    /// What is missing on this machine, or what Maven says.
    pub(super) fn build(
        self,
        cache: &Path,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let place = self.place(cache);
        for (program, package) in [("java", "default-jdk-headless"), ("mvn", "maven")] {
            // What is built needs Maven no more.
            let is_needed = program == "java" || !place.is_dir();
            if is_needed && which(program).is_none() {
                return Err(format!("no `{program}` on the PATH (Debian: apt-get install {package})"));
            }
        }
        if place.is_dir() {
            return Ok(());
        }
        tell(&format!("building {} with Maven, once", self.title));
        // Under another name until it is whole: an earlier start may have been ended in the middle.
        let part = cache.join(format!("part-{}-{}", self.name, std::process::id()));
        let built = self.build_in(&part, stop).and_then(|()| {
            let renamed = fs::rename(&part, &place);
            // Another start was faster.
            if place.is_dir() { Ok(()) } else { renamed.map_err(|error| at(&place, &error)) }
        });
        // What is left of it is of no use, and can do no harm.
        let _ = fs::remove_dir_all(&part);
        built
    }

    fn build_in(self, part: &Path, stop: &AtomicBool) -> Result<(), String> {
        let source = part.join("source").join(self.name);
        let common = part.join("source/common");
        let target = part.join("target");
        for folder in [&source, &common, &target] {
            fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
        }
        let put = |path: PathBuf, text: &str| fs::write(&path, text).map_err(|error| at(&path, &error));
        put(source.join("pom.xml"), self.pom)?;
        put(source.join("Peer.java"), self.peer)?;
        for (name, text) in COMMON {
            put(common.join(name), text)?;
        }
        let mut maven = Command::new("mvn");
        maven.args([
            "--quiet",
            "--batch-mode",
            "--no-transfer-progress",
            "compile",
            "dependency:copy-dependencies",
        ]);
        maven.arg(format!("-Dpeers.directory={}", target.display())).arg("-DincludeScope=runtime");
        maven.arg(format!("-DoutputDirectory={}", part.join("lib").display()));
        run(maven.current_dir(&source), &part.join("maven.log"), stop)?;
        let classes = target.join(self.name).join("classes");
        fs::rename(&classes, part.join("classes")).map_err(|error| at(&classes, &error))?;
        fs::remove_dir_all(&target).map_err(|error| at(&target, &error))
    }

    /// What must be brought to a machine for it.
    pub(super) fn shipped(self, cache: &Path) -> Vec<EngineFile> {
        let place = self.place(cache);
        let is_own =
            |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(self.jar));
        let mut shipped = vec![
            EngineFile { what: "the engine's own jars".to_owned(), bytes: size(&place.join("lib"), &is_own) },
            EngineFile { what: "all jars".to_owned(), bytes: size(&place.join("lib"), &|_| true) },
        ];
        if let Some(home) = java_home() {
            shipped.push(EngineFile {
                what: "the Java runtime on this machine".to_owned(),
                bytes: size(&home, &|_| true),
            });
        }
        shipped
    }
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Runs a command to its end, within a time; what it says goes into a file.
fn run(command: &mut Command, log: &Path, stop: &AtomicBool) -> Result<(), String> {
    let out = fs::File::create(log).map_err(|error| at(log, &error))?;
    let error = out.try_clone().map_err(|error| at(log, &error))?;
    let spawned = command.stdin(Stdio::null()).stdout(out).stderr(error).spawn();
    let mut child = spawned.map_err(|error| format!("`mvn` cannot be started: {error}"))?;
    let status = wait(&mut child, stop)?;
    if status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(log).unwrap_or_default();
    let errors = said.lines().map(plain).filter(|line| line.contains("ERROR"));
    let first = errors.into_iter().next().unwrap_or_else(|| "it said nothing".to_owned());
    Err(format!("Maven could not build it ({status}): {first}"))
}

/// A line without the colours of a terminal.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(letter);
        }
    }
    out.trim().to_owned()
}

fn wait(child: &mut Child, stop: &AtomicBool) -> Result<ExitStatus, String> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("`mvn`: {error}"))? {
            return Ok(status);
        }
        let why = if stop.load(Ordering::Relaxed) {
            "the study was stopped"
        } else if begun.elapsed() > BUILD_TIME_MAX {
            "Maven took more than ten minutes; can this machine reach Maven Central?"
        } else {
            std::thread::sleep(LOOK);
            continue;
        };
        // It may have ended just now.
        let _ = child.kill();
        let _ = child.wait();
        return Err(why.to_owned());
    }
}

/// Where a program lies that the PATH names.
fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The folder of the Java runtime, behind all links.
fn java_home() -> Option<PathBuf> {
    let program = fs::canonicalize(which("java")?).ok()?;
    let home = program.parent()?.parent()?;
    home.join("lib").is_dir().then(|| home.to_owned())
}

/// Bytes of all files below a folder that count; links are not followed.
fn size(folder: &Path, counts: &dyn Fn(&Path) -> bool) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of_entry = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path(), counts),
        Ok(kind) if kind.is_file() && counts(&entry.path()) => entry.metadata().map_or(0, |data| data.len()),
        _ => 0,
    };
    entries.flatten().map(of_entry).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_name_the_versions_that_are_built() {
        for java in ALL {
            let version = java.title.rsplit(' ').next().unwrap();
            assert!(java.pom.contains(&format!("<version>{version}</version>")), "{}", java.title);
        }
    }

    #[test]
    fn colours_are_taken_from_what_maven_says() {
        assert_eq!(plain("[\u{1b}[1;31mERROR\u{1b}[m] no net \u{1b}[m"), "[ERROR] no net");
    }

    #[test]
    fn a_command_that_fails_tells_its_error() {
        let log = std::env::temp_dir().join(format!("durward-luas-maven-{}", std::process::id()));
        let script = "echo fine; echo '[ERROR] no such artifact'; exit 3";
        let stop = AtomicBool::new(false);
        let error = run(Command::new("sh").args(["-c", script]), &log, &stop).unwrap_err();
        assert_eq!(error, "Maven could not build it (exit status: 3): [ERROR] no such artifact");
        stop.store(true, Ordering::Relaxed);
        let error = run(Command::new("sleep").arg("100"), &log, &stop).unwrap_err();
        assert_eq!(error, "the study was stopped");
        fs::remove_file(log).unwrap();
    }
}
