//! Draws stacked bars: the shares of each thread pool's time.

use super::figure::Figure;
use super::ink::{IDLE, Ink, MAIN, MUTED, PAPER, TEXT, WARM};
use super::svg::{bar, join, short, text};
use crate::results::{Pool, Report};
use crate::units;
use maud::{Markup, html};

const WIDTH: u32 = 640;
const ROW: f64 = 46.0;
const LEFT: f64 = 150.0;
const BARS: f64 = 480.0;

pub(crate) fn figure(report: &Report) -> Figure {
    let busiest = report.pools.iter().max_by(|a, b| a.busy.total_cmp(&b.busy));
    Figure {
        id: "chart-pools",
        title: "What the threads do",
        legend: &[(MAIN, "busy"), (IDLE, "starved: waits for input"), (WARM, "blocked: waits for room")],
        caption: html! {
            @match busiest {
                Some(pool) => {
                    "Busiest: " b { (pool.name) } ", "  (units::percent(pool.busy)) " of the time. Before a bottleneck pools are blocked, "
                    "behind it they are starved."
                }
                None => "Pools have their shares in a run of the pipeline."
            }
        },
        chart: if report.pools.is_empty() { Err("no pools measured") } else { Ok(chart(&report.pools)) },
    }
}

fn chart(pools: &[Pool]) -> Markup {
    let mut parts = Vec::new();
    for (i, pool) in pools.iter().enumerate() {
        let (top, middle) = (i as f64 * ROW + 6.0, (i as f64 + 0.5) * ROW);
        let threads = if pool.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", pool.threads) };
        parts.push(text((LEFT - 10.0, middle - 8.0), "end", 15, TEXT, &short(&pool.name, 18)));
        parts.push(text((LEFT - 10.0, middle + 10.0), "end", 12, MUTED, &threads));
        let mut x = LEFT;
        for (name, share, ink) in
            [("busy", pool.busy, MAIN), ("starved", pool.starved, IDLE), ("blocked", pool.blocked, WARM)]
        {
            let width = BARS * share.clamp(0.0, 1.0);
            if width > 0.0 {
                let meaning = format!("{}: {name} {}", pool.name, units::percent(share));
                parts.push(bar((x, top), (width, ROW - 12.0), ink, &meaning));
            }
            if width >= 42.0 {
                parts.push(text((x + width / 2.0, middle), "middle", 14, text_on(ink), &units::percent(share)));
            }
            x += width;
        }
    }
    join((WIDTH, (pools.len() as f64 * ROW) as u32 + 2), "How the time of each pool of threads divides", &parts)
}

/// Returns the text colour that is readable on `ink` in both schemes.
fn text_on(ink: Ink) -> Ink {
    if ink.name == IDLE.name { TEXT } else { PAPER }
}
