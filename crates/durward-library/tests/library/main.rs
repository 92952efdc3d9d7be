//! The functions of the libraries, called as policies call them.

mod cases;
mod closure;
mod recorded;
mod robust;
