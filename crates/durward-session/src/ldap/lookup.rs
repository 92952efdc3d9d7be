//! What entries of a directory hold, for decisions: a search with a filter, and the values of one attribute.

use std::fmt;
use std::sync::Arc;

use durward_identity::IdentityError;

use super::connect::{LdapConnector, LdapOperation, LdapReply};
use super::pool::{ConnectionPurpose, LdapPool, LdapUnavailable};
use super::search::LdapSearch;
use super::settings::LdapSettings;
use super::{dn, entry};
use crate::secret::read_secret;

/// How many entries one search may find. More is an error: some would have to be left out.
const ENTRIES_MAX: usize = 1000;

/// A directory that is searched. Of [`LdapSettings`] it uses servers, protection, `search_as`, `base`, times and
/// connections; what is about users plays no part, and referrals are not followed.
#[derive(Clone)]
pub struct LdapLookup(Arc<LdapLookupInner>);

struct LdapLookupInner {
    settings: LdapSettings,
    pool: LdapPool,
}

impl LdapLookup {
    /// A directory that is not connected yet: files that are named are read here, the network is for later.
    ///
    /// # Errors
    /// A setting is wrong, or a file cannot be read or does not hold what it should.
    pub fn new(settings: LdapSettings) -> Result<LdapLookup, IdentityError> {
        settings.check()?;
        let search_as = match &settings.search_as {
            Some((dn, path)) => Some((dn.clone(), read_secret(path)?)),
            None => None,
        };
        let connector = LdapConnector::new(&settings)?;
        let LdapSettings { connections_max, answer_within, rest, .. } = settings;
        let pool =
            LdapPool::new(connector, settings.addresses()?, search_as, connections_max, answer_within, rest);
        Ok(LdapLookup(Arc::new(LdapLookupInner { settings, pool })))
    }

    /// The values of the attribute in all entries that fit, in the directory's order; none where no entry fits.
    ///
    /// # Errors
    /// No server answers, or the answer is not all, not text, or about entries that were not asked for.
    pub async fn values(&self, search: LdapSearch) -> Result<Vec<String>, IdentityError> {
        let inner = Arc::clone(&self.0);
        // A task: what the crate for the protocol does with an answer that is none of LDAP ends there.
        let task = tokio::spawn(async move { inner.values(search).await });
        task.await.unwrap_or_else(|_| Err(IdentityError::new("the directory's answer cannot be understood")))
    }
}

impl LdapLookupInner {
    async fn values(&self, search: LdapSearch) -> Result<Vec<String>, IdentityError> {
        let failed = |message: String| Err(IdentityError::new(message));
        let LdapSearch { base, scope, filter, attribute } = search;
        let base = base.unwrap_or_else(|| self.settings.base.clone());
        let question = LdapOperation::Search {
            base: base.clone(),
            scope: scope.scope(),
            filter,
            attributes: vec![attribute.clone()],
            entries_max: ENTRIES_MAX,
        };
        let answer =
            self.pool.ask(ConnectionPurpose::Session, &question, None).await.map_err(|why| match why {
                LdapUnavailable::Busy => IdentityError::new("too many ask the directory at once"),
                LdapUnavailable::Failed(message) => IdentityError::new(message),
            })?;
        let LdapReply::Found { entries, are_all, referrals } = answer else {
            return failed("the directory answers another question".to_owned());
        };
        if !are_all {
            return failed(format!(
                "the directory finds more than {ENTRIES_MAX} entries, or does not give all"
            ));
        }
        if entries.is_empty() && !referrals.is_empty() {
            return failed("the directory refers to other servers, which are not asked".to_owned());
        }
        let mut values = Vec::new();
        for found in &entries {
            if !dn::is_below(&found.dn, &base) {
                return failed("the directory answers with an entry that was not asked for".to_owned());
            }
            // Such as `member;range=0-1499` of Active Directory: taken for none, or for all, it would mean another thing.
            let is_part = |name: &str| {
                name.split_once(';').is_some_and(|(whole, _)| whole.eq_ignore_ascii_case(&attribute))
            };
            if let Some(part) = found.attrs.keys().chain(found.bin_attrs.keys()).find(|name| is_part(name)) {
                return failed(format!(
                    "the directory gives `{attribute}` in parts or with options: `{part}`"
                ));
            }
            if found.bin_attrs.keys().any(|name| name.eq_ignore_ascii_case(&attribute)) {
                return failed(format!("the attribute `{attribute}` holds what is no text"));
            }
            values.extend(entry::values(found, &attribute));
        }
        Ok(values)
    }
}

impl fmt::Debug for LdapLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LdapLookup({:?}, {})", self.0.settings.servers, self.0.settings.base)
    }
}
