//! The manifest of a bundle: what its files are, by their digests, and who says so.
//!
//! What is signed is the manifest without its signature, as JSON without spaces, its members in the order of the engine
//! and files in the order of their names: `Manifest::signed_bytes`. So white space in the file does not matter, and
//! whatever else is changed does.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use durward_ir::Value;
use durward_ir::json;
use durward_ir::value::write_json_text;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::BundleError;
use crate::error::failed;
use crate::key::{SigningKey, VerifyingKey};

/// The only algorithm of digests.
const HASH_ALGORITHM: &str = "SHA-256";
/// The only algorithm of signatures.
const SIGNATURE_ALGORITHM: &str = "Ed25519";
/// Longest attribution, as JSON.
const ATTRIBUTION_BYTES_MAX: usize = 16 << 10;
/// Longest identifier of a publication.
const CONFIGURATION_ID_LENGTH_MAX: usize = 256;
/// What a manifest may have.
const MEMBERS: [&str; 8] = [
    "version",
    "hashAlgorithm",
    "created",
    "configurationId",
    "attribution",
    "audience",
    "files",
    "signature",
];

/// What a bundle says about itself.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// What wrote it, if it says so.
    pub version: Option<String>,
    /// When it was made. A bundle that is older than the one in force takes nothing back.
    pub created: Timestamp,
    /// What this publication is called.
    pub configuration_id: String,
    /// Who made it: a text or an object that means nothing here.
    pub attribution: Value,
    /// The identifier of the key that its secrets are sealed to; there exactly when there are sealed secrets.
    pub recipient: Option<String>,
    /// `sha256:` and the digest in Base64, by file, in the order of the names.
    pub files: Vec<(String, String)>,
    /// Who signed it.
    pub signature: Option<BundleSignature>,
}

/// A signature, not yet verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSignature {
    /// Which key is said to have made it.
    pub key_id: String,
    value: Vec<u8>,
}

/// The digest of a file as manifests write it.
pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", STANDARD.encode(Sha256::digest(content)))
}

