//! What programs of tests say of themselves: which tests failed, and the closing lines, summed.

/// The sums of closing lines, and what else stopped programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    /// The names of those that failed, as far as programs got to say them.
    pub(crate) failures: Vec<String>,
    /// How many programs have said how they ended.
    pub(crate) closed: u64,
    /// The names of those that failed beside others and passed when they were run again with nothing beside them.
    pub(crate) second: Vec<String>,
}

impl Tally {
    /// A line of one test is `test a::b ... FAILED`; a closing line is `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`.
    pub(crate) fn see(&mut self, line: &str) {
        let test = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
        self.failures.extend(test.map(str::to_owned));
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        self.closed += 1;
        for count in counts.split(';') {
            let Some((number, kind)) = count.trim().split_once(' ') else { continue };
            let number = number.parse().unwrap_or(0);
            match kind {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.closed += other.closed;
        self.failures.extend(other.failures.iter().cloned());
        self.second.extend(other.second.iter().cloned());
    }

    /// The tests that are worth a second run: at most so many, and only where nothing else has gone wrong.
    pub(crate) fn worth_a_second_run(&self, most: usize) -> bool {
        let failed = usize::try_from(self.failed).unwrap_or(usize::MAX);
        (1..=most).contains(&failed) && self.failures.len() == failed && self.closed == 1
    }

    /// What a run of the failed tests alone gave. It counts only where all of them have passed.
    pub(crate) fn amend(&mut self, alone: &Tally) {
        if alone.failed == 0 && alone.passed == self.failed {
            self.passed += alone.passed;
            self.failed = 0;
            self.second.append(&mut self.failures);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_summed() {
        let mut tally = Tally::default();
        for line in [
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s",
            "test a::b ... ok",
            "test a::c ... FAILED",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        ] {
            tally.see(line);
        }
        let mut all = Tally { passed: 1, ..Tally::default() };
        all.add(&tally);
        assert_eq!(
            all,
            Tally {
                passed: 8,
                failed: 2,
                ignored: 1,
                failures: vec!["a::c".to_owned()],
                closed: 2,
                ..Tally::default()
            }
        );
    }
    #[test]
    fn a_test_that_passes_alone_is_counted_and_named() {
        let failed = || Tally { failed: 1, failures: vec!["a::c".to_owned()], closed: 1, ..Tally::default() };
        assert!(failed().worth_a_second_run(3));
        let mut amended = failed();
        amended.amend(&Tally { passed: 1, closed: 1, ..Tally::default() });
        assert_eq!((amended.passed, amended.failed, amended.second), (1, 0, vec!["a::c".to_owned()]));
        for alone in [failed(), Tally::default()] {
            let mut still = failed();
            still.amend(&alone);
            assert_eq!(still, failed());
        }
    }

    #[test]
    fn a_program_that_broke_off_is_not_run_again() {
        let names = |count: usize| vec!["a::c".to_owned(); count];
        let many = Tally { failed: 9, failures: names(9), closed: 1, ..Tally::default() };
        let killed = Tally { failed: 1, failures: names(1), ..Tally::default() };
        let more = Tally { failed: 2, failures: names(1), closed: 1, ..Tally::default() };
        assert!([Tally::default(), many, killed, more].iter().all(|tally| !tally.worth_a_second_run(3)));
    }
}
