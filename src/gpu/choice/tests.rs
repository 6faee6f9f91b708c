//! Tables of adapters and variables, and the adapter that each chooses.

mod named;

use super::*;
use crate::gpu::identity::{AMD, NVIDIA};
use wgpu::{Backend, DeviceType};

/// An adapter of a table: name, kind, API, vendor, digit of its UUID, bus of its PCI address (0 for none).
type Row = (&'static str, DeviceType, Backend, u32, u8, u8);

const INTEL: u32 = 0x8086;
const MESA: u32 = 0x10005;

fn uuid(digit: u8) -> String {
    format!("{digit:08x}-d72c-4106-c12f-20bd9faed9f6")
}

fn card(&(name, kind, backend, vendor, digit, bus): &Row) -> Card {
    let identity = Identity {
        uuid: (digit != 0).then(|| uuid(digit)),
        pci: (bus != 0).then(|| format!("0000:{bus:02x}:00.0")),
        ..Identity::default()
    };
    let description = format!("{name} ({kind:?}, {backend:?}, driver)");
    Card { name: name.to_owned(), description, kind, backend, vendor, identity }
}

fn cards(rows: &[Row]) -> Vec<Card> {
    rows.iter().map(card).collect()
}

const fn h100(digit: u8, bus: u8) -> Row {
    ("NVIDIA H100", DeviceType::DiscreteGpu, Backend::Vulkan, NVIDIA, digit, bus)
}

const fn mi300(digit: u8, bus: u8) -> Row {
    ("AMD Instinct MI300X", DeviceType::DiscreteGpu, Backend::Vulkan, AMD, digit, bus)
}

/// Four equal cards in the order of Vulkan, which is not that of their addresses: 2, 0, 3, 1.
const FOUR: [Row; 4] = [h100(3, 0x30), h100(1, 0x10), h100(4, 0x40), h100(2, 0x20)];
/// Their numbers in the list, by address.
const BY_ADDRESS: [usize; 4] = [1, 3, 0, 2];
const OPENGL: Row = ("NVIDIA H100/PCIe/SSE2", DeviceType::Other, Backend::Gl, NVIDIA, 0, 0);
const LAVAPIPE: Row = ("llvmpipe", DeviceType::Cpu, Backend::Vulkan, MESA, 9, 0);
const LLVMPIPE: Row = ("llvmpipe", DeviceType::Cpu, Backend::Gl, MESA, 0, 0);
const IRIS: Row = ("Intel Iris Xe", DeviceType::IntegratedGpu, Backend::Vulkan, INTEL, 5, 2);
const LAPTOP: [Row; 5] = [
    IRIS,
    ("NVIDIA RTX 4060", DeviceType::DiscreteGpu, Backend::Vulkan, NVIDIA, 6, 1),
    ("Mesa Intel Iris Xe", DeviceType::IntegratedGpu, Backend::Gl, INTEL, 0, 0),
    LAVAPIPE,
    LLVMPIPE,
];

fn pick(rows: &[Row], want: Want<'_>, variables: &[(&str, &str)]) -> Result<Picked, String> {
    let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    choose(&cards(rows), want, &variable)
}

/// The number of the adapter, and the sentence.
fn auto(rows: &[Row], variables: &[(&str, &str)]) -> (Option<usize>, String) {
    let picked = pick(rows, Want::Auto, variables).unwrap();
    let taken = picked.verdicts.iter().position(|verdict| *verdict == Verdict::Taken);
    assert_eq!(taken, picked.adapter, "{:?}", picked.verdicts);
    (picked.adapter, picked.choice.to_string())
}

#[test]
fn without_variables_the_first_of_the_best_kind_is_taken() {
    let best = "the first in this order: discrete, integrated, virtual; OpenGL after the better APIs";
    for (rows, expected) in [
        (&FOUR[..], Some(0)),
        (&LAPTOP[..], Some(1)),
        (&[IRIS, LAVAPIPE][..], Some(0)),
        (&[LLVMPIPE, OPENGL][..], Some(1)),
        (&[("AMD Radeon", DeviceType::DiscreteGpu, Backend::Gl, AMD, 0, 0), h100(1, 0x10)][..], Some(1)),
    ] {
        assert_eq!(auto(rows, &[]), (expected, best.to_owned()));
    }
    for rows in [&[][..], &[LAVAPIPE, LLVMPIPE]] {
        assert_eq!(auto(rows, &[]), (None, "no GPU has an adapter".to_owned()));
    }
    for empty in ["", " \n"] {
        assert_eq!(auto(&FOUR, &[("GPUFEED_ADAPTER", empty)]), (Some(0), best.to_owned()));
    }
    let picked = pick(&LAPTOP, Want::Auto, &[]).unwrap();
    use Verdict::{Again, Later, Software, Taken};
    // OpenGL lists the laptop's Intel card again.
    assert_eq!(picked.verdicts, [Later, Taken, Again(0), Software, Software]);
    // Nothing is known of these two.
    let [vulkan, opengl] = [Backend::Vulkan, Backend::Gl].map(|api| ("GPU", DeviceType::Other, api, 0, 0, 0));
    assert_eq!(pick(&[vulkan, opengl], Want::Auto, &[]).unwrap().verdicts, [Taken, Later]);
}

#[test]
fn each_local_rank_takes_a_card_of_its_own() {
    for variable in ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"] {
        for (rank, expected) in BY_ADDRESS.into_iter().enumerate() {
            let variables = [(variable, &*rank.to_string()), ("SLURM_STEP_ID", "0")];
            let sentence = format!("{variable}={rank} takes card {rank} of 4 equal ones, counted from 0");
            // Neither OpenGL's adapter of one of them nor software counts.
            let rows = [&FOUR[..], &[OPENGL, LAVAPIPE]].concat();
            assert_eq!(auto(&rows, &variables), (Some(expected), sentence));
        }
    }
    // A batch script is no step.
    assert_eq!(auto(&FOUR, &[("SLURM_LOCALID", "1")]).0, Some(0));
    // The innermost launcher counts.
    let nested = [("SLURM_STEP_ID", "0"), ("SLURM_LOCALID", "0"), ("LOCAL_RANK", "2")];
    assert_eq!(auto(&FOUR, &nested).0, Some(BY_ADDRESS[2]));
    let refused = pick(&FOUR, Want::Auto, &[("LOCAL_RANK", "two")]).unwrap_err();
    assert!(refused.starts_with("LOCAL_RANK=two is no whole number"), "{refused}");
}

