//! An adapter's number, UUID, PCI address, or part of a name.

use super::*;

#[test]
fn a_name_chooses_by_number_uuid_address_or_part_of_a_name() {
    let rows = [FOUR[0], FOUR[1], IRIS, LAVAPIPE];
    for (name, expected) in [
        ("0", 0),
        ("3", 3),
        ("h100", 0),
        ("iris", 2),
        ("LLVM", 3),
        (&*uuid(1), 1),
        (&*uuid(1).to_uppercase(), 1),
        ("GPU-00000001", 1),
        ("gpu-00000005-d72c", 2),
        ("0000:10:00.0", 1),
        ("00000000:10:00.0", 1),
        ("30:00", 0),
        ("IntegratedGpu", 2),
    ] {
        for want in [Want::Named(name), Want::Auto, Want::Any] {
            // A variable that hides cards does not hide one that is named.
            let variables = [("GPUFEED_ADAPTER", name), ("CUDA_VISIBLE_DEVICES", "")];
            let picked = pick(&rows, want, &variables).unwrap();
            assert_eq!(picked.adapter, Some(expected), "{name} {want:?}");
            let source = (!matches!(want, Want::Named(_))).then_some("GPUFEED_ADAPTER");
            assert_eq!(picked.choice.rule, Rule::Named { name: name.to_owned(), variable: source });
        }
    }
    let names_it = |want, variables: &[(&str, &str)]| pick(&rows, want, variables).unwrap().choice.to_string();
    assert_eq!(names_it(Want::Named("iris"), &[]), "\"iris\" names it");
    assert_eq!(names_it(Want::Auto, &[("GPUFEED_ADAPTER", "iris")]), "GPUFEED_ADAPTER=iris names it");
    // One card by two drivers has one UUID.
    assert_eq!(pick(&[h100(1, 0), h100(1, 0)], Want::Named(&uuid(1)), &[]).unwrap().adapter, Some(0));
    // The line end of a file does not belong to the name: "cpu" with it would match a software adapter's description.
    for cpu in ["cpu", "CPU", " cpu\n"] {
        assert_eq!(auto(&rows, &[("GPUFEED_ADAPTER", cpu)]), (None, "GPUFEED_ADAPTER=cpu asks for the CPU".to_owned()));
        assert_eq!(pick(&rows, Want::Any, &[("GPUFEED_ADAPTER", cpu)]).unwrap().adapter, Some(0));
    }
}

#[test]
fn a_name_that_fits_nothing_is_an_error_with_all_adapters() {
    let all = "NVIDIA H100 (DiscreteGpu, Vulkan, driver); Intel Iris Xe (IntegratedGpu, Vulkan, driver)";
    let rows = [FOUR[0], IRIS];
    for name in ["radeon", "4711", "99:00.0", "GPU-ffffffff", &*uuid(8)] {
        let refused = pick(&rows, Want::Named(name), &[]).unwrap_err();
        assert_eq!(refused, format!("none matches \"{name}\"; the machine has {all}"));
        let refused = pick(&rows, Want::Auto, &[("GPUFEED_ADAPTER", name)]).unwrap_err();
        let advice = "unset it for the best GPU, or set it to cpu";
        assert_eq!(refused, format!("GPUFEED_ADAPTER: none matches \"{name}\"; the machine has {all}; {advice}"));
    }
    // An empty name is a part of every one.
    assert!(pick(&rows, Want::Named(" "), &[]).unwrap_err().starts_with("none matches \"\"; the machine has "));
    assert_eq!(pick(&[], Want::Named("x"), &[]).unwrap_err(), "none matches \"x\"; the machine has none");
    let refused = pick(&FOUR, Want::Named("GPU-0000"), &[]).unwrap_err();
    assert_eq!(refused, "\"GPU-0000\" begins the UUIDs of 4 adapters; give more of its digits");
}

