//! What the compiler would derive by recursion, done without: a foreign document may be nested deeper than a stack.

use std::{fmt, slice};

use super::{Iter, Json, Object};

impl Drop for Json {
    fn drop(&mut self) {
        if !has_items(self) {
            return;
        }
        let mut rest = Vec::new();
        take_nested(self, &mut rest);
        while let Some(mut value) = rest.pop() {
            take_nested(&mut value, &mut rest);
        }
    }
}

/// Moves the items of a list or object out of it if any of them has items in turn.
fn take_nested(value: &mut Json, out: &mut Vec<Json>) {
    match value {
        Json::Array(items) => {
            for item in &*items {
                if has_items(item) {
                    return out.append(items);
                }
            }
        }
        Json::Object(members) => {
            for (_, member) in &*members {
                if has_items(member) {
                    return out.extend(std::mem::take(members).into_iter().map(|(_, member)| member));
                }
            }
        }
        _ => {}
    }
}

fn has_items(value: &Json) -> bool {
    match value {
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
        _ => false,
    }
}

/// A copy of a list or object that is not complete yet, with what is still to be copied.
enum Copying<'a> {
    Array(slice::Iter<'a, Json>, Vec<Json>),
    Object(Iter<'a>, &'a str, Object),
}

impl<'a> Copying<'a> {
    /// Begins a copy of a value that has items; returns it with the first of them.
    fn begin(value: &'a Json) -> Option<(Self, &'a Json)> {
        match value {
            Json::Array(items) => {
                let mut rest = items.iter();
                let first = rest.next()?;
                Some((Self::Array(rest, Vec::with_capacity(items.len())), first))
            }
            Json::Object(members) => {
                let mut rest = members.iter();
                let (key, first) = rest.next()?;
                Some((Self::Object(rest, key, Object::new()), first))
            }
            _ => None,
        }
    }

    /// Puts a copied item in; returns the next to copy.
    fn add(&mut self, copy: Json) -> Option<&'a Json> {
        match self {
            Self::Array(rest, copies) => {
                copies.push(copy);
                rest.next()
            }
            Self::Object(rest, key, copies) => {
                copies.insert(*key, copy);
                let (next_key, next) = rest.next()?;
                *key = next_key;
                Some(next)
            }
        }
    }

    fn finish(self, arrange: fn(Object) -> Object) -> Json {
        match self {
            Self::Array(_, copies) => Json::Array(copies),
            Self::Object(_, _, copies) => Json::Object(arrange(copies)),
        }
    }
}

/// A copy of a value, with `arrange` applied to every object in it.
fn copy(mut source: &Json, arrange: fn(Object) -> Object) -> Json {
    if !has_items(source) {
        return clone_single(source);
    }
    let mut open: Vec<Copying<'_>> = Vec::new();
    loop {
        if let Some((copying, first)) = Copying::begin(source) {
            open.push(copying);
            source = first;
            continue;
        }
        let mut copy = clone_single(source);
        loop {
            let Some(mut copying) = open.pop() else {
                return copy;
            };
            if let Some(next) = copying.add(copy) {
                open.push(copying);
                source = next;
                break;
            }
            copy = copying.finish(arrange);
        }
    }
}

impl Clone for Json {
    fn clone(&self) -> Self {
        copy(self, |members| members)
    }
}

impl Json {
    /// A copy with the members of every object in the order of their keys' text, as far as an [`Object`] lets it be
    /// chosen: to compare documents whose members stand in different order.
    #[must_use]
    pub fn sorted(&self) -> Self {
        copy(self, |members| {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(left, _), (right, _)| left.cmp(right));
            members.into_iter().collect()
        })
    }
}

/// A copy of a value without items.
fn clone_single(value: &Json) -> Json {
    match value {
        Json::Null => Json::Null,
        Json::Bool(value) => Json::Bool(*value),
        Json::Number(value) => Json::Number(*value),
        Json::String(value) => Json::String(value.clone()),
        Json::Array(_) => Json::Array(Vec::new()),
        Json::Object(_) => Json::Object(Object::new()),
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = vec![(self, other)];
        while let Some(pair) = pairs.pop() {
            let equal = match pair {
                (Self::Null, Self::Null) => true,
                (Self::Bool(left), Self::Bool(right)) => left == right,
                (Self::Number(left), Self::Number(right)) => left == right,
                (Self::String(left), Self::String(right)) => left == right,
                (Self::Array(left), Self::Array(right)) => {
                    pairs.extend(left.iter().zip(right));
                    left.len() == right.len()
                }
                (Self::Object(left), Self::Object(right)) => {
                    pairs.extend(left.iter().zip(right).map(|((_, left), (_, right))| (left, right)));
                    left.keys().eq(right.keys())
                }
                _ => false,
            };
            if !equal {
                return false;
            }
        }
        true
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
