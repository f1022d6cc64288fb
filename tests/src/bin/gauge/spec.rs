//! The name of a row and its options.

/// `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
#[derive(Clone, Copy)]
pub(crate) struct Spec<'a> {
    text: &'a str,
}

impl<'a> Spec<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// As it was typed.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    pub(crate) fn name(&self) -> &'a str {
        self.text.split(':').next().unwrap_or_default()
    }

    /// The value of an option, if it was given.
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        let (_, options) = self.text.split_once(':')?;
        options.split(',').find_map(|option| option.strip_prefix(key)?.strip_prefix('='))
    }

    /// The value of an option that is a number.
    pub(crate) fn number(&self, key: &str, default: u64) -> u64 {
        self.get(key).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{key} is a number, not {text:?}")))
    }
}
