//! What authenticators say at an enrolment and at a login: nothing makes the reader stumble, nobody gets in, and a passkey that is taken is kept as
//! it was read.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::Moment;
use durward_identity::passkey::{
    Assertion, Passkey, Passkeys, Registration, RelyingParty, UserHandle, Verification, register, verify,
};

const ORIGIN: &str = "https://example.org";

static PARTY: LazyLock<RelyingParty> = LazyLock::new(|| {
    RelyingParty::new("example.org", "Example", vec![ORIGIN.to_owned()]).expect("a relying party")
});

fn client_data(kind: &str) -> String {
    let challenge = URL_SAFE_NO_PAD.encode("a challenge");
    URL_SAFE_NO_PAD.encode(format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{ORIGIN}"}}"#))
}

pub(crate) fn run(bytes: &[u8]) {
    let text = crate::text(bytes);
    let _ = (Registration::read(text), Assertion::read(text));
    // The identifier is the one that is attested, where it stands as it does without certificates.
    let id = bytes.get(85..117).unwrap_or_default();
    let (id, said) = (URL_SAFE_NO_PAD.encode(id), URL_SAFE_NO_PAD.encode(bytes));
    let created = client_data("webauthn.create");
    let credential = format!(
        r#"{{"id":"{id}","type":"public-key","response":{{"clientDataJSON":"{created}","attestationObject":"{said}"}}}}"#
    );
    let Ok(registration) = Registration::read(&credential) else { return };
    let Ok(registered) = register(&PARTY, b"a challenge", Verification::Optional, &registration) else { return };
    let passkey = Passkey::new(registered, "x", Moment::default()).expect("a passkey");
    let handle = UserHandle::of(&[7; 32]).expect("a handle");
    let mut passkeys = Passkeys::default();
    passkeys.add(passkey, handle).expect("the first one");
    let kept = serde_json::to_string(&passkeys).expect("JSON");
    assert_eq!(serde_json::from_str::<Passkeys>(&kept).ok().as_ref(), Some(&passkeys));
    // Nobody has signed.
    let used = client_data("webauthn.get");
    let credential = format!(
        r#"{{"id":"{id}","type":"public-key","response":{{"clientDataJSON":"{used}","authenticatorData":"{said}","signature":"{said}"}}}}"#
    );
    if let Ok(assertion) = Assertion::read(&credential) {
        assert!(verify(&PARTY, b"a challenge", Verification::Optional, &passkeys, &assertion).is_err());
    }
}
