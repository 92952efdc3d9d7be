//! Under which keys failures are counted: digests under a secret, so that nobody outside foresees their places in tables. Nodes that
//! share counts have the same secret, and what travels between them names neither users nor addresses.

use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::quality::RandomState;
use ring::hmac::{Context, HMAC_SHA256, Key};

use super::DeviceId;
use crate::session::User;

/// Makes keys of counts.
pub(super) struct CountKeys(Key);

/// The keys of a user at an address, for each kind of count.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairKeys {
    /// Where they are known by their password.
    pub(super) password: u64,
    /// Where they are known by a code.
    pub(super) code: u64,
    /// Where nobody knows them.
    pub(super) stranger: u64,
}

impl CountKeys {
    pub(super) fn new(secret: &[u8; 32]) -> CountKeys {
        CountKeys(Key::new(HMAC_SHA256, secret))
    }

    /// Keys that nobody else has.
    pub(super) fn random() -> CountKeys {
        let state = RandomState::default();
        let mut secret = [0; 32];
        for (number, bytes) in (0_u64..).zip(secret.chunks_mut(8)) {
            bytes.copy_from_slice(&state.hash_one(number).to_ne_bytes());
        }
        CountKeys::new(&secret)
    }

    /// By passwords, and by codes.
    pub(super) fn of_user(&self, user: &User) -> [u64; 2] {
        let [password, code, ..] = self.digest(1, user.key(), &[]);
        [password, code]
    }

    pub(super) fn of_pair(&self, user: &User, network: u64) -> PairKeys {
        let [password, code, stranger, _] = self.digest(2, user.key(), &network.to_be_bytes());
        PairKeys { password, code, stranger }
    }

    /// A user and the neighbours of an address.
    pub(super) fn of_neighbours(&self, user: &User, address: IpAddr) -> u64 {
        let [key, ..] = self.digest(3, user.key(), &neighbourhood(address).to_be_bytes());
        key
    }

    pub(super) fn of_address(&self, network: u64) -> u64 {
        let [key, ..] = self.digest(4, "", &network.to_be_bytes());
        key
    }

    /// Of IPv6, the site that an address is of.
    pub(super) fn of_site(&self, address: IpAddr) -> Option<u64> {
        let IpAddr::V6(_) = address.to_canonical() else { return None };
        let [key, ..] = self.digest(7, "", &neighbourhood(address).to_be_bytes());
        Some(key)
    }

    /// By passwords, and by codes.
    pub(super) fn of_device(&self, user: &User, device: DeviceId) -> [u64; 2] {
        let [password, code, ..] = self.digest(5, user.key(), &device.0);
        [password, code]
    }

    /// All devices of a user, by passwords, and by codes.
    pub(super) fn of_devices(&self, user: &User) -> [u64; 2] {
        let [password, code, ..] = self.digest(6, user.key(), &[]);
        [password, code]
    }

    /// What follows the name has one length for each kind, so no two read alike.
    fn digest(&self, kind: u8, name: &str, rest: &[u8]) -> [u64; 4] {
        let mut context = Context::with_key(&self.0);
        context.update(&[kind]);
        context.update(name.as_bytes());
        context.update(rest);
        let tag = context.sign();
        let mut keys = [1; 4];
        for (key, bytes) in keys.iter_mut().zip(tag.as_ref().chunks_exact(8)) {
            // 0 is nobody.
            *key = bytes.try_into().map_or(1, u64::from_be_bytes).max(1);
        }
        keys
    }
}

impl std::fmt::Debug for CountKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CountKeys")
    }
}

/// What one customer can easily have of addresses: of IPv4 the first 24 bits, of IPv6 the first 48.
fn neighbourhood(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits() >> 8),
        IpAddr::V6(address) => (address.to_bits() >> 80) as u64 | (1 << 63),
    }
}
