// Runs at the end of a copy of the report (scripts/test-report.sh) and writes into it what is wrong. `wanted` is `full`, or `empty`
// for a report without measurements, whose figures say so.
const faults = [];
const lines = [];
for (const id of ["chart-stages", "chart-pools", "chart-sweep"]) {
    const figure = document.querySelector(`figure#${id}`);
    if (!figure) {
        faults.push(`${id}: there is no such figure`);
        continue;
    }
    const frame = figure.getBoundingClientRect();
    if (frame.width < 200 || frame.height < 100) faults.push(`${id}: ${frame.width} × ${frame.height} pixels`);
    if (!figure.querySelector("figcaption")?.innerText.trim()) faults.push(`${id}: no caption`);
    const reason = figure.querySelector(".nothing")?.innerText;
    if (reason !== undefined) {
        lines.push(`${id}: ${reason}`);
        if (wanted === "full") faults.push(`${id}: ${reason}`);
        continue;
    }
    const svg = figure.querySelector("svg");
    const box = svg.getBoundingClientRect();
    if (box.width < 200 || box.height < 40) faults.push(`${id}: its picture has ${box.width} × ${box.height} pixels`);
    let marks = 0;
    for (const mark of svg.querySelectorAll(".mark:not(text)")) {
        const place = mark.getBoundingClientRect();
        const style = getComputedStyle(mark);
        const inside = place.left >= box.left - 1 && place.right <= box.right + 1 && place.top >= box.top - 1 && place.bottom <= box.bottom + 1;
        const painted = [style.fill, style.stroke].some((paint) => /^rgb/.test(paint)) && style.visibility === "visible";
        // The rest of a dash may be a pixel: it is no mark, and no fault either.
        if (inside && painted) marks += place.width + place.height > 2 ? 1 : 0;
        else faults.push(`${id}: a ${mark.tagName} cannot be seen (${[place.left, place.top, place.width, place.height].map(Math.round)})`);
    }
    if (marks < 2) faults.push(`${id}: ${marks} marks`);
    for (const text of svg.querySelectorAll("text")) {
        const place = text.getBoundingClientRect();
        if (place.left < box.left - 2 || place.right > box.right + 2 || place.top < box.top - 2 || place.bottom > box.bottom + 2)
            faults.push(`${id}: "${text.textContent.trim()}" is cut off`);
    }
    lines.push(`${id}: ${Math.round(box.width)} × ${Math.round(box.height)} pixels, ${marks} marks`);
}
if (wanted === "empty" && document.querySelectorAll("figure .nothing").length !== 3) faults.push("an empty report shows a chart");
if (document.documentElement.scrollWidth > innerWidth) faults.push(`wider than the window: ${document.documentElement.scrollWidth} pixels`);
const height = Math.ceil(document.documentElement.scrollHeight);
const verdict = faults.length ? "CHECK FAILED" : "CHECK PASSED";
const pre = document.createElement("pre");
pre.id = "check";
pre.textContent = ["", ...lines, ...faults, `PAGE HEIGHT ${height}`, verdict, ""].join("\n");
document.body.append(pre);
