//! Two pools of one package.

use std::fs;
use std::path::PathBuf;

use lease_harness::SlotRequest;

use crate::program::Package;

/// A package with the pools `db` and `ports`, of one slot each.
pub(crate) struct Scene {
    pub(crate) package: Package,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self { package: Package::without_pool() };
        scene.write("db", r#""grantEnv": {"DB": "{id}"}"#);
        scene.write("ports", r#""grantEnv": {"PORT": "{id}"}"#);
        scene
    }

    /// Writes a pool's file, with more of it than its slots.
    pub(crate) fn write(&self, name: &str, more: &str) {
        let text = format!("{{\"name\": \"{name}\", \"kindPrefix\": \"slot-{name}-\", \"slots\": [{{\"id\": \"1\"}}], {more}}}");
        fs::write(self.file(name), text).unwrap();
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.package.pool_file().with_file_name(format!("{name}.json"))
    }

    pub(crate) fn request(&self, name: &str) -> SlotRequest {
        SlotRequest::from_file(self.file(name)).store(self.package.store())
    }
}
