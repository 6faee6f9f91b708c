//! The README's training loop is that of the module's documentation, which is compiled.

/// The lines of the code block in `text` that has `needle` in it, without those that rustdoc hides.
fn block<'a>(text: &'a str, fence: &str, needle: &str) -> Vec<&'a str> {
    let blocks = text.split("```").filter(|block| block.starts_with(fence) && block.contains(needle));
    let [block] = blocks.collect::<Vec<_>>()[..] else { panic!("not one block with {needle}") };
    block.lines().skip(1).filter(|line| !line.starts_with("# ")).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_loop_of_the_readme_compiles() {
    let source: String = include_str!("../../src/interop/burn.rs")
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    let readme = include_str!("../../README.md");
    let needle = "optimizer.step(";
    assert_eq!(block(readme, "rust", needle), block(&source, "no_run", needle));
}
