// Images of the stage whose pixels stay where they are. Autocontrast and equalize read the table of their channel, which
// `tables.wgsl` has made.

fn entry(channel: u32, k: u32) -> f32 {
    let value = statistics[gather_table + 256u * channel + k];
    if UINT8 {
        return f32(value) * (1.0 / 255.0);
    }
    return f32(value);
}

fn stretched(value: f32, channel: u32) -> f32 {
    let low = f32(statistics[gather_table + channel]);
    let high = f32(statistics[gather_table + 3u + channel]);
    return clamp(select((value - low) / (high - low), value, low == high), 0.0, 1.0);
}

fn gathered(image: u32, x: i32, y: i32) -> vec4<f32> {
    let value = load(x - gather_left, y - gather_top);
    if !UINT8 && gather_kind == AUTOCONTRAST {
        return vec4(stretched(value.x, 0u), stretched(value.y, 1u), stretched(value.z, 2u), 1.0);
    }
    if gather_kind == AUTOCONTRAST || gather_kind == EQUALIZE {
        let k = number_of_table(value);
        return vec4(entry(0u, k.x), entry(1u, k.y), entry(2u, k.z), 1.0);
    }
    return value;
}