#[test]
fn ranks_beyond_the_last_card_begin_again() {
    let (taken, sentence) = auto(&FOUR, &[("LOCAL_RANK", "6")]);
    assert_eq!(taken, Some(BY_ADDRESS[2]));
    assert!(
        sentence.ends_with("takes card 2 of 4 equal ones, counted from 0 (ranks beyond the last card begin again)")
    );
    let laptop = auto(&LAPTOP, &[("LOCAL_RANK", "3")]);
    assert_eq!(laptop, (Some(1), "LOCAL_RANK=3 has one card to take".to_owned()));
    assert_eq!(auto(&[LAVAPIPE], &[("LOCAL_RANK", "3")]).0, None);
}

#[test]
fn equal_cards_are_those_of_one_name_kind_and_api() {
    let old = ("NVIDIA T400", DeviceType::DiscreteGpu, Backend::Vulkan, NVIDIA, 7, 0x05);
    let mixed = [FOUR[0], old, FOUR[1], mi300(8, 0x50)];
    // The best one is the first of the list, as without a launcher.
    for (rank, expected) in [("0", 2), ("1", 0), ("2", 2)] {
        assert_eq!(auto(&mixed, &[("LOCAL_RANK", rank)]).0, Some(expected), "{rank}");
    }
    // One card by Vulkan and by Direct3D: two adapters, one card. The LUIDs say so, as do UUIDs and addresses.
    let mut twice = cards(&[h100(1, 0x10), h100(2, 0x20), h100(0, 0), h100(0, 0)]);
    for (card, luid) in [(0, 70), (1, 71), (2, 70), (3, 71)] {
        twice[card].identity.luid = Some(luid);
        twice[card].backend = if card < 2 { Backend::Vulkan } else { Backend::Dx12 };
    }
    for (rank, expected) in [("0", 0), ("1", 1), ("2", 0)] {
        let variable = |name: &str| (name == "LOCAL_RANK").then(|| rank.to_owned());
        let picked = choose(&twice, Want::Auto, &variable).unwrap();
        assert_eq!(picked.adapter, Some(expected));
        assert_eq!(&picked.verdicts[2..], [Verdict::Again(0), Verdict::Again(1)]);
    }
    // Two drivers of one card: another UUID, the same address.
    let two_drivers = [mi300(1, 0x10), mi300(2, 0x20), mi300(3, 0x10), mi300(4, 0x20)];
    assert_eq!(auto(&two_drivers, &[("LOCAL_RANK", "3")]).0, Some(1));
    // A driver that gives all cards of a model one UUID.
    assert_eq!(auto(&[h100(1, 0x10), h100(1, 0x20)], &[("LOCAL_RANK", "1")]).0, Some(1));
    // Without addresses the driver's order counts.
    let without = [h100(1, 0), h100(2, 0)];
    assert_eq!([0, 1].map(|rank| auto(&without, &[("LOCAL_RANK", &rank.to_string())]).0), [Some(0), Some(1)]);
}

