//! What a chain is checked by: issuer, signature, what the key may be used for.

use opcua_types::StatusCode;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Encode, Reader as _, SliceReader};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};
use x509_cert::spki::AlgorithmIdentifierOwned;

use aws_lc_rs::signature::{
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, VerificationAlgorithm,
};

use crate::crypto::Certificate;
use crate::error::Error;

/// Extensions that are looked at, or say nothing that would have to be: key identifiers, usage, alternative names, basic constraints, policies,
/// purposes. A certificate whose critical extension is not known must be refused (RFC 5280, 4.2); one with name constraints is such.
const KNOWN_EXTENSIONS: [&str; 7] =
    ["2.5.29.14", "2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.32", "2.5.29.35", "2.5.29.37"];

/// Purposes of a key (RFC 5280, 4.2.1.12).
pub(super) const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
pub(super) const CLIENT_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");

/// A certificate, taken apart for its chain.
pub(super) struct Inspected {
    pub(super) certificate: Certificate,
    pub(super) serial: Vec<u8>,
    pub(super) subject: Vec<u8>,
    pub(super) issuer: Vec<u8>,
    pub(super) signed: SignedBytes,
    pub(super) usage: CertificateUsage,
}

/// What a key may be used for. What a certificate does not say is allowed (RFC 5280, 4.2.1.3), but for signing certificates.
pub(super) struct CertificateUsage {
    pub(super) signs_certificates: bool,
    /// How many authorities may stand below it in a path.
    pub(super) authorities_below: Option<u8>,
    pub(super) signs_lists: bool,
    pub(super) signs: bool,
    pub(super) serves_application: bool,
    /// `serverAuth` is among its purposes, or it has none in particular.
    pub(super) is_for_servers: bool,
    /// `clientAuth` or `serverAuth`: certificates of servers that are also clients often name but the one (Part 6, 6.2.2).
    pub(super) is_for_applications: bool,
}

/// Signed bytes, of a certificate or a revocation list.
pub(super) struct SignedBytes {
    content: Vec<u8>,
    algorithm: AlgorithmIdentifierOwned,
    signature: Vec<u8>,
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::new(StatusCode::BadCertificateInvalid, format!("it is no certificate: {error}"))
}

impl Inspected {
    /// Reads a certificate.
    ///
    /// # Errors
    /// As of [`Certificate::from_der`].
    pub(super) fn read(der: &[u8]) -> Result<Inspected, Error> {
        let certificate = Certificate::from_der(der)?;
        let inner = CertificateInner::<Raw>::from_der(der).map_err(invalid)?;
        let content = inner.tbs_certificate();
        let constraints = content.get_extension::<BasicConstraints>().map_err(invalid)?;
        let key_usage = content.get_extension::<KeyUsage>().map_err(invalid)?;
        let purposes = content.get_extension::<ExtendedKeyUsage>().map_err(invalid)?;
        let unknown = content.extensions().into_iter().flatten().find(|extension| {
            extension.critical && !KNOWN_EXTENSIONS.contains(&extension.extn_id.to_string().as_str())
        });
        if let Some(unknown) = unknown {
            return Err(invalid(format!(
                "its extension {} is critical, and not known here",
                unknown.extn_id
            )));
        }
        let constraints = constraints.map(|(_, constraints)| constraints);
        let is_authority = constraints.as_ref().is_some_and(|constraints| constraints.ca);
        let key_usage = key_usage.map(|(_, usage)| usage);
        let may = |ask: fn(&KeyUsage) -> bool| key_usage.as_ref().is_none_or(ask);
        let purposes = purposes.map(|(_, purposes)| purposes.0);
        let is_for = |wanted: &[ObjectIdentifier]| {
            let any =
                |purposes: &Vec<ObjectIdentifier>| purposes.iter().any(|purpose| wanted.contains(purpose));
            purposes.as_ref().is_none_or(any)
        };
        let encrypts = may(KeyUsage::key_encipherment) || may(KeyUsage::data_encipherment);
        Ok(Inspected {
            certificate,
            serial: content.serial_number().as_bytes().to_vec(),
            subject: content.subject().to_der().map_err(invalid)?,
            issuer: content.issuer().to_der().map_err(invalid)?,
            signed: SignedBytes::read(der, inner.signature_algorithm(), inner.signature().raw_bytes())?,
            usage: CertificateUsage {
                authorities_below: constraints.and_then(|constraints| constraints.path_len_constraint),
                signs_certificates: is_authority && may(KeyUsage::key_cert_sign),
                signs_lists: is_authority && may(KeyUsage::crl_sign),
                signs: may(KeyUsage::digital_signature),
                serves_application: may(KeyUsage::digital_signature) && encrypts,
                is_for_servers: is_for(&[SERVER_AUTH]),
                is_for_applications: is_for(&[SERVER_AUTH, CLIENT_AUTH]),
            },
        })
    }

