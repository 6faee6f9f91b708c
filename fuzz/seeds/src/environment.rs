//! Writes the data file of an LMDB environment with plain code: two meta pages, leaf pages, a branch page if there is
//! more than one leaf, and overflow pages for values longer than [`LONGEST`]. The target `lmdb` and its seeds use it.

/// The size of a page in bytes.
pub const PAGE: usize = 4096;
/// The longest value in bytes that is stored in a leaf page.
const LONGEST: usize = 1000;
const HEADER: usize = 16;

const BRANCH: u16 = 1;
const LEAF: u16 = 2;
const OVERFLOW: u16 = 4;
const META: u16 = 8;
/// The flag of a node whose value is on overflow pages.
const BIG: u16 = 1;

/// A page of nodes. Nodes are added from the page's end towards its start.
struct Page {
    bytes: Vec<u8>,
    nodes: Vec<u16>,
    upper: usize,
    flags: u16,
}

impl Page {
    fn new(flags: u16) -> Page {
        Page { bytes: vec![0; PAGE], nodes: Vec::new(), upper: PAGE, flags }
    }

    /// Adds a node; returns false if the page has no room for it.
    fn push(&mut self, [low, high, flags]: [u16; 3], key: &[u8], value: &[u8]) -> bool {
        let size = (8 + key.len() + value.len()).next_multiple_of(2);
        if HEADER + 2 * (self.nodes.len() + 1) + size > self.upper {
            return false;
        }
        self.upper -= size;
        self.nodes.push(self.upper as u16);
        let node = &mut self.bytes[self.upper..];
        for (place, number) in node.chunks_exact_mut(2).zip([low, high, flags, key.len() as u16]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        node[8..8 + key.len()].copy_from_slice(key);
        node[8 + key.len()..8 + key.len() + value.len()].copy_from_slice(value);
        true
    }

    fn finish(mut self, number: usize) -> Vec<u8> {
        let lower = (HEADER + 2 * self.nodes.len()) as u16;
        header(&mut self.bytes, number, self.flags, [lower, self.upper as u16]);
        for (place, node) in self.bytes[HEADER..].chunks_exact_mut(2).zip(self.nodes) {
            place.copy_from_slice(&node.to_le_bytes());
        }
        self.bytes
    }
}

fn header(page: &mut [u8], number: usize, flags: u16, bounds: [u16; 2]) {
    page[..8].copy_from_slice(&(number as u64).to_le_bytes());
    for (place, number) in page[10..HEADER].chunks_exact_mut(2).zip([flags, bounds[0], bounds[1]]) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Makes an environment with these keys and values. The entries are sorted by key, the last one of equal keys is used,
/// and keys are cut to LMDB's limit of 511 bytes.
pub fn pages(mut entries: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<u8> {
    entries.iter_mut().for_each(|(key, _)| key.truncate(511));
    entries.retain(|(key, _)| !key.is_empty());
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.reverse();
    entries.dedup_by(|a, b| a.0 == b.0);
    entries.reverse();

    let (mut leaves, mut overflow) = (vec![(Vec::new(), Page::new(LEAF))], Vec::new());
    let mut behind = Vec::new();
    for (key, value) in &entries {
        let big = value.len() > LONGEST;
        let number = ((2 + overflow.len()) as u64).to_le_bytes();
        let place: &[u8] = if big { &number } else { value };
        if big {
            let count = (HEADER + value.len()).div_ceil(PAGE);
            let mut bytes = vec![0; count * PAGE];
            header(&mut bytes, 2 + overflow.len(), OVERFLOW, [count as u16, (count >> 16) as u16]);
            bytes[HEADER..HEADER + value.len()].copy_from_slice(value);
            overflow.resize(overflow.len() + count, ());
            behind.extend(bytes);
        }
        let node = [value.len() as u16, (value.len() >> 16) as u16, if big { BIG } else { 0 }];
        let fits = leaves.last_mut().is_some_and(|(_, leaf)| leaf.push(node, key, place));
        if !fits {
            let mut leaf = Page::new(LEAF);
            leaf.push(node, key, place);
            leaves.push((key.clone(), leaf));
        }
    }

    let first = 2 + overflow.len();
    let count = leaves.len();
    let mut branch = Page::new(BRANCH);
    for (at, (key, _)) in leaves.iter().enumerate().filter(|_| count > 1) {
        let number = first + at;
        // The first key of a branch page is empty, because LMDB never reads it.
        branch.push([number as u16, (number >> 16) as u16, 0], if at == 0 { b"" } else { key }, &[]);
    }
    let depth = 1 + u16::from(count > 1);
    let root = if count > 1 { first + count } else { first };
    let overflowing = overflow.len();
    let mut file = meta(0, root, 0, [0, 0, 0], 0);
    file.extend(meta(1, root, depth, [count, overflowing, entries.len()], 1));
    file.extend(behind);
    for (at, (_, leaf)) in leaves.into_iter().enumerate() {
        file.extend(leaf.finish(first + at));
    }
    if count > 1 {
        file.extend(branch.finish(first + count));
    }
    file
}

/// Makes meta page `number`, as the transaction `transaction` writes it. LMDB uses the meta page of the later
/// transaction.
fn meta(number: usize, root: usize, depth: u16, [leaves, overflow, entries]: [usize; 3], transaction: u64) -> Vec<u8> {
    let none = u64::MAX;
    let (root, last) = if depth == 0 { (none, 1) } else { (root as u64, root as u64) };
    let mut page = vec![0; PAGE];
    header(&mut page, number, META, [0, 0]);
    let mut body = Vec::new();
    body.extend(0xBEEF_C0DE_u32.to_le_bytes());
    body.extend(1_u32.to_le_bytes());
    body.extend([0, 1 << 20].into_iter().flat_map(u64::to_le_bytes));
    // The record of the database of free pages. It is empty, and its first field holds the page size.
    body.extend((PAGE as u32).to_le_bytes());
    body.extend([0; 4]);
    body.extend([0, 0, 0, 0, none].into_iter().flat_map(u64::to_le_bytes));
    // The record of the main database.
    body.extend([0; 6]);
    body.extend(depth.to_le_bytes());
    let branches = u64::from(depth.saturating_sub(1));
    let counts = [branches, leaves as u64, overflow as u64, entries as u64, root, last, transaction];
    body.extend(counts.into_iter().flat_map(u64::to_le_bytes));
    page[HEADER..HEADER + body.len()].copy_from_slice(&body);
    page
}
