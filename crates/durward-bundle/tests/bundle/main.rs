//! Bundles of one's own and of the engine, whole, broken and forged.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

mod archives;
mod engine;
mod sealing;
mod trusting;

use durward_bundle::{Bundle, BundleDraft, Limits, SigningKey};

/// A policy, and what it needs.
const POLICY: &str = r#"policy "doctors" permit subject.role == "doctor";"#;

/// A bundle of one policy.
fn bundle(key: Option<(&SigningKey, &str)>) -> Vec<u8> {
    draft("2026-01-31T12:00:00Z").finish(key).unwrap()
}

fn draft(created: &str) -> BundleDraft {
    let mut draft = BundleDraft::new(created).unwrap();
    draft.add("pdp.json", b"{}".to_vec()).unwrap();
    draft.add("doctors.sapl", POLICY.into()).unwrap();
    draft
}

fn read(bytes: &[u8]) -> Bundle {
    Bundle::read(bytes, &Limits::default()).unwrap()
}

/// Why bytes are no bundle.
fn refused(bytes: &[u8]) -> String {
    Bundle::read(bytes, &Limits::default()).unwrap_err().to_string()
}

/// The files of a bundle with another manifest, which keeps its signature.
fn archives_with(bundle: &Bundle, manifest: &durward_bundle::Manifest) -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    let text = manifest.to_text();
    let files = bundle.files().iter().map(|(name, content)| (name.as_str(), content.as_slice()));
    for (name, content) in files.chain([(durward_bundle::MANIFEST, text.as_bytes())]) {
        let (mut entry, config) = archive.new_file(name).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        std::io::Write::write_all(&mut writer, content).unwrap();
        let (_, output) = writer.finish().unwrap();
        entry.finish(output).unwrap();
    }
    archive.finish().unwrap()
}
