// The part of the page that compares this GPU's results with torchvision's.

import { loadGolden, runCase } from './golden.js';

const element = (id) => document.getElementById(id);

const short = (number) => (number === 0 ? '0' : number.toExponential(1));

function showRecipes(results) {
  const recipes = new Map();
  results.forEach((result) => recipes.set(result.recipe, [...(recipes.get(result.recipe) ?? []), result]));
  const rows = [...recipes].map(([recipe, own]) => {
    const row = document.createElement('tr');
    const worst = Math.max(...own.map((result) => result.worst));
    const cells = [recipe, own.length, own.filter(({ passed }) => passed).length, short(worst)];
    row.append(...cells.map((cell) => Object.assign(document.createElement('td'), { textContent: cell })));
    return row;
  });
  element('compared').tBodies[0].replaceChildren(...rows);
  element('compared').hidden = false;
}

/** Runs all cases; `runnerOf` gives the runner of a recipe. Says how many are equal, which are not, and the largest difference. */
export async function checkGpu(runnerOf) {
  const [button, verdict] = [element('check'), element('verdict')];
  button.disabled = true;
  verdict.className = '';
  element('failures').replaceChildren();
  try {
    const cases = await loadGolden();
    const results = [];
    for (const each of cases) {
      verdict.textContent = `Case ${results.length + 1} of ${cases.length}: ${each.name}`;
      results.push(await runCase(await runnerOf(each.recipe), each));
    }
    const failed = results.filter(({ passed }) => !passed);
    const worst = Math.max(...results.map((result) => result.worst));
    showRecipes(results);
    element('failures').replaceChildren(...failed.map(({ name, reason }) => (
      Object.assign(document.createElement('li'), { textContent: `${name}: ${reason}` }))));
    verdict.className = failed.length > 0 ? 'wrong' : '';
    verdict.textContent = `${cases.length - failed.length} of ${cases.length} cases equal torchvision's; the largest difference is ${short(worst)}.`;
    return results;
  } catch (error) {
    verdict.textContent = '';
    throw error;
  } finally {
    button.disabled = false;
  }
}
