//! Devices on which a user has logged in: whoever shows the proof is not kept out by what strangers do ([`crate::device`]).

use durward_identity::Moment;
use durward_identity::login::DeviceId;
use durward_identity::session::User;

use super::Service;
use crate::device::KnownDevice;

/// The device that a login comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoginDevice {
    id: Option<DeviceId>,
    /// Whether a right code was given on it.
    has_code: bool,
}

impl LoginDevice {
    /// As it counts for passwords.
    pub(super) fn for_password(self) -> Option<DeviceId> {
        self.id
    }

    /// As it counts for codes. Whoever knows the password gets a device as often as they like where no code is asked for at the login: that must
    /// give them no further guesses at the code.
    pub(super) fn for_code(self) -> Option<DeviceId> {
        self.id.filter(|_| self.has_code)
    }
}

impl Service {
    /// The device whose proof is among those that were shown, if it is good for this user.
    pub(super) fn device_of(&self, shown: Option<&str>, user: &User) -> LoginDevice {
        let Some(shown) = shown else { return LoginDevice::default() };
        let counted = self.counted_as(user);
        let known = self.0.devices.open(shown, self.now());
        let own = known.into_iter().find(|known| self.counted_as(&known.user) == counted);
        own.filter(|known| !self.has_lost(known)).map_or_else(LoginDevice::default, |known| LoginDevice {
            id: Some(known.id),
            has_code: known.has_code,
        })
    }

    /// The same, also where only a directory outside knows since when the user has their password: with that, a device is told from those of
    /// before. Only for a proof that is good otherwise is it asked, so no stranger has it asked; while it does not answer, no device is known.
    pub(super) async fn known_device(&self, shown: Option<&str>, user: &User) -> LoginDevice {
        let device = self.device_of(shown, user);
        let Some(id) = device.id else { return device };
        let Some(users) = self.users(user.realm()).filter(|users| users.writes().is_none()) else {
            return device;
        };
        let opened = self.0.devices.open(shown.unwrap_or_default(), self.now());
        let Some(known) = opened.into_iter().find(|known| known.id == id) else {
            return LoginDevice::default();
        };
        let whose = known.user.clone();
        let asked = self.0.parts.runtime.spawn(async move { users.password_since(&whose).await });
        match asked.await {
            Ok(Ok(Some(since))) if known.is_before(since) => LoginDevice::default(),
            Ok(Ok(_)) => device,
            Ok(Err(_)) | Err(_) => LoginDevice::default(),
        }
    }

    /// Whether what was given to the user's devices is over: all their sessions were ended since, or their account was changed in a way that
    /// ends them.
    fn has_lost(&self, known: &KnownDevice) -> bool {
        self.0.parts.sessions.is_user_revoked(&known.user, known.issued)
            || self.must_be_over(&known.user, known.issued)
    }

    /// The proofs for a device on which a user has logged in now: theirs, and those of others that were shown. `None` where there are none, or no
    /// randomness.
    pub(super) fn proof_of_device(
        &self,
        shown: Option<&str>,
        device: LoginDevice,
        user: &User,
        has_code: bool,
        since: Moment,
    ) -> Option<String> {
        let has_code = has_code || device.has_code;
        let now = self.now();
        self.0.devices.renew(shown, &KnownDevice::new(device.id, user, has_code, since, now)?, now)
    }
}
