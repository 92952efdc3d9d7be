//! What the paper prints: F. Zhang, B. Butler, B. Jennings, "An Access Control Implementation Targeting Resource-constrained
//! Environments".

/// Loads: users times requests each, sent in bursts every second.
pub const SENT: [u64; 4] = [500, 1000, 1500, 2000];
/// Bursts in a run, a second apart: 100 users send 1, 2, 3 or 4 requests in each.
pub const BURSTS: u64 = 5;
/// Users.
pub const USERS: u64 = 100;
/// An answer that takes longer is none.
pub const TIMEOUT_S: u64 = 120;
/// The same for AT&T at 1500 and 2000 requests.
pub const TIMEOUT_ATT_S: u64 = 400;
/// Cores of each container.
pub const CORES: f64 = 1.0;
/// Memory of each container.
pub const MEMORY: &str = "512M";
/// How often the paper looked at memory and processor, in seconds.
pub const SAMPLED_S: f64 = 2.0;

/// What the paper prints of one decision point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperPdp {
    /// As the paper calls it.
    pub name: &'static str,
    /// Which of our engines is the same product; `None` where it cannot be had.
    pub ours: Option<&'static str>,
    /// Table I: answers in time, for each of [`SENT`].
    pub completed: [u64; 4],
    /// Table II: the 95th and the 99th percentile in milliseconds, for each of [`SENT`].
    pub latency_ms: [(f64, f64); 4],
    /// The image of its container, in MB.
    pub image_mb: u64,
    /// What is shipped of it, in kB.
    pub bundle_kb: u64,
}

/// All of them, in the paper's order.
pub const PDPS: [PaperPdp; 3] = [
    PaperPdp {
        name: "AT&T",
        ours: Some("att"),
        completed: [500, 610, 795, 1020],
        latency_ms: [(59201.7, 81051.1), (63351.2, 88927.3), (66105.9, 330_922.3), (90780.7, 368_400.5)],
        image_mb: 668,
        bundle_kb: 329,
    },
    PaperPdp {
        name: "Balana",
        ours: Some("balana"),
        completed: [500, 1000, 1500, 2000],
        latency_ms: [(8.2, 15.1), (10.1, 19.4), (69.7, 88.1), (133.1, 229.9)],
        image_mb: 660,
        bundle_kb: 485,
    },
    PaperPdp {
        name: "Luas",
        ours: None,
        completed: [500, 1000, 1500, 2000],
        latency_ms: [(4.9, 8.6), (4.8, 7.9), (5.5, 9.1), (6.4, 10.6)],
        image_mb: 194,
        bundle_kb: 101,
    },
];

/// At 2000 requests Luas used so much less memory than the other.
pub const LESS_MEMORY: [(&str, f64); 2] = [("Balana", 0.30), ("AT&T", 0.50)];
/// When the last answer of 2000 had come, in words.
pub const ENDED: [(&str, &str); 3] =
    [("AT&T", "more than 600 s"), ("Balana", "about 180 s"), ("Luas", "about 180 s")];
