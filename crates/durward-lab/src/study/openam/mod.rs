//! The OpenAM study (Heyman, Preuveneers, Joosen, FiCloud 2014), with durward in OpenAM's place.

use super::{Digest, Run, Study};
use crate::report::Document;

/// What this machine has for the study.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program `durward`.
    pub durward: String,
    /// Whether the paper's own times are kept.
    pub is_full: bool,
    /// Users of each node, in place of the study's own.
    pub users: Option<Vec<u64>>,
    /// Seconds of warm-up and of measuring, in place of the study's own.
    pub seconds: Option<(f64, f64)>,
}

/// The study for this machine.
pub fn study(setup: &Setup) -> Study {
    let form = if setup.is_full { "full" } else { "quick" };
    let users = setup.users.clone().unwrap_or_else(|| vec![50, 100, 200]);
    let (warm_up, measure) = setup.seconds.unwrap_or((1.0, 4.0));
    let scenario = format!(
        "name = \"live\"\n[target]\ncommand = [{:?}, \"serve\", \"--policies\", \"{{data}}\", \"--listen\", \"{{address}}\"]\n\
         ready = \"/health/ready\"\n[load]\nusers = {users:?}\nwarm_up = \"{warm_up}s\"\nmeasure = \"{measure}s\"\n\
         [[steps]]\nname = \"live\"\npath = \"/health/live\"\n",
        setup.durward
    );
    Study {
        name: "openam",
        form: form.to_owned(),
        runs: vec![Run::new("live", "empty requests", scenario)],
        document,
    }
}

fn document(digest: &Digest) -> Document {
    Document::new(&format!("The {} study", digest.study))
}
