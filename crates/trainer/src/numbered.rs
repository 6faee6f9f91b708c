//! Wraps data sets whose classes have no names, such as CIFAR without its file of names, or arrays of numpy.

use gpufeed::{Dataset, Label, Result, Sample};
use std::error::Error;

/// Class numbers from this one on are refused: such labels are probably not classes but other numbers.
const MOST_CLASSES: u32 = 100_000;

/// A data set whose classes have names. Classes without names are named by their numbers.
pub(crate) struct Numbered {
    data: Box<dyn Dataset>,
    classes: Vec<String>,
}

impl Numbered {
    /// Wraps a data set. If its classes have no names, every sample is read once to find the largest class.
    pub(crate) fn new(data: Box<dyn Dataset>) -> Result<Numbered, Box<dyn Error>> {
        let mut classes = data.classes().to_vec();
        if classes.is_empty() {
            let mut buffer = Vec::new();
            let mut most = 0;
            for index in 0..data.len() {
                let sample = data.read(index, &mut buffer);
                match sample.map_err(|error| format!("--data: {}: {error}", data.name(index)))?.label {
                    Label::Class(class) if class < MOST_CLASSES => most = most.max(class),
                    Label::Class(class) => {
                        let name = data.name(index);
                        return Err(format!("--data: {name} has the class {class}, {MOST_CLASSES} at most").into());
                    }
                    label => return Err(format!("--data: {} is no class but {label:?}", data.name(index)).into()),
                }
            }
            classes = (0..=most).map(|class| class.to_string()).collect();
        }
        Ok(Numbered { data, classes })
    }

    /// Wraps the two parts of one data set. If the classes have no names, both parts get the classes of the part with
    /// more of them.
    pub(crate) fn pair(
        first: Box<dyn Dataset>,
        second: Box<dyn Dataset>,
    ) -> Result<(Numbered, Numbered), Box<dyn Error>> {
        let unnamed = first.classes().is_empty() && second.classes().is_empty();
        let (mut first, mut second) = (Numbered::new(first)?, Numbered::new(second)?);
        if unnamed {
            let most = if first.classes.len() > second.classes.len() { &first } else { &second };
            let classes = most.classes.clone();
            (first.classes, second.classes) = (classes.clone(), classes);
        }
        Ok((first, second))
    }
}

impl Dataset for Numbered {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.data.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&*self.data)
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }
}
