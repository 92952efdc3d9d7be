//! The policy files in force, each with how it looked when it was read: what looks different is read again, and nothing
//! else.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use durward_pdp::{PolicyChange, PolicyText, ReadError, list_policies, read_policy_file};

use super::fingerprint::look_of;

/// Where more files than this look different, all are read: that takes no longer.
const CHANGES_MAX: usize = 1_000;

/// What policies came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inventory {
    /// How each file looked.
    looks: Looks,
    /// A digest of each text, by its name.
    texts: BTreeMap<String, u64>,
}

/// How the policy files of a directory look, in order of their paths.
pub(super) type Looks = BTreeMap<PathBuf, Option<u64>>;

/// How policy files differ from those in force.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// Their texts do not, but they look like this now.
    None(Inventory),
    /// Some do.
    Some(Vec<PolicyChange>, Inventory),
    /// All have to be read to know.
    Unclear,
}

/// How the files of a directory look. Taken before they are read, so that one that changes meanwhile looks different the
/// next time.
///
/// # Errors
/// Those of [`list_policies`].
pub(super) fn looks_of(directory: &Path) -> Result<Looks, ReadError> {
    let look = |file: PathBuf| {
        let look = look_of(&file);
        (file, look)
    };
    Ok(list_policies(directory)?.into_iter().map(look).collect())
}

impl Inventory {
    /// Of what was read from files that looked like this.
    pub(super) fn of(looks: Looks, texts: &[PolicyText]) -> Inventory {
        Inventory { looks, texts: texts.iter().map(|text| (text.name.clone(), digest(text))).collect() }
    }

    /// Whether there are no policies.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether other files have the same texts.
    pub(super) fn has_texts_of(&self, other: &Inventory) -> bool {
        self.texts == other.texts
    }

    /// Reads the files that look different now.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn difference(&self, looks: Looks, bytes_max: usize) -> Result<Difference, ReadError> {
        let is_known =
            |(path, look): &(&PathBuf, &Option<u64>)| look.is_some() && self.looks.get(*path) == Some(*look);
        let other: Vec<&PathBuf> =
            looks.iter().filter(|file| !is_known(file)).map(|(path, _)| path).collect();
        let gone: Vec<&PathBuf> = self.looks.keys().filter(|path| !looks.contains_key(*path)).collect();
        let is_sealed = |path: &&&PathBuf| path.file_name().is_some_and(|name| name == "secrets.sealed.json");
        if other.len() + gone.len() > CHANGES_MAX || other.iter().chain(&gone).any(|path| is_sealed(&path)) {
            return Ok(Difference::Unclear);
        }
        let mut texts = self.texts.clone();
        let mut changes = Vec::new();
        let remove = |texts: &mut BTreeMap<String, u64>, path: &Path| {
            let name = path.display().to_string();
            texts.remove(&name).map(|_| PolicyChange::Remove(name))
        };
        for path in gone {
            changes.extend(remove(&mut texts, path));
        }
        for path in other {
            match read_policy_file(path, bytes_max)? {
                Some(text) => {
                    let digest = digest(&text);
                    if texts.insert(text.name.clone(), digest) != Some(digest) {
                        changes.push(PolicyChange::Put(text));
                    }
                }
                None => changes.extend(remove(&mut texts, path)),
            }
        }
        let is_beside =
            |name: &String| PolicyText { name: name.clone(), text: Vec::new() }.is_beside_policies();
        let is_empty = texts.keys().all(is_beside);
        let inventory = Inventory { looks, texts };
        Ok(match changes.is_empty() {
            // That there are none is for whoever reads all of them to say.
            _ if is_empty => Difference::Unclear,
            true => Difference::None(inventory),
            false => Difference::Some(changes, inventory),
        })
    }
}

fn digest(text: &PolicyText) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const BYTES_MAX: usize = 1_000;

    struct Files(PathBuf);

    impl Files {
        fn new(name: &str) -> Files {
            let path = std::env::temp_dir().join(format!("durward-inventory-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Files(path)
        }

        fn write(&self, name: &str, text: &str) -> String {
            let path = self.0.join(name);
            let _ = fs::remove_file(&path);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        }

        fn inventory(&self) -> Inventory {
            let texts = durward_pdp::read_policies(&self.0).unwrap();
            Inventory::of(looks_of(&self.0).unwrap(), &texts)
        }

        fn difference(&self, from: &Inventory) -> Difference {
            from.difference(looks_of(&self.0).unwrap(), BYTES_MAX).unwrap()
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_what_changed_is_a_change() {
        let files = Files::new("changes");
        let same = files.write("a.sapl", "one");
        let other = files.write("b.sapl", "two");
        let gone = files.write("c.sapl", "three");
        let before = files.inventory();
        files.write("b.sapl", "2");
        let new = files.write("d.sapl", "four");
        fs::remove_file(&gone).unwrap();
        let Difference::Some(changes, after) = files.difference(&before) else { panic!("no change") };
        let names: Vec<&str> = changes.iter().map(PolicyChange::name).collect();
        assert_eq!(names, [&gone, &other, &new]);
        assert!(!names.contains(&same.as_str()));
        assert!(after.has_texts_of(&files.inventory()));
    }

    #[test]
    fn a_file_written_again_as_it_was_is_no_change() {
        let files = Files::new("again");
        files.write("a.sapl", "one");
        let before = files.inventory();
        files.write("a.sapl", "one");
        let Difference::None(after) = files.difference(&before) else { panic!("a change") };
        assert!(after.has_texts_of(&before) && after != before);
    }

    #[test]
    fn a_policy_that_becomes_a_request_is_no_policy_any_more() {
        let files = Files::new("request");
        files.write("a.sapl", "one");
        let name = files.write("b.xml", "<Policy/>");
        let before = files.inventory();
        files.write("b.xml", r#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17"/>"#);
        let Difference::Some(changes, _) = files.difference(&before) else { panic!("no change") };
        assert_eq!(changes, [PolicyChange::Remove(name)]);
    }

    #[test]
    fn no_policy_left_and_sealed_secrets_are_for_whoever_reads_everything() {
        let files = Files::new("unclear");
        let name = files.write("a.sapl", "one");
        let before = files.inventory();
        files.write("secrets.sealed.json", "{}");
        assert_eq!(files.difference(&before), Difference::Unclear);
        fs::remove_file(files.0.join("secrets.sealed.json")).unwrap();
        fs::remove_file(name).unwrap();
        assert_eq!(files.difference(&before), Difference::Unclear);
    }
}
