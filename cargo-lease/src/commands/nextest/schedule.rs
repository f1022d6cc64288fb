//! Which tests of a run queue together inside nextest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lease_harness::harness::{LeasedTest, NamedPool, PoolInfo};

use super::super::cargo::Prepared;
use super::listing::Listed;
use crate::inject::{Group, Supply, TestGroup, TestId, filter_of, group_name, groups};
use crate::resolve::{Settings, Surroundings, Wrap};

/// The groups, and what is in them as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub(super) groups: Vec<TestGroup>,
    /// The group of each test that is known, by its place in `groups`.
    pub(super) tests: BTreeMap<TestId, usize>,
    /// Tests that are known and wrapped.
    pub(super) wrapped: BTreeSet<TestId>,
}

impl Schedule {
    /// Without a list: one group for all that is wrapped.
    pub(super) fn of_wrapped(prepared: &Prepared) -> Self {
        let Some((pool, filter)) = prepared.pool.as_ref().zip(prepared.wrap.nextest_filter()) else {
            return Self::default();
        };
        let group = TestGroup { name: group_name(&[&pool.name]), width: width_of(pool), filter };
        Self { groups: vec![group], ..Self::default() }
    }

    /// With a list: a group for the tests of each pool, or of the same several.
    pub(super) fn of_list(prepared: &Prepared, listed: &Listed, around: &Surroundings) -> Self {
        let mut pools = Pools::new(prepared, around);
        let wrapped = wrapped(prepared, listed);
        let needs = needs(prepared, listed, &wrapped, &mut pools);
        let groups = groups(&pools.supplies, needs);
        let mut schedule = Self { wrapped, ..Self::default() };
        for group in groups {
            schedule.add(&group, &pools.supplies, &listed.tests);
        }
        schedule
    }

    fn add(&mut self, group: &Group, supplies: &[Supply], all: &BTreeSet<TestId>) {
        let mut names: Vec<_> = group.pools.iter().map(|pool| supplies[*pool].pool.as_str()).collect();
        names.sort_unstable();
        let mut name = group_name(&names);
        // Pools of one name can lie in several stores.
        while self.groups.iter().any(|other| other.name == name) {
            name.push_str("-2");
        }
        self.tests.extend(group.tests.iter().map(|test| (test.clone(), self.groups.len())));
        self.groups.push(TestGroup { name, width: group.width, filter: filter_of(&group.tests, all) });
    }
}

/// How many of these tests need a slot of the pool that is wrapped or held.
pub(super) fn n_in_slots(prepared: &Prepared, listed: &Listed, around: &Surroundings) -> usize {
    let Some(pool) = &prepared.pool else { return 0 };
    let mut pools = Pools::new(prepared, around);
    let place = pools.place_of(pool);
    let needs = needs(prepared, listed, &wrapped(prepared, listed), &mut pools);
    needs.values().filter(|needed| needed.contains(&place)).count()
}

fn wrapped(prepared: &Prepared, listed: &Listed) -> BTreeSet<TestId> {
    let is_wrapped = |test: &&TestId| prepared.pool.is_some() && prepared.wrap.covers(std::slice::from_ref(&test.0));
    listed.tests.iter().filter(is_wrapped).cloned().collect()
}

/// Which pools each test needs; tests that need none are left out.
fn needs(
    prepared: &Prepared,
    listed: &Listed,
    wrapped: &BTreeSet<TestId>,
    pools: &mut Pools<'_>,
) -> BTreeMap<TestId, BTreeSet<usize>> {
    let mut needs = BTreeMap::<TestId, BTreeSet<usize>>::new();
    if let Some(pool) = &prepared.pool {
        let pool = pools.place_of(pool);
        needs.extend(wrapped.iter().map(|test| (test.clone(), BTreeSet::from([pool]))));
    }
    for (binary_id, leased) in &listed.leased {
        let named: Vec<_> = leased.pools.iter().filter_map(|pool| pools.find(pool)).collect();
        for test in tests_of(binary_id, leased, &listed.tests) {
            needs.entry(test.clone()).or_default().extend(&named);
        }
    }
    // Of a pool that cannot be used nothing is known.
    needs.retain(|_, pools| !pools.is_empty());
    needs
}

/// The tests that run of one that takes slots.
fn tests_of<'a>(binary_id: &str, leased: &LeasedTest, all: &'a BTreeSet<TestId>) -> Vec<&'a TestId> {
    let whole = (binary_id.to_owned(), leased.name.clone());
    if !leased.makes_several {
        return all.get(&whole).into_iter().collect();
    }
    let prefix = format!("{}::", leased.name);
    let is_below = |test: &&TestId| test.0 == binary_id && (test.1 == leased.name || test.1.starts_with(&prefix));
    // In their order all of them stand together, behind the name itself and what begins like it.
    all.range(whole..).take_while(|test| test.0 == binary_id && test.1.starts_with(&leased.name)).filter(is_below).collect()
}

/// How many slots of a pool this run can have at once. Under an outer grant all tests join its one slot, so they take turns.
fn width_of(pool: &PoolInfo) -> usize {
    if pool.is_joined { 1 } else { pool.slots }
}

/// The pools that are met.
struct Pools<'a> {
    supplies: Vec<Supply>,
    /// Where each is: its store and its name.
    places: Vec<(PathBuf, String)>,
    /// What was found out about files, each with the store that goes with it.
    files: BTreeMap<(PathBuf, Option<PathBuf>), Option<usize>>,
    /// How processes ask that take their slots by themselves.
    settings: Settings,
    around: &'a Surroundings,
}

impl<'a> Pools<'a> {
    fn new(prepared: &Prepared, around: &'a Surroundings) -> Self {
        let (supplies, places, files) = (Vec::new(), Vec::new(), BTreeMap::new());
        // Only where nothing is wrapped are our options handed to them.
        let is_handed_on = prepared.wrap == Wrap::Annotated;
        let settings = if is_handed_on { prepared.settings.clone() } else { Settings::default() };
        Self { supplies, places, files, settings, around }
    }

    fn place_of(&mut self, pool: &PoolInfo) -> usize {
        let store = pool.store.canonicalize().unwrap_or_else(|_| pool.store.clone());
        let place = (store, pool.name.clone());
        self.places.iter().position(|known| *known == place).unwrap_or_else(|| {
            self.places.push(place);
            self.supplies.push(Supply { pool: pool.name.clone(), slots: width_of(pool) });
            self.places.len() - 1
        })
    }

    /// A pool that a test names. One that cannot be used has no queue: the test will say what is wrong.
    fn find(&mut self, named: &NamedPool) -> Option<usize> {
        let file = named.found.clone()?;
        let key = (file, named.store.clone());
        if let Some(known) = self.files.get(&key) {
            return *known;
        }
        let pool = self.look_at(&key.0, named.store.as_deref()).map(|pool| self.place_of(&pool));
        self.files.insert(key, pool);
        pool
    }

    fn look_at(&self, file: &Path, store: Option<&Path>) -> Option<PoolInfo> {
        let of_process = || self.around.var_os("LEASE_STORE").map(|dir| self.around.absolute(Path::new(dir)));
        let store = store.map(Path::to_owned).or_else(|| self.settings.store.clone()).or_else(of_process);
        Settings { store, ..self.settings.clone() }.request(file).check().ok()
    }
}
