//! Compares two answers: the resource that the statistics name as the bottleneck, and the stage whose delay slowed the
//! rate most.

use crate::bench::measure::slowed_stages::Slowed;
use crate::results::Bottleneck;

/// The least elasticity that counts. Below it, the stage limits the rate for a part of the time at most.
const LEAST: f64 = 0.3;

/// Compares both answers. If they disagree, the report's bottleneck becomes "unexplained".
pub(crate) fn judge(slowed: &[Slowed], bottleneck: &mut Bottleneck, notes: &mut Vec<String>) {
    let strongest = slowed.iter().min_by(|a, b| a.row.elasticity.total_cmp(&b.row.elasticity));
    let Some(strongest) = strongest else { return };
    let (found, off) = (&strongest.row, 2.0 * strongest.uncertainty);
    if found.elasticity > -LEAST - off {
        notes.push(format!(
            "perturbations: none is felt beyond doubt (the strongest: {}, {:.2} ± {off:.2}), so they neither confirm nor \
             contradict the statistics",
            found.resource, found.elasticity
        ));
        return;
    }
    let Some(named) = bottleneck.resource.clone() else {
        notes.push(format!(
            "perturbations: the statistics name nothing; slowing {} is felt most ({:.2})",
            found.resource, found.elasticity
        ));
        return;
    };
    let own = slowed.iter().find(|slowed| slowed.row.resource == named);
    // If the named resource is as strong as the strongest within the uncertainty, the answers agree.
    let alike = own.is_some_and(|own| own.row.elasticity - found.elasticity <= off + 2.0 * own.uncertainty);
    if found.resource == named || alike {
        return;
    }
    bottleneck.verdict = format!(
        "the statistics name {named} ({}), but slowing {} is felt most (elasticity {:.2})",
        bottleneck.verdict, found.resource, found.elasticity
    );
    (bottleneck.resource, bottleneck.change, bottleneck.predicted_gain) = (None, None, None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measure::slowed_stages::slowed;
    use gpufeed::Resource;

    fn row(resource: Resource, elasticity: f64) -> Slowed {
        slowed(resource, 1e-3, &[(0.2 * elasticity, 0.2), (0.21 * elasticity, 0.2), (0.19 * elasticity, 0.2)])
    }

    fn judged(named: Option<&str>, slowed: &[Slowed]) -> (Bottleneck, Vec<String>) {
        let mut bottleneck = Bottleneck {
            resource: named.map(str::to_owned),
            verdict: "as it was".to_owned(),
            predicted_gain: Some(0.5),
            ..Bottleneck::default()
        };
        let mut notes = Vec::new();
        judge(slowed, &mut bottleneck, &mut notes);
        (bottleneck, notes)
    }

    #[test]
    fn agreement_leaves_the_verdict() {
        let slowed = [row(Resource::Cpu, -0.9), row(Resource::Disk, -0.05), row(Resource::Consumer, 0.0)];
        let (bottleneck, notes) = judged(Some("cpu"), &slowed);
        assert_eq!((bottleneck.resource.as_deref(), bottleneck.predicted_gain), (Some("cpu"), Some(0.5)));
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn disagreement_is_unexplained() {
        let slowed = [row(Resource::Cpu, -0.1), row(Resource::Consumer, -0.95)];
        let (bottleneck, _) = judged(Some("cpu"), &slowed);
        assert_eq!((bottleneck.resource, bottleneck.predicted_gain), (None, None));
        assert!(
            bottleneck.verdict.contains("as it was") && bottleneck.verdict.contains("consumer"),
            "{}",
            bottleneck.verdict
        );
        // The GPU's passes are not slowed. But if the rate feels another stage in full, the GPU does not limit the
        // pipeline.
        assert_eq!(judged(Some("gpu"), &slowed).0.resource, None);
    }

    #[test]
    fn weak_effects_decide_nothing() {
        let slowed = [row(Resource::Cpu, -0.1), row(Resource::Consumer, -0.2)];
        let (bottleneck, notes) = judged(Some("gpu"), &slowed);
        assert_eq!(bottleneck.resource.as_deref(), Some("gpu"));
        assert!(notes[0].contains("neither confirm"), "{notes:?}");
    }

    #[test]
    fn noise_is_not_taken_for_disagreement() {
        let noisy = slowed(Resource::Disk, 1e-3, &[(-0.4, 0.2), (0.3, 0.2), (-0.1, 0.2), (-0.6, 0.2), (0.5, 0.2)]);
        let (bottleneck, _) = judged(Some("cpu"), &[row(Resource::Cpu, -0.4), noisy]);
        assert_eq!(bottleneck.resource.as_deref(), Some("cpu"));
    }
}
