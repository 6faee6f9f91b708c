//! How the consumer knows that the producer has written, and the producer that the consumer has read.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing orders the two: the control, in which wrong words are expected.
    Unordered,
    /// The host waits for each side.
    Host,
    /// Two exported binary semaphores; no wait of the host.
    Binary,
    /// Two exported timeline semaphores; no wait of the host.
    Timeline,
}

impl Order {
    pub const ALL: [Order; 4] = [Order::Host, Order::Binary, Order::Timeline, Order::Unordered];

    pub fn named(name: &str) -> Option<Order> {
        Order::ALL.into_iter().find(|order| order.to_string() == name)
    }

    pub fn semaphores(self) -> bool {
        matches!(self, Order::Binary | Order::Timeline)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Unordered => "unordered",
            Order::Host => "host",
            Order::Binary => "binary",
            Order::Timeline => "timeline",
        })
    }
}
