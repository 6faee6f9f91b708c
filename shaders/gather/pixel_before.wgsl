// A pixel of the image before; in numbers of 8 bits as such.
fn pixel_before(x: i32, y: i32) -> vec4<f32> {
    let value = load(x - gather_left, y - gather_top);
    if UINT8 {
        return round(value * 255.0);
    }
    return value;
}
