// Sharpness: torchvision's `adjust_sharpness_image`; see `src/cpu/gather/sharpen.rs`.

fn gathered(image: u32, x: i32, y: i32) -> vec4<f32> {
    let pixel = pixel_before(x, y);
    let edge = x == 0 || y == 0 || x + 1 >= gather_width || y + 1 >= gather_height;
    var sum = 4.0 * pixel;
    if !edge {
        for (var j = -1; j <= 1; j++) {
            for (var i = -1; i <= 1; i++) {
                sum += pixel_before(x + i, y + j);
            }
        }
    }
    return sharpened(pixel, sum, edge);
}
