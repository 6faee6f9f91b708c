//! Vulkan's drivers as its loader finds them, and which libraries the system has. Read on Linux alone.

use crate::gpu::adapters::variable;
use std::fs;
use std::path::{Path, PathBuf};

/// A driver of Vulkan.
#[derive(Clone, Debug)]
pub(crate) struct VulkanDriver {
    /// The file that names the driver to Vulkan's loader.
    pub(crate) manifest: PathBuf,
    /// The library that it names: a path, or a name that the system looks for.
    pub(crate) library: Option<String>,
}

/// Lists a folder, sorted; nothing if it cannot be listed.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    found.sort_unstable();
    found
}

/// The drivers that Vulkan's loader finds: those that variables name, or those of its folders.
pub(super) fn read() -> Vec<VulkanDriver> {
    let list = |name: &str| variable(name).filter(|list| !list.is_empty());
    let mut manifests = match list("VK_DRIVER_FILES").or_else(|| list("VK_ICD_FILENAMES")) {
        Some(named) => named_manifests(&named),
        None => manifests(&folders(|name| list(name).map(|list| paths(&list).collect()))),
    };
    manifests.extend(list("VK_ADD_DRIVER_FILES").map(|named| named_manifests(&named)).unwrap_or_default());
    let driver = |manifest: PathBuf| VulkanDriver { library: library(&manifest), manifest };
    manifests.into_iter().map(driver).collect()
}

fn paths(list: &str) -> impl Iterator<Item = PathBuf> {
    list.split(':').filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The manifests of a variable: files, and those in folders.
fn named_manifests(list: &str) -> Vec<PathBuf> {
    paths(list).flat_map(|path| if path.is_dir() { manifests(&[path]) } else { vec![path] }).collect()
}

/// The folders of manifests, as Vulkan's loader has them on Linux.
fn folders(list: impl Fn(&str) -> Option<Vec<PathBuf>>) -> Vec<PathBuf> {
    let of = |name: &str, default: &[&str]| list(name).unwrap_or_else(|| default.iter().map(PathBuf::from).collect());
    let home = |name: &str, below: &str| {
        list(name).unwrap_or_else(|| dirs::home_dir().map(|home| home.join(below)).into_iter().collect())
    };
    let mut folders = home("XDG_CONFIG_HOME", ".config");
    folders.extend(of("XDG_CONFIG_DIRS", &["/etc/xdg"]));
    folders.extend(["/usr/local/etc", "/etc"].map(PathBuf::from));
    folders.extend(home("XDG_DATA_HOME", ".local/share"));
    folders.extend(of("XDG_DATA_DIRS", &["/usr/local/share", "/usr/share"]));
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders.into_iter().map(|folder| folder.join("vulkan/icd.d")) {
        if !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}

fn manifests(folders: &[PathBuf]) -> Vec<PathBuf> {
    let all = folders.iter().flat_map(|folder| files(folder));
    all.filter(|file| file.extension().is_some_and(|extension| extension == "json")).collect()
}

/// The library that a manifest names.
fn library(manifest: &Path) -> Option<String> {
    let text = fs::read_to_string(manifest).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    let library = json.get("ICD")?.get("library_path")?.as_str()?;
    // A relative path with a folder in it begins at the manifest.
    if library.contains('/') && !library.starts_with('/') {
        return Some(manifest.parent()?.join(library).to_string_lossy().into_owned());
    }
    Some(library.to_owned())
}

/// True if the system finds a library: by its path, in the loader's cache, or in its folders.
pub(super) fn has_library(name: &str, cache: &[u8]) -> bool {
    if name.contains('/') {
        return Path::new(name).exists();
    }
    let of_variable = variable("LD_LIBRARY_PATH").unwrap_or_default();
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    let folders = ["/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    let multiarch = ["/lib", "/usr/lib"].map(|folder| Path::new(folder).join(&machine));
    let variable = of_variable.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from);
    folders.into_iter().chain(multiarch).chain(variable).any(|folder| folder.join(name).exists())
        // In the cache a zero byte ends each name.
        || cache.windows(name.len() + 1).any(|bytes| bytes.strip_prefix(name.as_bytes()) == Some(&[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_their_library() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        write("b.json", r#"{"ICD": {"library_path": "libGLX_nvidia.so.0"}}"#);
        write("a.json", r#"{"ICD": {"library_path": "../lib/libvulkan_lvp.so"}}"#);
        write("c.json", "no JSON");
        write("d.txt", "");
        // Vulkan's loader takes folders where variables name files.
        let folder = root.path().display();
        let found = named_manifests(&format!("{folder}::{folder}/nowhere.json"));
        assert_eq!(found[3], root.path().join("nowhere.json"));
        assert_eq!((found.len(), library(&found[3])), (4, None));
        let found = manifests(&[root.path().to_path_buf(), root.path().join("nowhere")]);
        assert_eq!(found.len(), 3);
        let relative = root.path().join("../lib/libvulkan_lvp.so").to_string_lossy().into_owned();
        assert_eq!(library(&found[0]), Some(relative));
        assert_eq!(library(&found[1]).as_deref(), Some("libGLX_nvidia.so.0"));
        assert_eq!(library(&found[2]), None);
    }

    #[test]
    fn folders_are_those_of_vulkans_loader() {
        let with = |set: &str, list: &str| folders(|name| (name == set).then(|| paths(list).collect()));
        let usual = with("", "");
        for folder in ["/etc/xdg", "/usr/local/etc", "/etc", "/usr/local/share", "/usr/share"] {
            assert!(usual.contains(&Path::new(folder).join("vulkan/icd.d")), "{folder}: {usual:?}");
        }
        for home in ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            assert!(with(home, "/opt/home").contains(&PathBuf::from("/opt/home/vulkan/icd.d")), "{home}");
        }
        let other = with("XDG_DATA_DIRS", "/opt/share:/opt/share");
        assert_eq!(other.iter().filter(|folder| folder.starts_with("/opt")).count(), 1);
        assert!(!other.contains(&PathBuf::from("/usr/share/vulkan/icd.d")));
    }

    #[test]
    fn libraries_are_found_by_path_and_in_the_loaders_cache() {
        // No machine has these names.
        let cache = b"\0libno-such.so.1\0/usr/lib/libno-such.so.1\0libno-other.so.12\0";
        assert!(has_library("libno-such.so.1", cache) && !has_library("libno-such.so.1", b""));
        assert!(!has_library("libno-other.so.1", cache));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(has_library(file.path().to_str().unwrap(), b""));
        assert!(!has_library("/no/such/library.so", b""));
    }
}
