//! A chart with its surroundings on the page: title, legend, SVG and caption.

use super::ink::Ink;
use maud::{Markup, html};

/// One chart of the page.
pub(crate) struct Figure {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// A sentence or two about the chart's content.
    pub(crate) caption: Markup,
    /// The colours and their meanings.
    pub(crate) legend: &'static [(Ink, &'static str)],
    /// The SVG, or the reason why there is none.
    pub(crate) chart: Result<Markup, &'static str>,
}

impl Figure {
    pub(crate) fn markup(&self) -> Markup {
        html! {
            figure id=(self.id) {
                h2 { (self.title) }
                @match &self.chart {
                    Ok(chart) => {
                        @if !self.legend.is_empty() {
                            p.legend {
                                @for (ink, meaning) in self.legend {
                                    span { i style=(format!("background:var(--{})", ink.name)) {} (meaning) }
                                }
                            }
                        }
                        (chart)
                    }
                    Err(reason) => p.nothing { (reason) }
                }
                figcaption { (self.caption) }
            }
        }
    }
}
