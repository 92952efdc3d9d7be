//! What nobody gets in with.
