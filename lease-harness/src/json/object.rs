//! The members of an object, in JavaScript's order.

use std::collections::{BTreeMap, HashMap, btree_map};
use std::sync::Arc;
use std::{iter, slice, vec};

use super::{Json, print};

/// Most objects have no more members than this; then looking at all of them is the fastest way to find one.
const FEW: usize = 16;

/// The members of a JSON object in the order JavaScript gives them: integer-like keys ascending, then the others by
/// insertion.
///
/// Integer-like is the decimal text of a whole number from 0 to 2^32 - 2, without leading zeros.
#[derive(Clone)]
pub struct Object {
    members: Members,
}

#[derive(Clone)]
enum Members {
    /// In order.
    Few(Vec<(String, Json)>),
    Many(Box<Many>),
}

impl Default for Object {
    fn default() -> Self {
        Self { members: Members::Few(Vec::new()) }
    }
}

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        match &self.members {
            Members::Few(members) => members.len(),
            Members::Many(many) => many.members.len(),
        }
    }

    /// True if there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The member `key`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match &self.members {
            Members::Few(members) => members.get(place_of(members, key)?).map(|(_, value)| value),
            Members::Many(many) => many.members.get(&many.place(key)?).map(|(_, value)| value),
        }
    }

    /// The member `key`.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        match &mut self.members {
            Members::Few(members) => {
                let place = place_of(members, key)?;
                members.get_mut(place).map(|(_, value)| value)
            }
            Members::Many(many) => {
                let place = many.place(key)?;
                many.members.get_mut(&place).map(|(_, value)| value)
            }
        }
    }

    /// Whether there is a member `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets the member `key` and returns its value until now. A key that was there keeps its place.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        self.insert_value(key.into(), value.into())
    }

    fn insert_value(&mut self, key: String, value: Json) -> Option<Json> {
        if let Some(old) = self.get_mut(&key) {
            return Some(std::mem::replace(old, value));
        }
        match &mut self.members {
            Members::Few(members) if members.len() < FEW => members.insert(place_among(members, &key), (key, value)),
            Members::Few(members) => {
                let mut many = Many::default();
                members.drain(..).chain(iter::once((key, value))).for_each(|(key, value)| many.add(key, value));
                self.members = Members::Many(Box::new(many));
            }
            Members::Many(many) => many.add(key, value),
        }
        None
    }

    /// Takes the member `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        match &mut self.members {
            Members::Few(members) => {
                let place = place_of(members, key)?;
                Some(members.remove(place).1)
            }
            Members::Many(many) => {
                let place = many.place(key)?;
                many.places.remove(key);
                many.members.remove(&place).map(|(_, value)| value)
            }
        }
    }

    /// The compact text, as `JSON.stringify(object)`.
    pub fn to_text(&self) -> String {
        print::print_object(self, None)
    }

    /// The text for people, as `JSON.stringify(object, null, 2)`: no newline at the end.
    pub fn to_pretty(&self) -> String {
        print::print_object(self, Some(2))
    }

    /// The members in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.members {
            Members::Few(members) => Each::Few(members.iter()),
            Members::Many(many) => Each::Many(many.members.values()),
        })
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }
}

/// Where a key is among a few.
fn place_of(members: &[(String, Json)], key: &str) -> Option<usize> {
    let mut rest = members;
    while let [(known, _), behind @ ..] = rest {
        if known.len() == key.len() && known == key {
            return Some(members.len() - rest.len());
        }
        rest = behind;
    }
    None
}

/// Where a new key belongs among a few.
fn place_among(members: &[(String, Json)], key: &str) -> usize {
    let Some(number) = integer_like(key) else { return members.len() };
    members.iter().take_while(|(known, _)| integer_like(known).is_some_and(|known| known < number)).count()
}

/// So many members that one is found by an index.
#[derive(Clone, Default)]
struct Many {
    members: BTreeMap<Place, (Arc<str>, Json)>,
    /// Where the keys stand that are not integer-like.
    places: HashMap<Arc<str>, u64>,
    next: u64,
}

/// Where a member stands: integer-like keys first, ascending, then the others as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Integer(u32),
    Inserted(u64),
}

impl Many {
    /// Adds a member whose key is not there.
    fn add(&mut self, key: String, value: Json) {
        let key: Arc<str> = key.into();
        let place = match integer_like(&key) {
            Some(number) => Place::Integer(number),
            None => {
                self.places.insert(Arc::clone(&key), self.next);
                self.next += 1;
                Place::Inserted(self.next - 1)
            }
        };
        self.members.insert(place, (key, value));
    }

    fn place(&self, key: &str) -> Option<Place> {
        match integer_like(key) {
            Some(number) => Some(Place::Integer(number)),
            None => self.places.get(key).map(|place| Place::Inserted(*place)),
        }
    }
}

/// The number that an integer-like key stands for.
fn integer_like(key: &str) -> Option<u32> {
    let canonical = match key.as_bytes() {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 10 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    key.parse().ok().filter(|number| *number < u32::MAX)
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut object = Self::new();
        object.extend(members);
        object
    }
}

impl<K: Into<String>, V: Into<Json>> Extend<(K, V)> for Object {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, members: I) {
        for (key, value) in members {
            self.insert(key, value);
        }
    }
}

/// The members of an [`Object`] in order.
#[derive(Clone)]
pub struct Iter<'a>(Each<'a>);

#[derive(Clone)]
enum Each<'a> {
    Few(slice::Iter<'a, (String, Json)>),
    Many(btree_map::Values<'a, Place, (Arc<str>, Json)>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, &'a Json);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Each::Few(rest) => rest.next().map(|(key, value)| (&**key, value)),
            Each::Many(rest) => rest.next().map(|(key, value)| (&**key, value)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Each::Few(rest) => rest.size_hint(),
            Each::Many(rest) => rest.size_hint(),
        }
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Each::Few(rest) => rest.next_back().map(|(key, value)| (&**key, value)),
            Each::Many(rest) => rest.next_back().map(|(key, value)| (&**key, value)),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a str, &'a Json);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The members of an [`Object`] in order, taken out.
pub struct IntoIter(EachOut);

enum EachOut {
    Few(vec::IntoIter<(String, Json)>),
    Many(btree_map::IntoValues<Place, (Arc<str>, Json)>),
}

impl Iterator for IntoIter {
    type Item = (String, Json);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            EachOut::Few(rest) => rest.next(),
            EachOut::Many(rest) => rest.next().map(|(key, value)| (key.as_ref().to_owned(), value)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            EachOut::Few(rest) => rest.size_hint(),
            EachOut::Many(rest) => rest.size_hint(),
        }
    }
}

impl ExactSizeIterator for IntoIter {}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        IntoIter(match self.members {
            Members::Few(members) => EachOut::Few(members.into_iter()),
            Members::Many(many) => EachOut::Many(many.members.into_values()),
        })
    }
}
