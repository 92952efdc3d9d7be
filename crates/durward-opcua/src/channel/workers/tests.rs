use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, mpsc};

use super::*;

fn seven() -> Result<u32, Error> {
    Ok(7)
}

#[tokio::test]
async fn work_that_panics_takes_no_thread_and_no_turn_with_it() {
    let workers = Workers::new(1);
    for _ in 0..3 {
        let broken: Result<(), _> = workers.run_long(|| panic!("in the middle of it")).await;
        assert_eq!(broken.unwrap_err().status(), StatusCode::BadInternalError);
        let broken: Result<(), _> = workers.run(|| panic!("in the middle of it")).await;
        assert_eq!(broken.unwrap_err().status(), StatusCode::BadInternalError);
        let broken: Result<(), _> = workers.compute(|| panic!("in the middle of it")).await;
        assert_eq!(broken.unwrap_err().status(), StatusCode::BadInternalError);
    }
    assert_eq!(workers.run(seven).await.unwrap(), 7);
    assert_eq!(workers.compute(seven).await.unwrap(), 7);
}

#[tokio::test]
async fn errors_of_the_work_come_back() {
    let workers = Workers::new(1);
    let fail = || Err::<(), _>(Error::decoding("not a key"));
    assert_eq!(workers.run(fail).await.unwrap_err().reason(), "not a key");
    assert_eq!(workers.compute(fail).await.unwrap_err().reason(), "not a key");
}

/// Work that is never done by the first thread that tries, until the sender is dropped.
fn stuck_once() -> (mpsc::Sender<()>, impl Fn() -> Result<usize, Error> + Send + Sync + 'static) {
    let (release, held) = mpsc::channel::<()>();
    let (held, tries) = (Mutex::new(held), AtomicUsize::new(0));
    let work = move || {
        let earlier = tries.fetch_add(1, Ordering::SeqCst);
        if earlier == 0 {
            let _ = held.lock().unwrap().recv();
        }
        Ok(earlier)
    };
    (release, work)
}

#[tokio::test]
async fn what_a_starved_thread_does_not_do_another_one_does() {
    let workers = Workers::new(1);
    let (release, work) = stuck_once();
    assert_eq!(workers.compute(work).await.unwrap(), 1, "the second thread did it");
    assert_eq!(workers.run(seven).await.unwrap(), 7);
    // The first thread is stuck still: nothing waits for it.
    assert!(workers.lanes.idle.give(Arc::new(SharedTask::new(seven, turn()).0)).is_err());
    assert_eq!(workers.compute(seven).await.unwrap(), 7);
    drop(release);
    while workers.lanes.idle.give(Arc::new(SharedTask::new(seven, turn()).0)).is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(workers.compute(seven).await.unwrap(), 7);
}

fn turn() -> tokio::sync::OwnedSemaphorePermit {
    Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
}

#[tokio::test]
async fn what_has_begun_is_done_once() {
    let workers = Workers::new(1);
    let (release, work) = stuck_once();
    let begun = tokio::spawn({
        let workers = workers.clone();
        async move { workers.run(work).await }
    });
    tokio::time::sleep(10 * BEGIN_MAX).await;
    assert!(!begun.is_finished());
    assert_eq!(workers.run(seven).await.unwrap(), 7, "nothing waits for it");
    drop(release);
    assert_eq!(begun.await.unwrap().unwrap(), 0, "no other thread tried");
}

#[tokio::test]
async fn what_has_not_begun_is_done_by_another_thread() {
    let workers = Workers::new(1);
    let (release, work) = stuck_once();
    let stuck = workers.lanes.idle.give(Arc::new(SharedTask::new(work, turn()).0)).ok().unwrap();
    assert_eq!(workers.run(seven).await.unwrap(), 7);
    drop((stuck, release));
}

#[tokio::test]
async fn who_does_not_wait_any_more_gives_the_turn_back() {
    let workers = Workers::new(1);
    let (release, work) = stuck_once();
    let waits = tokio::spawn({
        let workers = workers.clone();
        async move { workers.compute(work).await }
    });
    while workers.turns.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    waits.abort();
    assert!(waits.await.unwrap_err().is_cancelled());
    assert_eq!(workers.turns.available_permits(), 1);
    assert_eq!(workers.compute(seven).await.unwrap(), 7);
    drop(release);
}

#[test]
fn work_that_takes_long_by_itself_has_more_time() {
    let usual = UsualCost::default();
    assert_eq!(usual.patience(), PATIENCE_MIN);
    usual.0.store(10_000_000, Ordering::Relaxed);
    assert_eq!(usual.patience(), Duration::from_millis(40));
    usual.time(seven).unwrap();
    assert!(usual.patience() < Duration::from_millis(40), "{:?}", usual.patience());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn only_threads_of_its_own_give_way() {
    use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy, thread_schedule_policy};

    let is_idle = || {
        let policy = thread_schedule_policy().map_err(|_| Error::decoding("no policy"))?;
        Ok(policy == ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle))
    };
    let nice = || rustix::process::getpriority_process(None).map_err(|_| Error::decoding("no priority"));
    let workers = Workers::new(2);
    let before = nice().unwrap();
    assert!(workers.compute(is_idle).await.unwrap());
    assert!(workers.run(is_idle).await.unwrap());
    assert_eq!(workers.run_long(nice).await.unwrap(), (before + priority::NICE).min(19));
    assert!(!workers.run_long(is_idle).await.unwrap());
    workers.lanes.usual_once.0.store(10_000_000, Ordering::Relaxed);
    assert!(!workers.run(is_idle).await.unwrap(), "such work takes long");
    let other = tokio::task::spawn_blocking(move || (nice().unwrap(), is_idle().unwrap())).await.unwrap();
    assert_eq!((other, nice().unwrap()), ((before, false), before));
}
