//! Decides which HTTP redirects are followed, and which headers are sent to the new address.
//!
//! If a redirect leads to another server, only headers that describe the request are sent to it, and no credentials. A
//! redirect to any link-local address is refused, and so is one to a cloud's metadata server, which gives a machine's
//! credentials to any program on the machine. The stores' own clients may send requests to a metadata server, because
//! those requests are no redirects.

use super::failure::{RequestFailure, Retry};
use object_store::client::HttpRequest;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// The most redirects that are followed for one request.
pub(super) const MOST: usize = 10;

/// The headers of a request that are sent along if it is redirected to another server.
const TRAVELS: [&str; 9] = [
    "accept",
    "content-length",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "range",
    "user-agent",
];

/// The IPv4 addresses of metadata servers that are not link-local: those of Azure, Alibaba and Oracle.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];
/// The IPv6 addresses of the metadata servers of Amazon, of Amazon's containers, and of Google.
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];
const METADATA_NAMES: [&str; 5] =
    ["metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"];

/// Returns true if an answer with this status and a `Location` is a redirect that is followed for this method. A `PUT`
/// is followed only with the status 307 or 308. With another status it would become a `GET` without its bytes, and an
/// object that was not written would count as written.
pub(super) fn is_followed(status: u16, method: &str) -> bool {
    match status {
        307 | 308 => true,
        301..=303 => matches!(method, "GET" | "HEAD"),
        _ => false,
    }
}

/// Returns the address to which the server at `from` redirects by the header `Location`.
///
/// # Errors
/// The reason why the redirect is not followed.
pub(super) fn target(from: &Url, location: Option<&str>) -> Result<Url, RequestFailure> {
    let parsed = location.and_then(|location| from.join(location).ok());
    let mut target = parsed.ok_or_else(|| refused("to a Location that is no address"))?;
    if !matches!(target.scheme(), "http" | "https") {
        let reason =
            format!("to an address of the scheme {}:, and only http:// and https:// are followed", target.scheme());
        return Err(refused(&reason));
    }
    // A redirect within one server is allowed, even if it is a metadata server.
    if target.origin() != from.origin() && is_metadata_host(&target) {
        let host = target.host_str().unwrap_or_default();
        return Err(refused(&format!("to {host}, a metadata or link-local address, where no data is")));
    }
    let _ = target.set_username("");
    let _ = target.set_password(None);
    target.set_fragment(None);
    Ok(target)
}

/// Makes the failure for a redirect that is not followed. `what` continues the sentence "the server sends requests on".
pub(super) fn refused(what: &str) -> RequestFailure {
    RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, format!("the server sends requests on {what}"))
}

/// Removes those headers from a request that only the first server may get, such as credentials.
pub(super) fn strip(request: &mut HttpRequest) {
    let headers = request.headers_mut();
    let own: Vec<_> = headers.keys().filter(|name| !TRAVELS.contains(&name.as_str())).cloned().collect();
    for name in own {
        headers.remove(name);
    }
}

fn is_metadata_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => METADATA_NAMES.contains(&name.trim_end_matches('.')),
        Some(Host::Ipv4(address)) => is_metadata(address.into()),
        Some(Host::Ipv6(address)) => is_metadata(address.into()),
        None => false,
    }
}

/// The servers that give credentials to programs on a cloud's machines and in its containers.
const GIVE_CREDENTIALS: [&str; 6] = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "[fd00:ec2::254]",
    "[fd00:ec2::23]",
    "metadata.google.internal",
];

/// Returns true for a request to a server that gives credentials to the programs of a cloud's machine. Not every
/// link-local address counts, because a user's own store may have one.
pub(super) fn asks_for_credentials(request: &HttpRequest) -> bool {
    request.uri().host().is_some_and(|host| GIVE_CREDENTIALS.contains(&host.trim_end_matches('.')))
}

/// Returns true for link-local addresses, and for addresses of metadata servers.
pub(super) fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local() || METADATA_V4.contains(&address),
        IpAddr::V6(address) => {
            let is = |v4: Option<Ipv4Addr>| v4.is_some_and(|v4| is_metadata(v4.into()));
            address.is_unicast_link_local() || METADATA_V6.contains(&address) || is(embedded(address))
        }
    }
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped, compatible, of NAT64 or of 6to4. `None` if it
/// stands for no IPv4 address.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0x64, 0xff9b, .., high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => address.to_ipv4(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(location: &str) -> Result<Url, String> {
        let from = Url::parse("https://store.example/bucket/a?sig=hushhush").unwrap();
        target(&from, Some(location)).map_err(|failure| failure.reason.text)
    }

    #[test]
    fn only_addresses_of_the_web_outside_metadata_servers_are_followed() {
        for refused in [
            "file:///etc/passwd",
            "gopher://a/",
            "data:,a",
            "http://169.254.169.254/",
            "http://169.254.170.2/",
            "http://0xa9fea9fe/",
            "http://0251.0376.0251.0376/",
            "http://100.100.100.200/",
            "http://168.63.129.16/",
            "http://[fd00:ec2::254]/",
            "http://[fe80::1]/",
            "http://[febf::1]/",
            "http://[::ffff:169.254.169.254]/",
            "http://[::169.254.169.254]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[2002:a9fe:a9fe::]/",
            "http://METADATA.google.internal./",
            "//metadata/computeMetadata/v1/",
            "http://",
        ] {
            let reason = of(refused).unwrap_err();
            assert!(reason.contains("sends requests on to") && !reason.contains("passwd"), "{refused}: {reason}");
        }
        for (location, target) in [
            ("b", "https://store.example/bucket/b"),
            ("/b?n=1#part", "https://store.example/b?n=1"),
            ("//cdn.example/b", "https://cdn.example/b"),
            ("http://user:password@127.0.0.1:9000/b", "http://127.0.0.1:9000/b"),
            ("https://[2001:db8::1]/b", "https://[2001:db8::1]/b"),
            ("http://metadata.example/", "http://metadata.example/"),
        ] {
            assert_eq!(of(location).unwrap().as_str(), target, "{location}");
        }
        assert!(target(&Url::parse("https://store.example/").unwrap(), None).is_err());
        let metadata = Url::parse("http://169.254.169.254/latest").unwrap();
        assert!(target(&metadata, Some("/latest/")).is_ok(), "within itself");
    }

    #[test]
    fn a_request_that_writes_is_sent_on_with_its_bytes_or_not_at_all() {
        for status in [301, 302, 303, 307, 308] {
            assert!(is_followed(status, "GET") && is_followed(status, "HEAD"));
            assert_eq!(is_followed(status, "PUT"), status >= 307);
        }
        assert!(!is_followed(304, "GET") && !is_followed(300, "GET") && !is_followed(200, "GET"));
    }
}
