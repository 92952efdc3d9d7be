//! Audit records: reading never fails but with a place, and what holds has its end where the last line is.

use durward_identity::audit::Verifier;

pub(crate) fn run(text: &[u8]) {
    let mut verifier = Verifier::new(None);
    match verifier.file(text) {
        Err(broken) => assert!(broken.line <= 1 + text.len() as u64),
        Ok(()) => {
            let end = verifier.end().expect("no checkpoint was asked for");
            assert_eq!(end.is_none(), text.is_empty());
        }
    }
}
