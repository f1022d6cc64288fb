//! The shop's stock. `warehouse.rs` creates tables of the same names: in one database, one of the two would fail.

use std::time::{Duration, Instant};

use postgres::Error;
use postgres_example::{Stock, connect};

fn create(name: &str) -> Result<Stock, Error> {
    Stock::create(connect(), name)
}

#[test]
fn a_new_stock_is_empty() -> Result<(), Error> {
    assert_eq!(create("empty")?.count()?, (0, 0));
    Ok(())
}

#[test]
fn pieces_of_one_item_add_up() -> Result<(), Error> {
    let mut stock = create("one_item")?;
    stock.add("tea", 2)?;
    stock.add("tea", 3)?;
    assert_eq!(stock.count()?, (1, 5));
    Ok(())
}

#[test]
fn a_busy_day_is_counted_right() -> Result<(), Error> {
    let mut stock = create("busy")?;
    let began = Instant::now();
    let mut n_sold = 0;
    // Long enough that two runs on one host meet.
    while n_sold == 0 || began.elapsed() < Duration::from_millis(100) {
        n_sold += 1;
        stock.add(&format!("item {n_sold}"), 1)?;
    }
    assert_eq!(stock.count()?, (i64::from(n_sold), i64::from(n_sold)));
    Ok(())
}
