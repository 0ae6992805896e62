//! How a connection to a server is encrypted, in the words of PostgreSQL's own clients: `sslmode` and `sslrootcert` of
//! the address, or `PGSSLMODE` and `PGSSLROOTCERT`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What an address says of encryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    check: Check,
    /// A file with the certificates that are trusted, in place of those of this machine.
    roots: Option<PathBuf>,
}

/// What is checked of the server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Check {
    /// Nothing. The connection is encrypted, but it may lead to a server of somebody else.
    #[default]
    Nothing,
    /// That an authority has signed it that is trusted.
    Signature,
    /// Also that it is for the name of the server.
    Name,
}

/// The value of `sslrootcert` that means the authorities which this machine trusts.
pub(in crate::sql) const SYSTEM: &str = "system";

/// The words of `sslmode`.
const MODES: [(&str, SslMode, Check); 6] = [
    ("disable", SslMode::Disable, Check::Nothing),
    ("allow", SslMode::Prefer, Check::Nothing),
    ("prefer", SslMode::Prefer, Check::Nothing),
    ("require", SslMode::Require, Check::Nothing),
    ("verify-ca", SslMode::Require, Check::Signature),
    ("verify-full", SslMode::Require, Check::Name),
];

impl Tls {
    /// Reads `sslmode` and `sslrootcert`, and sets the mode. The error says which mode there is not.
    pub(crate) fn read(
        mode: Option<&str>,
        roots: Option<&str>,
        config: &mut tokio_postgres::Config,
    ) -> Result<Tls, String> {
        let word = mode.unwrap_or("prefer");
        let Some((_, mode, check)) = MODES.iter().find(|(known, ..)| *known == word) else {
            let known = MODES.map(|(known, ..)| known).join(", ");
            return Err(format!("unknown sslmode \"{word}\" in the database's address; use one of {known}"));
        };
        // A socket of this machine is not encrypted.
        let is_local = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        config.ssl_mode(if is_local { SslMode::Disable } else { *mode });
        let is_wanted = *mode == SslMode::Require;
        // PostgreSQL's own clients also check the certificate with `require` if the address names authorities.
        let check = match (check, roots) {
            (Check::Nothing, Some(SYSTEM)) if is_wanted => Check::Name,
            (Check::Nothing, Some(_)) if is_wanted => Check::Signature,
            // Anybody can get a certificate of a public authority for some name.
            (Check::Signature, None | Some(SYSTEM)) => {
                return Err(
                    "sslmode=verify-ca needs sslrootcert=FILE in the database's address; with verify-full the \
                     authorities that this machine trusts will do"
                        .to_owned(),
                );
            }
            (check, _) => *check,
        };
        Ok(Tls { check, roots: roots.filter(|roots| *roots != SYSTEM).map(PathBuf::from) })
    }

    /// What encrypts connections. The error says what is wrong with the file of certificates.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Arc::new(CertificateCheck {
            inner: self.verifier(&provider)?,
            check: self.check,
            provider: provider.clone(),
        });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }

    /// What checks signatures and names; none where nothing is checked.
    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Option<Arc<dyn ServerCertVerifier>>, String> {
        if self.check == Check::Nothing {
            return Ok(None);
        }
        let Some(file) = &self.roots else {
            let verifier = Verifier::new(provider.clone()).map_err(|error| error.to_string())?;
            return Ok(Some(Arc::new(verifier)));
        };
        let roots = Arc::new(read_roots(file).map_err(|why| format!("sslrootcert {}: {why}", file.display()))?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
        Ok(Some(verifier.map_err(|error| error.to_string())?))
    }
}

fn read_roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())? {
        roots.add(certificate.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("there is no certificate in it".to_owned()) } else { Ok(roots) }
}

/// Checks as much of a certificate as an address asks for. That the server has its key is always checked.
#[derive(Debug)]
struct CertificateCheck {
    inner: Option<Arc<dyn ServerCertVerifier>>,
    check: Check,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for CertificateCheck {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(own, others, name, ocsp, now) {
            // The signatures are checked before the name.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.check == Check::Signature => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
