//! Fields of samples in batches: every worker count, queue depth, cache, resumed run and rank gives the same, sample by
//! sample.

use gpufeed::dataset::{Field, FieldKind, FieldValue, NumberType, Numbers};
use gpufeed::transforms::{RandomHorizontalFlip, Resize};
use gpufeed::{
    Backend, Batch, Cache, ColumnValues, DataLoader, DataLoaderBuilder, Dataset, InMemory, Label, PixelFormat,
};

const SAMPLES: usize = 23;

/// Samples whose fields say their number: a text, JSON that only even ones have, and a pair of numbers.
fn numbered() -> InMemory {
    let mut data = InMemory::new().with_fields([
        Field::new("caption").kind(FieldKind::Text),
        Field::new("meta").kind(FieldKind::Json).optional(),
        Field::new("pair").kind(FieldKind::Numbers),
        Field::new("score").kind(FieldKind::Numbers).default_value(FieldValue::from(-1.0)),
    ]);
    for number in 0..SAMPLES {
        let pixels = vec![number as u8; 6 * 5 * 3];
        data.push_pixels(6, 5, PixelFormat::Rgb8, pixels, Label::Class(number as u32)).unwrap();
        let pair = [number as i32, -(number as i32)].map(i32::to_ne_bytes).concat();
        data.push_fields([
            FieldValue::from(format!("sample {number}")),
            if number.is_multiple_of(2) { FieldValue::Json(format!("[{number}]").into()) } else { FieldValue::Absent },
            FieldValue::from(Numbers::new(NumberType::I32, [2], pair).unwrap()),
            if number.is_multiple_of(3) { FieldValue::from(number as f64) } else { FieldValue::Absent },
        ])
        .unwrap();
    }
    data
}

fn builder(data: impl Dataset + 'static) -> DataLoaderBuilder {
    let loader = DataLoader::builder(data).transform(Resize::new((4, 4))).transform(RandomHorizontalFlip::new(0.5));
    loader.batch_size(5).shuffle(true).seed(3).workers(2)
}

/// Checks that every column belongs to the samples of the batch, whose labels are their numbers.
fn check(batch: &Batch) -> Vec<u32> {
    let views = batch.views();
    let numbers: Vec<u32> = batch.classes().unwrap().into_iter().step_by(views).collect();
    let texts = numbers.iter().map(|number| Some(format!("sample {number}"))).collect();
    assert_eq!(*batch.column("caption").unwrap().values(), ColumnValues::Text(texts));
    let json = numbers.iter().map(|number| number.is_multiple_of(2).then(|| format!("[{number}]"))).collect();
    assert_eq!(*batch.column("meta").unwrap().values(), ColumnValues::Json(json));
    let pairs = numbers.iter().flat_map(|&number| [number as i32, -(number as i32)]);
    let bytes = pairs.flat_map(i32::to_ne_bytes).collect();
    let pair = ColumnValues::Numbers { number_type: NumberType::I32, shape: vec![2], bytes };
    assert_eq!(*batch.column("pair").unwrap().values(), pair);
    let score = |&number: &u32| if number.is_multiple_of(3) { f64::from(number) } else { -1.0 };
    let bytes = numbers.iter().map(score).flat_map(f64::to_ne_bytes).collect();
    let score = ColumnValues::Numbers { number_type: NumberType::F64, shape: vec![], bytes };
    assert_eq!(*batch.column("score").unwrap().values(), score);
    assert_eq!(batch.columns().len(), 4);
    assert!(batch.column("label").is_none());
    numbers
}