/// A name for a publication, made of what is in it: 16 hexadecimal digits of a digest over names and digests of files.
pub(crate) fn derived_id(files: &[(String, String)]) -> String {
    let mut hasher = Sha256::new();
    for text in files.iter().flat_map(|(name, digest)| [name, digest]) {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    let digits = hasher.finalize().iter().take(8).fold(String::new(), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    format!("bundle@{digits}")
}

/// As the engine sorts: by UTF-16.
pub(crate) fn sort(files: &mut [(String, String)]) {
    files.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
}

impl Manifest {
    /// Reads a manifest. Whatever it does not know is refused: a newer form may mean less than it seems to.
    ///
    /// # Errors
    /// A text that is no manifest.
    pub(crate) fn read(text: &[u8]) -> Result<Manifest, BundleError> {
        let value = json::read(text).map_err(|error| BundleError::new(format!("no JSON: {error}")))?;
        let Value::Object(object) = value else { return failed("it is no object") };
        if let Some((name, _)) = object.iter().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
            return failed(format!("it has the unknown member `{name}`; a newer form is not read"));
        }
        let text = |name: &str| match object.get(name) {
            Some(Value::Text(text)) => Ok(text.to_string()),
            Some(_) => failed(format!("`{name}` is no text")),
            None => failed(format!("it has no `{name}`; it was made before SAPL 4.2: make it again")),
        };
        if text("hashAlgorithm")? != HASH_ALGORITHM {
            return failed(format!("`hashAlgorithm` is not {HASH_ALGORITHM}"));
        }
        let Ok(created) = text("created")?.parse::<Timestamp>() else {
            return failed("`created` is no time such as `2026-01-31T12:00:00Z`");
        };
        let configuration_id = text("configurationId")?;
        check_configuration_id(&configuration_id)?;
        let attribution = object.get("attribution").cloned().unwrap_or(Value::Null);
        check_attribution(&attribution)?;
        Ok(Manifest {
            version: object.contains_key("version").then(|| text("version")).transpose()?,
            created,
            configuration_id,
            attribution,
            recipient: object.get("audience").map(recipient).transpose()?,
            files: files(object.get("files"))?,
            signature: object.get("signature").map(signature).transpose()?,
        })
    }

    /// What is signed.
    pub(crate) fn signed_bytes(&self) -> Vec<u8> {
        self.tree(false).compact().into_bytes()
    }

    /// The text of the file, as the engine lays it out.
    pub fn to_text(&self) -> String {
        self.tree(true).pretty()
    }

    /// Whether this key made the signature.
    ///
    /// # Errors
    /// It did not, or there is none.
    pub(crate) fn verify(&self, key: &VerifyingKey) -> Result<(), BundleError> {
        let Some(signature) = &self.signature else { return failed("it is not signed") };
        key.verify(&self.signed_bytes(), &signature.value)
    }

    pub(crate) fn sign(&mut self, key: &SigningKey, key_id: &str) {
        let value = key.sign(&self.signed_bytes());
        self.signature = Some(BundleSignature { key_id: key_id.to_owned(), value });
    }

    fn tree(&self, with_signature: bool) -> JsonTree {
        let text = |text: &str| JsonTree::Leaf(quoted(text));
        let mut members = Vec::new();
        members.extend(self.version.as_ref().map(|version| ("version".to_owned(), text(version))));
        members.push(("hashAlgorithm".to_owned(), text(HASH_ALGORITHM)));
        members.push(("created".to_owned(), text(&self.created.java())));
        members.push(("configurationId".to_owned(), text(&self.configuration_id)));
        members.push(("attribution".to_owned(), JsonTree::of(&self.attribution)));
        if let Some(recipient) = &self.recipient {
            let audience = JsonTree::Object(vec![("sealingRecipient".to_owned(), text(recipient))]);
            members.push(("audience".to_owned(), audience));
        }
        let files = self.files.iter().map(|(name, digest)| (name.clone(), text(digest)));
        members.push(("files".to_owned(), JsonTree::Object(files.collect())));
        if let Some(signature) = self.signature.as_ref().filter(|_| with_signature) {
            let of_signature = vec![
                ("algorithm".to_owned(), text(SIGNATURE_ALGORITHM)),
                ("keyId".to_owned(), text(&signature.key_id)),
                ("value".to_owned(), text(&STANDARD.encode(&signature.value))),
            ];
            members.push(("signature".to_owned(), JsonTree::Object(of_signature)));
        }
        JsonTree::Object(members)
    }
}

/// # Errors
/// No text of 1 to 256 printable ASCII characters without blanks and slashes.
pub(crate) fn check_configuration_id(id: &str) -> Result<(), BundleError> {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'\\');
    if (1..=CONFIGURATION_ID_LENGTH_MAX).contains(&id.len()) && id.bytes().all(is_allowed) {
        return Ok(());
    }
    failed("`configurationId` is not 1 to 256 ASCII characters without blanks and slashes")
}

fn check_attribution(attribution: &Value) -> Result<(), BundleError> {
    let is_allowed = matches!(attribution, Value::Text(_) | Value::Object(_));
    if is_allowed && attribution.to_json().len() <= ATTRIBUTION_BYTES_MAX {
        return Ok(());
    }
    failed("`attribution` is no text or object of at most 16 KiB")
}

/// The members of an object that has exactly these, all texts.
fn texts<const N: usize>(value: &Value, what: &str, names: [&str; N]) -> Result<[String; N], BundleError> {
    let wrong = || BundleError::new(format!("`{what}` is no object with the texts {}", names.join(", ")));
    let object = value.as_object().filter(|object| object.len() == N).ok_or_else(wrong)?;
    let mut found = [const { String::new() }; N];
    for (text, name) in found.iter_mut().zip(names) {
        *text = object.get(name).and_then(Value::as_text).ok_or_else(wrong)?.to_string();
    }
    Ok(found)
}

