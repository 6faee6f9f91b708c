// The page: what the reader chooses becomes draws.

import { checkGpu } from './check.js';
import { compose } from './compose.js';
import { makeControls } from './controls.js';
import { makeParams } from './draws.js';
import { drawsInWords, showDraws } from './figures.js';
import { Runner, Told, openGpu } from './gpu.js';
import { listShaders } from './listing.js';
import { firstPhotograph, readPhotograph, scaled } from './picture.js';
import { cropOf, transformInWords } from './words.js';

const element = (id) => document.getElementById(id);
const runners = new Map();
let device;
let lost = false;
let recipes;
let recipe;
/** The recipe's groups with transforms that the sliders change. */
let groups;
let picture;
let thumbnail;

function tell(text) {
  element('message').textContent = text;
  element('message').hidden = text === '';
}

/** Errors that the page expects are sentences; the others also go to the console with their place. */
function fail(error) {
  // A lost GPU has been told already, and everything fails after it.
  if (lost) return;
  if (!(error instanceof Told)) console.error(error);
  tell(error.message || String(error));
}

/** The runner of a group's shaders. */
function runnerOf({ shaders, output }) {
  if (!runners.has(shaders)) runners.set(shaders, Runner.make(device, shaders, output));
  return runners.get(shaders);
}

/** The runner of the recipe that a case of the check names. */
const runnerOfCase = (name) => runnerOf(recipes.find((each) => each.name === name).groups[0]);

/** A whole number from a field, within the field's own bounds. */
function numberOf(id) {
  const { value, min, max } = element(id);
  return Math.min(Math.max(Math.floor(Number(value)) || 0, Number(min)), Number(max));
}

/** The parameters of each group's draws, epoch by epoch. Those of a recipe with groups are whole epochs. */
function paramsOfDraws() {
  const [seed, count] = [numberOf('seed'), numberOf('count')];
  const epochs = Math.ceil(count / groups.reduce((sum, { views }) => sum + views, 0));
  return groups.map(({ name, views, shaders, transforms }, group) => {
    const length = name === null ? count : epochs * views;
    return Array.from({ length }, (_, i) => {
      const key = { seed, epoch: Math.floor(i / views), group, view: i % views };
      try {
        return { key, ...makeParams({ ...shaders, transforms }, picture, key) };
      } catch (error) {
        // An operator that cannot work on this size says so.
        throw new Told(error.message);
      }
    });
  });
}

/** Shows the photograph, with the outline of a crop if there is one. */
function outline(crop) {
  const canvas = element('original');
  [canvas.width, canvas.height] = [thumbnail.width, thumbnail.height];
  canvas.getContext('2d').drawImage(thumbnail, 0, 0);
  if (!crop) return;
  const scale = canvas.width / picture.width;
  const context = canvas.getContext('2d');
  const rectangle = [crop.left, crop.top, crop.width, crop.height].map((length) => length * scale);
  [['#000', 6], ['#fff', 3]].forEach(([style, width]) => {
    [context.strokeStyle, context.lineWidth] = [style, width];
    context.strokeRect(...rectangle);
  });
}

function clearDraws() {
  element('draws').replaceChildren();
  element('summary').textContent = '';
}

async function drawOnce() {
  const chosen = groups;
  if (chosen.length === 0) {
    clearDraws();
    return;
  }
  const runnersOfGroups = await Promise.all(chosen.map(runnerOf));
  // Another recipe was taken while this one's shaders were compiled.
  if (chosen !== groups) return;
  // Another photograph may be taken while the GPU draws.
  const [source, params] = [picture, paramsOfDraws()];
  const begin = performance.now();
  const drawn = [];
  for (const [number, { name, views, shaders }] of chosen.entries()) {
    const images = await runnersOfGroups[number].run(source, params[number].map((each) => compose(shaders, each)));
    // Or while the GPU drew: the draws would stand beside another recipe.
    if (chosen !== groups) return;
    drawn.push({ name, views, draws: images.map((image, i) => ({ ...params[number][i], image })) });
  }
  const milliseconds = performance.now() - begin;
  showDraws(element('draws'), drawn, outline);
  element('summary').textContent = `${drawsInWords(drawn)} in ${milliseconds.toFixed(0)} ms, with the copies to the GPU and back.`
    + `${cropOf(params[0][0].ops) ? ' Point at a draw to see its crop on the photograph.' : ''}`;
}

