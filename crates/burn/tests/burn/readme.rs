//! The training loop of the repository's README is that of this crate's, which is compiled.

/// The lines of the one Rust code block of `text` that has the loop in it, from the backend to the loop's end, without
/// indentation.
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
