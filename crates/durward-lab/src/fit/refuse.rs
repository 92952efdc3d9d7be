//! Reasons to reject a fit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reason to refuse. The words are stable: scripts match them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitRefusal {
    /// Fewer than six points, or fewer than four different N: three parameters go through them whatever they are.
    FewPoints,
    /// Nothing was answered at any N.
    NoThroughput,
    /// N together do more than N times what one does: the law has no place for that, and its bounds only hide it.
    SuperLinear,
    /// Linear and then flat, as users with think time in front of a queue are: the law has no such bend. By concurrency
    /// instead of users it may fit.
    PacedUsers,
    /// The generator was the limit at the greatest loads.
    GeneratorAtItsLimit,
    /// The peak lies beyond the last point: nothing measured says that there is one.
    NoPointPastTheKnee,
    /// The points do not say what one does alone: lambda grows without end.
    LambdaNotDetermined,
    /// A simpler law explains the points as well and has no peak, or even the mean explains them better.
    WorseThanItsRival,
}

impl FitRefusal {
    /// All of them, the gravest first.
    pub const ALL: [FitRefusal; 8] = [
        FitRefusal::FewPoints,
        FitRefusal::NoThroughput,
        FitRefusal::SuperLinear,
        FitRefusal::PacedUsers,
        FitRefusal::GeneratorAtItsLimit,
        FitRefusal::NoPointPastTheKnee,
        FitRefusal::LambdaNotDetermined,
        FitRefusal::WorseThanItsRival,
    ];

    /// The stable word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            FitRefusal::FewPoints => "few-points",
            FitRefusal::NoThroughput => "no-throughput",
            FitRefusal::SuperLinear => "super-linear",
            FitRefusal::PacedUsers => "paced-users",
            FitRefusal::GeneratorAtItsLimit => "generator-at-its-limit",
            FitRefusal::NoPointPastTheKnee => "no-point-past-the-knee",
            FitRefusal::LambdaNotDetermined => "lambda-not-determined",
            FitRefusal::WorseThanItsRival => "worse-than-its-rival",
        }
    }
}

/// The stable word.
impl fmt::Display for FitRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_json() {
        for refusal in FitRefusal::ALL {
            assert_eq!(serde_json::to_string(&refusal).unwrap(), format!("\"{refusal}\""));
        }
    }
}
