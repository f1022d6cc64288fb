//! Without the attribute: a slot that async code takes itself.

use std::fs;
use std::future::Future as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use lease_harness::{SlotErrorKind, SlotRequest, Wait};
use tempfile::TempDir;

use crate::tokio::until;

/// A pool with so many slots and a store of its own.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new(n_slots: usize) -> Self {
        let scene = Self { dir: tempfile::tempdir().unwrap() };
        let slots: Vec<_> = (0..n_slots).map(|id| format!("{{\"id\": {id}}}")).collect();
        fs::write(scene.dir.path().join("pool.json"), format!("{{\"slots\": [{}]}}", slots.join(", "))).unwrap();
        scene
    }

    fn request(&self) -> SlotRequest {
        SlotRequest::from_file(self.dir.path().join("pool.json")).store(self.dir.path().join("store"))
    }

    fn n_waiting(&self) -> usize {
        self.request().status().unwrap().queue.len()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn as_many_at_once_as_the_pool_has() {
    let scene = Scene::new(3);
    let n_there = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let (request, n_there) = (scene.request(), Arc::clone(&n_there));
            tokio::spawn(async move {
                let slot = request.acquire_async().await.unwrap();
                n_there.fetch_add(1, Ordering::SeqCst);
                while n_there.load(Ordering::SeqCst) < 3 {
                    tokio::task::yield_now().await;
                }
                let id = slot.id().to_owned();
                slot.release().unwrap();
                id
            })
        })
        .collect();
    let mut ids = Vec::new();
    for task in tasks {
        ids.push(task.await.unwrap());
    }
    ids.sort();
    assert_eq!(ids, ["0", "1", "2"]);
}

/// On one thread, which also gives the slot back that is waited for.
#[tokio::test]
async fn waiting_leaves_the_thread_to_others() {
    let scene = Scene::new(1);
    let held = scene.request().acquire_async().await.unwrap();
    let give_back = async {
        while scene.n_waiting() == 0 {
            tokio::task::yield_now().await;
        }
        held.release().unwrap();
    };
    let (slot, ()) = tokio::join!(scene.request().acquire_async(), give_back);
    slot.unwrap().release().unwrap();
}

#[tokio::test]
async fn dropped_while_it_waits_it_leaves_the_queue() {
    let scene = Scene::new(1);
    let held = scene.request().acquire_async().await.unwrap();
    let mut waiting = Box::pin(scene.request().acquire_async());
    until(|| {
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        scene.n_waiting() == 1
    });
    drop(waiting);
    until(|| scene.n_waiting() == 0);
    held.release().unwrap();
}

/// Granted, and nobody has looked yet.
#[test]
fn dropped_when_it_is_granted_it_gives_the_slot_back() {
    let scene = Scene::new(1);
    let is_free = || scene.request().wait(Wait::No).acquire().map(drop).is_ok();
    let mut granted = Box::pin(scene.request().acquire_async());
    assert!(granted.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let journal = scene.dir.path().join("store/pool/pool.log");
    until(|| fs::read_to_string(&journal).unwrap_or_default().contains("\"granted\""));
    drop(granted);
    until(is_free);
}

#[tokio::test]
async fn a_refusal_is_told() {
    let scene = Scene::new(1);
    let held = scene.request().acquire_async().await.unwrap();
    let error = scene.request().wait(Wait::No).acquire_async().await.unwrap_err();
    assert_eq!(error.kind(), SlotErrorKind::Refused);
    held.release().unwrap();
}
