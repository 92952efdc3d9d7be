//! Trusted signers of bundles, by tenant.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::failed;
use crate::{BundleError, Manifest, VerifyingKey};

/// Trusted signers. The default trusts nobody.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// For every tenant that has no list of its own.
    pub key: Option<VerifyingKey>,
    /// Keys by the names that signatures give them.
    pub keys: BTreeMap<String, VerifyingKey>,
    /// The names of the keys that may sign for a tenant.
    pub tenants: BTreeMap<String, Vec<String>>,
    /// Whether bundles without a signature are taken from everybody.
    pub allow_unsigned: bool,
    /// The tenants whose bundles need no signature.
    pub unsigned_tenants: BTreeSet<String>,
}

/// A verified manifest. Verification is its only constructor.
pub(crate) struct VerifiedManifest(());

impl Trust {
    /// One key for everybody, whatever signatures call it.
    pub fn one(key: VerifyingKey) -> Trust {
        Trust { key: Some(key), ..Trust::default() }
    }

    /// Whether there is anything to verify with, or need not be.
    pub fn is_empty(&self) -> bool {
        self.key.is_none()
            && self.tenants.is_empty()
            && !self.allow_unsigned
            && self.unsigned_tenants.is_empty()
    }

    /// The key that the signature must have been made with. What the signature calls its key only chooses among those
    /// of the tenant.
    fn key_of<'t>(&'t self, tenant: &str, key_id: &str) -> Result<&'t VerifyingKey, BundleError> {
        let Some(allowed) = self.tenants.get(tenant) else {
            let none = || {
                BundleError::new(format!("there is no key to verify the bundles of tenant `{tenant}` with"))
            };
            return self.key.as_ref().ok_or_else(none);
        };
        if !allowed.iter().any(|name| name == key_id) {
            return failed(format!("the key `{key_id}` may not sign for tenant `{tenant}`"));
        }
        self.keys.get(key_id).ok_or_else(|| BundleError::new(format!("there is no key `{key_id}`")))
    }

    /// # Errors
    /// Signed by nobody who may, or wrongly, or not at all where that is not allowed.
    pub(crate) fn believe(&self, manifest: &Manifest, tenant: &str) -> Result<VerifiedManifest, BundleError> {
        let needs_none = self.allow_unsigned || self.unsigned_tenants.contains(tenant);
        let has_key = self.key.is_some() || self.tenants.contains_key(tenant);
        match &manifest.signature {
            None if needs_none => Ok(VerifiedManifest(())),
            None => failed("it is not signed"),
            // With nothing to verify with, it is as good as unsigned.
            Some(_) if needs_none && !has_key => Ok(VerifiedManifest(())),
            Some(signature) => {
                manifest.verify(self.key_of(tenant, &signature.key_id)?)?;
                Ok(VerifiedManifest(()))
            }
        }
    }
}
