//! Document to text.
