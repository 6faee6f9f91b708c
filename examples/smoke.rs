use gpufeed::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let folder = args[1].clone();
    let backend = match args.get(2).map(String::as_str) {
        Some("cpu") | None => Backend::Cpu,
        Some(name) => Backend::gpu(name).unwrap(),
    };
    let execute = if args.get(3).is_some() { Execute::Gpu } else { Execute::Auto };
    let loader = DataLoader::builder(ImageFolder::open(folder).unwrap())
        .transforms(recipe::named(&std::env::var("RECIPE").unwrap_or("imagenet-train".into())).unwrap())
        .batch_size(64)
        .shuffle(true)
        .workers(2)
        .execute(execute)
        .build(&backend)
        .unwrap();
    println!("{}", loader.explain());
    for e in 0..3 {
        let t = std::time::Instant::now();
        let mut n = 0;
        let mut sum = 0.0f64;
        for b in loader.epoch(e).unwrap() {
            let b = b.unwrap();
            n += b.len();
            if b.index() == 0 {
                sum += b.to_host_f32().unwrap().iter().map(|x| *x as f64).sum::<f64>();
            }
            for f in b.failures() {
                println!("{} {}", f.name, f.error)
            }
        }
        println!("{n} {:.1} img/s sum {sum}", n as f64 / t.elapsed().as_secs_f64());
    }
    println!("{}", loader.stats());
    println!("{}", loader.stats().limit());
}
