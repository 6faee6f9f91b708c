//! Makes the report card: a report that can be sent to strangers.

use super::Report;
use gpufeed::recipe;

impl Report {
    /// Returns the report without names and paths. A data set or a recipe of the user's own is only called so. Notes,
    /// which may name files, are left out. Machine, driver and every measurement stay.
    ///
    /// A card's UUID is a serial number: two report cards with it are of one machine, and logs elsewhere may have it. So
    /// it is left out, as is the rule of the choice, which may quote it. The PCI address is the same in all machines of a
    /// model, and stays: it tells which of several cards was measured.
    pub(crate) fn card(&self) -> Report {
        let mut card = self.clone();
        if !card.data.drawn {
            card.data.name = "a data set".to_owned();
        }
        if !recipe::NAMES.contains(&card.recipe.as_str()) {
            card.recipe = "a recipe".to_owned();
            card.recipe_toml.clear();
            for (group, number) in card.groups.iter_mut().zip(1..) {
                group.name = format!("group {number}");
            }
        }
        card.notes.clear();
        card.adapter_uuid = None;
        card.chosen = None;
        card
    }
}

#[cfg(test)]
mod tests {
    use crate::results::{Group, sample};

    #[test]
    fn a_card_names_nothing_of_the_owners() {
        let mut report = sample();
        report.data.name = "/home/me/secret-data".to_owned();
        report.data.drawn = false;
        report.recipe = "secret.toml".to_owned();
        report.recipe_toml = "name = \"secret\"".to_owned();
        report.groups = vec![Group { name: "secret".to_owned(), ..Group::default() }];
        report.notes = vec!["/home/me/secret-data/1.jpg is damaged".to_owned()];
        let uuid = "8932f937-d72c-4106-c12f-20bd9faed9f6";
        report.adapter_uuid = Some(uuid.to_owned());
        report.adapter_pci = Some("0000:65:00.0".to_owned());
        report.chosen = Some(format!("GPUFEED_ADAPTER={uuid} names it"));
        let card = report.card();
        assert!(!serde_json::to_string(&card).unwrap().contains(uuid));
        assert_eq!(card.adapter_pci.as_deref(), Some("0000:65:00.0"));
        assert!(!serde_json::to_string(&card).unwrap().contains("secret"));
        assert_eq!(
            (card.images_per_second.median, card.machine.cpu),
            (report.images_per_second.median, report.machine.cpu.clone())
        );
        report.recipe = "imagenet-train".to_owned();
        assert_eq!(report.card().recipe, "imagenet-train");
    }
}
