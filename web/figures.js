// The draws as figures: those of one list one after the other, those of groups by epoch, each group below its name.

import { named } from './draws.js';
import { displayed } from './picture.js';
import { cropOf, inWords } from './words.js';

const made = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** A draw with its title and its ops in words. `onCrop` gets its crop while it is pointed at, and null after that. */
function figure({ image, ops }, title, label, onCrop) {
  const normalize = ops.map(({ op }) => named(op)).find(([name]) => name === 'Normalize')?.[1];
  const canvas = made('canvas', { width: image.width, height: image.height, className: image.width < 100 ? 'small' : '' });
  // Its pixels come from the CPU: a canvas on the GPU would copy them there and back.
  canvas.getContext('2d', { willReadFrequently: true }).putImageData(displayed(image, normalize), 0, 0);
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', label);
  const caption = made('figcaption', {}, made('b', { textContent: title }), ` ${inWords(ops).join(', ')}`);
  const whole = made('figure', {}, canvas, caption);
  const crop = cropOf(ops);
  if (crop) {
    whole.tabIndex = 0;
    ['pointerenter', 'focus'].forEach((event) => whole.addEventListener(event, () => onCrop(crop)));
    ['pointerleave', 'blur'].forEach((event) => whole.addEventListener(event, () => onCrop(null)));
  }
  return whole;
}

/** One group's views of a sample, below the group's name. */
function groupOf({ name, draws }, epoch, onCrop) {
  const figures = draws.filter(({ key }) => key.epoch === epoch).map((draw) => (
    figure(draw, `View ${draw.key.view}`, `Epoch ${epoch}, ${name} ${draw.key.view}`, onCrop)));
  const group = made('section', {}, made('h3', { textContent: name }), made('div', { className: 'views' }, ...figures));
  group.setAttribute('aria-label', `Epoch ${epoch}, ${name}`);
  return group;
}

/**
 * Fills `place` with the draws of all groups, `{ name, views, draws }` each. The name is null where a recipe has one list. A draw has the key of its
 * random numbers, its ops and its image.
 */
export function showDraws(place, groups, onCrop) {
  const [{ name, views, draws }] = groups;
  if (name === null) {
    place.replaceChildren(...draws.map((draw, number) => {
      const title = `Epoch ${draw.key.epoch}${views > 1 ? `, view ${draw.key.view}` : ''}`;
      return made('li', {}, figure(draw, title, `Draw ${number}`, onCrop));
    }));
    return;
  }
  const epochs = [...new Set(draws.map(({ key }) => key.epoch))];
  place.replaceChildren(...epochs.map((epoch) => (
    made('li', { className: 'sample' },
      made('h2', { textContent: `Epoch ${epoch}` }),
      made('div', { className: 'groups' }, ...groups.map((group) => groupOf(group, epoch, onCrop)))))));
}

/** How many draws there are, and of which size. */
export function drawsInWords(groups) {
  const sizes = groups.map(({ name, draws: [{ image: { width, height, channels } }] }) => (
    `${name === null ? '' : `${name} `}of ${width}×${height}×${channels}`));
  const count = groups.reduce((sum, { draws }) => sum + draws.length, 0);
  return `${count} draws${groups.length > 1 ? ', ' : ' '}${sizes.join(', ')}${groups.length > 1 ? ',' : ''}`;
}
