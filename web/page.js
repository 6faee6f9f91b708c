// The page: what the reader chooses becomes draws.

import { checkGpu } from './check.js';
import { compose } from './compose.js';
import { makeControls } from './controls.js';
import { makeParams, named } from './draws.js';
import { Runner, Told, openGpu } from './gpu.js';
import { listShaders } from './listing.js';
import { displayed, drawnPicture, readPhotograph, scaled } from './picture.js';
import { cropOf, inWords } from './words.js';

const element = (id) => document.getElementById(id);
const runners = new Map();
let device;
let lost = false;
let recipes;
let recipe;
let transforms;
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

function runnerOf(name) {
  if (!runners.has(name)) {
    const { shaders, output } = recipes.find((each) => each.name === name);
    runners.set(name, Runner.make(device, shaders, output));
  }
  return runners.get(name);
}

/** A whole number from a field, within the field's own bounds. */
function numberOf(id) {
  const { value, min, max } = element(id);
  return Math.min(Math.max(Math.floor(Number(value)) || 0, Number(min)), Number(max));
}

function paramsOfDraws({ views, shaders }) {
  const [seed, count] = [numberOf('seed'), numberOf('count')];
  const channels = shaders.input_channels;
  return Array.from({ length: count }, (_, i) => {
    const key = { seed, epoch: Math.floor(i / views), view: i % views };
    try {
      return { key, ...makeParams(transforms, channels, picture, key) };
    } catch (error) {
      // An operator that cannot work on this size says so.
      throw new Told(error.message);
    }
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

function figure(image, { key, ops }, number, views) {
  const normalize = ops.map(({ op }) => named(op)).find(([name]) => name === 'Normalize')?.[1];
  const item = document.createElement('li');
  const made = document.createElement('figure');
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  // Its pixels come from the CPU: a canvas on the GPU would copy them there and back.
  canvas.getContext('2d', { willReadFrequently: true }).putImageData(displayed(image, normalize), 0, 0);
  canvas.className = image.width < 100 ? 'small' : '';
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `Draw ${number}`);
  const caption = document.createElement('figcaption');
  const title = `Epoch ${key.epoch}${views > 1 ? `, view ${key.view}` : ''}`;
  caption.append(Object.assign(document.createElement('b'), { textContent: title }), ` ${inWords(ops)}`);
  made.append(canvas, caption);
  const crop = cropOf(ops);
  if (crop) {
    made.tabIndex = 0;
    ['pointerenter', 'focus'].forEach((event) => made.addEventListener(event, () => outline(crop)));
    ['pointerleave', 'blur'].forEach((event) => made.addEventListener(event, () => outline(null)));
  }
  item.append(made);
  return item;
}

async function drawOnce() {
  const chosen = recipe;
  const runner = await runnerOf(chosen.name);
  // Another recipe was taken while this one's shaders were compiled.
  if (chosen !== recipe) return;
  const params = paramsOfDraws(chosen);
  const begin = performance.now();
  const images = await runner.run(picture, params.map((each) => compose(chosen.shaders, each)));
  const milliseconds = performance.now() - begin;
  element('draws').replaceChildren(...images.map((image, i) => figure(image, params[i], i, chosen.views)));
  const { width, height, channels } = images[0];
  element('summary').textContent = `${images.length} draws of ${width}×${height}×${channels} in ${milliseconds.toFixed(0)} ms, `
    + `with the copies to the GPU and back.${cropOf(params[0].ops) ? ' Point at a draw to see its crop on the photograph.' : ''}`;
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
      element('draws').replaceChildren();
      element('summary').textContent = '';
    }
  }
  drawing = false;
}

function takeRecipe(name) {
  recipe = recipes.find((each) => each.name === name);
  // The sliders change a copy.
  transforms = structuredClone(recipe.shaders.transforms);
  element('description').textContent = `${recipe.description}${recipe.own ? ' (a recipe of this page)' : ''}.`;
  element('controls').hidden = !makeControls(element('sliders'), transforms, redraw);
  listShaders(element('shaders'), recipe.shaders.passes);
  redraw();
}

async function takePicture(promise) {
  try {
    picture = await promise;
    element('original-name').textContent = `${picture.name}, ${picture.width}×${picture.height}`;
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
  element('check').addEventListener('click', () => checkGpu(runnerOf).catch(fail));
  takeDrops();
}

function describeAbsent(absent) {
  element('absent').replaceChildren(...absent.flatMap(({ name, reason }) => [
    Object.assign(document.createElement('dt'), { textContent: name }),
    Object.assign(document.createElement('dd'), { textContent: `${reason}.` }),
  ]));
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
    const found = await fetch('data/recipes.json').then((response) => response.json());
    recipes = found.recipes;
    element('recipe').replaceChildren(...recipes.map(({ name }) => new Option(name, name)));
    element('recipe').value = 'imagenet-train-jitter';
    describeAbsent(found.absent);
    listen();
    // On a narrow window the draws come first.
    element('controls').open = matchMedia('(min-width: 56rem)').matches;
    element('main').hidden = false;
    status.textContent = `WebGPU on ${gpu.adapter}.`;
    takeRecipe(element('recipe').value);
    await takePicture(drawnPicture());
  } catch (error) {
    status.textContent = '';
    fail(error);
  }
}

start();
