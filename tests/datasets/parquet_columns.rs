//! Which columns of a Parquet file are the labels.

use crate::parquet::{expected, in_memory, rows, samples, stored};
use gpufeed::dataset::ParquetBuilder;
use gpufeed::{Dataset, Label};
use gpufeed_testing::parquet_files::{Row, Style, file};

#[test]
fn a_class_label_beside_another_usual_label_is_chosen_by_name() {
    let rows: Vec<_> = rows(6).into_iter().map(|row| Row { label: row.label.map(|label| label % 2), ..row }).collect();
    let open = |builder: ParquetBuilder, label: &str, before: Option<(&str, &'static str)>| {
        let (label, before) = (label.to_owned(), before.map(|(name, kind)| (name.to_owned(), kind)));
        let style = Style { classes: vec!["cat".into(), "dog".into()], label, before, ..Style::default() };
        let (_folder, path) = stored(&file(&rows, &style));
        let opened = builder.open(&path).map_err(|error| error.to_string())?;
        let notices: Vec<_> = opened.notices().iter().map(ToString::to_string).collect();
        let labels = samples(&opened).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        Ok::<_, String>((labels, notices.join("; ")))
    };
    let classes: Vec<_> = expected(&rows).into_iter().map(|(_, label)| label).collect();
    let numbers: Vec<_> = (0..6).map(Label::Class).collect();
    for before in ["label", "labels", "target", "class"] {
        let error = open(in_memory(), "breed", Some((before, "int64"))).unwrap_err();
        let says = format!(
            "several could be the label: {before}, breed, by their names or as ClassLabel; choose with label_column"
        );
        assert!(error.contains(&says), "{error}");
        let (labels, said) = open(in_memory().label_column("breed"), "breed", Some((before, "int64"))).unwrap();
        let not_read = format!("not read: the column {before}");
        assert_eq!(
            (labels, said),
            (classes.clone(), format!("labels are 2 classes with names, from the column breed; {not_read}"))
        );
        let (labels, _) = open(in_memory().label_column(before), "breed", Some((before, "int64"))).unwrap();
        assert_eq!(labels, numbers);
    }
    // A ClassLabel with a usual name, and one beside a text: nothing else can be meant.
    for (label, before) in
        [("label", ("target", "int64")), ("breed", ("label", "binary")), ("breed", ("width", "int64"))]
    {
        let (labels, said) = open(in_memory(), label, Some(before)).unwrap();
        assert_eq!(labels, classes);
        assert!(said.contains(&format!("from the column {label}; not read: the column {}", before.0)), "{said}");
    }
    assert_eq!(open(in_memory(), "breed", None).unwrap().0, classes);
}
