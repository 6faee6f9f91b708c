//! The known name that a misspelt one is closest to, for errors.

/// The least Jaro similarity at which a name is suggested, as clap has it.
const LEAST: f64 = 0.7;

/// `; did you mean "imagenet-train"?`, or nothing where no known name is close to `name`.
pub(crate) fn did_you_mean(name: &str, known: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let name = name.to_lowercase();
    let likeness = known.into_iter().map(|known| (strsim::jaro(&name, &known.as_ref().to_lowercase()), known));
    let closest = likeness.filter(|(likeness, _)| *likeness > LEAST).max_by(|a, b| a.0.total_cmp(&b.0));
    closest.map_or_else(String::new, |(_, known)| format!("; did you mean \"{}\"?", known.as_ref()))
}

/// The advice of [`did_you_mean`] where serde reports a name that is unknown, as it quotes that one and those expected;
/// `None` for its other errors.
pub(crate) fn meant(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let name = quoted.next().filter(|_| message.starts_with("unknown "))?;
    Some(did_you_mean(name, quoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_suggested_and_nothing_that_is_far() {
        let known = ["imagenet-train", "imagenet-eval", "simclr"];
        for (name, expected) in [
            ("imagenet-trian", "; did you mean \"imagenet-train\"?"),
            ("imagenet_eval", "; did you mean \"imagenet-eval\"?"),
            ("SimCLR", "; did you mean \"simclr\"?"),
            ("xyz", ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(name, known), expected, "{name}");
        }
    }
}
