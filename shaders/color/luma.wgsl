// torchvision's gray, added up in its order.
fn luma(value: vec4<f32>) -> f32 {
    return value.x * 0.2989 + value.y * 0.587 + value.z * 0.114;
}
