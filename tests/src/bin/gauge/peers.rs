//! What others do in the place of a lease, in one process.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::passes::Pass;
use crate::spec::Spec;

/// The bare lock of the kernel.
pub(crate) fn flock(folder: &Path) -> Pass {
    let file = File::create(folder.join("lock")).expect("the folder is writable");
    Box::new(move || {
        file.lock().expect("nobody else knows it");
        file.unlock().expect("it is ours");
    })
}

/// What `#[file_serial]` is expanded to.
pub(crate) fn serial_test(folder: &Path) -> Pass {
    let path = folder.join("lock").display().to_string();
    Box::new(move || serial_test::fs_serial_core(vec!["gauge"], Some(&path), || {}))
}

/// A key that is set if there is none, for half an hour, and deleted by a script if its value is ours, as Redis's documentation has
/// it.
pub(crate) fn redis(spec: &Spec<'_>) -> Pass {
    let path = spec.get("socket").expect("a socket");
    let mut redis = Redis(UnixStream::connect(path).unwrap_or_else(|error| panic!("{path}: {error}")));
    let script = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
    let digest = redis.ask(&["SCRIPT", "LOAD", script]).lines().nth(1).expect("a digest").to_owned();
    Box::new(move || {
        let token = uuid::Uuid::new_v4().to_string();
        assert_eq!(redis.ask(&["SET", "gauge", &token, "NX", "PX", "1800000"]), "+OK\r\n");
        assert_eq!(redis.ask(&["EVALSHA", &digest, "1", "gauge", &token]), ":1\r\n");
    })
}

struct Redis(UnixStream);

impl Redis {
    /// The answer, which is short and comes at once.
    fn ask(&mut self, words: &[&str]) -> String {
        let mut request = format!("*{}\r\n", words.len());
        words.iter().for_each(|word| request.push_str(&format!("${}\r\n{word}\r\n", word.len())));
        self.0.write_all(request.as_bytes()).expect("the server listens");
        let mut answer = [0; 256];
        let n_read = self.0.read(&mut answer).expect("the server answers");
        String::from_utf8_lossy(&answer[..n_read]).into_owned()
    }
}
