//! The server with TLS, by a certificate of its own, which [`AUTHORITY`] vouches for and nobody else.

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::net::TcpStream;
use std::sync::Arc;

/// The certificate (PEM) that has to be trusted.
pub const AUTHORITY: &str = include_str!("tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server.key");

/// The settings of the server's side.
pub(super) fn config() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("the provider's versions");
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).expect("a pair"))
}

/// Wraps a connection.
pub(super) fn accept(
    config: &Arc<ServerConfig>,
    stream: TcpStream,
) -> Option<StreamOwned<ServerConnection, TcpStream>> {
    Some(StreamOwned::new(ServerConnection::new(config.clone()).ok()?, stream))
}
