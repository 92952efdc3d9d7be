//! Tests of the whole crate: one binary, a module for each part.

<<<<<<< HEAD
mod model;
mod protocol;
mod token;
=======
mod mediate;
>>>>>>> med
