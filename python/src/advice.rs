//! Advice of the library's errors, which is Rust's code, in Python's words.

/// Settings whose calls become keyword arguments.
const SETTINGS: [&str; 5] = ["order", "lanes", "shard", "batch_size", "shuffle"];

/// Words that become others as they stand.
const WORDS: [(&str, &str); 5] = [
    ("Order::Full", "\"full\""),
    ("Order::Blocks", "an order of blocks"),
    (".shard_auto()", "shard=\"auto\""),
    ("LastBatch::Drop", "\"drop\""),
    ("LastBatch::Partial or Pad", "\"partial\" or \"pad\""),
];

/// Advice that only Rust code can follow, and what a script in Python does instead. Each is a whole phrase, so that no path or
/// text of a user's has it by chance; `tests/test_advice.py` compares them with the library.
const PHRASES: [(&str, &str); 56] = [
    ("; choose one with TarShardsBuilder::extensions", "; choose one with extensions="),
    (
        ", and that ending can be chosen with TarShardsBuilder::extensions",
        ", and that ending can be chosen with extensions=",
    ),
    ("; TarShardsBuilder::text_labels says whether they are", "; text_labels= says whether they are"),
    ("; TarShardsBuilder::text_labels says which", "; text_labels= says which"),
    (
        "; ImageList::builder().label_columns([..]) names one, or all that make a vector",
        "; label_column= names one, or a list of all that make a vector",
    ),
    ("; ImageList::builder().delimiter(..) names it", "; delimiter= names it"),
    ("; ImageList::builder().header(true) takes that line for names", "; header=True takes that line for names"),
    (
        "; ImageList::builder().header(true) takes it for names, and header(false) for a sample",
        "; header=True takes it for names, and header=False for a sample",
    ),
    ("; TarShardsBuilder::allow_unlabelled accepts that", "; allow_unlabelled=True accepts that"),
    ("or accept that with ParquetBuilder::allow_unlabelled", "or accept that with allow_unlabelled=True"),
    (
        "or say which hold for all of them with TarShardsBuilder::classes",
        "or say which hold for all of them with class_names=",
    ),
    (
        "or say which hold for all of them with ParquetBuilder::classes",
        "or say which hold for all of them with class_names=",
    ),
    ("or open one split alone (ParquetBuilder::split)", "or open one split alone (split=)"),
    ("name these with ImageList::builder().label_columns([..])", "name these with label_column=[..]"),
    (
        "(ImageList::builder().class_names(true) takes such texts as names)",
        "(class_names=True takes such texts as names)",
    ),
    (
        "(RemoteOptions::min_rate, GPUFEED_REMOTE_MIN_RATE; 0 takes any rate)",
        "(GPUFEED_REMOTE_MIN_RATE; 0 takes any rate)",
    ),
    ("; ShardIndexes::Folder stores it elsewhere", "; indexes= names a folder for it"),
    ("; ShardIndexes::Folder stores them elsewhere", "; indexes= names a folder for them"),
    ("lower the budget of Cache::Device", "lower the bytes of cache="),
    ("; LmdbBuilder::allow_unlabelled ignores it", "; allow_unlabelled=True ignores it"),
    ("; LmdbBuilder::allow_unlabelled accepts that", "; allow_unlabelled=True accepts that"),
    ("; set the layout with LmdbBuilder::layout", "; set the layout with data_layout="),
    (", which LmdbLayout::Numbered has", ", which data_layout=\"numbered\" has"),
    (", or LmdbWriter::finish", ""),
    ("ImageFolder::flat() reads images without classes", "unlabelled=True reads images without classes"),
    ("ImageFolder::builder().allow_empty(true) accepts that", "allow_empty=True accepts that"),
    ("(ImageList::builder().class_names(true) takes numbers as names)", "(class_names=True takes numbers as names)"),
    (", or use Idx::emnist", ", or choose one with part="),
    (": Numpy::new().npz(path, images, labels) takes any", ": image_column= and label_column= take any"),
    ("set which with Numpy::new().layout(..)", "set which with data_layout=, and image_column= for an .npz"),
    (", that is Arrays::nchw", ", that is data_layout=\"nchw\""),
    (", that is Arrays::nhwc", ", that is data_layout=\"nhwc\""),
    ("(Truncated::Fill accepts such images)", "(truncated=\"fill\" accepts such images)"),
    ("but OnError::Skip allows a share of", "but on_error allows a share of"),
    (
        "(Backend::auto() falls back to the CPU; Backend::Cpu asks for it)",
        "(backend=\"auto\" falls back to the CPU; \"cpu\" asks for it)",
    ),
    ("(Dataset::channels)", "(the attribute channels of a data set in Python)"),
    ("give one with SeekIndexes::File(path)", "give its path as seek_indexes"),
    ("RemoteOptions::retries, GPUFEED_REMOTE_RETRIES", "GPUFEED_REMOTE_RETRIES"),
    ("(RemoteOptions::timeout, GPUFEED_REMOTE_TIMEOUT)", "(GPUFEED_REMOTE_TIMEOUT)"),
    ("RemoteOptions::certificates or SSL_CERT_FILE", "SSL_CERT_FILE"),
    ("; RemoteOptions::store", ""),
    (" (or RemoteOptions::store)", ""),
    (" (variables of the store, or RemoteOptions::store)", " (variables of the store)"),
    ("scaled_decode(true)", "scaled_decode=True"),
    ("or use Execute::Cpu", "or use execute=\"cpu\""),
    ("Execute::Gpu has no shaders for", "execute=\"gpu\" has no shaders for"),
    ("; Execute::Auto augments on the CPU", "; \"auto\" augments on the CPU"),
    (
        "Execute::Gpu needs a GPU, but the loader was built with Backend::Cpu; Execute::Auto works with both",
        "\"gpu\" needs a GPU, but backend is \"cpu\"; \"auto\" works with both",
    ),
    ("but the output is DType::U8; F32 and F16 work", "but dtype is uint8; float32 and float16 work"),
    ("but the output is U8; F32 and F16 work", "but dtype is uint8; float32 and float16 work"),
    ("but the output is DType::U8", "but dtype is uint8"),
    (
        "DType::U8 cannot hold the result of Normalize; use F16 or F32, or leave Normalize out",
        "dtype=uint8 cannot hold the result of Normalize; float32 and float16 can, or leave Normalize out",
    ),
    ("gets 8-bit numbers (Semantics::Uint8)", "gets 8-bit numbers (semantics=\"uint8\")"),
    ("use Semantics::Uint8, and put it", "use semantics=\"uint8\", and put it"),
    ("0 to 255 with Semantics::Uint8", "0 to 255 with semantics=\"uint8\""),
    ("; Batch::labels() has it", ""),
];

