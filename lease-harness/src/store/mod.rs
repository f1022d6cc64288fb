//! One durable lease per kind.
