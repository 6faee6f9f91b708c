//! Reads credentials from the files that Amazon's tools write: `~/.aws/credentials` and `~/.aws/config`.

use std::path::PathBuf;

/// Returns the settings of the profile that `AWS_PROFILE` names, or else of the profile `default`: pairs of an
/// environment variable's name and its value. The caller leaves out those whose environment variable is set. `variable`
/// looks up an environment variable, `home` is the user's home folder, and `read` reads a file.
pub(super) fn settings(
    variable: impl Fn(&str) -> Option<String>,
    home: Option<PathBuf>,
    read: impl Fn(PathBuf) -> Option<String>,
) -> Vec<(String, String)> {
    let profile = variable("AWS_PROFILE").filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned());
    let file = |name: &str, file: &str| {
        let path = variable(name).map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".aws").join(file)));
        path.and_then(&read).unwrap_or_default()
    };
    let config = file("AWS_CONFIG_FILE", "config");
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    // In the file `config`, the section of any profile but the default one is called `profile NAME`.
    let in_config = if profile == "default" { profile.clone() } else { format!("profile {profile}") };
    let mut found = section(&config, &in_config);
    found.extend(section(&credentials, &profile));
    let wanted = [
        ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
        ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
        ("aws_session_token", "AWS_SESSION_TOKEN"),
        ("region", "AWS_REGION"),
        ("endpoint_url", "AWS_ENDPOINT_URL"),
    ];
    let last = |key: &str| found.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    wanted.into_iter().filter_map(|(key, name)| Some((name.to_owned(), last(key)?))).collect()
}

/// Returns the keys and values of the section `name` in a file's text.
fn section(text: &str, name: &str) -> Vec<(String, String)> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        // Skips comments, and indented lines: these belong to a key that has keys of its own.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(header) = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = header.split_whitespace().eq(name.split_whitespace());
        } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
            found.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n# a note\n[work]\r\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token = E\n";
    const CONFIG: &str = "[default]\nregion = eu-north-1\ns3 =\n  endpoint_url = no\n[profile work]\nregion=us-west-2\nendpoint_url = http://127.0.0.1:9000\n";

    fn of(profile: Option<&str>) -> Vec<String> {
        let variable = |name: &str| profile.filter(|_| name == "AWS_PROFILE").map(str::to_owned);
        let read = |path: PathBuf| {
            assert!(path.starts_with("/home/x/.aws"), "{}", path.display());
            Some(if path.ends_with("credentials") { CREDENTIALS } else { CONFIG }.to_owned())
        };
        let found = settings(variable, Some("/home/x".into()), read);
        found.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn a_profile_has_its_own_keys_and_region() {
        let default = ["AWS_ACCESS_KEY_ID=A", "AWS_SECRET_ACCESS_KEY=B=", "AWS_REGION=eu-north-1"];
        assert_eq!(of(None), default);
        assert_eq!(
            of(Some("work")),
            [
                "AWS_ACCESS_KEY_ID=C",
                "AWS_SECRET_ACCESS_KEY=D",
                "AWS_SESSION_TOKEN=E",
                "AWS_REGION=us-west-2",
                "AWS_ENDPOINT_URL=http://127.0.0.1:9000"
            ]
        );
        assert!(of(Some("nobody")).is_empty());
    }

    #[test]
    fn files_may_lie_elsewhere_or_nowhere() {
        let variable = |name: &str| (name == "AWS_SHARED_CREDENTIALS_FILE").then(|| "/run/keys".to_owned());
        let read = |path: PathBuf| path.ends_with("keys").then(|| CREDENTIALS.to_owned());
        assert_eq!(settings(variable, None, read).len(), 2);
        assert!(settings(|_| None, None, |_| panic!("no file")).is_empty());
    }
}