fn recipient(audience: &Value) -> Result<String, BundleError> {
    let [recipient] = texts(audience, "audience", ["sealingRecipient"])?;
    if recipient.trim().is_empty() { failed("`audience.sealingRecipient` is blank") } else { Ok(recipient) }
}

fn signature(value: &Value) -> Result<BundleSignature, BundleError> {
    let [algorithm, key_id, value] = texts(value, "signature", ["algorithm", "keyId", "value"])?;
    if algorithm != SIGNATURE_ALGORITHM {
        return failed(format!("it is not signed with {SIGNATURE_ALGORITHM}"));
    }
    match STANDARD.decode(&value) {
        Ok(value) => Ok(BundleSignature { key_id, value }),
        Err(_) => failed("`signature.value` is no Base64"),
    }
}

fn files(value: Option<&Value>) -> Result<Vec<(String, String)>, BundleError> {
    let Some(Value::Object(object)) = value else { return failed("it has no object `files`") };
    let text = |(name, digest): (&smol_str::SmolStr, &Value)| {
        let digest =
            digest.as_text().ok_or_else(|| BundleError::new(format!("the digest of `{name}` is no text")))?;
        Ok((name.to_string(), digest.to_string()))
    };
    let mut files = object.iter().map(text).collect::<Result<Vec<_>, BundleError>>()?;
    sort(&mut files);
    Ok(files)
}

/// Times as `java.time.Instant` writes them: none, three, six or nine digits of the second.
trait JavaInstant {
    fn java(&self) -> String;
}

impl JavaInstant for Timestamp {
    fn java(&self) -> String {
        match self.subsec_nanosecond().unsigned_abs() {
            0 => format!("{self:.0}"),
            nanoseconds if nanoseconds.is_multiple_of(1_000_000) => format!("{self:.3}"),
            nanoseconds if nanoseconds.is_multiple_of(1_000) => format!("{self:.6}"),
            _ => format!("{self:.9}"),
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_json_text(text, &mut out);
    out
}

/// JSON about to be written.
enum JsonTree {
    Leaf(String),
    Array(Vec<JsonTree>),
    Object(Vec<(String, JsonTree)>),
}

impl JsonTree {
    fn of(value: &Value) -> JsonTree {
        if let Value::Object(object) = value {
            let member =
                |(name, value): (&smol_str::SmolStr, &Value)| (name.to_string(), JsonTree::of(value));
            return JsonTree::Object(object.iter().map(member).collect());
        }
        match value.as_array() {
            Some(elements) => JsonTree::Array(elements.iter().map(JsonTree::of).collect()),
            None => JsonTree::Leaf(value.to_json()),
        }
    }

    fn compact(&self) -> String {
        match self {
            JsonTree::Leaf(text) => text.clone(),
            JsonTree::Array(elements) => {
                format!("[{}]", elements.iter().map(JsonTree::compact).collect::<Vec<_>>().join(","))
            }
            JsonTree::Object(members) => {
                let member =
                    |(name, value): &(String, JsonTree)| format!("{}:{}", quoted(name), value.compact());
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }

    fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(0, &mut out);
        out
    }

    fn write_pretty(&self, depth: usize, out: &mut String) {
        match self {
            JsonTree::Leaf(text) => out.push_str(text),
            JsonTree::Array(elements) => {
                out.push_str("[ ");
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    element.write_pretty(depth, out);
                }
                out.push_str(" ]");
            }
            JsonTree::Object(members) if members.is_empty() => out.push_str("{ }"),
            JsonTree::Object(members) => {
                let indent = "  ".repeat(depth);
                for (at, (name, value)) in members.iter().enumerate() {
                    out.push_str(if at == 0 { "{" } else { "," });
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\n{indent}  {} : ", quoted(name));
                    value.write_pretty(depth + 1, out);
                }
                let _ = write!(out, "\n{indent}}}");
            }
        }
    }
}
