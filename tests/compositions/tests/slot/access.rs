//! What a slot gives, in tests of every kind: each call, on the test's thread and on the threads of a runtime.

use std::fs;
use std::sync::Arc;

use lease_harness::{Slot, SlotErrorKind, leased_slot};
use macro_rules_attribute::apply;
use smol_macros::{Executor, test};

#[track_caller]
fn check_values(slot: &Slot) {
    let (port, name) = match slot.id() {
        "one" => (4001, "first"),
        "two" => (4002, "second"),
        other => panic!("{other}"),
    };
    let url = format!("db://localhost/{}", slot.id());
    assert_eq!(slot.env("DATABASE_URL"), Some(&*url));
    assert_eq!(slot.env("NO_SUCH_VARIABLE"), None);
    assert!(slot.envs().contains(&("PORT_API".to_owned(), port.to_string())));
    assert_eq!(slot.get::<u16>("ports.api").unwrap(), port);
    assert_eq!(slot.get::<String>("name").unwrap(), name);
    assert_eq!(slot.get::<u8>("ports.api").unwrap_err().kind(), SlotErrorKind::Usage);
    assert_eq!(slot.get::<u16>("ports.web").unwrap_err().kind(), SlotErrorKind::Usage);
    assert_eq!((slot.pool(), slot.is_lost()), ("access", false));
    assert!(0 < slot.fence().unwrap());
    assert_eq!(slot.env("POOL_RUN_FENCE"), Some(&*slot.fence().unwrap().to_string()));
    assert_eq!(slot.env("POOL_RUN_TOKEN"), Some(slot.token()));
}

/// The pool's reset takes a little, so that there is time to end it by mistake.
#[track_caller]
fn check_effects(slot: &Slot) {
    let output = slot.command("sh").args(["-c", "printf %s \"$DATABASE_URL $PORT_API\""]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("{} {}", slot.env("DATABASE_URL").unwrap(), slot.get::<u16>("ports.api").unwrap()));
    let folder = slot.temp_dir().unwrap();
    fs::write(folder.join("file"), slot.id()).unwrap();
    assert_eq!(slot.temp_dir().unwrap(), folder);
    slot.reset().unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[leased_slot(pool = "access.json")]
#[test]
fn owned(slot: Slot) {
    check_values(&slot);
    check_effects(&slot);
    let (fence, id) = (slot.fence(), slot.id().to_owned());
    slot.release().unwrap();
    assert!(fence.is_some() && !id.is_empty());
}

#[leased_slot(pool = "access.json")]
#[test]
fn borrowed(slot: &Slot) {
    std::thread::scope(|scope| {
        scope.spawn(|| check_values(slot));
        scope.spawn(|| check_effects(slot));
    });
}

#[leased_slot(pool = "access.json")]
#[test]
fn mutable(slot: &mut Slot) {
    check_values(slot);
    check_effects(slot);
}

#[leased_slot(pool = "access.json")]
#[tokio::test]
async fn on_one_runtime_thread(slot: Slot) {
    check_values(&slot);
    let slot = tokio::task::spawn_blocking(move || {
        check_effects(&slot);
        slot
    });
    check_values(&slot.await.unwrap());
}

/// The tasks of a test share its slot, whichever thread they are on.
#[leased_slot(pool = "access.json")]
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn on_several_runtime_threads(slot: Slot) {
    let slot = Arc::new(slot);
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let slot = Arc::clone(&slot);
            tokio::spawn(async move {
                check_values(&slot);
                tokio::task::yield_now().await;
                check_values(&slot);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    tokio::task::block_in_place(|| check_effects(&slot));
    Arc::into_inner(slot).unwrap().release().unwrap();
}

#[leased_slot(pool = "access.json")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn borrowed_by_async_code(slot: &Slot) {
    async fn helper(slot: &Slot) -> u16 {
        tokio::task::yield_now().await;
        slot.get("ports.api").unwrap()
    }
    assert!(4000 < helper(slot).await);
    check_values(slot);
}

#[leased_slot(pool = "access.json")]
#[apply(test!)]
async fn on_the_threads_of_smol(executor: &Executor<'_>, slot: Slot) {
    let slot = Arc::new(slot);
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let slot = Arc::clone(&slot);
            executor.spawn(async move { check_values(&slot) })
        })
        .collect();
    for task in tasks {
        task.await;
    }
    smol::unblock(move || check_effects(&slot)).await;
}
