// RGB to HSV, turned, and back: torchvision's `_rgb_to_hsv` and `_hsv_to_rgb`; red wins ties, then green.
fn hue(value: vec4<f32>, step: Step) -> vec4<f32> {
    let high = max(max(value.x, value.y), value.z);
    let low = min(min(value.x, value.y), value.z);
    let range = high - low;
    let divisor = select(range, 1.0, range == 0.0);
    // torchvision divides 0 by 0 where bicubic undershoot leaves black as the maximum; 1 keeps that pixel finite.
    let saturation = range / select(high, 1.0, high == 0.0);
    let distance = (vec3(high) - value.xyz) / divisor;
    var turn = 4.0 + distance.y - distance.x;
    if high == value.x {
        turn = distance.z - distance.y;
    } else if high == value.y {
        turn = 2.0 + distance.x - distance.z;
    }
    turn = fract(turn * (1.0 / 6.0) + 1.0);
    turn = fract(turn + step.value.x);

    let sector = floor(turn * 6.0);
    let fraction = turn * 6.0 - sector;
    let p = clamp(high * (1.0 - saturation), 0.0, 1.0);
    let q = clamp(high * (1.0 - saturation * fraction), 0.0, 1.0);
    let t = clamp(high * (1.0 - saturation * (1.0 - fraction)), 0.0, 1.0);
    switch i32(sector) % 6 {
        case 0: {
            return vec4(high, t, p, 1.0);
        }
        case 1: {
            return vec4(q, high, p, 1.0);
        }
        case 2: {
            return vec4(p, high, t, 1.0);
        }
        case 3: {
            return vec4(p, q, high, 1.0);
        }
        case 4: {
            return vec4(t, p, high, 1.0);
        }
        default: {
            return vec4(high, p, q, 1.0);
        }
    }
}
