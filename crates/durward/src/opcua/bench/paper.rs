//! The paper's figures: B. Leander, A. Causevic, H. Hansson, T. Lindström, "Evaluation of an OPC UA-based Access Control Enforcement
//! Architecture". Milliseconds, mean and standard deviation.

/// Mean and standard deviation.
pub(super) type PaperValue = (f64, f64);

/// A step of a connection, without and with a token.
pub(super) struct PaperStep {
    pub(super) name: &'static str,
    pub(super) none: PaperValue,
    pub(super) token: PaperValue,
}

const fn step(name: &'static str, none: PaperValue, token: PaperValue) -> PaperStep {
    PaperStep { name, none, token }
}

/// Table 1, low load.
pub(super) const TABLE_1_LOW: [PaperStep; 4] = [
    step("open session", (15.0, 3.3), (15.1, 3.3)),
    step("request token", (0.0, 0.0), (115.2, 12.8)),
    step("activate session", (100.0, 12.3), (193.9, 12.9)),
    step("total", (115.0, 13.2), (324.3, 19.3)),
];

/// Table 1, high load.
pub(super) const TABLE_1_HIGH: [PaperStep; 4] = [
    step("open session", (17.0, 10.5), (18.7, 14.4)),
    step("request token", (0.0, 0.0), (213.8, 69.0)),
    step("activate session", (124.8, 23.2), (223.1, 25.1)),
    step("total", (141.6, 29.0), (455.6, 88.6)),
];

/// Table 4, low load: the clock of the resource server at 600 MHz instead of 1.5 GHz.
pub(super) const TABLE_4_LOW: [PaperStep; 4] = [
    step("open session", (18.4, 6.1), (19.9, 10.0)),
    step("request token", (0.0, 0.0), (149.8, 31.9)),
    step("activate session", (163.5, 31.4), (216.7, 33.7)),
    step("total", (182.0, 33.7), (386.7, 51.1)),
];

/// Table 4, high load.
pub(super) const TABLE_4_HIGH: [PaperStep; 4] = [
    step("open session", (21.6, 7.2), (33.8, 85.5)),
    step("request token", (0.0, 0.0), (216.1, 84.5)),
    step("activate session", (196.0, 22.0), (364.7, 58.7)),
    step("total", (217.7, 25.2), (614.7, 211.7)),
];

/// Table 2: means without and with a token. The mean of a read with a token at low load is from section 6.5.
pub(super) const TABLE_2_LOW: [(&str, f64, f64); 3] =
    [("read", 3.2, 3.2), ("write", 3.2, 3.3), ("execute", 12.3, 12.7)];

/// Table 2, high load.
pub(super) const TABLE_2_HIGH: [(&str, f64, f64); 3] =
    [("read", 2.2, 2.2), ("write", 2.3, 2.3), ("execute", 10.0, 10.3)];

/// Table 3: seconds until a token ends; mean, standard deviation and longest time of a read.
pub(super) const TABLE_3: [(u32, f64, f64, f64); 3] =
    [(8, 4.6, 9.7, 139.0), (28, 3.3, 3.1, 60.0), (96, 3.1, 1.8, 45.0)];

/// Table 5: means of the steps with a kept session to the authorization service, with single encryption, with both.
pub(super) const TABLE_5_LOW: [(&str, [f64; 3]); 4] = [
    ("open session", [14.1, 13.8, 15.0]),
    ("request token", [7.3, 128.5, 7.1]),
    ("activate session", [191.0, 142.6, 143.6]),
    ("total", [212.5, 285.0, 165.8]),
];

/// Table 5, high load.
pub(super) const TABLE_5_HIGH: [(&str, [f64; 3]); 4] = [
    ("open session", [15.4, 16.1, 13.1]),
    ("request token", [10.8, 160.3, 8.2]),
    ("activate session", [208.3, 151.8, 148.1]),
    ("total", [234.4, 328.2, 169.5]),
];

/// Section 6.5: a read with a token at 600 MHz, low and high load.
pub(super) const SLOW_READ: [PaperValue; 2] = [(4.4, 3.2), (3.8, 1.8)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_to_the_printed_totals() {
        for table in [&TABLE_1_LOW, &TABLE_1_HIGH, &TABLE_4_LOW, &TABLE_4_HIGH] {
            let [open, request, activate, total] = table;
            for of in [(|step| step.none.0) as fn(&PaperStep) -> f64, |step| step.token.0] {
                let sum = of(open) + of(request) + of(activate);
                assert!((sum - of(total)).abs() < 0.35, "{sum} is not {}", of(total));
            }
        }
    }
}
