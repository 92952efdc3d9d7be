//! Archives that are not what they seem to be.

use std::io::Write;

use durward_bundle::{Bundle, Limits, MANIFEST};
use rawzip::{CompressionMethod, ZipArchiveWriter, path::EntryPath};

use crate::{POLICY, bundle, refused};

/// An archive of stored files, under whatever names.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, content) in files {
        let path = EntryPath::verbatim(name.as_bytes());
        let (mut entry, config) =
            archive.new_file(path).compression_method(CompressionMethod::STORE).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content).unwrap();
        let (_, output) = writer.finish().unwrap();
        entry.finish(output).unwrap();
    }
    archive.finish().unwrap()
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn names_lead_nowhere() {
    for name in
        ["../evil.sapl", "/etc/passwd", "a/b.sapl", "..\\evil.sapl", "C:\\a.sapl", "a\0.sapl", "a.sapl/"]
    {
        let error = refused(&archive(&[(name, b"")]));
        assert!(
            error.contains("lies in a directory") || error.contains("control character"),
            "{name:?}: {error}"
        );
        assert!(!error.contains('\0'));
    }
    for name in ["inner.zip", "policy.xml", "readme", ".hidden"] {
        let error = refused(&archive(&[(name, b"")]));
        assert!(error.contains("does not belong"), "{name}: {error}");
    }
}

#[test]
fn a_file_is_there_once() {
    let twice = [("a.sapl", POLICY.as_bytes()), ("a.sapl", b"policy \"x\" permit")];
    assert_eq!(refused(&archive(&twice)), "`a.sapl` is there twice");
}

#[test]
fn what_unpacks_to_more_than_allowed_is_not_unpacked() {
    let zeros = vec![b' '; 1 << 20];
    let mut archive = ZipArchiveWriter::new(Vec::new());
    let packed = miniz_oxide::deflate::compress_to_vec(&zeros, 9);
    let (mut entry, _) =
        archive.new_file("a.sapl").compression_method(CompressionMethod::DEFLATE).start().unwrap();
    entry.write_all(&packed).unwrap();
    entry.finish(rawzip::DataDescriptorOutput::new(rawzip::crc32(&zeros), zeros.len() as u64)).unwrap();
    let bomb = archive.finish().unwrap();
    assert!(bomb.len() < 3000);
    let limits = Limits { content_bytes_max: 1 << 19, ..Limits::default() };
    let error = Bundle::read(&bomb, &limits).unwrap_err().to_string();
    assert_eq!(error, "`a.sapl`: all files together have more than 524288 bytes");
    // One that says it is small.
    let liar = replaced(&bomb, &(1_u32 << 20).to_le_bytes(), &100_u32.to_le_bytes());
    let error = Bundle::read(&liar, &limits).unwrap_err().to_string();
    assert!(error.contains("longer than it says"), "{error}");
}

#[test]
fn numbers_of_files_and_bytes_are_limited() {
    let names: Vec<String> = (0..5).map(|number| format!("{number}.sapl")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), POLICY.as_bytes())).collect();
    let limits = Limits { files_max: 4, ..Limits::default() };
    let error = Bundle::read(&archive(&files), &limits).unwrap_err().to_string();
    assert_eq!(error, "there are more than 4 files in it");
    let limits = Limits { archive_bytes_max: 100, ..Limits::default() };
    let error = Bundle::read(&archive(&files), &limits).unwrap_err().to_string();
    assert_eq!(error, "the archive has more than 100 bytes");
}

#[test]
fn a_file_has_one_name_and_its_own_bytes() {
    let whole = archive(&[("a.sapl", POLICY.as_bytes()), ("b.sapl", b"")]);
    // The first of the two places is the one before the file.
    let at = whole.windows(6).position(|name| name == b"a.sapl").unwrap();
    let mut two_names = whole.clone();
    two_names[at] = b'c';
    assert_eq!(refused(&two_names), "`a.sapl`: it has two names");
    let changed = replaced(&whole, b"doctors", b"porters");
    assert_eq!(refused(&changed), "`a.sapl`: it is not what it says it is");
}

#[test]
fn broken_archives_are_refused_wherever_they_break() {
    let whole = bundle(None);
    assert!(Bundle::read(&whole, &Limits::default()).is_ok());
    for length in 0..whole.len() {
        assert!(Bundle::read(&whole[..length], &Limits::default()).is_err(), "{length}");
    }
    // Whatever one byte becomes, nothing panics; what is still read says what it said.
    for at in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            if let Ok(read) = Bundle::read(&changed, &Limits::default()) {
                assert!(
                    read.files().values().all(|content| content == b"{}" || content == POLICY.as_bytes())
                );
            }
        }
    }
    assert!(refused(b"no archive at all").contains("no ZIP archive"));
    assert!(refused(&archive(&[])).contains(MANIFEST));
}

#[test]
fn manifests_are_understood_whole_or_not_at_all() {
    let good = r#"{"version":"4.2.0","hashAlgorithm":"SHA-256","created":"2026-01-31T12:00:00Z","configurationId":"x",
        "attribution":"me","files":{}}"#;
    let read = |text: &str| {
        let read = Bundle::read(&archive(&[(MANIFEST, text.as_bytes())]), &Limits::default());
        read.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(read(good), Ok(()));
    for (from, to, why) in [
        ("\"version\"", "\"expires\":1,\"version\"", "unknown member `expires`"),
        ("SHA-256", "SHA-1", "`hashAlgorithm` is not"),
        ("2026-01-31T12:00:00Z", "yesterday", "no time"),
        ("\"configurationId\":\"x\",", "", "no `configurationId`"),
        ("\"configurationId\":\"x\"", "\"configurationId\":\"a b\"", "without blanks"),
        ("\"me\"", "7", "`attribution`"),
        ("\"files\":{}", "\"files\":[]", "`files`"),
        ("\"files\":{}", "\"files\":{\"a.sapl\":1}", "no text"),
        ("\"files\":{}", "\"files\":{},\"signature\":{}", "`signature`"),
        (
            "\"files\":{}",
            "\"files\":{},\"signature\":{\"algorithm\":\"none\",\"keyId\":\"\",\"value\":\"\"}",
            "signed with",
        ),
        ("\"files\":{}", "\"files\":{},\"audience\":{\"sealingRecipient\":\" \"}", "blank"),
        ("\"files\":{}", "\"files\":{},\"audience\":{\"sealingRecipient\":\"k\"}", "none are"),
        ("{\"version\"", "[{\"version\"", "no JSON"),
    ] {
        let error = read(&good.replace(from, to)).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
}
