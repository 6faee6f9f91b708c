//! Draws loss and accuracy over the epochs, as an SVG file and as a self-contained HTML page.

use crate::history::{EpochResults, Score, table};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

const SIZE: (u32, u32) = (1000, 400);
const LOSS: &str = "loss";
const TRAIN: RGBColor = RGBColor(214, 96, 18);
const VAL: RGBColor = RGBColor(20, 92, 172);

/// Writes `curves.svg`, `curves.html` and `table.txt` into `folder`.
pub(crate) fn write(folder: &Path, title: &str, rows: &[EpochResults]) -> Result<(), Box<dyn Error>> {
    if rows.is_empty() {
        return Ok(());
    }
    let svg = picture(rows)?;
    let table = table(rows);
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>body {{ font-family: sans-serif; margin: 2em }} svg {{ max-width: 100%; height: auto }}</style>\n\
         <h1>{title}</h1>\n{svg}\n<p>Training: augmented images, smoothed labels. \
         Validation: neither.</p>\n<pre>\n{table}</pre>\n</html>\n"
    );
    for (name, text) in [("curves.svg", &svg), ("curves.html", &page), ("table.txt", &table)] {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}; --out names another folder", path.display()))?;
    }
    Ok(())
}

fn picture(rows: &[EpochResults]) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (left, right) = root.split_horizontally(SIZE.0 / 2);
        let highest = scores(rows).map(|score| score.loss).fold(0.0, f32::max);
        panel(&left, LOSS, highest * 1.05, rows, |score| score.loss)?;
        panel(&right, "accuracy, %", 100.0, rows, |score| 100.0 * score.accuracy)?;
        root.present()?;
    }
    Ok(svg)
}

fn scores(rows: &[EpochResults]) -> impl Iterator<Item = Score> {
    rows.iter().flat_map(|row| [Some(row.train), row.val]).flatten()
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    title: &str,
    highest: f32,
    rows: &[EpochResults],
    value: fn(Score) -> f32,
) -> Result<(), Box<dyn Error>> {
    let epochs = rows.last().map_or(1, |row| row.epoch + 1) as f32;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(46)
        .build_cartesian_2d(0.0..epochs, 0.0..highest)?;
    chart
        .configure_mesh()
        .x_desc("epoch")
        .x_label_formatter(&|epoch| format!("{epoch:.0}"))
        .max_light_lines(1)
        .draw()?;
    let train = rows.iter().map(|row| Some(row.train)).collect::<Vec<_>>();
    let val = rows.iter().map(|row| row.val).collect::<Vec<_>>();
    for (name, scores, colour) in [("training", train, TRAIN), ("validation", val, VAL)] {
        let points = rows.iter().zip(scores);
        let points = points.filter_map(|(row, score)| Some(((row.epoch + 1) as f32, value(score?))));
        let line = LineSeries::new(points, colour.stroke_width(2));
        chart
            .draw_series(line)?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    // Places the legend in the corner where no curve ends.
    let corner = if title == LOSS { SeriesLabelPosition::UpperRight } else { SeriesLabelPosition::LowerRight };
    chart
        .configure_series_labels()
        .position(corner)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}
