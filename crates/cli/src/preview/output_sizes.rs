//! The sizes of draws, group by group: one, or several where a recipe has an arrangement.

use super::draws::{Draw, Drawn};

/// Describes the sizes of the draws, one for each group, or the least and the greatest where they differ.
pub(super) fn in_words(rows: &[Drawn]) -> String {
    let mut groups: Vec<Vec<&Draw>> = Vec::new();
    for draw in rows.iter().flat_map(|row| &row.draws) {
        match groups.iter_mut().find(|group| group[0].group == draw.group) {
            Some(group) => group.push(draw),
            None => groups.push(vec![draw]),
        }
    }
    let of_group = |draws: &Vec<&Draw>| {
        let span = |side: fn(&Draw) -> u32| {
            let sides = || draws.iter().map(|draw| side(draw));
            match (sides().min().unwrap_or(0), sides().max().unwrap_or(0)) {
                (least, greatest) if least == greatest => least.to_string(),
                (least, greatest) => format!("{least}-{greatest}"),
            }
        };
        let (width, height) = (span(|draw| draw.size.0), span(|draw| draw.size.1));
        let mut scales: Vec<String> = draws.iter().map(|draw| scaled(draw)).collect();
        scales.dedup();
        let scaled = match &mut scales[..] {
            [same] => std::mem::take(same),
            _ => ", fitted to the sheet".to_owned(),
        };
        let group = draws[0].group.as_ref().map_or_else(String::new, |group| format!("{group} "));
        format!("; {group}outputs of {width}x{height}{scaled}")
    };
    groups.iter().map(of_group).collect()
}

/// Says by how much a draw is enlarged or reduced on the sheet.
fn scaled(draw: &Draw) -> String {
    let (own, shown) = (draw.size.0, draw.picture.width());
    if shown > own {
        format!(", enlarged {} times", shown / own)
    } else if shown < own {
        format!(", reduced to {:.0} %", 100.0 * f64::from(shown) / f64::from(own))
    } else {
        String::new()
    }
}

/// The groups whose draws have several sizes.
pub(super) fn groups_with_several(rows: &[Drawn]) -> Vec<Option<String>> {
    let mut first: Vec<&Draw> = Vec::new();
    let mut several = Vec::new();
    for draw in rows.iter().flat_map(|row| &row.draws) {
        match first.iter().find(|other| other.group == draw.group) {
            Some(other) if other.size != draw.size && !several.contains(&draw.group) => {
                several.push(draw.group.clone())
            }
            Some(_) => {}
            None => first.push(draw),
        }
    }
    several
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed::transforms::Params;
    use image::RgbImage;

    fn draw(group: Option<&str>, size: (u32, u32), shown: (u32, u32)) -> Draw {
        let group = group.map(str::to_owned);
        let (params, picture) = (Params { width: 8, height: 8, ..Params::default() }, RgbImage::new(shown.0, shown.1));
        Draw { epoch: 0, group, view: 0, params, bytes: Vec::new(), size, picture, objects: None, range: None }
    }

    fn row(draws: Vec<Draw>) -> Drawn {
        Drawn {
            id: 0,
            name: String::new(),
            class: None,
            size: None,
            original: None,
            objects: None,
            objects_in_words: Vec::new(),
            fields: Vec::new(),
            draws,
            error: None,
        }
    }

    #[test]
    fn the_headline_has_one_size_or_the_least_and_the_greatest() {
        let same = row(vec![draw(None, (32, 32), (160, 160)), draw(None, (32, 32), (160, 160))]);
        assert_eq!(in_words(&[same]), "; outputs of 32x32, enlarged 5 times");
        let global = draw(Some("global"), (224, 224), (224, 224));
        let rows = [
            row(vec![global, draw(Some("local"), (400, 320), (200, 160))]),
            row(vec![draw(Some("local"), (200, 320), (200, 320))]),
        ];
        let expected = "; global outputs of 224x224; local outputs of 200-400x320, fitted to the sheet";
        assert_eq!(in_words(&rows), expected);
        assert_eq!(groups_with_several(&rows), [Some("local".to_owned())]);
    }
}
