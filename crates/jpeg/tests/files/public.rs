//! Compares JPEGs of public suites, photographs, and files that were once decoded wrongly with Pillow's pixels. They lie beside the
//! repository, where a development machine has them.

use gpufeed_jpeg::{Decoder, Error, Header, Request};
use gpufeed_testing::golden;

use super::{BUILD, Seek, has_index, region, size_of, whole};

#[test]
fn files_of_public_suites_equal_pillow() {
    use sha2::{Digest, Sha256};
    let Some(public) = golden::folder("GPUFEED_SHARED") else { return };
    let golden = public.parent().unwrap();
    let list = std::fs::read(golden.join("decode.json")).unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    let hash = |pixels: &[u8]| -> String {
        let rgb: Vec<u8> = pixels.as_chunks::<4>().0.iter().flat_map(|pixel| &pixel[..3]).copied().collect();
        Sha256::digest(&rgb).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let (mut equal, mut filled_equal, mut bounded, mut refused_by_both) = (0, 0, 0, 0);
    let (mut refused, mut accepted) = (Vec::new(), Vec::new());
    for (path, facts) in list["files"].as_object().unwrap() {
        let bytes = std::fs::read(golden.parent().unwrap().join(path)).unwrap();
        let decoded = Header::read(&bytes).and_then(|_| region(&bytes, whole(&bytes), BUILD));
        match (decoded, facts["sha256"].as_str()) {
            (Ok((pixels, index)), Some(expected)) => {
                assert_eq!(expected, hash(&pixels), "{path}");
                assert_eq!(index.is_some(), has_index(&bytes), "{path}");
                equal += 1;
            }
            (Err(_), None) => refused_by_both += 1,
            (Err(Error::Damaged(_)), Some(expected)) => {
                let filled = Decoder::default()
                    .decode(&bytes, &Request::new(size_of(&bytes)).fill(true))
                    .map(|decoded| hash(decoded.pixels));
                match filled {
                    // The bound on the work that a few bytes can ask for.
                    Err(Error::Damaged("too few bytes for its size")) => bounded += 1,
                    filled => {
                        assert_eq!(filled.as_deref(), Ok(expected), "{path}");
                        filled_equal += 1;
                    }
                }
            }
            (Err(reason), Some(_)) => refused.push((path, reason)),
            (Ok(_), None) => accepted.push(path),
        }
    }
    println!(
        "{equal} equal, {filled_equal} damaged and equal with `fill`, {bounded} damaged with too few bytes, {refused_by_both} \
         refused by both"
    );
    assert_eq!(accepted, [""; 0], "Pillow refuses these");
    let paths: Vec<_> = refused.iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, ["data/jpeg-corpus/libjpeg-turbo/testimages/testimgari.jpg"], "{refused:?}");
    assert!(equal >= 290 && bounded <= 2, "{equal} {bounded}");
}

/// The files of `golden/bugs`, whose right pixels a table lists.
#[test]
fn files_of_known_faults_equal_pillow() {
    use sha2::{Digest, Sha256};
    let Some(public) = golden::folder("GPUFEED_SHARED") else { return };
    let folder = public.parent().unwrap().join("bugs");
    let table = std::fs::read_to_string(folder.join("cases.md")).unwrap();
    let (mut equal, mut refused) = (0, Vec::new());
    for line in table.lines().filter(|line| line.starts_with("| ") && line.contains(".jpg (")) {
        let (name, _) = line.trim_start_matches("| ").split_once(' ').unwrap();
        let bytes = std::fs::read(folder.join(name)).unwrap();
        match region(&bytes, whole(&bytes), Seek::default()) {
            Ok((pixels, _)) => {
                let rgb: Vec<u8> = pixels.as_chunks::<4>().0.iter().flat_map(|pixel| &pixel[..3]).copied().collect();
                let hash: String = Sha256::digest(&rgb).iter().map(|byte| format!("{byte:02x}")).collect();
                assert!(line.contains(&format!("`{}`", &hash[..16])), "{name}: {hash}");
                equal += 1;
            }
            Err(error) => refused.push(format!("{name}: {}", error.reason())),
        }
    }
    refused.sort();
    let expected = [
        "lossless-gray8.jpg: lossless coding is not supported",
        "prog-cut-then-eoi.jpg: a scan is damaged or cut",
        "seq-cut-then-eoi.jpg: the scan is damaged or cut",
    ];
    assert_eq!(refused, expected);
    assert_eq!(equal, 9);
}
