//! Journals that are torn, damaged, replaced and refused by the disk.

use super::*;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("durward-journal-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn filled(path: &Path) -> Vec<u8> {
    let (mut journal, entries) = Journal::open(path).unwrap();
    assert!(entries.is_empty());
    journal.append(&[b"one", b"two"]).unwrap();
    journal.append(&[b"three"]).unwrap();
    drop(journal);
    std::fs::read(path).unwrap()
}

#[test]
fn a_write_torn_anywhere_leaves_what_was_there_before() {
    let folder = folder("torn");
    let path = folder.join("users");
    let whole = filled(&path);
    let before_three = whole.len() - b"three".len() - LENGTH - BEFORE;
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let (mut journal, entries) = Journal::open(&path).unwrap();
        // The first two are one write: both or none.
        let expected = if length >= before_three { 2 } else { 0 };
        assert_eq!(entries.len(), expected, "{length}");
        journal.append(&[b"four"]).unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path).unwrap().1.last().unwrap(), b"four");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn damage_before_the_end_is_an_error_and_never_a_shorter_journal() {
    let folder = folder("damaged");
    let path = folder.join("users");
    let whole = filled(&path);
    let second = HEAD.len() + BEFORE + 2 * LENGTH + b"onetwo".len();
    for at in 0..second {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x01;
        std::fs::write(&path, &damaged).unwrap();
        assert!(Journal::open(&path).is_err(), "{at}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The disk writes the pages of a batch in any order. When the first one was missing after a crash and a later entry was whole,
/// the journal was said to be damaged, and the node did not start.
#[test]
fn a_batch_whose_first_part_the_disk_did_not_take_is_cut_off() {
    let folder = folder("holes");
    let path = folder.join("users");
    let before = filled(&path).len();
    let entries: Vec<Vec<u8>> = (0..40_u8).map(|number| vec![number; 1 + 40 * usize::from(number)]).collect();
    let (mut journal, _) = Journal::open(&path).unwrap();
    journal.append(&entries.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    for hole in [before..before + 1, before..before + 4096, before + 100..before + 200] {
        let mut torn = whole.clone();
        torn[hole].fill(0);
        std::fs::write(&path, &torn).unwrap();
        let (mut journal, entries) = Journal::open(&path).unwrap();
        assert_eq!((entries.len(), journal.length()), (3, before as u64));
        journal.append(&[b"four"]).unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path).unwrap().1.len(), 4);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_journal_of_another_version_is_told_from_what_is_none() {
    let folder = folder("version");
    let path = folder.join("users");
    for (text, expected) in [("durward journal1", "another version"), ("durward logbook1", "no journal")] {
        std::fs::write(&path, text).unwrap();
        let error = Journal::open(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Entries that reach over the edges of what is read at once, and zeros behind them that are longer than that.
#[test]
fn a_long_journal_is_read_as_a_short_one() {
    let folder = folder("long");
    let path = folder.join("users");
    let (mut journal, _) = Journal::open(&path).unwrap();
    let lengths = [ENTRY_BYTES_MAX, 1, 0, 700_000, ENTRY_BYTES_MAX - 1, 300_000];
    let entry = |number: usize| vec![u8::try_from(number).unwrap(); lengths[number % lengths.len()]];
    let all: Vec<Vec<u8>> = (0..24).map(entry).collect();
    journal.append(&all.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let (mut found, mut at) = (Vec::new(), Journal::START);
    loop {
        let (some, next) = journal.entries_from(at, 1).unwrap();
        if some.is_empty() {
            break;
        }
        found.extend(some);
        at = next;
    }
    assert_eq!((found == all, at), (true, journal.length()));
    let length = journal.length();
    journal.file.set_len(length + 3 * WINDOW as u64).unwrap();
    drop(journal);
    let (journal, found) = Journal::open(&path).unwrap();
    assert_eq!((found == all, journal.length()), (true, length));
    journal.file.set_len(length + 3 * WINDOW as u64).unwrap();
    drop(journal);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"x").unwrap();
    assert!(Journal::open(&path).unwrap_err().to_string().contains("damaged at byte"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn replacing_keeps_what_is_put_in_the_place_and_what_comes_after() {
    let folder = folder("replaced");
    let path = folder.join("users");
    filled(&path);
    let (mut journal, entries) = Journal::open(&path).unwrap();
    assert_eq!(entries, [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
    assert!(Journal::open(&path).unwrap_err().to_string().contains("another process"));
    journal.replace(&[b"all"]).unwrap();
    journal.append(&[b"more"]).unwrap();
    assert!(journal.append(&[&vec![0; ENTRY_BYTES_MAX + 1]]).is_err());
    drop(journal);
    let (journal, entries) = Journal::open(&path).unwrap();
    assert_eq!(entries, [b"all".to_vec(), b"more".to_vec()]);
    assert_eq!(journal.entries(), 2);
    let mut given_up = journal.replacement().unwrap();
    given_up.add(&[b"nothing", b"of", b"this"]).unwrap();
    assert!(journal.replacement().is_err(), "one at a time");
    drop(given_up);
    let mut in_pieces = journal.replacement().unwrap();
    in_pieces.add(&[b"a", b"b"]).unwrap();
    in_pieces.add(&[b"c"]).unwrap();
    let mut journal = journal;
    journal.put(in_pieces).unwrap();
    journal.append(&[b"d"]).unwrap();
    drop(journal);
    let (_, entries) = Journal::open(&path).unwrap();
    assert_eq!(entries, [b"a", b"b", b"c", b"d"].map(|entry| entry.to_vec()));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Between the new file's name and the old one's there is a moment in which the disk can refuse. What was added after that went
/// into the old file, which had no name any more, and was gone at the next start.
#[test]
fn nothing_is_taken_while_the_disk_does_not_have_the_name_of_the_file() {
    let folder = folder("unnamed");
    let path = folder.join("users");
    filled(&path);
    let (mut journal, _) = Journal::open(&path).unwrap();
    // Nobody can wait for this one.
    let whole = journal.folder.open.replace(File::open("/dev/null").unwrap());
    assert!(journal.replace(&[b"all"]).unwrap_err().to_string().contains("the directory of"));
    assert_eq!((journal.is_replaced(), journal.entries()), (false, 1));
    assert!(journal.append(&[b"refused"]).is_err());
    journal.folder.open = whole;
    journal.append(&[b"more"]).unwrap();
    drop(journal);
    assert_eq!(Journal::open(&path).unwrap().1, [b"all".to_vec(), b"more".to_vec()]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A journal whose path has no directory is in the one the process is in.
#[test]
fn a_path_that_is_only_a_name_has_a_directory() {
    assert!(Folder::of(Path::new("users")).unwrap().sync().is_ok());
}
