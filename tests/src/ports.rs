//! Ports for a pool.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};

/// Picks `n` ports that nobody uses. They lie below the range from which the kernel takes ports for connections and
/// for port 0, so that nothing on this machine takes one of them by chance before the pool's first user does.
///
/// # Panics
///
/// If no free ports can be found.
pub fn free(n: usize) -> Vec<u16> {
    let top = lowest_ephemeral();
    let mut found = BTreeSet::new();
    for _ in 0..10_000 {
        if found.len() == n {
            return found.into_iter().collect();
        }
        let port = 10_000 + random() % top.saturating_sub(10_000).max(1);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            found.insert(port);
        }
    }
    panic!("no {n} free ports between 10000 and {top}");
}

fn random() -> u16 {
    let bytes = uuid::Uuid::new_v4().into_bytes();
    u16::from_le_bytes([bytes[0], bytes[1]])
}

fn lowest_ephemeral() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|low| low.parse().ok()).filter(|low| *low > 11_000).unwrap_or(32_768)
}