    /// Whether subject and issuer are the same, as in a root or a self-signed certificate.
    pub(super) fn is_self_issued(&self) -> bool {
        self.subject == self.issuer
    }
}

impl SignedBytes {
    /// Takes the signed part out of a certificate or a list: the first value of the outer sequence, as it stands.
    ///
    /// # Errors
    /// No such structure.
    pub(super) fn read(
        der: &[u8],
        algorithm: &AlgorithmIdentifierOwned,
        signature: &[u8],
    ) -> Result<SignedBytes, Error> {
        let outer = x509_cert::der::asn1::AnyRef::from_der(der).map_err(invalid)?;
        let mut reader = SliceReader::new(outer.value()).map_err(invalid)?;
        let content = reader.tlv_bytes().map_err(invalid)?.to_vec();
        Ok(SignedBytes { content, algorithm: algorithm.clone(), signature: signature.to_vec() })
    }

    /// Verifies the signature by the issuer's key. SHA-1 and MD5 are refused.
    ///
    /// # Errors
    /// `BadCertificatePolicyCheckFailed` for another algorithm, `BadSecurityChecksFailed` for a signature that is not the issuer's.
    pub(super) fn verify(&self, issuer: &Certificate) -> Result<(), Error> {
        let algorithm = verification(&self.algorithm).ok_or_else(|| {
            Error::new(
                StatusCode::BadCertificatePolicyCheckFailed,
                format!(
                    "a certificate is signed with {}; RSA with SHA-256 or longer is needed",
                    self.algorithm.oid
                ),
            )
        })?;
        ParsedPublicKey::new(algorithm, issuer.key().spki())
            .ok()
            .and_then(|key| key.verify_sig(&self.content, &self.signature).ok())
            .ok_or_else(|| Error::security("a certificate's signature is not that of its issuer"))
    }
}

fn verification(algorithm: &AlgorithmIdentifierOwned) -> Option<&'static dyn VerificationAlgorithm> {
    match algorithm.oid.to_string().as_str() {
        "1.2.840.113549.1.1.11" => Some(&RSA_PKCS1_2048_8192_SHA256),
        "1.2.840.113549.1.1.12" => Some(&RSA_PKCS1_2048_8192_SHA384),
        "1.2.840.113549.1.1.13" => Some(&RSA_PKCS1_2048_8192_SHA512),
        RSASSA_PSS => {
            let parameters = algorithm.parameters.as_ref()?.value();
            let hashes: [(u8, u8, &'static dyn VerificationAlgorithm); 3] = [
                (1, 32, &RSA_PSS_2048_8192_SHA256),
                (2, 48, &RSA_PSS_2048_8192_SHA384),
                (3, 64, &RSA_PSS_2048_8192_SHA512),
            ];
            let is_of = |hash: u8, salt: u8| {
                [true, false].into_iter().any(|with_null| parameters == pss_parameters(hash, salt, with_null))
            };
            hashes.into_iter().find(|(hash, salt, _)| is_of(*hash, *salt)).map(|(.., algorithm)| algorithm)
        }
        _ => None,
    }
}

/// RSASSA-PSS (RFC 4055), the only algorithm with parameters that say anything.
const RSASSA_PSS: &str = "1.2.840.113549.1.1.10";

/// The parameters of RSASSA-PSS as they are in use: one hash, of the message and of MGF1, and a salt as long as it; the hash with the NULL that
/// RFC 4055 wants, or without.
fn pss_parameters(hash: u8, salt: u8, with_null: bool) -> Vec<u8> {
    // id-sha256, id-sha384 and id-sha512 differ in their last byte.
    let oid = [0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, hash];
    let null: &[u8] = if with_null { &[0x05, 0x00] } else { &[] };
    let inner = if with_null { 0x0d } else { 0x0b };
    let hash = [[0x30, inner].as_slice(), &oid, null].concat();
    let mgf1 = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x08];
    let hash_length = hash.len() as u8;
    let mgf1_length = mgf1.len() as u8 + hash_length;
    [
        [0xa0, hash_length].as_slice(),
        &hash,
        &[0xa1, mgf1_length + 2, 0x30, mgf1_length],
        &mgf1,
        &hash,
        &[0xa2, 0x03, 0x02, 0x01, salt],
    ]
    .concat()
}
