//! Sessions, users, tokens, from outside.
