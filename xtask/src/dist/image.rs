//! A container image without a daemon: an OCI image layout (image-spec 1.1) in one tar file, with the static binary and its settings and
//! nothing else.

use crate::dist::date::rfc_3339;
use crate::dist::files::text;
use crate::dist::product::Product;
use crate::dist::sums::sha256;
use crate::dist::tar::{Entry, archive, gzip};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The user that runs in it: that of other images without users, by number, since there is no `/etc/passwd`.
const USER: &str = "65532:65532";

/// Its file's name.
pub(crate) fn name(product: &Product) -> String {
    format!("{}.oci.tar", product.stem())
}

/// Makes the image.
///
/// # Errors
/// A file of the project cannot be read.
pub(crate) fn make(product: &Product) -> Result<Vec<u8>, String> {
    let layer = archive(&content(product)?, "", product.time)?;
    let packed = gzip(&layer, product.effort)?;
    let created = rfc_3339(product.time);
    let config = to_bytes(&config(product, &sha256(&layer), &created));
    let labels = labels(product, &created);
    let manifest = to_bytes(&json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &packed)],
        "annotations": labels,
    }));
    let mut described = descriptor(MANIFEST, &manifest);
    if let Some(fields) = described.as_object_mut() {
        fields.insert("platform".to_owned(), platform(product));
        fields.insert(
            "annotations".to_owned(),
            json!({ "org.opencontainers.image.ref.name": product.version }),
        );
    }
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [described] });
    let mut entries = vec![
        Entry::file("oci-layout", 0o644, to_bytes(&json!({ "imageLayoutVersion": "1.0.0" }))),
        Entry::file("index.json", 0o644, to_bytes(&index)),
    ];
    for blob in [config, packed, manifest] {
        entries.push(Entry::file(format!("blobs/sha256/{}", sha256(&blob)), 0o644, blob));
    }
    archive(&entries, "", product.time)
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// What the one layer holds.
fn content(product: &Product) -> Result<Vec<Entry>, String> {
    Ok(vec![
        Entry::file("durward", 0o755, product.binary.clone()),
        Entry::file("etc/durward/durward.toml", 0o644, text("packaging/image/durward.toml")?),
        Entry::directory("etc/durward/policies"),
        Entry::file("usr/share/doc/durward/LICENSE", 0o644, text("LICENSE")?),
        Entry::file("usr/share/doc/durward/THIRD-PARTY-LICENSES.txt", 0o644, product.notices.clone()),
    ])
}

fn config(product: &Product, layer: &str, created: &str) -> Value {
    let mut config = json!({
        "created": created,
        "config": {
            "User": USER,
            "ExposedPorts": { "8080/tcp": {} },
            "Entrypoint": ["/durward"],
            "Cmd": ["serve", "--config", "/etc/durward/durward.toml"],
            "WorkingDir": "/",
            "Labels": labels(product, created),
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created": created, "created_by": "cargo xtask dist", "comment": "scratch, durward" }],
    });
    if let (Some(fields), Some(platform)) = (config.as_object_mut(), platform(product).as_object()) {
        fields.extend(platform.clone());
    }
    config
}

fn labels(product: &Product, created: &str) -> Value {
    json!({
        "org.opencontainers.image.title": "durward",
        "org.opencontainers.image.description": "Policy decision point for XACML 3.0 and SAPL 4",
        "org.opencontainers.image.version": product.version,
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.licenses": "Apache-2.0",
    })
}

fn platform(product: &Product) -> Value {
    let (architecture, variant) = product.target.image();
    match variant {
        Some(variant) => json!({ "architecture": architecture, "os": "linux", "variant": variant }),
        None => json!({ "architecture": architecture, "os": "linux" }),
    }
}

fn descriptor(kind: &str, blob: &[u8]) -> Value {
    json!({ "mediaType": kind, "digest": format!("sha256:{}", sha256(blob)), "size": blob.len() })
}

fn to_bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Looks whether an image that was unpacked is whole: every blob is what its name says, and whatever is pointed to is there.
///
/// # Errors
/// Says what is not as it should be.
pub(crate) fn verify(folder: &Path) -> Result<(), String> {
    let mut blobs = BTreeMap::new();
    for entry in
        std::fs::read_dir(folder.join("blobs/sha256")).map_err(|error| format!("no blobs: {error}"))?
    {
        let path = entry.map_err(|error| format!("no blobs: {error}"))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let blob = std::fs::read(&path).map_err(|error| format!("cannot read the blob `{name}`: {error}"))?;
        if sha256(&blob) != name {
            return Err(format!("the blob `{name}` has another digest"));
        }
        blobs.insert(format!("sha256:{name}"), blob);
    }
    let index = std::fs::read(folder.join("index.json")).map_err(|error| format!("no index: {error}"))?;
    let manifest = pointed(&blobs, parsed(&index)?.pointer("/manifests/0"))?;
    let manifest = parsed(manifest)?;
    let config = parsed(pointed(&blobs, manifest.pointer("/config"))?)?;
    pointed(&blobs, manifest.pointer("/layers/0"))?;
    let is = |path: &str, wanted: Value| match config.pointer(path) {
        Some(found) if *found == wanted => Ok(()),
        found => Err(format!("the image has {found:?} at `{path}`, not {wanted}")),
    };
    is("/config/User", json!(USER))?;
    is("/config/Entrypoint", json!(["/durward"]))?;
    is("/config/ExposedPorts", json!({ "8080/tcp": {} }))
}

/// Looks at what a container runtime would start, in its own words (`config.json` of OCI's runtime).
///
/// # Errors
/// Says what is not as it should be.
pub(crate) fn verify_process(config: &str) -> Result<(), String> {
    let config = parsed(config.as_bytes())?;
    let user = |name: &str| config.pointer(&format!("/process/user/{name}")).map(Value::to_string);
    let (user, group) = (user("uid").unwrap_or_default(), user("gid").unwrap_or_default());
    if format!("{user}:{group}") != USER {
        return Err(format!("the image runs as {user}:{group}, not {USER}"));
    }
    match config.pointer("/process/args/0") {
        Some(program) if *program == json!("/durward") => Ok(()),
        other => Err(format!("the image starts {other:?}")),
    }
}

fn pointed<'b>(blobs: &'b BTreeMap<String, Vec<u8>>, to: Option<&Value>) -> Result<&'b Vec<u8>, String> {
    let text = |name: &str| to.and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default();
    let size = to.and_then(|it| it.get("size")).and_then(Value::as_u64);
    match blobs.get(text("digest")) {
        Some(blob) if u64::try_from(blob.len()).ok() == size => Ok(blob),
        _ => Err(format!("no blob `{}` of {size:?} bytes", text("digest"))),
    }
}

fn parsed(json: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(json).map_err(|error| format!("no JSON in the image: {error}"))
}
