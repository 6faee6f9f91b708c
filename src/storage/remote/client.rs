//! Makes the HTTP client for requests to stores, with the same settings as the default client of the library
//! `object_store`. The client follows no redirect: `redirect.rs` decides which redirects are followed.

use super::network_error::Unresolved;
use super::redirect;
use object_store::{ClientConfigKey as Key, ClientOptions, Error as StoreError};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Certificate, Client, NoProxy, Proxy};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, SystemTime};

const USER_AGENT: &str = concat!("gpufeed/", env!("CARGO_PKG_VERSION"));

/// The servers to which a client may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The servers that the user has named, in an address or in a setting.
    Settings,
    /// The servers to which other servers redirect, except for those whose name resolves to a metadata or link-local
    /// address.
    Redirects,
}

/// Makes a client that trusts these certificates in addition to the system's.
///
/// # Errors
/// An error that names the setting that cannot work.
pub(super) fn client(
    options: &ClientOptions,
    certificates: &[Certificate],
    reach: Reach,
) -> object_store::Result<Client> {
    let text = |key: Key| options.get_config_value(&key);
    let yes = |key: Key| is_set(options, key);
    let time = |key: Key| -> object_store::Result<Option<Duration>> {
        let parsed = text(key).map(|text| humantime::parse_duration(&text).map_err(|_| unusable(key, &text)));
        parsed.transpose()
    };
    let number = |key: Key| -> object_store::Result<Option<u32>> {
        text(key).map(|text| text.parse().map_err(|_| unusable(key, &text))).transpose()
    };

    // The client decompresses nothing, because the bytes of an answer have to be exactly those of the object.
    let mut client = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .user_agent(text(Key::UserAgent).unwrap_or_else(|| USER_AGENT.to_owned()))
        .https_only(!yes(Key::AllowHttp)?)
        .http2_keep_alive_while_idle(yes(Key::Http2KeepAliveWhileIdle)?)
        .dns_resolver(Names { shuffled: yes(Key::RandomizeAddresses)?, reach });
    if let Some(url) = text(Key::ProxyUrl) {
        let mut proxy = Proxy::all(url).map_err(unbuilt)?;
        if let Some(certificate) = text(Key::ProxyCaCertificate) {
            client = client.tls_certs_merge([Certificate::from_pem(certificate.as_bytes()).map_err(unbuilt)?]);
        }
        if let Some(names) = text(Key::ProxyExcludes) {
            proxy = proxy.no_proxy(NoProxy::from_string(&names));
        }
        client = client.proxy(proxy);
    }
    client = match yes(Key::NoSystemCertificates)? {
        true => client.tls_certs_only(certificates.iter().cloned()),
        false => client.tls_certs_merge(certificates.iter().cloned()),
    };
    if yes(Key::AllowInvalidCertificates)? {
        client = client.tls_danger_accept_invalid_certs(true);
    }
    if let Some(limit) = time(Key::Timeout)? {
        client = client.timeout(limit);
    }
    if let Some(limit) = time(Key::ConnectTimeout)? {
        client = client.connect_timeout(limit);
    }
    if let Some(limit) = time(Key::ReadTimeout)? {
        client = client.read_timeout(limit);
    }
    if let Some(limit) = time(Key::PoolIdleTimeout)? {
        client = client.pool_idle_timeout(limit);
    }
    if let Some(most) = number(Key::PoolMaxIdlePerHost)? {
        client = client.pool_max_idle_per_host(most as usize);
    }
    if let Some(interval) = time(Key::Http2KeepAliveInterval)? {
        client = client.http2_keep_alive_interval(interval);
    }
    if let Some(limit) = time(Key::Http2KeepAliveTimeout)? {
        client = client.http2_keep_alive_timeout(limit);
    }
    if let Some(bytes) = number(Key::Http2MaxFrameSize)? {
        client = client.http2_max_frame_size(bytes);
    }
    if yes(Key::Http1Only)? {
        client = client.http1_only();
    }
    if yes(Key::Http2Only)? {
        client = client.http2_prior_knowledge();
    }
    client.build().map_err(unbuilt)
}

