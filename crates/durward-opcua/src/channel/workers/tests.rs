use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, mpsc};

use tokio::sync::Notify;

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

/// Work that is never done by the first thread that tries, until the sender is dropped; and what is woken when that thread has begun.
fn stuck_once() -> (mpsc::Sender<()>, Arc<Notify>, impl Fn() -> Result<usize, Error> + Send + Sync + 'static)
{
    let (release, held) = mpsc::channel::<()>();
    let (held, tries) = (Mutex::new(held), AtomicUsize::new(0));
    let begun = Arc::new(Notify::new());
    let work = {
        let begun = Arc::clone(&begun);
        move || {
            let earlier = tries.fetch_add(1, Ordering::SeqCst);
            if earlier == 0 {
                begun.notify_one();
                let _ = held.lock().unwrap().recv();
            }
            Ok(earlier)
        }
    };
    (release, begun, work)
}

/// Gives work to the thread that is interrupted and to no other one, however long the machine lets that thread wait.
async fn run_when_idle<T: Send + 'static>(
    workers: &Workers,
    work: impl Fn() -> Result<T, Error> + Send + Sync + 'static,
) -> T {
    let (task, done) = workers.begin(work).await.unwrap();
    workers.lanes.idle.push(Arc::new(task));
    done.await.unwrap().unwrap()
}

#[tokio::test]
async fn what_a_starved_thread_does_not_do_another_one_does() {
    let workers = Workers::new(1);
    let (release, begun, work) = stuck_once();
    let (task, done) = workers.begin(work).await.unwrap();
    let Ok(given) = workers.lanes.idle.give(Arc::new(task)) else { panic!("the thread is not busy") };
    begun.notified().await;
    let taken_back = given.take_back().expect("work that has begun is taken back too");
    workers.lanes.fair.push(taken_back);
    assert_eq!(done.await.unwrap().unwrap(), 1, "the second thread did it");
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

/// Time stands still while a thread of the runtime waits, and else goes on as soon as nothing is left to do.
#[tokio::test(start_paused = true)]
async fn who_waits_long_enough_is_served_by_another_thread() {
    let workers = Workers::new(1);
    let (release, begun, work) = stuck_once();
    let (begins, has_begun) = mpsc::channel::<()>();
    let clock = tokio::task::spawn_blocking(move || has_begun.recv());
    let compute = tokio::spawn({
        let workers = workers.clone();
        async move { workers.compute(work).await }
    });
    begun.notified().await;
    drop(begins);
    assert!(clock.await.unwrap().is_err());
    assert_eq!(compute.await.unwrap().unwrap(), 1, "the second thread did it");
    drop(release);
}

fn turn() -> tokio::sync::OwnedSemaphorePermit {
    Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_has_begun_is_done_once() {
    let workers = Workers::new(1);
    let (release, begun, work) = stuck_once();
    // Time stands still until the thread that is interrupted has begun.
    let (begins, has_begun) = mpsc::channel::<()>();
    let clock = tokio::task::spawn_blocking(move || has_begun.recv());
    let run = tokio::spawn({
        let workers = workers.clone();
        async move { workers.run(work).await }
    });
    begun.notified().await;
    drop(begins);
    assert!(clock.await.unwrap().is_err());
    tokio::time::sleep(10 * BEGIN_MAX).await;
    assert!(!run.is_finished());
    assert_eq!(workers.run(seven).await.unwrap(), 7, "nothing waits for it");
    drop(release);
    assert_eq!(run.await.unwrap().unwrap(), 0, "no other thread tried");
}

#[tokio::test]
async fn what_has_not_begun_is_done_by_another_thread() {
    let workers = Workers::new(1);
    let (release, begun, work) = stuck_once();
    let stuck = workers.lanes.idle.give(Arc::new(SharedTask::new(work, turn()).0)).ok().unwrap();
    begun.notified().await;
    assert_eq!(workers.run(seven).await.unwrap(), 7);
    drop((stuck, release));
}

#[tokio::test]
async fn who_does_not_wait_any_more_gives_the_turn_back() {
    let workers = Workers::new(1);
    let (release, _begun, work) = stuck_once();
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
    assert!(run_when_idle(&workers, is_idle).await);
    assert_eq!(workers.run_long(nice).await.unwrap(), (before + priority::NICE).min(19));
    assert!(!workers.run_long(is_idle).await.unwrap());
    workers.lanes.usual_once.0.store(10_000_000, Ordering::Relaxed);
    assert!(!workers.run(is_idle).await.unwrap(), "such work takes long");
    let other = tokio::task::spawn_blocking(move || (nice().unwrap(), is_idle().unwrap())).await.unwrap();
    assert_eq!((other, nice().unwrap()), ((before, false), before));
}
