//! Makes the report card: a report that can be sent to strangers.

use super::Report;
use gpufeed::recipe;

impl Report {
    /// Returns the report without names and paths. A data set or a recipe of the user's own is only called so. Notes,
    /// which may name files, are left out. Machine, driver and every measurement stay.
    pub(crate) fn card(&self) -> Report {
        let mut card = self.clone();
        if !card.data.drawn {
            card.data.name = "a data set".to_owned();
        }
        if !recipe::NAMES.contains(&card.recipe.as_str()) {
            card.recipe = "a recipe".to_owned();
            card.recipe_toml.clear();
        }
        card.notes.clear();
        card
    }
}

#[cfg(test)]
mod tests {
    use crate::results::sample;

    #[test]
    fn a_card_names_nothing_of_the_owners() {
        let mut report = sample();
        report.data.name = "/home/me/secret-data".to_owned();
        report.data.drawn = false;
        report.recipe = "secret.toml".to_owned();
        report.recipe_toml = "name = \"secret\"".to_owned();
        report.notes = vec!["/home/me/secret-data/1.jpg is damaged".to_owned()];
        let card = report.card();
        assert!(!serde_json::to_string(&card).unwrap().contains("secret"));
        assert_eq!(
            (card.images_per_second.median, card.machine.cpu),
            (report.images_per_second.median, report.machine.cpu.clone())
        );
        report.recipe = "imagenet-train".to_owned();
        assert_eq!(report.card().recipe, "imagenet-train");
    }
}