/// Returns whether the setting `key`, which is a switch, is on.
///
/// # Errors
/// An error that names the setting, if its value means neither on nor off.
fn is_set(options: &ClientOptions, key: Key) -> object_store::Result<bool> {
    match options.get_config_value(&key).unwrap_or_default().to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "" | "0" | "false" | "off" | "no" | "n" => Ok(false),
        other => Err(unusable(key, other)),
    }
}

/// Returns true if the settings allow requests without encryption.
///
/// # Errors
/// An error that names the setting, if its value means neither on nor off.
pub(super) fn allows_http(options: &ClientOptions) -> object_store::Result<bool> {
    is_set(options, Key::AllowHttp)
}

fn unusable(key: Key, value: &str) -> StoreError {
    invalid(format!("the setting {key:?} cannot be {value:?}"))
}

fn invalid(reason: String) -> StoreError {
    StoreError::Generic { store: "HTTP client", source: reason.into() }
}

fn unbuilt(error: reqwest::Error) -> StoreError {
    StoreError::Generic { store: "HTTP client", source: Box::new(error) }
}

/// Resolves the names of servers as the system does.
struct Names {
    /// True to begin with another of a name's addresses each time, so that many readers use all machines of a store.
    shuffled: bool,
    reach: Reach,
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let (shuffled, reach) = (self.shuffled, self.reach);
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = tokio::task::spawn_blocking(move || (&*host, 0).to_socket_addrs());
            let mut found: Vec<SocketAddr> = found.await?.map_err(Unresolved)?.collect();
            if reach == Reach::Redirects && found.iter().any(|address| redirect::is_metadata(address.ip())) {
                let reason = format!(
                    "to {}, which stands for a metadata or link-local address, where no data is",
                    name.as_str()
                );
                return Err(redirect::refused(&reason).into());
            }
            if shuffled && !found.is_empty() {
                let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |now| now.subsec_nanos() as usize);
                let by = now % found.len();
                found.rotate_left(by);
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(settings: &[(Key, &str)]) -> Result<Client, String> {
        let options =
            settings.iter().fold(ClientOptions::new(), |options, (key, value)| options.with_config(*key, *value));
        client(&options, &[], Reach::Settings).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_that_stands_for_a_metadata_address_is_none_to_be_sent_on_to() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let resolved = |name: &str, reach| {
            let found = runtime.block_on(Names { shuffled: false, reach }.resolve(name.parse().unwrap()));
            found.map(|addresses| addresses.count()).map_err(|error| error.to_string())
        };
        let error = resolved("169.254.169.254", Reach::Redirects).unwrap_err();
        assert!(error.contains("sends requests on to 169.254.169.254, which stands for a metadata"), "{error}");
        assert_eq!(resolved("169.254.169.254", Reach::Settings), Ok(1));
        assert_eq!(resolved("127.0.0.1", Reach::Redirects), Ok(1));
    }

    #[test]
    fn settings_of_the_stores_library_are_taken_or_named() {
        made(&[]).unwrap();
        made(&[
            (Key::AllowHttp, "yes"),
            (Key::ConnectTimeout, "5 seconds"),
            (Key::ReadTimeout, "2m"),
            (Key::PoolMaxIdlePerHost, "3"),
            (Key::ProxyUrl, "http://127.0.0.1:3128"),
            (Key::ProxyExcludes, "localhost"),
            (Key::Http1Only, "true"),
            (Key::UserAgent, "mine"),
        ])
        .unwrap();
        for (key, value) in [
            (Key::AllowHttp, "maybe"),
            (Key::ConnectTimeout, "soon"),
            (Key::PoolMaxIdlePerHost, "-1"),
            (Key::Http2MaxFrameSize, "large"),
        ] {
            let error = made(&[(key, value)]).unwrap_err();
            assert!(error.contains(&format!("{key:?}")) && error.contains(value), "{error}");
        }
    }
}
