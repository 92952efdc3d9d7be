//! Files out of a ZIP archive and into one, within limits.
//!
//! The directory at the end of the archive counts; what stands before each file must say the same. Files that share
//! bytes, or a name, are refused: the one that was checked must be the one that is used, whoever reads.

use std::collections::BTreeMap;
use std::io::Write;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use rawzip::{
    CompressionMethod, DataDescriptorOutput, ErrorKind, ZipArchive, ZipArchiveWriter, ZipFileHeaderRecord,
    ZipSliceArchive,
};

use crate::BundleError;
use crate::error::failed;
use crate::name;

/// How well archives are packed: 6 of 9, as everybody does.
const LEVEL: u8 = 6;

/// What a bundle may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the archive. Default: 64 MiB.
    pub archive_bytes_max: usize,
    /// Most bytes of all files together, unpacked. Default: 256 MiB.
    pub content_bytes_max: usize,
    /// Most files. Default: 10000.
    pub files_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { archive_bytes_max: 64 << 20, content_bytes_max: 256 << 20, files_max: 10_000 }
    }
}

/// Files by their names.
pub(crate) type ArchiveFiles = BTreeMap<String, Vec<u8>>;

/// Unpacks an archive.
///
/// # Errors
/// Something that is no ZIP archive, more than the limits allow, files that a bundle cannot have, or that are there
/// twice.
pub(crate) fn unpack(bytes: &[u8], limits: &Limits) -> Result<ArchiveFiles, BundleError> {
    if bytes.len() > limits.archive_bytes_max {
        return failed(format!("the archive has more than {} bytes", limits.archive_bytes_max));
    }
    let archive = ZipArchive::from_slice(bytes).map_err(|error| broken(&error))?;
    let mut unpacking = ArchiveReader {
        left: limits.content_bytes_max,
        limits,
        ranges: Vec::new(),
        files: ArchiveFiles::new(),
    };
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry().map_err(|error| broken(&error))? {
        unpacking.add(&archive, &entry)?;
    }
    unpacking.check_ranges(archive.directory_offset())?;
    Ok(unpacking.files)
}

fn broken(error: &rawzip::Error) -> BundleError {
    // Not in its words: they are about records and signatures.
    let is_none = matches!(error.kind(), ErrorKind::MissingEndOfCentralDirectory);
    BundleError::new(if is_none {
        "it is no ZIP archive, or not all of one"
    } else {
        "the archive is broken"
    })
}

struct ArchiveReader<'l> {
    limits: &'l Limits,
    /// How many bytes there may still be.
    left: usize,
    /// Where the files lie in the archive.
    ranges: Vec<(u64, u64)>,
    files: ArchiveFiles,
}

impl ArchiveReader<'_> {
    fn add(
        &mut self,
        archive: &ZipSliceArchive<&[u8]>,
        entry: &ZipFileHeaderRecord<'_>,
    ) -> Result<(), BundleError> {
        if self.files.len() >= self.limits.files_max {
            return failed(format!("there are more than {} files in it", self.limits.files_max));
        }
        let path = entry.file_path();
        let Ok(name) = std::str::from_utf8(path.as_bytes()) else {
            return failed("the name of a file is no UTF-8");
        };
        name::check(name)?;
        let content = self.content(archive, entry).map_err(|error| error.of(format!("`{name}`")))?;
        self.left -= content.len();
        if self.files.insert(name.to_owned(), content).is_some() {
            return failed(format!("`{name}` is there twice"));
        }
        Ok(())
    }

    fn content(
        &mut self,
        archive: &ZipSliceArchive<&[u8]>,
        entry: &ZipFileHeaderRecord<'_>,
    ) -> Result<Vec<u8>, BundleError> {
        if entry.flags().is_encrypted() {
            return failed("it is encrypted");
        }
        let length = usize::try_from(entry.uncompressed_size_hint()).unwrap_or(usize::MAX);
        if length > self.left {
            return failed(format!(
                "all files together have more than {} bytes",
                self.limits.content_bytes_max
            ));
        }
        let found = archive.get_entry(entry.wayfinder()).map_err(|error| broken(&error))?;
        let local = found.local_header();
        if local.file_path().as_bytes() != entry.file_path().as_bytes() {
            return failed("it has two names");
        }
        self.ranges.push(found.compressed_data_range());
        let content = match entry.compression_method() {
            CompressionMethod::STORE => found.data().to_vec(),
            // Hardly more than it says, whatever it would become.
            CompressionMethod::DEFLATE => {
                decompress_to_vec_with_limit(found.data(), length.saturating_add(1))
                    .map_err(|_| BundleError::new("it cannot be unpacked, or is longer than it says"))?
            }
            _ => return failed("it is packed in a way that is not known; use `deflate`"),
        };
        if content.len() != length || rawzip::crc32(&content) != entry.crc32() {
            return failed("it is not what it says it is");
        }
        Ok(content)
    }

    /// Files that share bytes are how a small archive becomes a large one.
    fn check_ranges(&mut self, directory: u64) -> Result<(), BundleError> {
        self.ranges.sort_unstable();
        let ends = self.ranges.iter().map(|(_, end)| *end);
        let next = self.ranges.iter().skip(1).map(|(start, _)| *start).chain([directory]);
        if ends.zip(next).any(|(end, next)| end > next) {
            return failed("files of the archive overlap");
        }
        Ok(())
    }
}

/// Packs files in the order given.
///
/// # Errors
/// More than an archive can hold.
pub(crate) fn pack<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> Result<Vec<u8>, BundleError> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, content) in files {
        write(&mut archive, name, content)
            .map_err(|_| BundleError::new(format!("`{name}` cannot be packed")))?;
    }
    archive.finish().map_err(|_| BundleError::new("the files cannot be packed"))
}

fn write(archive: &mut ZipArchiveWriter<Vec<u8>>, name: &str, content: &[u8]) -> Result<(), rawzip::Error> {
    let (mut entry, _) = archive.new_file(name).compression_method(CompressionMethod::DEFLATE).start()?;
    entry.write_all(&compress_to_vec(content, LEVEL))?;
    entry.finish(DataDescriptorOutput::new(rawzip::crc32(content), content.len() as u64))?;
    Ok(())
}
