//! Jobs that run beside each other, by a fixed number of workers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whether a job may run beside another of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// One worker takes all of these, one after the other, before anything else.
    OneByOne,
    /// Any worker takes it.
    Any,
}

/// As many workers as there are cores.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Begins the jobs in their order; how each ended and how long it took, in the same order.
pub(crate) fn run<J: Sync, R: Send>(
    jobs: &[J],
    workers: usize,
    turn: impl Fn(&J) -> Turn,
    run: impl Fn(&J) -> R + Sync,
) -> Vec<(R, Duration)> {
    let waiting: Vec<(usize, Turn)> = jobs.iter().map(turn).enumerate().collect();
    let (waiting, ended) = (Mutex::new(waiting), Mutex::new(Vec::new()));
    let work = |takes_one_by_one: bool| {
        loop {
            let next = take(&mut waiting.lock().unwrap_or_else(PoisonError::into_inner), takes_one_by_one);
            let Some((number, job)) = next.and_then(|number| Some((number, jobs.get(number)?))) else {
                break;
            };
            let start = Instant::now();
            let result = run(job);
            let row = (number, (result, start.elapsed()));
            ended.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        for worker in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(move || work(worker == 0));
        }
    });
    let mut ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.sort_by_key(|(number, _)| *number);
    ended.into_iter().map(|(_, row)| row).collect()
}

/// The number of the job that a worker begins next.
fn take(waiting: &mut Vec<(usize, Turn)>, takes_one_by_one: bool) -> Option<usize> {
    let one_by_one = || waiting.iter().position(|(_, turn)| *turn == Turn::OneByOne);
    let any = || waiting.iter().position(|(_, turn)| *turn == Turn::Any);
    let at = if takes_one_by_one { one_by_one().or_else(any) } else { any() };
    at.map(|at| waiting.remove(at).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_stand_in_the_order_of_the_jobs() {
        let ended = run(
            &[30, 1, 20, 2],
            3,
            |_| Turn::Any,
            |ms| {
                std::thread::sleep(Duration::from_millis(*ms));
                *ms
            },
        );
        let results: Vec<u64> = ended.iter().map(|(ms, _)| *ms).collect();
        assert_eq!(results, [30, 1, 20, 2]);
    }

    #[test]
    fn one_worker_begins_them_in_order() {
        let begun = Mutex::new(Vec::new());
        run(&["a", "b", "c"], 1, |_| Turn::Any, |job| begun.lock().unwrap().push(*job));
        assert_eq!(*begun.lock().unwrap(), ["a", "b", "c"]);
    }

    #[test]
    fn what_goes_one_by_one_is_never_beside_its_kind() {
        let running = AtomicUsize::new(0);
        let jobs: Vec<usize> = (0..12).collect();
        let turn = |job: &usize| if job.is_multiple_of(2) { Turn::OneByOne } else { Turn::Any };
        let ended = run(&jobs, 3, turn, |job| {
            if turn(job) == Turn::Any {
                return 1;
            }
            let beside = running.fetch_add(1, Ordering::SeqCst) + 1;
            std::thread::sleep(Duration::from_millis(2));
            running.fetch_sub(1, Ordering::SeqCst);
            beside
        });
        assert!(ended.iter().all(|(beside, _)| *beside == 1) && ended.len() == 12, "{ended:?}");
    }

    #[test]
    fn no_job_is_no_result() {
        assert!(run(&[(); 0], 2, |()| Turn::Any, |()| ()).is_empty());
    }

    #[test]
    fn only_the_first_worker_takes_what_goes_one_by_one() {
        let mut waiting = vec![(0, Turn::Any), (1, Turn::OneByOne), (2, Turn::Any)];
        assert_eq!(take(&mut waiting, true), Some(1));
        assert_eq!(take(&mut waiting, true), Some(0));
        waiting.push((3, Turn::OneByOne));
        assert_eq!(take(&mut waiting, false), Some(2));
        assert_eq!(take(&mut waiting, false), None);
    }
}
