//! Certificates: made, kept in directories, and checked when a peer shows one.
//!
//! The directories are laid out as the OPC Foundation's stacks lay them out, so that files can be moved between them:
//!
//! | directory | holds |
//! |---|---|
//! | `own/certs`, `own/private` | this application's certificate and its key |
//! | `trusted/certs` | certificates of applications, and of authorities, that are trusted |
//! | `trusted/crl` | revocation lists of trusted authorities |
//! | `issuers/certs` | certificates of authorities that complete a chain, and are not trusted by themselves |
//! | `issuers/crl` | revocation lists of those |
//! | `rejected/certs` | certificates that came and were not trusted; to trust one, move it |

mod create;
mod directory;
mod inspect;
mod validate;

pub use create::{CertificateAuthority, CertificateDraft, self_signed};
pub use directory::{CertificateDirectory, read_certificate};
pub use validate::{TrustLists, validate};
