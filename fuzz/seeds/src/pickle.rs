//! Makes pickles of CIFAR's files, as Python 2 and pickle protocols 2 to 5 write them.

use super::Seed;
use super::packed::gzip;

fn text(text: &str) -> Vec<u8> {
    [&[0x8C, text.len() as u8], text.as_bytes()].concat()
}

/// Makes a pickled batch in protocol 4: `{key: labels, 'data': array}`.
fn batch(key: &str, labels: &[u8]) -> Vec<u8> {
    let list: Vec<u8> = labels.iter().flat_map(|&label| [b'K', label]).collect();
    let pixels = vec![7; 3072 * labels.len()];
    let mut bytes =
        [b"\x80\x04\x95\0\0\0\0\0\0\0\0}\x94(", &text(key)[..], b"\x94](", &list, b"e", &text("data")].concat();
    bytes.extend([text("numpy._core.multiarray"), text("_reconstruct"), b"\x93\x94".to_vec()].concat());
    bytes.extend([text("numpy"), text("ndarray"), b"\x93K\0\x85C\x01b\x87R(K\x01".to_vec()].concat());
    bytes.extend([b"K", &[labels.len() as u8][..], b"M\0\x0c\x86"].concat());
    bytes.extend([&text("numpy")[..], &text("dtype"), b"\x93", &text("u1"), b"\x89\x88\x87R(K\x03"].concat());
    bytes.extend([&text("|")[..], b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89B"].concat());
    bytes.extend([&(pixels.len() as u32).to_le_bytes()[..], &pixels, b"tbu."].concat());
    bytes
}

/// Makes batches without images: one in protocol 2 with `_codecs.encode`, and one in protocol 5 with a buffer.
fn without_images(key: &str) -> [Vec<u8>; 2] {
    let key_2 = [b"U", &[key.len() as u8][..], key.as_bytes()].concat();
    let encoded = [
        b"\x80\x02}q\0(",
        &key_2[..],
        b"q\x01]q\x02U\x04dataq\x03cnumpy.core.multiarray\n_reconstruct\nq\x04cnumpy\nndarray\nq\x05K\0\x85U\x01b\x87R",
        b"(K\x01K\0M\0\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\0K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb",
        b"\x89c_codecs\nencode\nX\0\0\0\0X\x06\0\0\0latin1\x86Rtbu.",
    ];
    let buffer = [
        b"\x80\x05}(",
        &text(key)[..],
        b"]",
        &text("data"),
        &text("numpy.core.numeric"),
        &text("_frombuffer"),
        b"\x93(\x96\0\0\0\0\0\0\0\0",
        &text("numpy"),
        &text("dtype"),
        b"\x93",
        &text("u1"),
        b"\x89\x88\x87RK\0M\0\x0c\x86",
        &text("C"),
        b"tRu.",
    ];
    [encoded.concat(), buffer.concat()]
}

/// Makes a pickled list of class names: `{key: ['c0', 'c1', ...]}`.
fn names(key: &str, count: u8) -> Vec<u8> {
    let names: Vec<u8> = (0..count).flat_map(|class| text(&format!("c{class}"))).collect();
    [b"\x80\x04}", &text(key)[..], b"](", &names, b"es."].concat()
}

pub fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    // Flags of the target: 1 is CIFAR-100, 2 CIFAR-100's coarse classes, 4 a list of names.
    for (how, key, names_key, classes) in [
        (0, "labels", "label_names", 10),
        (1, "fine_labels", "fine_label_names", 100),
        (3, "coarse_labels", "coarse_label_names", 20),
    ] {
        let mut add =
            |name: &str, how: u8, pickle: &[u8]| seeds.push((format!("{name}-{key}"), [&[how], pickle].concat()));
        add("image", how, &batch(key, &[7]));
        add("packed", how, &gzip(&batch(key, &[7])));
        let [encoded, buffer] = without_images(key);
        add("encoded", how, &encoded);
        add("buffer", how, &buffer);
        add("names", how | 4, &names(names_key, classes));
    }
    seeds
}
