//! The decision point in WebAssembly: what `js/addon.js` beside it calls, and nobody else. It makes of this what the addon of Node is.
//!
//! There is one thread, no file, no clock, and nobody catches a panic: it ends as an exception of JavaScript, and `js/addon.js` asks
//! nothing more after that. A plain decision goes back as a small number; of any other the JSON is fetched behind it. An error is JSON
//! in the message of an `Error`, as the addon of Node has it.

pub mod answer;
pub mod host;
pub mod pdp;
pub mod texts;
pub mod watch;
