// No contrast in this stage: no means.
fn load_means(image: u32) {}
