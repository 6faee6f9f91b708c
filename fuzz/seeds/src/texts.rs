//! Makes seeds for the targets of lists and of recipes.

use super::Seed;
use gpufeed_testing::operators::OPERATORS;
use std::collections::BTreeSet;

pub fn lists() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut add = |kinds: &[u8], name: &str, text: &str| {
        for &kind in kinds {
            // Flags of the target: 0 is .csv, 1 .tsv, 2 .jsonl; 8 detects the header from the first line; 16 means that
            // labels are class names.
            for how in [kind, kind | 4, kind | 8, kind | 24] {
                seeds.push((format!("{name}-{how}"), [&[how], text.as_bytes()].concat()));
            }
        }
    };
    let csv = [
        ("classes", "a,3\na,0\nb/c.jpg,1\n"),
        ("header", "label,path\n7,a\n8,a\n"),
        ("names", "image,class\r\na,\"dog, big\"\r\n\r\na,cat\r\n"),
        ("numbers", "a,1,-2.5\na, 3, 4e1"),
        ("paths", "\u{FEFF}a\nb\n/c"),
    ];
    for (name, text) in csv {
        add(&[0], name, text);
        add(&[1], &format!("tabs-{name}"), &text.replace(',', "\t"));
    }
    add(&[2], "json", "{\"path\": \"a\", \"label\": 3}\n\n{\"label\": 4, \"image\": \"a\", \"more\": [{}]}");
    add(&[2], "json-names", "{\"path\":\"a\",\"label\":\"dog\"}\r\n{\"file\":\"a\",\"cls\":\"cat\"}\r\n");
    add(&[2], "json-numbers", "{\"path\": \"a\", \"label\": [0, 1]}\n{\"path\": \"a\", \"class\": [1, 0.5]}");
    add(&[2], "json-none", "\u{FEFF}{\"path\": \"a\"}\n{\"path\": \"\\u0062\", \"label\": null}");
    seeds
}

/// The operators of recipes and their keys, as lines of libFuzzer's dictionary.
pub fn words() -> String {
    let texts = OPERATORS.iter().flat_map(|operator| operator.examples);
    let keys = texts.flat_map(|text| text.split(" = ")).filter_map(|text| text.rsplit([' ', '{']).next());
    let keys = keys.filter(|key| !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    let words = keys.map(|key| format!("\"{key} = \"\n"));
    let names = OPERATORS.iter().map(|operator| format!("\"{}\"\n", operator.name));
    words.chain(names).collect::<BTreeSet<_>>().into_iter().collect()
}

pub fn recipes() -> Vec<Seed> {
    let crop = "[[transform]]\ntype = \"RandomResizedCrop\"\nsize = 224\n";
    let flips = "[[transform]]\ntype = \"RandomHorizontalFlip\"\n[[transform]]\ntype = \"RandomVerticalFlip\"\np = 1\n";
    let nested = "[[transform]]\ntype = \"RandomApply\"\np = 0.8\n[[transform.transforms]]\ntype = \"RandomApply\"\n\
        [[transform.transforms.transforms]]\ntype = \"CenterCrop\"\nsize = 5\n";
    let mixing = "[[batch_transform]]\ntype = \"RandomChoice\"\np = [1, 0.5, 0]\n\
        [[batch_transform.transforms]]\ntype = \"MixUp\"\nalpha = 0.8\n\
        [[batch_transform.transforms]]\ntype = \"CutMix\"\npartner = \"Reversed\"\n\
        [[batch_transform.transforms]]\ntype = \"Identity\"\n";
    let head = "name = \"mine\" # optional\ndescription = '''\nwhat\n'''\nviews = 2\n[output]\nlayout = \"Nhwc\"\ndtype = \"U8\"\n";
    let operators = OPERATORS.iter().flat_map(|operator| {
        (0..).zip(operator.recipes()).map(|(number, text)| (format!("{}-{number}", operator.name), text))
    });
    let tables = OPERATORS.iter().filter(|operator| operator.examples.contains(&""));
    let tables = tables.map(|operator| format!("[[transform]]\ntype = \"{}\"\n", operator.name));
    [
        ("crop", [head, crop, flips].concat()),
        ("nested", [nested, flips].concat()),
        ("defaults", tables.collect()),
        ("uint8", ["semantics = \"Uint8\"\n", crop, "[[transform]]\ntype = \"ToDtype\"\n"].concat()),
        ("mixing", [flips, mixing].concat()),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text))
    .chain(operators)
    .map(|(name, text)| (name, text.into_bytes()))
    .collect()
}
