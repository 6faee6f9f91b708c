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
