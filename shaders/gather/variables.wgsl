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
    gather_kind = images[image].gather.kind;
    gather_width = images[image].gather.width;
    gather_height = images[image].gather.height;
    gather_left = images[image].gather.left;
    gather_top = images[image].gather.top;
    gather_nearest = images[image].gather.nearest;
    gather_filled = images[image].gather.filled;
    gather_table = images[image].gather.table;
    gather_first = images[image].gather.first;
    gather_second = images[image].gather.second;
    gather_fill = images[image].gather.fill;
}
