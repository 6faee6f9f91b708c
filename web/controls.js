// The sliders of a recipe's arguments. A slider changes the numbers of ops, never which ops there may be: the shaders stay as they are.

const probability = { key: 'p', label: 'probability', min: 0, max: 1, step: 0.01 };
const strength = (key, max) => ({ key, label: key, min: 0, max, step: 0.01, only: (value) => typeof value === 'number' && value > 0 });
const side = (key, label, max) => ({ key, label, min: 8, max, step: 1, only: (value) => typeof value === 'number' });
const range = (key, label, min, max) => [0, 1].map((end) => ({ key, end, label: `${end ? 'greatest' : 'least'} ${label}`, min, max, step: 0.01 }));

/** The sliders of each transform. `end` is the place in an argument of two numbers; `only` says which values have a slider. */
const SLIDERS = {
  RandomResizedCrop: [side('size', 'size', 448), ...range('scale', 'area', 0.02, 1), ...range('ratio', 'ratio', 0.25, 4)],
  RandomCrop: [side('size', 'size', 448), { key: 'padding', label: 'padding', min: 0, max: 200, step: 1, only: (value) => typeof value === 'number' }],
  CenterCrop: [side('size', 'size', 640)],
  Resize: [side('size', 'short side', 640)],
  Pad: [{ key: 'padding', label: 'padding', min: 0, max: 95, step: 1, only: (value) => typeof value === 'number' }],
  RandomHorizontalFlip: [probability],
  RandomVerticalFlip: [probability],
  RandomInvert: [probability],
  RandomSolarize: [
    probability,
    { key: 'threshold', label: 'threshold', min: 0, max: 1, step: 0.01, only: (value) => value <= 1 },
    // Of 8-bit numbers.
    { key: 'threshold', label: 'threshold', min: 0, max: 255, step: 1, only: (value) => value > 1 },
  ],
  RandomPosterize: [probability, { key: 'bits', label: 'bits', min: 0, max: 8, step: 1 }],
  RandomGrayscale: [probability],
  RandomApply: [probability],
  RandomErasing: [probability, ...range('scale', 'area', 0.01, 0.8)],
  GaussianBlur: range('sigma', 'sigma', 0.1, 5),
  RandAugment: [{ key: 'magnitude', label: 'magnitude', min: 0, max: 30, step: 1 }],
  AdjustGamma: [{ key: 'gamma', label: 'gamma', min: 0.1, max: 4, step: 0.01 }],
  ColorJitter: [strength('brightness', 1), strength('contrast', 1), strength('saturation', 1), strength('hue', 0.5)],
};

const shown = (value, step) => (step < 1 ? Number(value).toFixed(2) : String(value));

function slider(transform, { key, end, label, min, max, step }, id, onChange) {
  const value = () => (end === undefined ? transform[key] : transform[key][end]);
  const row = document.createElement('div');
  row.className = 'slider';
  const name = Object.assign(document.createElement('label'), { htmlFor: id, textContent: label });
  const input = Object.assign(document.createElement('input'), { type: 'range', id, min, max, step });
  const output = document.createElement('output');
  output.htmlFor = id;
  const refresh = () => {
    input.value = value();
    output.value = shown(value(), step);
  };
  input.addEventListener('input', () => {
    const next = Number(input.value);
    if (end === undefined) transform[key] = next;
    else {
      transform[key][end] = next;
      // The least is never above the greatest.
      transform[key][1 - end] = end === 0 ? Math.max(transform[key][1], next) : Math.min(transform[key][0], next);
    }
    onChange();
  });
  refresh();
  row.append(name, input, output);
  return { row, refresh };
}

/**
 * Fills `place` with the sliders of each group's transforms, which they change: `{ name, transforms }` each. The name of a group is a heading.
 * Returns whether there are any.
 */
export function makeControls(place, groups, onChange) {
  place.replaceChildren();
  const refreshers = [];
  const changed = () => {
    refreshers.forEach((refresh) => refresh());
    onChange();
  };
  const add = (section, list, path) => list.forEach((transform, i) => {
    const own = (SLIDERS[transform.type] ?? []).filter(({ key, only }) => transform[key] !== undefined && (!only || only(transform[key])));
    if (own.length > 0) {
      section.append(Object.assign(document.createElement('p'), { className: 'transform', textContent: transform.type }));
    }
    own.forEach((each) => {
      const made = slider(transform, each, `${path}${i}-${each.key}${each.end ?? ''}`, changed);
      refreshers.push(made.refresh);
      section.append(made.row);
    });
    if (transform.transforms) add(section, transform.transforms, `${path}${i}-`);
  });
  groups.forEach(({ name, transforms }, number) => {
    const section = document.createElement(name ? 'section' : 'div');
    if (name) {
      section.setAttribute('aria-label', name);
      section.append(Object.assign(document.createElement('h3'), { textContent: name }));
    }
    add(section, transforms, `slider-${number}-`);
    place.append(section);
  });
  return refreshers.length > 0;
}
