// Warps of floats; `src/warp.rs` has the formulas. Positions are f32 here and f64 on the CPU: they differ by less than
// 1e-4 pixels in an image of 1,000.

fn source_position(x: f32, y: f32) -> vec2<f32> {
    if gather_kind == AFFINE {
        return vec2(
            gather_first.x * x + (gather_first.y * y + gather_first.z),
            gather_first.w * x + (gather_second.x * y + gather_second.y),
        );
    }
    let at = vec2(x, y) + 0.5;
    let z = gather_second.z * at.x + gather_second.w * at.y + 1.0;
    let across = gather_first.x * at.x + gather_first.y * at.y + gather_first.z;
    let down = gather_first.w * at.x + gather_second.x * at.y + gather_second.y;
    return vec2(across, down) / z - 0.5;
}

// A pixel times its weight. A pixel of weight 0 may lie outside the part that is present.
fn tap(at: vec2<f32>, weight: f32) -> vec4<f32> {
    let inside = at.x >= 0.0 && at.y >= 0.0 && at.x < f32(gather_width) && at.y < f32(gather_height);
    if inside && weight > 0.0 {
        return vec4(pixel_before(i32(at.x), i32(at.y)).xyz, 1.0) * weight;
    }
    return vec4(0.0);
}

fn gathered(image: u32, x: i32, y: i32) -> vec4<f32> {
    let at = source_position(f32(x), f32(y));
    let fill = select(vec4(0.0, 0.0, 0.0, 1.0), gather_fill, gather_filled == 1u);
    var value = fill;
    if gather_nearest == 1u {
        let nearest = round(at);
        let last = vec2(f32(gather_width), f32(gather_height)) - 1.0;
        if nearest.x >= 0.0 && nearest.y >= 0.0 && nearest.x <= last.x && nearest.y <= last.y {
            value = pixel_before(i32(nearest.x), i32(nearest.y));
        }
    } else {
        // The sum's fourth number is the mask, the sum of the weights inside. torchvision blends with the fill by it once
        // more.
        var sum = vec4(0.0);
        if at.x > -1.0 && at.y > -1.0 && at.x < f32(gather_width) && at.y < f32(gather_height) {
            let first = floor(at);
            let share = at - first;
            sum += tap(first, (1.0 - share.x) * (1.0 - share.y));
            sum += tap(first + vec2(1.0, 0.0), share.x * (1.0 - share.y));
            sum += tap(first + vec2(0.0, 1.0), (1.0 - share.x) * share.y);
            sum += tap(first + vec2(1.0), share.x * share.y);
        }
        value = vec4(sum.xyz, 1.0);
        if gather_filled == 1u {
            value = vec4((sum.xyz - fill.xyz) * sum.w + fill.xyz, 1.0);
        }
    }
    return value;
}
