//! Where random bytes come from.

use crate::IdentityError;

/// Gives bytes that nobody can guess. The simulation has one of its own; everybody else takes [`SystemEntropy`].
pub trait Entropy: Send + Sync {
    /// Fills the bytes.
    ///
    /// # Errors
    /// There is no randomness to be had; nothing may be made of what is in `bytes` then.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), IdentityError>;
}

/// The randomness of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), IdentityError> {
        getrandom::fill(bytes)
            .map_err(|error| IdentityError::new(format!("the system gives no randomness: {error}")))
    }
}

/// `N` random bytes.
///
/// # Errors
/// As of [`Entropy::fill`].
pub fn bytes<const N: usize>(entropy: &dyn Entropy) -> Result<[u8; N], IdentityError> {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes)?;
    Ok(bytes)
}