let drawing = false;
let stale = false;

/** Draws, and again if something has changed meanwhile: a moving slider asks for more draws than the GPU makes. */
async function redraw() {
  stale = true;
  if (drawing || lost || !picture) return;
  drawing = true;
  while (stale) {
    stale = false;
    try {
      await drawOnce();
      tell('');
    } catch (error) {
      fail(error);
      clearDraws();
    }
  }
  drawing = false;
}

/** Shows why the page cannot draw a recipe, and the recipe's transforms. */
function showUndrawn({ reason, transforms: listed }) {
  element('reason').textContent = reason;
  element('transforms').replaceChildren(...listed.map((transform) => (
    Object.assign(document.createElement('li'), { textContent: transformInWords(transform) }))));
}

function takeRecipe(name) {
  recipe = recipes.find((each) => each.name === name);
  const isDrawn = recipe.groups !== undefined;
  // The sliders change a copy.
  groups = (recipe.groups ?? []).map((group) => ({ ...group, transforms: structuredClone(group.shaders.transforms) }));
  const remark = recipe.mixes ? ' The page draws single images, so the mixing of a batch is left out.' : '';
  element('description').textContent = `${recipe.description}${recipe.own ? ' (a recipe of this page)' : ''}.${remark}`;
  element('controls').hidden = !makeControls(element('sliders'), groups, redraw);
  ['how', 'shaders-part'].forEach((id) => { element(id).hidden = !isDrawn; });
  element('undrawn').hidden = isDrawn;
  if (isDrawn) listShaders(element('shaders'), groups);
  else showUndrawn(recipe);
  redraw();
}

async function takePicture(promise) {
  try {
    picture = await promise;
    const { name, width, height, origin } = picture;
    element('original-name').textContent = `${name}, ${width}×${height}${origin ? `, ${origin}` : ''}`;
    thumbnail = await scaled(picture, 900);
    outline(null);
    tell('');
    await redraw();
  } catch (error) {
    fail(error);
  }
}

function takeDrops() {
  const drop = element('drop');
  // A file that misses the frame would replace the page.
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => event.preventDefault());
  drop.addEventListener('dragover', () => drop.classList.add('over'));
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    drop.classList.remove('over');
    const [file] = event.dataTransfer.files;
    if (file) takePicture(readPhotograph(file));
  });
}

function listen() {
  element('file').addEventListener('change', ({ target }) => {
    if (target.files[0]) takePicture(readPhotograph(target.files[0]));
    // So that the same file can be chosen again.
    target.value = '';
  });
  element('recipe').addEventListener('change', ({ target }) => takeRecipe(target.value));
  element('reset').addEventListener('click', () => takeRecipe(recipe.name));
  element('again').addEventListener('click', () => {
    element('seed').value = numberOf('seed') + 1;
    redraw();
  });
  ['seed', 'count'].forEach((id) => element(id).addEventListener('input', redraw));
  element('check').addEventListener('click', () => checkGpu(runnerOfCase).catch(fail));
  takeDrops();
}

async function loadRecipes() {
  const { recipes: found, texts } = await fetch('data/recipes.json').then((response) => response.json());
  // Many passes have the same text, which the file holds once.
  const passes = found.flatMap((each) => each.groups ?? []).flatMap(({ shaders }) => shaders.passes);
  passes.forEach((pass) => { pass.wgsl = texts[pass.wgsl]; });
  return found;
}

async function start() {
  const status = element('status');
  try {
    const onLost = (text) => {
      lost = true;
      tell(text);
    };
    const gpu = await openGpu({ onLost, onError: tell });
    device = gpu.device;
    recipes = await loadRecipes();
    element('recipe').replaceChildren(...recipes.map(({ name }) => new Option(name, name)));
    element('recipe').value = 'imagenet-train-jitter';
    listen();
    // On a narrow window the draws come first.
    element('controls').open = matchMedia('(min-width: 56rem)').matches;
    element('main').hidden = false;
    status.textContent = `WebGPU on ${gpu.adapter}.`;
    takeRecipe(element('recipe').value);
    // Without it one may choose a photograph.
    await takePicture(firstPhotograph());
  } catch (error) {
    status.textContent = '';
    fail(error);
  }
}

start();
