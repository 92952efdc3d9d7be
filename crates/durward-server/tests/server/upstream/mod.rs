//! Logins at another OpenID provider: another durward, or one that says whatever it is told to.

mod fake;
mod flow;
mod hostile;
mod linking;
mod logout;
mod steps;
mod world;
