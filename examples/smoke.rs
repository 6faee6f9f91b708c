use gpufeed::transforms::*;
use gpufeed::*;
fn main() {
    println!("{:?}", Gpu::adapters());
    let gpu = Backend::gpu("llvmpipe").unwrap();
    let pixels: Vec<u8> = (0..97 * 71 * 3u32).map(|i| (i.wrapping_mul(2654435761) >> 24) as u8).collect();
    for list in [
        vec![Transform::from(RandomResizedCrop::new(32)), RandomHorizontalFlip::new(0.5).into(), ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(), Normalize::IMAGENET.into()],
        vec![Resize::new((20, 120)).into()],
        vec![Resize::new((20, 120)).interpolation(Interpolation::Bicubic).into(), Pad::new(3).padding_mode(PaddingMode::Reflect).into()],
        vec![ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(), Resize::new((97, 71)).into(), ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(), RandomCrop::new(33).into()],
    ] {
        for dtype in [DType::F32, DType::F16] {
            let plan = Plan::compile(&list, &Output { dtype, ..Default::default() }).unwrap();
            print!("{plan}");
            let draws: Vec<_> = (0..5).map(|sample| plan.draw(97, 71, &Key { sample, ..Default::default() }).unwrap()).collect();
            let px = Pixels::new(97, 71, PixelFormat::Rgb8, &pixels).unwrap();
            let images: Vec<_> = draws.iter().map(|d| (px, d)).collect();
            let a = Processor::new(&plan, &Backend::Cpu).unwrap().run(&images).unwrap();
            let b = Processor::new(&plan, &gpu).unwrap().run(&images).unwrap();
            if dtype == DType::F32 {
                let d = a.chunks(4).zip(b.chunks(4)).map(|(a, b)| (f32::from_ne_bytes(a.try_into().unwrap()) - f32::from_ne_bytes(b.try_into().unwrap())).abs()).fold(0.0, f32::max);
                println!("max diff {d}");
            } else {
                println!("different bytes {} of {}", a.iter().zip(&b).filter(|(a, b)| a != b).count(), a.len());
            }
        }
    }
}