/// The text of an error with its advice in Python's words.
pub(crate) fn phrases(text: &str) -> String {
    PHRASES.iter().fold(
        text.to_owned(),
        |text, (rust, python)| {
            if text.contains(rust) { text.replace(rust, python) } else { text }
        },
    )
}

/// The text of an error about the order and the batches, as `gpufeed.DataLoader` takes its arguments.
pub(crate) fn in_python(text: &str) -> String {
    let text = WORDS.iter().fold(blocks(text), |text, (rust, python)| text.replace(rust, python));
    SETTINGS.iter().fold(text, |text, setting| keyword(&text, setting))
}

/// `Order::Blocks { samples: 8, window: 2 }` as `("blocks", 8, 2)`, and one without numbers with their names.
fn blocks(text: &str) -> String {
    const BEGIN: &str = "Order::Blocks {";
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, (inside, after))) =
        rest.split_once(BEGIN).and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        let numbers: Vec<_> = inside.split(',').filter_map(|field| Some(field.split_once(':')?.1.trim())).collect();
        let numbers = if numbers.is_empty() { "samples, window".to_owned() } else { numbers.join(", ") };
        done += &format!("{before}(\"blocks\", {numbers})");
        rest = after;
    }
    done + rest
}

/// Calls of a setting, `.lanes(4)` or `lanes(4)`, as keyword arguments, `lanes=4`.
fn keyword(text: &str, setting: &str) -> String {
    let call = format!("{setting}(");
    let (mut done, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(&call) {
        let (before, after) = (&rest[..at], &rest[at + call.len()..]);
        let part_of_a_word = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        let Some(end) = closing(after).filter(|_| !part_of_a_word) else {
            done += &rest[..at + call.len()];
            rest = after;
            continue;
        };
        done += &format!("{}{setting}={}", before.strip_suffix('.').unwrap_or(before), argument(&after[..end]));
        rest = &after[end + 1..];
    }
    done + rest
}

/// The place of the parenthesis that ends a call, of what follows its opening one.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    text.bytes().position(|byte| {
        open += i32::from(byte == b'(') - i32::from(byte == b')');
        open == 0
    })
}

/// Arguments of a call as the value of one keyword argument: several become a tuple.
fn argument(text: &str) -> String {
    match text {
        ".." => String::new(),
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        several if several.contains(", ") && !several.starts_with('(') => format!("({several})"),
        one => one.to_owned(),
    }
}
