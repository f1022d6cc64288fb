//! The library under another name.

mod leases {
    pub(crate) use lease_harness::*;
}

use leases::leased_slot;

use crate::alone_in_the_slot;

#[leased_slot(pool = "pool.json", crate = crate::renamed::leases)]
#[test]
fn found_by_its_path() {
    let _alone = alone_in_the_slot();
}

#[::other_name::leased_slot(pool = "pool.json", crate = ::other_name)]
#[test]
fn found_by_another_name() {
    let _alone = alone_in_the_slot();
}
