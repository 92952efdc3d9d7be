//! Combining algorithms and indexes as settings spell them.

/// `deny-overrides`, `first-applicable`, ... (serde's `with`).
pub(super) mod algorithm {
    use durward_pdp::Algorithm;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Every name, for messages.
    const NAMES: &str = "`deny-overrides`, `permit-overrides`, `deny-unless-permit`, `permit-unless-deny`, \
                         `first-applicable`, `only-one-applicable` or `on-permit-apply-second`";

    pub(crate) fn serialize<S: Serializer>(algorithm: &Algorithm, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(algorithm.short_name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Algorithm, D::Error> {
        let name = String::deserialize(deserializer)?;
        Algorithm::from_short_name(&name)
            .ok_or_else(|| D::Error::custom(format!("unknown combining algorithm `{name}`; use {NAMES}")))
    }
}

/// `auto`, ... (serde's `with`).
pub(super) mod index {
    use durward_pdp::IndexKind;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(kind: &IndexKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IndexKind, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
