//! Fields of tar shards in stores: the same values as on this machine, announced with their images, by indexes that list
//! members.

use crate::shard::archive;
use crate::stores::{both, options};
use gpufeed::dataset::{FieldChoice, TarShards};
use gpufeed::transforms::CenterCrop;
use gpufeed::{Backend, ColumnValues, DataLoader, Dataset, Label, Order};
use gpufeed_testing::encoded::{encode, picture};
use gpufeed_testing::store_server::StoreServer;
use image::ImageFormat as Codec;
use std::sync::Arc;

const SAMPLES: usize = 40;
/// Bytes of a caption, which are more than those of an image.
const CAPTION: usize = 100_000;

/// A shard of pictures with captions and other members.
fn captioned() -> Vec<u8> {
    let picture = encode(picture(20, 15), Codec::Jpeg);
    let members = (0..SAMPLES).flat_map(|number| {
        let caption = format!("{number} ").repeat(CAPTION).into_bytes();
        let member = |ending: &str| format!("{number:03}.{ending}");
        [
            (member("jpg"), picture.clone()),
            (member("txt"), caption[..CAPTION].to_vec()),
            (member("xyz"), vec![b'x'; 10]),
        ]
    });
    let members: Vec<_> = members.collect();
    let members: Vec<_> = members.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
    archive(&members)
}

fn captions(data: impl Dataset + 'static) -> Vec<Option<String>> {
    let loader = DataLoader::builder(data)
        .transform(CenterCrop::new(8))
        .batch_size(8)
        .shuffle(true)
        .order(Order::Blocks { samples: 8, window: 3 })
        .build(&Backend::Cpu)
        .unwrap();
    let of = |batch: gpufeed::Result<gpufeed::Batch>| {
        let batch = batch.unwrap();
        let ColumnValues::Text(texts) = batch.column("caption").unwrap().values() else { panic!("no texts") };
        texts.clone()
    };
    loader.epoch(1).unwrap().flat_map(of).collect()
}

#[test]
fn captions_of_a_store_are_read_with_their_images() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    let shard = captioned();
    let size = shard.len() as u64;
    both(&server, folder.path(), &[("t-0.tar", shard)]);
    let choice = || FieldChoice::from([("jpg", "image"), ("txt", "caption")]);
    let address = server.s3("bucket/set/t-{0..0}.tar");
    let remote = || TarShards::builder().fields(choice()).remote(options(&server));
    let local = TarShards::builder().fields(choice()).open(folder.path()).unwrap();
    drop(remote().put_indexes(true).open(&address).unwrap());
    let before = server.sent();
    let data = remote().open(&address).unwrap();
    assert!(server.sent() - before < size / 10, "the index beside the object is read");
    assert_eq!(data.notices().len(), 2, "{:?}", data.notices());
    let expected = captions(local);
    let before = server.sent();
    assert!(captions(data) == expected);
    let sent = server.sent() - before;
    assert!(sent < size + size / 4, "each block of the object comes once, not {sent} bytes of {size}");
    assert_eq!(expected.len(), SAMPLES);
    assert!(expected.iter().all(|text| text.as_ref().is_some_and(|text| text.len() == CAPTION)));
}

#[test]
fn an_index_beside_an_object_is_for_sets_with_fields_and_without() {
    let server = StoreServer::start();
    server.put("bucket/x.tar", captioned());
    let index = || server.object("bucket/.x.tar.gpufeed-index").unwrap();
    let builder = || TarShards::builder().allow_unlabelled(true).remote(options(&server)).put_indexes(true);
    let address = server.s3("bucket/x.tar");
    let plain: Arc<dyn Dataset> = Arc::new(builder().open(&address).unwrap());
    let without = index();
    let data = builder().fields(FieldChoice::All).open(&address).unwrap();
    let names: Vec<_> = data.fields().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["txt (text)", "xyz (bytes)"]);
    let with = index();
    assert!(without != with, "an index without members is put anew");
    drop(builder().open(&address).unwrap());
    assert!(index() == with, "a set without fields reads it");
    let mut buffer = Vec::new();
    assert_eq!(plain.read(SAMPLES - 1, &mut buffer).unwrap().label, Label::None);
    assert_eq!(data.read(0, &mut buffer).unwrap().fields.len(), 2);
}
