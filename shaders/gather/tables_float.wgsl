// Floats: autocontrast needs the range alone.
fn write_entry(channel: u32, k: u32, pixels: u32) {
    if gather_kind == EQUALIZE {
        statistics[gather_table + 256u * channel + k] = f32(equalized(channel, k, pixels)) * (1.0 / 255.0);
    } else if k == 0u {
        statistics[gather_table + channel] = of_ordered(atomicLoad(&least[channel]));
        statistics[gather_table + 3u + channel] = of_ordered(atomicLoad(&greatest[channel]));
    }
}
