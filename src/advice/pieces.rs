//! Makes all advice that the library's errors give. Every piece of advice is made in this file, so that tests can show
//! all pieces in every language.

use super::{Advice, Setting, Value};

macro_rules! word {
    ($rust:literal, $word:literal) => {
        Some(Value::Word { rust: $rust, word: $word })
    };
}

macro_rules! pieces {
    ($($(#[$doc:meta])* $name:ident = $phrase:literal [$($setting:ident $(= $value:expr)?),*];)*) => {
        $($(#[$doc])* pub(crate) const $name: Advice = Advice::new($phrase, &[$((Setting::$setting, pieces!(@ $($value)?))),*]);)*

        /// All pieces of advice that need no arguments.
        const FIXED: &[Advice] = &[$($name),*];
    };
    (@) => { None };
    (@ $value:expr) => { $value };
}

pieces! {
    // Memory and limits.
    REFUSE_LARGE_IMAGES = "lower {} to refuse such images" [MaxDecodeBytes];
    HOLD_FEWER = "lower {} to hold fewer batches" [MemoryBudget];
    RELEASE_BATCHES = "{}" [HeldBatches];

    // Samples that fail.
    FILL = "{} accepts such images" [Truncated = word!("Truncated::Fill", "fill")];
    MORE_FAILURES = "raise the share of {}" [OnError];

    // The backend and the executor.
    OTHER_BACKENDS = "{} falls back to the CPU, and {} asks for it"
        [Backend = word!("Backend::auto()", "auto"), Backend = word!("Backend::Cpu", "cpu")];
    NAMED_BACKEND = "{} takes an adapter by its name, one in software too"
        [Backend = word!("Backend::gpu(name)", "NAME")];
    EXECUTE_AUTO = "{} works on both" [Execute = word!("Execute::Auto", "auto")];
    EXECUTE_AUTO_COPIES = "{} augments on the CPU and copies the batches to the GPU"
        [Execute = word!("Execute::Auto", "auto")];
    EXECUTE_CPU = "use {}" [Execute = word!("Execute::Cpu", "cpu")];

    // Images of different sizes.
    VARYING_SIZES = "{} and {} take images of any size"
        [Arrangement = word!("Arrangement::padded()", "padded"), Arrangement = word!("Arrangement::listed()", "listed")];
    BOUND_SIZES = "give {} the height and width of the largest image, or the transforms a bound, such as a max_size"
        [Arrangement];

    // The type of numbers, and the arithmetic.
    FLOAT_OUTPUT = "{}, {} and {} work" [
        DType = word!("DType::F32", "float32"),
        DType = word!("DType::F16", "float16"),
        DType = word!("DType::BF16", "bfloat16")
    ];
    UINT8 = "use {}" [Semantics = word!("Semantics::Uint8", "uint8")];
    UINT8_LEVELS = "0 to 255 work with {}" [Semantics = word!("Semantics::Uint8", "uint8")];
    WITHOUT_SCALED_DECODE = "leave {} out" [ScaledDecode = Some(Value::Flag(true))];

    // The order of samples, the last batch, and the share of a process.
    FULL_ORDER = "choose {}" [Order = word!("Order::Full", "full")];
    SOME_BLOCKS = "choose {}" [Order = Some(Value::AnyBlocks)];
    REMOTE_ORDER = "choose {}, or {} to have it so"
        [Order = Some(Value::Blocks { samples: 256, window: 4 }), Order = word!("Order::Full", "full")];
    KEEP_LAST_BATCH = "choose {} or {}"
        [LastBatch = word!("LastBatch::Partial", "partial"), LastBatch = word!("LastBatch::Pad", "pad")];
    SHARD_BY_HAND = "{} names both by hand" [Shard];

    // Loaders and data sets in general.
    SEEK_FILE = "{} names one" [SeekIndexes = word!("SeekIndexes::File(path)", "PATH")];
    CHANNELS = "{} says how many there are" [Channels];
    ANY_LABELS = "{} has such labels" [BatchLabels];

    // Tar shards.
    CHOOSE_IMAGE = "choose one with {}" [TarExtensions];
    CHOOSE_ENDING = "{} chooses that ending" [TarExtensions];
    TEXT_LABELS = "{} says whether such texts are labels" [TarTextLabels];
    TAR_UNLABELLED = "{} accepts that" [TarAllowUnlabelled = Some(Value::Flag(true))];
    TAR_CLASSES = "{} says which names hold for all of them" [TarClasses];

    // Parquet files.
    PARQUET_CLASSES = "{} says which names hold for all of them" [ParquetClasses];
    ONE_SPLIT = "{} opens one split alone" [ParquetSplit];
    PARQUET_LABEL = "{} chooses one" [ParquetLabelColumn];
    PARQUET_UNLABELLED = "{} accepts that" [ParquetAllowUnlabelled = Some(Value::Flag(true))];
    LARGER_PAGES = "raise {}" [ParquetMaxPageBytes];
    LARGER_FIELDS = "raise {}" [MaxFieldBytes];

    // LMDB.
    LMDB_FINISH = "a program that writes one ends with {}" [LmdbFinish];
    LMDB_LAYOUT = "set the layout with {}" [LmdbLayout];
    LMDB_UNLABELLED = "{} accepts that" [LmdbAllowUnlabelled = Some(Value::Flag(true))];

    // Folders of images.
    FOLDER_UNLABELLED = "{} reads images without classes" [FolderUnlabelled = Some(Value::Flag(true))];
    FOLDER_ALLOW_EMPTY = "{} accepts that" [FolderAllowEmpty = Some(Value::Flag(true))];

    // Lists of image files.
    LIST_NAMES = "{} takes such labels as names" [ListClassNames = Some(Value::Flag(true))];
    LIST_LABEL_COLUMNS = "{} names one, or all that make a vector" [ListLabelColumns];
    LIST_DELIMITER = "{} says which character separates them" [ListDelimiter];
    LIST_HEADER = "{} takes that line for names" [ListHeader = Some(Value::Flag(true))];
    LIST_HEADER_OR_SAMPLE = "{} takes it for names, and {} for a sample"
        [ListHeader = Some(Value::Flag(true)), ListHeader = Some(Value::Flag(false))];

    // Arrays: EMNIST's files and NumPy's files.
    EMNIST_PART = "{} chooses one" [EmnistPart];
    NUMPY_ARRAYS = "name them with {}" [NumpyArrays];
    ARRAYS_LAYOUT = "set which with {}" [ArraysLayout];
    ARRAYS_NCHW = "if channels come before height and width, that is {}" [ArraysLayout = word!("Arrays::nchw", "nchw")];
    ARRAYS_NHWC = "if channels come last, that is {}" [ArraysLayout = word!("Arrays::nhwc", "nhwc")];

    // Object stores. The facts of an error name a store's environment variables, which are the same in every language;
    // the advice names settings, which are not.
    REMOTE_CERTIFICATES = "{} names one, too" [RemoteCertificates];
    REMOTE_STORE = "{} takes them, too" [RemoteStore];

    // Packing: writing a data set as tar shards or an LMDB.
    PACK_PLAN = "`{}` makes one, once for all parts" [PackPlan = word!("Packer::plan", "plan")];
    PACK_BY_PARTS = "({} does one of them, {} makes the data set); remove it, or pack elsewhere" [PackPart, PackJoin];
    PACK_WITHOUT_PLAN = ", which goes on without {}; remove it, or pack elsewhere" [PackPlan];
    PACK_VERIFY = "{} says which samples differ" [PackVerify = Some(Value::Flag(true))];
    PACK_SCRATCH = "({} names another folder of this machine for files on their way)" [PackScratch];
    PACK_MAX_SIDE = "{} reduces them" [PackMaxSide];
    PACK_AGAIN = "{} continues after the last sample that is on the disk" [PackAgain];
}

/// Advises the call that packs one of `parts` parts.
pub(crate) fn pack_part(parts: usize) -> Advice {
    Advice::of("{} does one", vec![(Setting::PackPart, Some(Value::Number(parts as u64)))])
}

/// Advises to lower these settings. Lowering any one of them helps.
pub(crate) fn lower(settings: &[Setting]) -> Advice {
    Advice::of("lower {..}", settings.iter().map(|setting| (*setting, None)).collect())
}

/// Advises to raise a setting.
pub(crate) fn raise(setting: Setting) -> Advice {
    Advice::of("raise {}", vec![(setting, None)])
}

/// Advises the one or two settings with which a loader can resume from a saved state.
pub(crate) fn go_on_with(settings: Vec<(Setting, Option<Value>)>) -> Advice {
    Advice::of(if settings.len() == 1 { "set {} to go on" } else { "set {} and {} to go on" }, settings)
}

/// Advises one or two numbers that fit a setting. The first number fits best.
pub(crate) fn choose(setting: Setting, numbers: &[u64]) -> Advice {
    let settings = numbers.iter().map(|number| (setting, Some(Value::Number(*number)))).collect();
    Advice::of("choose {..}", settings)
}

/// Returns every piece of advice. Pieces that take arguments come with example arguments, at least once in each form.
pub fn every_piece() -> Vec<Advice> {
    let blocks = Value::Blocks { samples: 8, window: 2 };
    let mut all = FIXED.to_vec();
    all.extend(Setting::ALL.iter().flat_map(|setting| [lower(&[*setting]), raise(*setting)]));
    all.push(lower(Setting::ALL));
    all.push(go_on_with(vec![(Setting::Order, Some(blocks))]));
    all.push(go_on_with(vec![(Setting::Order, Some(Value::AnyBlocks)), (Setting::Lanes, Some(Value::Number(4)))]));
    all.extend([&[4][..], &[4, 8]].map(|numbers| choose(Setting::Lanes, numbers)));
    all.push(pack_part(7));
    all
}
