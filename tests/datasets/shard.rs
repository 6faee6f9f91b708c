//! Tar archives made on the spot, whole and hostile. The files beside this one are what generate.py has written.

use tar::{Builder, Header};

/// Of a member with so many bytes.
pub(crate) fn header(size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header
}

/// A whole archive of these members.
pub(crate) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (name, content) in members {
        archive.append_data(&mut header(content.len() as u64), name, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

/// As [`archive`], but the last member's header is changed.
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
