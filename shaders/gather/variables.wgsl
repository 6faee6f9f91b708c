// The numbers of the image's operator, which a thread reads once; `Gather` says what they are.
var<private> gather_kind: u32;
var<private> gather_width: i32;
var<private> gather_height: i32;
var<private> gather_left: i32;
var<private> gather_top: i32;
var<private> gather_nearest: u32;
var<private> gather_filled: u32;
var<private> gather_table: u32;
var<private> gather_first: vec4<f32>;
var<private> gather_second: vec4<f32>;
var<private> gather_fill: vec4<f32>;

fn load_gather(image: u32) {
    let gather = images[image].gather;
    gather_kind = gather.kind;
    gather_width = gather.width;
    gather_height = gather.height;
    gather_left = gather.left;
    gather_top = gather.top;
    gather_nearest = gather.nearest;
    gather_filled = gather.filled;
    gather_table = gather.table;
    gather_first = gather.first;
    gather_second = gather.second;
    gather_fill = gather.fill;
}
