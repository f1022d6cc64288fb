//! A stock list in PostgreSQL, as small as it can be, and the one thing its tests need: a connection.

use std::sync::OnceLock;
use std::{env, thread};

use postgres::{Client, Config, Error, NoTls};

/// A stock list in the table `stock_<name>`.
pub struct Stock {
    client: Client,
    table: String,
}

impl Stock {
    /// Creates the table. The name is put into statements as it stands, so it must be a plain word.
    ///
    /// # Errors
    /// The table is there already, or the connection broke.
    pub fn create(mut client: Client, name: &str) -> Result<Self, Error> {
        let table = format!("stock_{name}");
        client.batch_execute(&format!("CREATE TABLE {table} (item text PRIMARY KEY, n integer NOT NULL)"))?;
        Ok(Self { client, table })
    }

    /// Puts `n` more pieces of an item in.
    ///
    /// # Errors
    /// The connection broke.
    pub fn add(&mut self, item: &str, n: i32) -> Result<(), Error> {
        let table = &self.table;
        let add = format!("INSERT INTO {table} VALUES ($1, $2) ON CONFLICT (item) DO UPDATE SET n = {table}.n + excluded.n");
        self.client.execute(&add, &[&item, &n]).map(drop)
    }

    /// How many different items there are, and how many pieces.
    ///
    /// # Errors
    /// The connection broke.
    pub fn count(&mut self) -> Result<(i64, i64), Error> {
        let count = format!("SELECT count(*), coalesce(sum(n), 0) FROM {}", self.table);
        let row = self.client.query_one(&count, &[])?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    }
}

/// Connects to the database that `PGHOST`, `PGPORT`, `PGUSER` and `PGDATABASE` name, after a check that it had no table
/// when this process came to it first.
///
/// # Panics
/// A variable is missing, nobody answers, or the database was not empty: a test without its database must fail and say
/// so.
pub fn connect() -> Client {
    static N_TABLES_AT_START: OnceLock<i64> = OnceLock::new();

    let database = variable("PGDATABASE");
    let port = variable("PGPORT");
    let port = port.parse().unwrap_or_else(|_| panic!("PGPORT is {port:?}, which is no port"));
    let mut config = Config::new();
    config.host(&variable("PGHOST")).port(port).user(&variable("PGUSER")).dbname(&database);
    let mut client = config.connect(NoTls).unwrap_or_else(|error| panic!("database {database:?}: {error}"));

    let test = thread::current().name().unwrap_or("?").to_owned();
    let slot = env::var("POOL_RUN_SLOT").unwrap_or_else(|_| "none".to_owned());
    eprintln!("{test}: slot {slot}, database {database}");

    let n_tables = *N_TABLES_AT_START.get_or_init(|| count_tables(&mut client));
    assert_eq!(n_tables, 0, "database {database:?} was not empty when this process came to it");
    client
}

fn variable(name: &str) -> String {
    env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; run: scripts/with-postgres cargo lease test -p postgres-example"))
}

fn count_tables(client: &mut Client) -> i64 {
    let count = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
    client.query_one(count, &[]).and_then(|row| row.try_get(0)).expect("the catalogue can be read")
}
