//! What a new password must be: long enough, and not one of those that were breached and are tried first. Passwords that users have already
//! are not looked at: nobody is locked out by a new rule.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::password::Password;
use crate::IdentityError;
use crate::hex::hex;

/// The longest line of a list that is read, in bytes: a password of the greatest length and its line's end.
const LINE_BYTES_MAX: u64 = 2048;

/// A list of hashes up to so many bytes is read from its beginning, in whatever order it is; a longer one is searched, and must be sorted.
const SCANNED_BYTES_MAX: u64 = 16 << 20;

/// At so many places of a list that is searched, hashes must ascend.
const SAMPLES: u64 = 256;

/// The digits of a hash.
const DIGITS: usize = 40;

/// What a new password must be.
#[derive(Clone, Debug, Default)]
pub struct PasswordRules {
    length_min: usize,
    breached: Option<Arc<BreachedPasswords>>,
}

/// Why a password is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordRefusal {
    /// It has fewer characters.
    TooShort {
        /// The least number.
        length_min: usize,
    },
    /// It is in the list of breached ones.
    Breached,
    /// The list cannot be read. No password is taken then.
    Unreadable(IdentityError),
}

impl fmt::Display for PasswordRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PasswordRefusal::TooShort { length_min } => {
                write!(f, "the password is shorter than {length_min} characters")
            }
            PasswordRefusal::Breached => f.write_str(
                "the password is in the list of breached ones, which attackers try first; choose another",
            ),
            PasswordRefusal::Unreadable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PasswordRefusal {}

impl From<PasswordRefusal> for IdentityError {
    fn from(refusal: PasswordRefusal) -> IdentityError {
        match refusal {
            PasswordRefusal::Unreadable(error) => error,
            refusal @ (PasswordRefusal::TooShort { .. } | PasswordRefusal::Breached) => {
                IdentityError::new(refusal.to_string())
            }
        }
    }
}

impl PasswordRules {
    /// The least number of characters, and the file of breached passwords: one a line, or, as Have I Been Pwned gives them out, SHA-1 in
    /// hexadecimal digits, a colon and how often it was seen.
    ///
    /// # Errors
    /// The list cannot be read, is empty, or is a long list of hashes that is not sorted by them.
    pub fn new(length_min: usize, breached: Option<&Path>) -> Result<PasswordRules, IdentityError> {
        let breached = breached.map(BreachedPasswords::open).transpose()?.map(Arc::new);
        Ok(PasswordRules { length_min, breached })
    }

    /// Whether a user may have this password from now on.
    ///
    /// # Errors
    /// They may not.
    pub fn check(&self, password: &Password<'_>) -> Result<(), PasswordRefusal> {
        let bytes = password.expose();
        let length = str::from_utf8(bytes).map_or(bytes.len(), |text| text.chars().count());
        if length < self.length_min {
            return Err(PasswordRefusal::TooShort { length_min: self.length_min });
        }
        let Some(list) = &self.breached else { return Ok(()) };
        match list.holds(bytes) {
            Ok(false) => Ok(()),
            Ok(true) => Err(PasswordRefusal::Breached),
            Err(error) => Err(PasswordRefusal::Unreadable(list.failed(&error))),
        }
    }
}

/// A list of passwords in a file, which is not kept in memory.
#[derive(Debug)]
struct BreachedPasswords {
    path: PathBuf,
    kind: ListKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListKind {
    Plain,
    Hashes,
    /// Too long to be read from its beginning for each password.
    SortedHashes,
}

impl BreachedPasswords {
    /// A list. Its first line says which kind it is.
    fn open(path: &Path) -> Result<BreachedPasswords, IdentityError> {
        let mut list = BreachedPasswords { path: path.to_owned(), kind: ListKind::Plain };
        let mut file = File::open(path).map_err(|error| list.failed(&error))?;
        let length = file.metadata().map_err(|error| list.failed(&error))?.len();
        let first = line_at(&mut file, 0).map_err(|error| list.failed(&error))?;
        let Some((_, first)) = first else { return Err(list.failed(&"is empty")) };
        list.kind = match hash_of(&first) {
            None => ListKind::Plain,
            Some(_) if length <= SCANNED_BYTES_MAX => ListKind::Hashes,
            Some(_) => ListKind::SortedHashes,
        };
        if list.kind == ListKind::SortedHashes
            && !is_sorted(&mut file, length).map_err(|error| list.failed(&error))?
        {
            return Err(
                list.failed(&"is long and not sorted by hash: sort it, by `sort`, or take the list that is")
            );
        }
        Ok(list)
    }

    fn failed(&self, error: &dyn fmt::Display) -> IdentityError {
        IdentityError::new(error.to_string())
            .of(format!("the list of breached passwords `{}`", self.path.display()))
    }

    fn holds(&self, password: &[u8]) -> io::Result<bool> {
        let mut file = File::open(&self.path)?;
        let hash = hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, password).as_ref());
        match self.kind {
            ListKind::Plain => any_line(file, |line| line == password),
            ListKind::Hashes => any_line(file, |line| hash_of(line).is_some_and(|other| other == hash)),
            ListKind::SortedHashes => {
                let length = file.metadata()?.len();
                is_among(&mut file, length, &hash)
            }
        }
    }
}

/// Whether one of the lines, without its end, is it.
fn any_line(file: File, is_it: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        if is_it(without_end(&line)) {
            return Ok(true);
        }
    }
}

