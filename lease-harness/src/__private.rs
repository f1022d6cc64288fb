//! What the attribute calls.
