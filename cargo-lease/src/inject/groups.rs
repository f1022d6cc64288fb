//! Which tests queue together, and how many of them run at once.
//!
//! A test is in one group of nextest's only, and may need slots of several pools. So tests that need the same pools are a
//! group, and the widths of all groups that need a pool are together no more than its slots. Each group has a width of at
//! least one; where there are more groups than slots, groups that share a pool become one.

use std::collections::{BTreeMap, BTreeSet};

/// A test as nextest names it: the id of its binary, and its name.
pub(crate) type TestId = (String, String);

/// A pool: its name, and how many of its slots a run may have at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Supply {
    pub(crate) pool: String,
    pub(crate) slots: usize,
}

/// Tests that need slots of these pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Indices of the pools.
    pub(crate) pools: BTreeSet<usize>,
    pub(crate) tests: BTreeSet<TestId>,
    /// How many run at once.
    pub(crate) width: usize,
}

/// Divides tests, each with the indices of the pools that it needs, into groups.
pub(crate) fn groups(pools: &[Supply], needs: BTreeMap<TestId, BTreeSet<usize>>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (test, needed) in needs {
        match groups.iter_mut().find(|group| group.pools == needed) {
            Some(group) => drop(group.tests.insert(test)),
            None => groups.push(Group { pools: needed, tests: BTreeSet::from([test]), width: 1 }),
        }
    }
    while let Some(crowded) = (0..pools.len()).find(|pool| pools[*pool].slots.max(1) < users(&groups, *pool).count()) {
        merge(&mut groups, crowded);
    }
    widen(&mut groups, pools);
    groups
}

fn users(groups: &[Group], pool: usize) -> impl Iterator<Item = &Group> {
    groups.iter().filter(move |group| group.pools.contains(&pool))
}

/// Makes one group of all that need a pool.
fn merge(groups: &mut Vec<Group>, pool: usize) {
    let (together, others) = groups.drain(..).partition(|group: &Group| group.pools.contains(&pool));
    *groups = others;
    groups.extend(together.into_iter().reduce(|mut one, other| {
        one.pools.extend(other.pools);
        one.tests.extend(other.tests);
        one
    }));
}

/// Gives out the slots that are left, one by one, to the group whose tests have to share theirs with the most others; in the
/// end also to those that have one for each test.
fn widen(groups: &mut [Group], pools: &[Supply]) {
    loop {
        let can_grow = |group: &Group| {
            let has_room = |pool: &usize| users(groups, *pool).map(|user| user.width).sum::<usize>() < pools[*pool].slots;
            group.pools.iter().all(has_room)
        };
        // How many tests there are to a slot; the first of several that are equal.
        let load = |idx: &usize| (groups[*idx].tests.len() * 1000 / groups[*idx].width, usize::MAX - *idx);
        let neediest = (0..groups.len()).filter(|idx| can_grow(&groups[*idx])).max_by_key(load);
        let Some(neediest) = neediest else { return };
        groups[neediest].width += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pools `a`, `b`, … with so many slots; tests by the letters of their pools, as often as the number says. Gives each
    /// group's pools and width.
    #[track_caller]
    fn check(slots: &[usize], tests: &[(&str, usize)], expected: &[(&str, usize)]) {
        let supplies: Vec<_> = slots.iter().map(|slots| Supply { pool: String::new(), slots: *slots }).collect();
        let mut needs = BTreeMap::new();
        for (letters, n_tests) in tests {
            let pools: BTreeSet<_> = letters.bytes().map(|letter| usize::from(letter - b'a')).collect();
            needs.extend((0..*n_tests).map(|n| (("bin".to_owned(), format!("{letters}{n}")), pools.clone())));
        }
        let n_tests = needs.len();
        let groups = groups(&supplies, needs);
        assert_eq!(groups.iter().map(|group| group.tests.len()).sum::<usize>(), n_tests, "each test is in one group");
        for (pool, supply) in supplies.iter().enumerate() {
            let promised: usize = users(&groups, pool).map(|group| group.width).sum();
            assert!(promised <= supply.slots, "{promised} slots of {pool} are promised: {groups:?}");
        }
        let letters = |group: &Group| group.pools.iter().map(|pool| (b'a' + u8::try_from(*pool).unwrap()) as char).collect();
        let mut shown: Vec<(String, usize)> = groups.iter().map(|group| (letters(group), group.width)).collect();
        shown.sort();
        assert_eq!(shown, expected.iter().map(|(pools, width)| ((*pools).to_owned(), *width)).collect::<Vec<_>>());
    }

    #[test]
    fn tests_of_one_pool_have_all_of_it() {
        check(&[4], &[("a", 300)], &[("a", 4)]);
        check(&[4, 2], &[("a", 3), ("b", 9)], &[("a", 4), ("b", 2)]);
        check(&[4], &[("a", 1)], &[("a", 4)]);
        check(&[1], &[("a", 9)], &[("a", 1)]);
        check(&[], &[], &[]);
    }

    #[test]
    fn groups_that_share_a_pool_never_have_more_than_it_together() {
        check(&[4, 4], &[("a", 10), ("ab", 10)], &[("a", 2), ("ab", 2)]);
        check(&[4, 1], &[("a", 10), ("ab", 100)], &[("a", 3), ("ab", 1)]);
        check(&[8, 8], &[("a", 30), ("ab", 10), ("b", 1)], &[("a", 6), ("ab", 2), ("b", 6)]);
        check(&[3, 3, 3], &[("a", 5), ("ab", 5), ("bc", 5)], &[("a", 2), ("ab", 1), ("bc", 2)]);
    }

    #[test]
    fn where_there_are_more_groups_than_slots_they_become_one() {
        check(&[1, 4], &[("a", 5), ("ab", 5)], &[("ab", 1)]);
        check(&[1, 1], &[("a", 5), ("b", 5), ("ab", 5)], &[("ab", 1)]);
        check(&[2, 9, 9], &[("a", 5), ("ab", 5), ("ac", 5), ("c", 2)], &[("abc", 2), ("c", 7)]);
        check(&[4, 1], &[("ab", 3)], &[("ab", 1)]);
    }
}
