//! The warehouse's stock. `shop.rs` creates tables of the same names: in one database, one of the two would fail.

use std::time::{Duration, Instant};

use postgres::Error;
use postgres::error::SqlState;
use postgres_example::{Stock, connect};

fn create(name: &str) -> Result<Stock, Error> {
    Stock::create(connect(), name)
}

#[test]
fn different_items_are_counted_apart() -> Result<(), Error> {
    let mut stock = create("one_item")?;
    stock.add("tea", 2)?;
    stock.add("coffee", 3)?;
    assert_eq!(stock.count()?, (2, 5));
    Ok(())
}

#[test]
fn a_table_that_is_there_is_not_created_again() -> Result<(), Error> {
    let _stock = create("empty")?;
    let error = create("empty").err().expect("the table is there");
    assert_eq!(error.code(), Some(&SqlState::DUPLICATE_TABLE));
    Ok(())
}

#[test]
fn a_busy_night_is_counted_right() -> Result<(), Error> {
    let mut stock = create("busy")?;
    let began = Instant::now();
    let mut n_moved = 0;
    // Long enough that two runs on one host meet.
    while n_moved == 0 || began.elapsed() < Duration::from_millis(100) {
        n_moved += 1;
        stock.add("pallet", 1)?;
    }
    assert_eq!(stock.count()?, (1, i64::from(n_moved)));
    Ok(())
}
