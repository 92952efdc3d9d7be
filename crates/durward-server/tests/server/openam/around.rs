//! The calls around the recorded ones.