#[test]
fn cuda_visible_devices_hides_cards_and_numbers_them_anew() {
    let [a, b, c, d] = BY_ADDRESS;
    let named =
        |digits: &[u8]| digits.iter().map(|&digit| format!("GPU-{}", uuid(digit))).collect::<Vec<_>>().join(",");
    for (value, expected) in [
        ("0", vec![a]),
        ("3", vec![d]),
        ("2,1", vec![c, b]),
        (" 2 , 1 ", vec![c, b]),
        ("0,2,-1,1", vec![a, c]),
        ("1,1,0", vec![b, a]),
        ("3,7,0", vec![d]),
        (&*named(&[4, 1]), vec![d, a]),
        ("GPU-00000002", vec![b]),
        ("GPU-00000002-D72C", vec![b]),
        ("GPU-00000002,3", vec![b, d]),
    ] {
        let left = expected.len();
        for rank in 0..5 {
            let variables = [("CUDA_VISIBLE_DEVICES", value), ("LOCAL_RANK", &*rank.to_string())];
            assert_eq!(auto(&FOUR, &variables).0, Some(expected[rank % left]), "{value}, rank {rank}");
        }
        // Without a launcher it is CUDA's first device.
        let (taken, sentence) = auto(&FOUR, &[("CUDA_VISIBLE_DEVICES", value)]);
        assert_eq!(taken, Some(expected[0]), "{value}");
        assert!(sentence.contains(&format!("; CUDA_VISIBLE_DEVICES={value} leaves {left} of 4")), "{sentence}");
    }
}

#[test]
fn a_launcher_may_show_each_rank_its_own_card_alone() {
    // As Ray, and Slurm with --gpus-per-task=1: one visible device, whatever the rank.
    for (rank, expected) in BY_ADDRESS.into_iter().enumerate() {
        let rank = &*rank.to_string();
        let (taken, sentence) = auto(&FOUR, &[("CUDA_VISIBLE_DEVICES", rank), ("LOCAL_RANK", rank)]);
        assert_eq!(taken, Some(expected));
        assert_eq!(
            sentence,
            format!("LOCAL_RANK={rank} has one card to take; CUDA_VISIBLE_DEVICES={rank} leaves 1 of 4")
        );
    }
}

