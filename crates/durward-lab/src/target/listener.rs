//! Which process of this machine listens at an address: servers that were not started here are watched too.

use std::fs;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use super::processes::numbers;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// The process that listens there, the oldest if several do (workers inherit the socket); `None` where it is on another
/// machine, belongs to somebody else, or cannot be found.
pub(super) fn process_at(address: &str) -> Option<u32> {
    let is_ours = |found: &SocketAddr| found.ip().is_loopback() || own_addresses().contains(&found.ip());
    let found = address.to_socket_addrs().ok()?.find(is_ours)?;
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let inodes = inodes(&(read("/proc/net/tcp") + &read("/proc/net/tcp6")), found.port());
    let names: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let mut pids = numbers(Path::new("/proc"));
    pids.sort_unstable();
    let holds = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| link.to_str().is_some_and(|link| names.iter().any(|name| name == link)))
    };
    pids.into_iter().find(holds)
}

/// Addresses of this machine's interfaces, as far as its routing tells: `Local` entries of `/proc/net/fib_trie`.
fn own_addresses() -> Vec<IpAddr> {
    let text = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut last = "";
    let mut own: Vec<IpAddr> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address;
        } else if line == "/32 host LOCAL" {
            own.extend(last.parse::<IpAddr>().ok());
        }
    }
    own
}

/// The sockets that listen at a port.
fn inodes(table: &str, port: u16) -> Vec<u64> {
    let of = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, _, state) = (words.next()?, words.next()?, words.next()?);
        let (_, hex) = local.rsplit_once(':')?;
        let is_it = state == LISTEN && u16::from_str_radix(hex, 16).ok()? == port;
        is_it.then(|| words.nth(5)?.parse().ok())?
    };
    table.lines().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn listening_sockets_are_found_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21387 1 0000 100 0 0 10 0\n\
            1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 21390 1 0000 20 4 30 10 -1\n\
            2: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1\n";
        assert_eq!(inodes(table, 8080), [21387, 77]);
        assert!(inodes(table, 8081).is_empty() && inodes("garbage\n1 2\n", 1).is_empty());
    }

    #[test]
    fn a_listener_of_this_process_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert_eq!(process_at(&address), Some(std::process::id()));
        drop(listener);
        assert_eq!(process_at(&address), None);
    }
}