/// Whether a hash is in a sorted list: halves what may hold it until nothing does.
fn is_among(file: &mut File, length: u64, hash: &str) -> io::Result<bool> {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low + (high - low) / 2;
        let Some((begin, line)) = line_at(file, middle)? else {
            high = middle;
            continue;
        };
        let found = hash_of(&line).ok_or_else(|| io::Error::other("has a line that is no hash"))?;
        match found.as_str().cmp(hash) {
            std::cmp::Ordering::Equal => return Ok(true),
            std::cmp::Ordering::Less => low = begin + line.len() as u64,
            // The first line that begins behind the middle is beyond: none in this half can be it.
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(false)
}

fn is_sorted(file: &mut File, length: u64) -> io::Result<bool> {
    let mut last = String::new();
    for sample in 0..SAMPLES {
        let Some((_, line)) = line_at(file, length / SAMPLES * sample)? else { return Ok(true) };
        let Some(hash) = hash_of(&line) else { return Ok(false) };
        if hash < last {
            return Ok(false);
        }
        last = hash;
    }
    Ok(true)
}

/// The first line that begins at a place or behind it, with its end, and where it begins.
fn line_at(file: &mut File, place: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
    // A line begins where the byte before ends one.
    let from = place.saturating_sub(1);
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(256, &mut *file);
    let (mut begin, mut line) = (from, Vec::new());
    if place > 0 {
        begin += reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
        line.clear();
    }
    let count = reader.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok((count > 0).then_some((begin, line)))
}

/// The hash at the beginning of a line, in small letters.
fn hash_of(line: &[u8]) -> Option<String> {
    let (hash, rest) = without_end(line).split_at_checked(DIGITS)?;
    let is_count =
        rest.is_empty() || rest.strip_prefix(b":").is_some_and(|count| count.iter().all(u8::is_ascii_digit));
    let text = str::from_utf8(hash).ok().filter(|_| is_count && hash.iter().all(u8::is_ascii_hexdigit))?;
    Some(text.to_ascii_lowercase())
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(PathBuf);

    impl List {
        fn new(name: &str, text: &str) -> List {
            let path = std::env::temp_dir().join(format!("durward-breached-{name}-{}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            List(path)
        }

        fn check(&self, password: &str) -> Result<(), PasswordRefusal> {
            let rules = PasswordRules::new(8, Some(&self.0)).unwrap();
            rules.check(&Password::new(password).unwrap())
        }
    }

    impl Drop for List {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn sha1(text: &str) -> String {
        hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()).as_ref())
    }

    #[test]
    fn a_password_has_a_least_number_of_characters() {
        let rules = PasswordRules::new(8, None).unwrap();
        let check = |text: &str| rules.check(&Password::new(text).unwrap());
        assert_eq!(check("sieben7"), Err(PasswordRefusal::TooShort { length_min: 8 }));
        // Seven characters in more bytes.
        assert!(check("äöüßäöü").is_err());
        assert_eq!(check("äöüßäöü8"), Ok(()));
        assert_eq!(PasswordRules::default().check(&Password::new("a").unwrap()), Ok(()));
    }

    #[test]
    fn breached_passwords_are_found_in_lists_of_either_kind() {
        let words = "123456789\r\npassword1\nlast password";
        // As they are given out, in capitals; in no order.
        let hashes: String =
            words.lines().map(|word| format!("{}:{}\r\n", sha1(word).to_uppercase(), word.len())).collect();
        let bare: String = words.lines().map(|word| sha1(word) + "\n").collect();
        for (name, text) in [("words", words), ("hashes", &hashes), ("bare", &bare)] {
            let list = List::new(name, text);
            for word in words.lines() {
                assert_eq!(list.check(word), Err(PasswordRefusal::Breached), "{name}: {word}");
            }
            for word in ["Password1", "password", "last passwor", &sha1("password1")] {
                assert_eq!(list.check(word), Ok(()), "{name}: {word}");
            }
        }
    }

    #[test]
    fn a_long_list_is_searched_and_none_of_its_lines_is_missed() {
        let mut lines: Vec<String> =
            (0..2000_usize).map(|number| format!("{}:{number}\r\n", sha1(&number.to_string()))).collect();
        lines.sort();
        let list = List::new("sorted", &lines.concat());
        let mut file = File::open(&list.0).unwrap();
        let length = file.metadata().unwrap().len();
        assert!(is_sorted(&mut file, length).unwrap());
        for number in 0..2000_usize {
            assert!(is_among(&mut file, length, &sha1(&number.to_string())).unwrap(), "{number}");
            assert!(!is_among(&mut file, length, &sha1(&format!("{number} not"))).unwrap(), "{number}");
        }
        lines.swap(3, 1500);
        lines.swap(700, 1990);
        lines.reverse();
        let list = List::new("unsorted", &lines.concat());
        assert!(!is_sorted(&mut File::open(&list.0).unwrap(), length).unwrap());
    }

    #[test]
    fn a_list_that_cannot_be_read_lets_no_password_pass() {
        let list = List::new("gone", "password1\n");
        let rules = PasswordRules::new(1, Some(&list.0)).unwrap();
        std::fs::remove_file(&list.0).unwrap();
        let refused = rules.check(&Password::new("fine words").unwrap());
        assert!(matches!(refused, Err(PasswordRefusal::Unreadable(_))), "{refused:?}");
        assert!(PasswordRules::new(1, Some(&list.0)).is_err());
        let empty = List::new("empty", "");
        assert!(PasswordRules::new(1, Some(&empty.0)).unwrap_err().to_string().contains("is empty"));
    }
}
