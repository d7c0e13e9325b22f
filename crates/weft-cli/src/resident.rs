//! How much memory the process uses, as the system sees it.

use std::fs;
use weft::memory::Pool;

/// The largest resident size so far in MiB; nothing where the system doesn't say.
pub fn peak_rss_mib() -> Option<f64> {
    status_mib("VmHWM:")
}

/// The resident size now in MiB; nothing where the system doesn't say.
pub fn rss_mib() -> Option<f64> {
    status_mib("VmRSS:")
}

/// The line of `--memory`: step, resident size, and the default pool's statistics.
pub fn memory_line(step: usize) -> String {
    let resident = rss_mib().map_or("unknown".to_string(), |mib| format!("{mib:.1} MiB"));
    let pool = Pool::default_pool().stats();
    format!("memory: step {step}, resident {resident}, {pool}")
}

/// A line of Linux's account of the process, in KiB there.
fn status_mib(key: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
