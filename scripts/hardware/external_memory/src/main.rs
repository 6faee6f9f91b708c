//! Probe: can a buffer on which wgpu computes lie in memory that another API uses at the same time, ordered by exported
//! semaphores? The other API is a second Vulkan device (`vulkan.rs`), or CUDA's driver API (`cuda.rs`). Nothing of wgpu
//! is patched, and every word of every round is compared.
//!
//!     external_memory [--rounds N] [--order host|binary|timeline|unordered] [--adapter N] [--uuid UUID]
//!                     [--cuda LIBRARY]
//!
//! Without --adapter, which counts in the driver's order, and --uuid: every adapter, one after the other. Without
//! --order: those of `Order::ALL` that the driver can export. With --cuda, such as `libcuda.so.1`, the consumer is that
//! library. A software driver's memory is a file, which is also mapped and compared (`mapping.rs`).
//!
//! One line for each order: `result: adapter=0 consumer=cuda order=binary hand-overs=20 wrong=0 milliseconds=12.3`. The
//! exit code is 0 if all words were right, 1 if some were not or a call failed, 2 for wrong arguments, 3 where nothing
//! could be tried. Wrong words of the order `unordered` are no failure: they show that the comparison can fail.

mod cuda;
mod facts;
mod mapping;
mod order;
mod pattern;
mod producer;
mod vulkan;

use facts::{Facts, hex};
use order::Order;
use producer::Producer;
use std::process::ExitCode;
use std::time::Instant;

/// The other side of a hand-over.
trait Consumer {
    /// Waits for the producer as the order says, reads the buffer, and says that the buffer is free again.
    fn read(&mut self, round: u32) -> Result<&[u32], String>;
}

struct Arguments {
    rounds: u32,
    order: Option<Order>,
    adapter: Option<usize>,
    /// 32 digits.
    uuid: Option<String>,
    cuda: Option<String>,
}

/// What came of one adapter, consumer and order.
struct Outcome {
    wrong: u64,
    milliseconds: f64,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(reason) => {
            eprintln!("external_memory: {reason}");
            return ExitCode::from(2);
        }
    };
    let (mut tried, mut failed) = (0, 0);
    for (number, adapter) in facts::adapters().into_iter().enumerate() {
        if arguments.adapter.is_some_and(|asked| asked != number) {
            continue;
        }
        let info = adapter.get_info();
        println!("adapter {number}: {} ({} {})", info.name, info.driver, info.driver_info);
        let facts = match Facts::of(&adapter) {
            Ok(facts) => facts,
            Err(reason) => {
                println!("  not possible: {reason}");
                continue;
            }
        };
        println!("  {facts}");
        if arguments.uuid.as_ref().is_some_and(|asked| *asked != hex(&facts.uuid)) {
            println!("  --uuid asks for another");
            continue;
        }
        let consumer = if arguments.cuda.is_some() { "cuda" } else { "vulkan" };
        for order in Order::ALL.into_iter().filter(|order| arguments.order.is_none_or(|asked| asked == *order)) {
            let name = format!("adapter={number} consumer={consumer} order={order}");
            if !facts.exports(order) {
                println!("not possible: {name}: the driver exports no such semaphore");
                continue;
            }
            tried += 1;
            match hand_over(&adapter, order, &arguments) {
                Ok(Outcome { wrong, milliseconds }) => {
                    failed += u32::from(wrong > 0 && order != Order::Unordered);
                    let rounds = arguments.rounds;
                    println!("result: {name} hand-overs={rounds} wrong={wrong} milliseconds={milliseconds:.2}");
                }
                Err(reason) => {
                    failed += 1;
                    println!("failed: {name}: {reason}");
                }
            }
        }
    }
    match (tried, failed) {
        (0, _) => {
            println!("nothing could be tried");
            ExitCode::from(3)
        }
        (_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { rounds: 20, order: None, adapter: None, uuid: None, cuda: None };
    let mut given = std::env::args().skip(1);
    while let Some(option) = given.next() {
        let value = given.next().ok_or_else(|| format!("{option}: its value is missing"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("{option}: {value} is no number"));
        match option.as_str() {
            "--rounds" => arguments.rounds = number()?.max(1),
            "--adapter" => arguments.adapter = Some(number()? as usize),
            "--order" => {
                let order =
                    Order::named(&value).ok_or_else(|| format!("--order: {value}; {:?} are known", Order::ALL))?;
                arguments.order = Some(order);
            }
            "--uuid" => arguments.uuid = Some(value.replace('-', "").to_lowercase()),
            "--cuda" => arguments.cuda = Some(value),
            _ => {
                let known = "--rounds, --order, --adapter, --uuid and --cuda";
                return Err(format!("{option}: no such option; {known} are known"));
            }
        }
    }
    Ok(arguments)
}

/// Hands a buffer over `rounds` times, by a device and a consumer of its own.
fn hand_over(adapter: &wgpu::Adapter, order: Order, arguments: &Arguments) -> Result<Outcome, String> {
    let mut producer = Producer::open(adapter, order)?;
    // The memory of some cards can be mapped, too: AMD's, through the processor's window, at a hundredth of its speed.
    let is_software = adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    let mut mapping = if is_software { mapping::Mapping::of(producer.memory_fd()?) } else { None };
    let shared = producer.share()?;
    let mut consumer: Box<dyn Consumer> = match &arguments.cuda {
        Some(library) => Box::new(cuda::Cuda::import(library, shared)?),
        None => Box::new(vulkan::Vulkan::import(shared)?),
    };
    let (mut wrong, mut wrong_in_file) = (0, 0);
    let began = Instant::now();
    for round in 0..arguments.rounds {
        producer.write(round)?;
        wrong += pattern::wrong(consumer.read(round)?, round);
        if order != Order::Unordered
            && let Some(mapping) = &mut mapping
        {
            wrong_in_file += mapping.wrong(round)?;
        }
    }
    let milliseconds = 1e3 * began.elapsed().as_secs_f64() / f64::from(arguments.rounds);
    match &mapping {
        Some(mapping) => {
            println!("  mapped file: the memory begins at byte {}; {wrong_in_file} wrong words", mapping.begin())
        }
        None if is_software => println!("  mapped file: the memory's descriptor is no file"),
        None => println!("  mapped file: only that of a software driver"),
    }
    drop(consumer);
    producer.close()?;
    Ok(Outcome { wrong: wrong + wrong_in_file, milliseconds })
}
