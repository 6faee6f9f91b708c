//! Tar archives that the tests make, valid and hostile. `generate.py` has written the committed ones in
//! `tests/archives`.

use tar::{Builder, Header};

/// Returns the tar header of a member of `size` bytes.
pub(crate) fn header(size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header
}

/// Returns a valid archive of these members.
pub(crate) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (name, content) in members {
        archive.append_data(&mut header(content.len() as u64), name, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Like [`archive`], but `change` alters the last member's header; its checksum stays valid.
pub(crate) fn with_header(members: &[(&str, &[u8])], change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let (last, before) = members.split_last().unwrap();
    let mut bytes = archive(before);
    bytes.truncate(bytes.len() - 1024);
    let mut header = header(last.1.len() as u64);
    header.set_path(last.0).unwrap();
    change(&mut header);
    header.set_cksum();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(last.1);
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    bytes
}
