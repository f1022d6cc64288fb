//! How slots and claims stand, as one document.

use std::path::Path;

use crate::claims::ClaimsView;
use crate::json::{Json, Object};
use crate::pool::PoolStatus;

/// The status of a pool, if there is one, and of the claims in its store: that of the format, with `claims` added. Without a pool
/// it has `ok`, `store` and `claims`.
#[must_use]
pub fn status_document(pool: Option<&PoolStatus>, store: &Path, claims: &ClaimsView) -> Json {
    let of_pool = pool.map(PoolStatus::to_json);
    let mut document = match &of_pool {
        Some(Json::Object(members)) => members.clone(),
        _ => without_pool(store),
    };
    document.insert("claims", claims.to_json());
    Json::Object(document)
}

fn without_pool(store: &Path) -> Object {
    let mut document = Object::new();
    document.insert("ok", Json::from(true));
    document.insert("store", Json::from(store.display().to_string()));
    document
}
