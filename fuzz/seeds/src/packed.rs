//! Writes gzip and zip files whose content is stored without compression.

/// Returns the CRC-32 that both formats use.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}

/// Makes a gzip file of one stored (uncompressed) block.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u16;
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    file.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
    file.extend(bytes);
    file.extend([crc(bytes).to_le_bytes(), u32::from(length).to_le_bytes()].concat());
    file
}

/// Makes a zip archive of stored (uncompressed) members.
pub fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let size = (bytes.len() as u32).to_le_bytes();
        // The fields that a member's local header and its directory entry share, from the version to the sizes.
        let about = [&b"\x14\0\0\0\0\0\0\0\x21\0"[..], &crc(bytes).to_le_bytes(), &size, &size].concat();
        let name_length = (name.len() as u16).to_le_bytes();
        let at = (file.len() as u32).to_le_bytes();
        file.extend([&b"PK\x03\x04"[..], &about, &name_length, &[0; 2], name.as_bytes(), bytes].concat());
        directory.extend([&b"PK\x01\x02\x14\0"[..], &about, &name_length, &[0; 12], &at, name.as_bytes()].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let place = [directory.len() as u32, file.len() as u32].map(u32::to_le_bytes).concat();
    file.extend(directory);
    file.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &place, &[0; 2]].concat());
    file
}
