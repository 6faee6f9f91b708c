//! Tests that the training loop in the repository's README equals the one in this crate's README, which is compiled as
//! a doc test.

/// Returns the training loop of `text` without indentation: from the line that makes the backend to the end of the
/// loop, in the one Rust code block that has such a loop.
fn training_loop(text: &str) -> Vec<&str> {
    let blocks = text.split("```").filter(|block| block.starts_with("rust") && block.contains("optimizer.step("));
    let [block] = blocks.collect::<Vec<_>>()[..] else { panic!("not one block with a training loop") };
    let lines = block.lines().map(str::trim).skip_while(|line| !line.contains("Backend::for_burn()"));
    lines.take_while(|line| *line != "Ok(())" && !line.is_empty()).collect()
}

#[test]
fn the_loop_of_the_readme_compiles() {
    let compiled = training_loop(include_str!("../../README.md"));
    assert!(compiled.len() > 10, "{compiled:?}");
    assert_eq!(training_loop(include_str!("../../../../README.md")), compiled);
}