#[test]
fn nothing_visible_is_the_cpu_and_says_why() {
    for value in ["", "-1", " ", "NoDevFiles", "-1,0"] {
        let (taken, sentence) = auto(&FOUR, &[("CUDA_VISIBLE_DEVICES", value), ("LOCAL_RANK", "1")]);
        assert_eq!(taken, None, "{value}");
        assert_eq!(sentence, format!("every GPU is hidden; CUDA_VISIBLE_DEVICES={value} leaves 0 of 4"));
    }
    // The other vendor's card stays, and so do software adapters for whoever takes one.
    assert_eq!(auto(&LAPTOP, &[("CUDA_VISIBLE_DEVICES", "")]).0, Some(0));
    assert_eq!(auto(&LAPTOP, &[("HIP_VISIBLE_DEVICES", "")]).0, Some(1));
    let hidden = [("CUDA_VISIBLE_DEVICES", "-1")];
    let rows = [FOUR[0], OPENGL, LAVAPIPE];
    let picked = pick(&rows, Want::Any, &hidden).unwrap();
    assert_eq!(picked.adapter, Some(2));
    assert_eq!(picked.verdicts[..2], [Verdict::Hidden("CUDA_VISIBLE_DEVICES"), Verdict::Again(0)]);
}

#[test]
fn rocms_variables_are_about_amds_cards_and_narrow_each_other() {
    let rows = [mi300(3, 0x30), mi300(1, 0x10), mi300(2, 0x20)];
    let taken = |variables: &[(&str, &str)]| auto(&rows, variables).0;
    assert_eq!(taken(&[("CUDA_VISIBLE_DEVICES", "2")]), Some(0));
    assert_eq!(taken(&[("HIP_VISIBLE_DEVICES", "2")]), Some(0));
    assert_eq!(taken(&[("ROCR_VISIBLE_DEVICES", "1")]), Some(2));
    // HIP counts what ROCR has left: cards 2 and 0, of which 1 is card 0.
    assert_eq!(taken(&[("ROCR_VISIBLE_DEVICES", "2,0"), ("HIP_VISIBLE_DEVICES", "1")]), Some(1));
    let (taken, sentence) = auto(&rows, &[("ROCR_VISIBLE_DEVICES", "2,0"), ("HIP_VISIBLE_DEVICES", "")]);
    assert_eq!(taken, None);
    let left = "ROCR_VISIBLE_DEVICES=2,0 leaves 2 of 3; HIP_VISIBLE_DEVICES= leaves 0 of 2";
    assert_eq!(sentence, format!("every GPU is hidden; {left}"));
    // ROCm's own UUIDs, of 16 digits.
    let mut of_rocm = cards(&rows);
    of_rocm[2].identity.rocm = Some("deadbeefdeadbeef".to_owned());
    let variable = |name: &str| (name == "ROCR_VISIBLE_DEVICES").then(|| "GPU-DEADBEEFDEADBEEF".to_owned());
    assert_eq!(choose(&of_rocm, Want::Auto, &variable).unwrap().adapter, Some(2));
    // Each vendor's variable leaves the other vendor's cards, in their place.
    let both = [mi300(8, 0x50), FOUR[0], FOUR[1]];
    assert_eq!(auto(&both, &[("CUDA_VISIBLE_DEVICES", "1")]).0, Some(0));
    assert_eq!(auto(&both, &[("CUDA_VISIBLE_DEVICES", "1"), ("HIP_VISIBLE_DEVICES", "-1")]).0, Some(1));
    let both = [FOUR[0], FOUR[1], mi300(8, 0x50)];
    assert_eq!(auto(&both, &[("CUDA_VISIBLE_DEVICES", "0")]).0, Some(1));
    // A variable's order is one among cards of a kind.
    let thor = ("NVIDIA Thor", DeviceType::IntegratedGpu, Backend::Vulkan, NVIDIA, 7, 0x01);
    assert_eq!(
        auto(&[FOUR[0], thor], &[("CUDA_VISIBLE_DEVICES", "0,1"), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")]).0,
        Some(0)
    );
}

#[test]
fn what_is_not_certain_is_said() {
    let doubts = |rows: &[Row], variables: &[(&str, &str)]| {
        let picked = pick(rows, Want::Auto, variables).unwrap();
        let said = picked.choice.doubts();
        let all: Vec<Doubt> = picked.choice.narrowed.into_iter().flat_map(|narrowed| narrowed.doubts).collect();
        assert_eq!(said.len(), all.len());
        assert!(said.iter().all(|text| text.contains("_VISIBLE_DEVICES=")), "{said:?}");
        (picked.adapter, all)
    };
    let mig = "MIG-41b36014-4ecf-5a2b-9f39-5f1a4d4c4b5e";
    let cuda = |value| [("CUDA_VISIBLE_DEVICES", value)];
    assert_eq!(doubts(&FOUR, &cuda(mig)), (None, vec![Doubt::Partition(mig.to_owned())]));
    assert_eq!(doubts(&FOUR, &cuda("7")), (None, vec![Doubt::Beyond { number: "7".to_owned(), cards: 4 }]));
    assert_eq!(doubts(&FOUR, &cuda("GPU-ffff")), (None, vec![Doubt::Unknown("GPU-ffff".to_owned())]));
    assert_eq!(doubts(&FOUR, &cuda("GPU-0000")), (None, vec![Doubt::Ambiguous("GPU-0000".to_owned())]));
    // CUDA takes as few digits as tell the cards apart.
    assert_eq!(doubts(&FOUR, &cuda("GPU-0")), (None, vec![Doubt::Ambiguous("GPU-0".to_owned())]));
    assert_eq!(doubts(&[FOUR[0]], &cuda("GPU-0")), (Some(0), vec![]));
    assert_eq!(doubts(&FOUR, &cuda("all")), (None, vec![Doubt::Unknown("all".to_owned())]));
    assert_eq!(doubts(&FOUR, &cuda("GPU-")), (None, vec![Doubt::Unknown("GPU-".to_owned())]));
    // CUDA counts unequal cards by their speed, which no graphics API tells.
    let mixed = [FOUR[0], ("NVIDIA T400", DeviceType::DiscreteGpu, Backend::Vulkan, NVIDIA, 7, 0x05)];
    assert_eq!(doubts(&mixed, &cuda("0")), (Some(1), vec![Doubt::Order]));
    let by_address = [("CUDA_VISIBLE_DEVICES", "0"), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")];
    assert_eq!(doubts(&mixed, &by_address), (Some(1), vec![]));
    assert_eq!(doubts(&mixed, &cuda("GPU-00000003")), (Some(0), vec![]));
    assert_eq!(doubts(&[h100(1, 0), h100(2, 0)], &cuda("1")), (Some(1), vec![Doubt::NoAddresses]));
    assert_eq!(doubts(&[h100(1, 0)], &cuda("0")), (Some(0), vec![]));
    assert_eq!(doubts(&FOUR, &cuda("0")), (Some(BY_ADDRESS[0]), vec![]));
    // ROCm's numbers are its own, whatever CUDA's order; HIP counts the cards that ROCR lists.
    let radeons = [mi300(1, 0x10), ("AMD Radeon", DeviceType::DiscreteGpu, Backend::Vulkan, AMD, 2, 0x20)];
    let hip = [("HIP_VISIBLE_DEVICES", "1"), ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")];
    assert_eq!(doubts(&radeons, &hip), (Some(1), vec![Doubt::Order]));
    let both = [("ROCR_VISIBLE_DEVICES", "GPU-00000002,GPU-00000001"), hip[0]];
    assert_eq!(doubts(&radeons, &both), (Some(0), vec![]));
}
