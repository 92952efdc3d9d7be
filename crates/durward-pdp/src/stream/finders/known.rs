//! Which attributes there are, for whoever checks policies: [`crate::check`].

use durward_sapl::check::Attribute;

/// The attributes of the finders that need nothing but the time: `time`, `x509` and `jwt`.
pub fn attributes() -> Vec<Attribute> {
    Vec::<Vec<Attribute>>::from([
        #[cfg(feature = "library-time")]
        super::time::attributes(),
        #[cfg(feature = "library-crypto")]
        super::x509::attributes(),
        #[cfg(feature = "library-crypto")]
        super::jwt::attributes(),
    ])
    .concat()
}