#[test]
fn ranks_share_out_the_equal_cards_of_a_name() {
    let rows = [LAPTOP[1], FOUR[0], FOUR[1], FOUR[2], FOUR[3]];
    for (rank, expected) in BY_ADDRESS.into_iter().enumerate() {
        let rank = &*rank.to_string();
        for (want, variables) in [
            (Want::Auto, vec![("GPUFEED_ADAPTER", "H100"), ("LOCAL_RANK", rank)]),
            (Want::Named("H100"), vec![("LOCAL_RANK", rank)]),
        ] {
            let picked = pick(&rows, want, &variables).unwrap();
            assert_eq!(picked.adapter, Some(expected + 1), "{want:?}");
            assert!(picked.choice.to_string().ends_with("H100\" leaves 4 of 5") || matches!(want, Want::Auto));
            assert!(matches!(picked.choice.rule, Rule::LocalRank { cards: 4, .. }));
        }
        // Cards of another name, which fit, too, are not shared out.
        assert_eq!(pick(&rows, Want::Named("nvidia"), &[("LOCAL_RANK", rank)]).unwrap().adapter, Some(0));
        // A number, a UUID and an address name one card, whatever the rank.
        for name in ["1", &*uuid(3), "30:00.0"] {
            assert_eq!(pick(&rows, Want::Named(name), &[("LOCAL_RANK", rank)]).unwrap().adapter, Some(1));
        }
    }
}

#[test]
fn the_cards_of_a_name_that_are_visible_come_first() {
    // A job that got two of four cards, and names them because the screen's card would come first.
    let rows = [LAPTOP[1], FOUR[0], FOUR[1], FOUR[2], FOUR[3], IRIS];
    let [_, b, _, d] = BY_ADDRESS.map(|card| card + 1);
    // By address the screen's card has number 0.
    let job = ("CUDA_VISIBLE_DEVICES", "4,2");
    for (rank, expected) in [("0", d), ("1", b), ("2", d)] {
        for want in [Want::Named("H100"), Want::Auto] {
            let picked = pick(&rows, want, &[job, ("GPUFEED_ADAPTER", "H100"), ("LOCAL_RANK", rank)]).unwrap();
            assert_eq!(picked.adapter, Some(expected), "{rank} {want:?}");
        }
    }
    let names_it = |variables: &[(&str, &str)]| {
        let picked = pick(&rows, Want::Named("H100"), variables).unwrap();
        (picked.adapter, picked.choice.to_string())
    };
    assert_eq!(names_it(&[job]).0, Some(d));
    let sentence = names_it(&[job, ("LOCAL_RANK", "1")]).1;
    let left = "CUDA_VISIBLE_DEVICES=4,2 leaves 2 of 5";
    assert!(sentence.contains(left) && sentence.ends_with("; \"H100\" leaves 2 of 3"), "{sentence}");
    // Another vendor's variable says nothing of them.
    assert_eq!(names_it(&[("HIP_VISIBLE_DEVICES", "7")]), (Some(1), "\"H100\" names it".to_owned()));
    // A variable that hides NVIDIA's cards does not hide Intel's.
    assert_eq!(pick(&rows, Want::Named("iris"), &[job]).unwrap().choice.to_string(), "\"iris\" names it");
    // Where all of them are hidden, the name counts, and no doubt about the variable is left.
    for value in ["", "0", "MIG-41b36014"] {
        let named = (
            Some(1 + BY_ADDRESS[2]),
            "LOCAL_RANK=2 takes card 2 of 4 equal ones, counted from 0; \"H100\" leaves 4 of 6".to_owned(),
        );
        assert_eq!(names_it(&[("CUDA_VISIBLE_DEVICES", value), ("LOCAL_RANK", "2")]), named);
    }
    let none = [("CUDA_VISIBLE_DEVICES", ""), ("LOCAL_RANK", "2")];
    let verdicts = pick(&rows, Want::Named("H100"), &none).unwrap().verdicts;
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Taken | Verdict::Later)), "{verdicts:?}");
    // Two drivers list each of two cards, all of which are hidden.
    let twice = [mi300(1, 0x10), mi300(2, 0x20), mi300(3, 0x10), mi300(4, 0x20)];
    let none = [("HIP_VISIBLE_DEVICES", "-1"), ("LOCAL_RANK", "3")];
    assert_eq!(pick(&twice, Want::Named("MI300X"), &none).unwrap().adapter, Some(1));
}
