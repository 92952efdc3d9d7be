//! Bundles: no archive takes the process down, hangs it or takes more memory than the limits allow.

use durward_bundle::{Bundle, Limits, Trust};

pub(crate) fn run(input: &[u8]) {
    let limits = Limits { archive_bytes_max: 1 << 20, content_bytes_max: 1 << 20, files_max: 100 };
    let Ok(bundle) = Bundle::read(input, &limits) else { return };
    assert!(bundle.files().values().map(Vec::len).sum::<usize>() <= limits.content_bytes_max);
    // Nobody is trusted, so nothing is believed.
    assert!(bundle.verify(&Trust::default(), "default").is_err());
}
