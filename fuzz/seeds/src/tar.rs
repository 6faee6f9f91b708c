//! Makes tar shards, and the parts of their index files that the target `tar_index` gets as input.

use super::Seed;

/// Makes a tar header of type `kind` for `size` bytes of content, with all fields that the checksum covers.
fn header(name: &str, size: usize, kind: u8, magic: &[u8; 8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    for (at, text) in [(100, "0000644\0"), (108, "0000000\0"), (116, "0000000\0"), (136, "00000000000\0")] {
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[148..156].fill(b' ');
    header[156] = kind;
    header[257..265].copy_from_slice(magic);
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

const USTAR: &[u8; 8] = b"ustar\x0000";
const GNU: &[u8; 8] = b"ustar  \0";

fn member(name: &str, content: &[u8], kind: u8, magic: &[u8; 8]) -> Vec<u8> {
    let mut bytes = [&header(name, content.len(), kind, magic), content].concat();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn files(members: &[(&str, &[u8])]) -> Vec<u8> {
    members.iter().flat_map(|(name, content)| member(name, content, b'0', USTAR)).collect()
}

/// Adds the end of a tar archive: two blocks of zeros.
fn ended(members: Vec<u8>) -> Vec<u8> {
    [members, vec![0; 1024]].concat()
}

pub fn seeds() -> Vec<Seed> {
    let classes = files(&[("1.jpg", b"one"), ("1.cls", b"1"), ("2.jpg", b"two"), ("2.cls", b"0")]);
    let named = [files(&[("classes.txt", b"cat\ndog\n")]), classes.clone()].concat();
    let facts = files(&[
        ("a/1.json", b"{\"label\": [0.5, 1], \"caption\": \"x\"}"),
        ("a/1.png", b"one"),
        ("a/1.txt", b"a cat"),
        ("b.txt", b"3"),
        ("b.webp", b"two"),
    ]);
    let json_classes = [files(&[("classes.json", b"{\"dog\": 1, \"cat\": 0}")]), classes.clone()].concat();
    let others =
        files(&[("__meta__.json", b"{}"), ("README", b"read"), ("x/", b""), ("1.left.png", b"x"), ("1.jpg", b"y")]);
    let long = "folder/".repeat(20) + "1.jpg\0";
    let gnu = [
        member("././@LongLink", long.as_bytes(), b'L', GNU),
        member("folder", b"one", b'0', GNU),
        member("2.jpg", b"two", b'0', GNU),
    ]
    .concat();
    let pax = [
        member("PaxHeaders/1.jpg", b"19 path=a/1.jpg.jpg\n11 size=3\n\n", b'x', USTAR),
        member("1.jpg", b"one", b'0', USTAR),
        member("pax_global_header", b"13 comment=x\n", b'g', USTAR),
        member("1.cls", b"7", b'0', USTAR),
    ]
    .concat();
    let links =
        [member("1.jpg", b"one", b'0', USTAR), member("2.jpg", b"", b'2', USTAR), member("d/", b"", b'5', USTAR)];
    let mut seeds = Vec::new();
    for (name, members) in [
        ("classes", classes.clone()),
        ("named", named),
        ("facts", facts),
        ("json", json_classes),
        ("others", others),
        ("gnu", gnu),
        ("pax", pax),
        ("links", links.concat()),
    ] {
        // Flags of the target: 1 allows samples without labels, 2 sets other extensions, 4 corrects the checksums, 8
        // asks for fields.
        for how in [0, 1, 5, 7, 9, 13] {
            seeds.push((format!("{name}-{how}"), [vec![how], ended(members.clone())].concat()));
        }
    }
    seeds.push(("cut".to_owned(), [vec![0], classes].concat()));
    seeds
}

/// An entry of an index: the sample's offset and length, the hash of its header, the end of its key, the number of
/// values of its label, and its class.
type Entry = (u64, u32, u32, u32, u32, u32);

/// A member in an index: its offset, length and hash, the number of its ending, and the number of its sample.
type Listed = (u64, u64, u32, u32, usize);

/// Makes an index from behind the facts of its shard: lengths, what is true of all labels, the one segment, the classes,
/// and the segment's content, with members if there are some. The target corrects the checksums.
fn index(entries: &[Entry], targets: &[f32], keys: &str, classes: &str, members: Option<&[Listed]>) -> Vec<u8> {
    let listed = members.map_or(0, <[Listed]>::len) as u32;
    let mut data: Vec<u8> =
        [targets.len() as u32, 0, keys.len() as u32, listed].into_iter().flat_map(u32::to_le_bytes).collect();
    for &(offset, length, hash, key_end, targets, label) in entries {
        data.extend(offset.to_le_bytes());
        data.extend([length, hash, key_end, targets, label, 0].into_iter().flat_map(u32::to_le_bytes));
    }
    data.extend(targets.iter().flat_map(|target| target.to_le_bytes()));
    if let Some(members) = members {
        for sample in 0..entries.len() {
            let end = members.iter().filter(|member| member.4 <= sample).count() as u32;
            data.extend(end.to_le_bytes());
        }
        for &(offset, length, hash, ending, _) in members {
            data.extend([offset, length].into_iter().flat_map(u64::to_le_bytes));
            data.extend([hash, ending].into_iter().flat_map(u32::to_le_bytes));
        }
    }
    data.extend(keys.as_bytes());
    let segments = u64::from(!entries.is_empty());
    let length = data.len() as u64 * segments;
    // Samples, segments, classes, data; samples without a label, the first of them, one more than the largest class, its
    // sample; the same of texts, and of captions: none.
    let numbers = [entries.len() as u64, segments, classes.len() as u64, length, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0];
    // The byte in front says whether the set has fields.
    let mut bytes = vec![u8::from(members.is_some())];
    let numbers: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
    bytes.extend(numbers);
    if segments == 1 {
        bytes.extend([length, 0].into_iter().flat_map(u64::to_le_bytes));
    }
    bytes.extend(classes.as_bytes());
    bytes.extend(&data[..length as usize]);
    bytes
}

pub fn indexes() -> Vec<Seed> {
    let class = u32::MAX;
    let entries = [(1536, 5, 1, 3, class, 1), (3584, 10, 2, 4, 3, 0), (5632, 0, 3, 5, class - 1, 0)];
    let classes = "[\"cat\",\"dog\",\"bird\",\"fish\"]";
    let whole = |classes: &str, members| index(&entries, &[0.5, 1.0, 2.0], "a/123", classes, members);
    let ending = |name: &str| format!("{{\"name\":\"{name}\",\"samples\":1,\"labels\":0,\"unread\":[\"x\",1]}}");
    let table = format!("{{\"endings\":[{},{}],\"left_out\":0,\"no_labels\":0}}", ending("seg.xyz"), ending("txt"));
    let listing = format!("{{\"classes\":{classes},\"noticed\":{{}},\"members\":{table}}}");
    let members = [(7680, 6, 4, 0, 2), (8704, 5, 5, 1, 2)];
    vec![
        ("whole".to_owned(), whole(classes, None)),
        ("members".to_owned(), whole(&listing, Some(&members))),
        ("one".to_owned(), index(&entries[..1], &[], "a/1", "", None)),
        ("none".to_owned(), index(&[], &[], "", "", None)),
    ]
}