#[test]
fn fields_stay_with_their_samples() {
    for backend in gpufeed_testing::adapters::places().iter().map(|place| &place.backend) {
        for (workers, depth, views, cache) in
            [(1, 1, 1, Cache::Off), (2, 3, 2, Cache::Host(1 << 20)), (7, 2, 1, Cache::Device(1 << 20))]
        {
            let loader = builder(numbered()).workers(workers).queue_depth(depth).views(views).cache(cache);
            let loader = loader.build(backend).unwrap();
            for epoch in 0..2 {
                let mut seen: Vec<u32> =
                    loader.epoch(epoch).unwrap().flat_map(|batch| check(&batch.unwrap())).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..SAMPLES as u32).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn resumed_runs_and_ranks_have_the_same_fields() {
    let whole: Vec<Vec<u32>> = {
        let loader = builder(numbered()).build(&Backend::Cpu).unwrap();
        loader.epoch(1).unwrap().map(|batch| check(&batch.unwrap())).collect()
    };
    let loader = builder(numbered()).build(&Backend::Cpu).unwrap();
    for batches in 0..whole.len() {
        let mut epoch = loader.epoch(1).unwrap();
        (0..batches).for_each(|_| drop(epoch.next().unwrap().unwrap()));
        let rest: Vec<_> = loader.resume(&epoch.state()).unwrap().map(|batch| check(&batch.unwrap())).collect();
        assert_eq!(rest, whole[batches..]);
    }
    for world in [2, 4] {
        let ranks = (0..world).map(|rank| builder(numbered()).shard(rank, world).build(&Backend::Cpu).unwrap());
        let mut seen: Vec<u32> = ranks
            .flat_map(|loader| loader.epoch(1).unwrap().flat_map(|batch| check(&batch.unwrap())).collect::<Vec<_>>())
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), SAMPLES);
    }
}

#[test]
fn adaptors_keep_fields_and_parts_must_have_the_same() {
    let chosen = numbered().subset([4, 6, 4]).unwrap().repeat(2).unwrap();
    let both = chosen.concat(numbered()).unwrap();
    let loader = builder(both).shuffle(false).build(&Backend::Cpu).unwrap();
    let seen: Vec<u32> = loader.epoch(0).unwrap().flat_map(|batch| check(&batch.unwrap())).collect();
    assert_eq!(seen[..7], [4, 6, 4, 4, 6, 4, 0]);
    let without = InMemory::from_iter([(vec![0xff], Label::Class(0))]);
    let error = numbered().concat(without).unwrap_err().to_string();
    assert!(error.contains("caption (text)") && error.contains("those of part 1 none"), "{error}");
}

#[test]
fn a_sample_without_its_value_fails_by_name() {
    let mut data = InMemory::new().with_fields([Field::new("caption").kind(FieldKind::Text)]);
    for number in 0..4 {
        data.push_pixels(4, 4, PixelFormat::Rgb8, vec![number; 48], Label::Class(number.into())).unwrap();
        if number != 2 {
            data.push_fields([FieldValue::from("text")]).unwrap();
        }
    }
    let loader = builder(data).batch_size(4).shuffle(false).build(&Backend::Cpu).unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let [failure] = batch.failures() else { panic!("one failure") };
    assert_eq!(
        (failure.id, &failure.error.to_string()[..]),
        (2, "fields: the sample has no \"caption\", which is neither optional nor has a default")
    );
    let text = ColumnValues::Text(vec![Some("text".to_owned()); 4]);
    assert_eq!(*batch.column("caption").unwrap().values(), text);
}

#[test]
fn a_loader_refuses_fields_that_cannot_be() {
    let data = InMemory::new().with_fields([Field::new("label").kind(FieldKind::Text)]);
    let mut data = data.clone();
    data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::None).unwrap();
    let error = builder(data).build(&Backend::Cpu).unwrap_err().to_string();
    assert!(error.contains("\"label\" is the name of the sample's own label"), "{error}");
    let loader = builder(numbered()).build(&Backend::Cpu).unwrap();
    let fields =
        "fields: caption (text), meta (JSON, may be absent), pair (numbers), score (numbers, with a default value)";
    assert!(loader.explain().contains(fields), "{}", loader.explain());
}
