//! The part of this process by the variables that Slurm, Kubernetes and the launchers of many processes set.

use gpufeed::pack::{MOST_PARTS, PartNumber};
use gpufeed::{ErrorKind, Shard};
use std::ffi::OsString;

const TASK: &str = "SLURM_ARRAY_TASK_ID";
const LEAST: &str = "SLURM_ARRAY_TASK_MIN";
const MOST: &str = "SLURM_ARRAY_TASK_MAX";
const STEP: &str = "SLURM_ARRAY_TASK_STEP";
const COUNT: &str = "SLURM_ARRAY_TASK_COUNT";
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// Returns the part whose number is the id of a task of a Slurm array, the index of a pod of a Kubernetes Indexed Job, or else
/// the rank of a process among those that torchrun, MPI or `srun` has started.
///
/// The number is the task's id as it is, so an array goes from 0, and `--array=3,5` repeats the parts 3 and 5. Without
/// `parts` their number is that of the whole array's tasks, or of the processes. `variable` looks up a variable of the environment.
///
/// # Errors
/// If no launcher or two have set their variables, if a variable is no number, or if they do not fit to `parts`, which
/// `whence` knows.
pub(super) fn part(
    parts: Option<usize>,
    whence: &str,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PartNumber, String> {
    let number = |name: &str| match variable(name) {
        None => Ok(None),
        Some(value) => match value.to_str().and_then(|value| value.parse::<usize>().ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{name}={} is no number; --part I/N says which part", value.to_string_lossy())),
        },
    };
    let task_or_index = (number(TASK)?, number(INDEX)?);
    let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
    let shard = Shard::of_variables(text).map_err(|error| match error.kind() {
        ErrorKind::Argument { reason, .. } => format!("{reason}; --part I/N says which part"),
        _ => error.to_string(),
    })?;
    if let (Some(part), _) | (_, Some(part)) = task_or_index
        && shard.world > 1
    {
        let name = if task_or_index.0.is_some() { TASK } else { INDEX };
        return Err(format!(
            "{name}={part} is one part, but this is {shard}: start one process for each part, or write --part I/N"
        ));
    }
    let (part, parts) = match task_or_index {
        (Some(task), Some(index)) if task != index => {
            return Err(format!("{TASK}={task} and {INDEX}={index} name different parts; --part I/N says which"));
        }
        (Some(task), _) => (task, of_array(parts, whence, [LEAST, MOST, STEP, COUNT].map(number), task)?),
        (None, Some(index)) => match parts {
            Some(parts) if index >= parts => {
                let last = parts - 1;
                return Err(format!("{INDEX}={index}, but {whence} has parts 0 to {last}: set completions to {parts}"));
            }
            Some(parts) => (index, parts),
            None => return Err(format!("{INDEX}={index} does not say how many parts there are; add --parts N")),
        },
        (None, None) if shard.world > 1 => match parts {
            Some(parts) if parts != shard.world => {
                return Err(format!("this is {shard}, but {whence} has {parts} parts: start {parts} processes"));
            }
            _ if shard.world > MOST_PARTS => {
                return Err(format!("this is {shard}; there are at most {MOST_PARTS} parts"));
            }
            _ => (shard.rank, shard.world),
        },
        (None, None) => {
            return Err(format!(
                "--part auto finds no part: there is neither {TASK} (a Slurm array) nor {INDEX} (a Kubernetes Indexed Job), \
                 nor do the variables of torchrun, MPI or srun name one of several processes; write --part I/N"
            ));
        }
    };
    Ok(PartNumber { part, parts })
}

/// Returns the number of parts for the task of a Slurm array.
fn of_array(
    parts: Option<usize>,
    whence: &str,
    array: [Result<Option<usize>, String>; 4],
    task: usize,
) -> Result<usize, String> {
    let [least, most, step, count] = array;
    let (least, most, step, count) = (least?, most?, step?, count?);
    if least.is_some_and(|least| task < least) || most.is_some_and(|most| task > most) {
        let [least, most] = [least, most].map(|bound| bound.map_or("none".to_owned(), |bound| bound.to_string()));
        return Err(format!("{TASK}={task} is not from {LEAST}={least} to {MOST}={most}; --part I/N says which part"));
    }
    if let Some(parts) = parts {
        // The whole array is refused in each of its tasks, before one of them has done a part.
        let last = most.unwrap_or(task).max(task);
        return match last < parts {
            true => Ok(parts),
            false => Err(format!(
                "a Slurm array with a task {last}, but {whence} has parts 0 to {}: submit it with --array=0-{}",
                parts - 1,
                parts - 1
            )),
        };
    }
    let (Some(least), Some(most), Some(count)) = (least, most, count) else {
        return Err(format!("{TASK}={task} without {LEAST}, {MOST} and {COUNT}; --parts N says how many parts"));
    };
    if count == 0 || count > MOST_PARTS || least != 0 || most != count - 1 || step.is_some_and(|step| step != 1) {
        let step = step.map_or(String::new(), |step| format!(" by {STEP}={step}"));
        return Err(format!(
            "a Slurm array of {COUNT}={count} tasks from {LEAST}={least} to {MOST}={most}{step} does not say how many parts \
             there are: --parts N does, for some of them again, or submit all N with --array=0-(N-1), N up to {MOST_PARTS}"
        ));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls [`part`] with these variables.
    fn with(variables: &[(&str, &str)], parts: Option<usize>) -> Result<(usize, usize), String> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        part(parts, "the plan", find).map(|number| (number.part, number.parts))
    }

    fn array<'a>(
        task: &'a str,
        least: &'a str,
        most: &'a str,
        step: &'a str,
        count: &'a str,
    ) -> [(&'a str, &'a str); 5] {
        [(TASK, task), (LEAST, least), (MOST, most), (STEP, step), (COUNT, count)]
    }

    #[test]
    fn a_task_of_a_slurm_array_does_the_part_of_its_id() {
        assert_eq!(with(&array("3", "0", "6", "1", "7"), None), Ok((3, 7)));
        assert_eq!(with(&array("3", "0", "6", "1", "7"), Some(7)), Ok((3, 7)));
        // Some of the tasks again: `--array=3,5`.
        assert_eq!(with(&array("5", "3", "5", "2", "2"), Some(7)), Ok((5, 7)));
        assert_eq!(with(&array("3", "3", "3", "1", "1"), Some(7)), Ok((3, 7)));
        assert_eq!(with(&[(TASK, "3")], Some(7)), Ok((3, 7)));
    }

    #[test]
    fn a_pod_of_an_indexed_job_does_the_part_of_its_index() {
        assert_eq!(with(&[(INDEX, "6")], Some(7)), Ok((6, 7)));
        let error = with(&[(INDEX, "6")], None).unwrap_err();
        assert_eq!(error, "JOB_COMPLETION_INDEX=6 does not say how many parts there are; add --parts N");
        let error = with(&[(INDEX, "7")], Some(7)).unwrap_err();
        assert!(
            error.contains("JOB_COMPLETION_INDEX=7, but the plan has parts 0 to 6: set completions to 7"),
            "{error}"
        );
    }

    #[test]
    fn a_process_of_many_does_the_part_of_its_rank() {
        let ranks = |rank, world| [("OMPI_COMM_WORLD_RANK", rank), ("OMPI_COMM_WORLD_SIZE", world)];
        assert_eq!(with(&ranks("3", "7"), Some(7)), Ok((3, 7)));
        assert_eq!(with(&ranks("3", "7"), None), Ok((3, 7)));
        let error = with(&ranks("3", "4"), Some(7)).unwrap_err();
        assert!(
            error.contains("rank 3 of 4 by OMPI_COMM_WORLD_RANK") && error.contains("the plan has 7 parts"),
            "{error}"
        );
        let error = with(&[("RANK", "3")], Some(7)).unwrap_err();
        assert_eq!(error, "the variable RANK is set, but WORLD_SIZE is not; --part I/N says which part");
        // A batch script is one process, whatever SLURM_PROCID says; several in one task would do the same part.
        let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")];
        assert_eq!(with(&[&array("3", "0", "6", "1", "7")[..], &batch].concat(), Some(7)), Ok((3, 7)));
        let step = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "4")];
        let error = with(&[&array("3", "0", "6", "1", "7")[..], &step].concat(), Some(7)).unwrap_err();
        assert!(error.contains("SLURM_ARRAY_TASK_ID=3 is one part, but this is rank 1 of 4"), "{error}");
        assert_eq!(with(&step, Some(4)), Ok((1, 4)));
        assert!(with(&[("RANK", "0"), ("WORLD_SIZE", "1")], Some(7)).unwrap_err().contains("finds no part"));
    }

    #[test]
    fn an_array_that_does_not_fit_is_refused_in_each_task() {
        let wrong = |variables: &[(&str, &str)], parts, says: &str| {
            let error = with(variables, parts).unwrap_err();
            assert!(error.contains(says), "{error}");
        };
        wrong(
            &array("1", "1", "7", "1", "7"),
            Some(7),
            "a task 7, but the plan has parts 0 to 6: submit it with --array=0-6",
        );
        wrong(&array("0", "0", "12", "2", "7"), Some(7), "a task 12");
        wrong(&[(TASK, "7")], Some(7), "a task 7");
        wrong(&array("3", "3", "5", "2", "2"), None, "SLURM_ARRAY_TASK_COUNT=2 tasks from SLURM_ARRAY_TASK_MIN=3");
        wrong(&array("1", "1", "7", "1", "7"), None, "--parts N does");
        wrong(&array("0", "0", "12", "2", "7"), None, "by SLURM_ARRAY_TASK_STEP=2");
        wrong(&array("0", "0", "6", "1", "0"), None, "SLURM_ARRAY_TASK_COUNT=0");
        wrong(&[(TASK, "3")], None, "without SLURM_ARRAY_TASK_MIN");
    }

    #[test]
    fn contradictions_and_nonsense_name_their_variables() {
        let wrong = |variables: &[(&str, &str)], says: &str| {
            let error = with(variables, Some(7)).unwrap_err();
            assert!(error.contains(says), "{error}");
        };
        wrong(&[], "neither SLURM_ARRAY_TASK_ID (a Slurm array) nor JOB_COMPLETION_INDEX");
        wrong(&[(TASK, "x")], "SLURM_ARRAY_TASK_ID=x is no number");
        wrong(&[(TASK, "")], "SLURM_ARRAY_TASK_ID= is no number");
        wrong(&[(INDEX, "-1")], "JOB_COMPLETION_INDEX=-1 is no number");
        wrong(&array("3", "0", "six", "1", "7"), "SLURM_ARRAY_TASK_MAX=six is no number");
        wrong(&array("3", "4", "6", "1", "3"), "SLURM_ARRAY_TASK_ID=3 is not from SLURM_ARRAY_TASK_MIN=4");
        wrong(&array("6", "0", "5", "1", "6"), "to SLURM_ARRAY_TASK_MAX=5");
        wrong(&[(TASK, "3"), (INDEX, "4")], "SLURM_ARRAY_TASK_ID=3 and JOB_COMPLETION_INDEX=4 name different parts");
        assert_eq!(with(&[(TASK, "3"), (INDEX, "3")], Some(7)), Ok((3, 7)));
    }
}
