//! Gateways: what durward answers them, and the real ones with the configurations of docs/gateways.md, in front of an application.

mod answers;
mod attacks;
mod envoy;
mod gateways;
mod here;
mod manual;
mod obligations;
mod scenario;
mod world;
