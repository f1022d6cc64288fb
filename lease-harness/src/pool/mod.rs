//! Slots, queue and grant.
