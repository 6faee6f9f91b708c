// The photograph before the recipe, as RGBA bytes: the one that the page brings along, or the reader's.

import { Told } from './gpu.js';

function bytesOf(context, width, height) {
  const { data } = context.getImageData(0, 0, width, height);
  return { pixels: data, width, height };
}

/** Reads an image file as the browser decodes it, with its orientation. */
export async function readPhotograph(file) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { imageOrientation: 'from-image', premultiplyAlpha: 'none', colorSpaceConversion: 'none' });
  } catch {
    throw new Told(`${file.name || 'The file'} is no image that this browser can read. JPEG, PNG and WebP files work.`);
  }
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  // Transparent pixels would be black; paper is white.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  try {
    return { ...bytesOf(context, width, height), name: file.name };
  } catch {
    throw new Told(`${file.name} has ${width}×${height} pixels: too many for this browser's memory.`);
  }
}

/** The photograph with which the page starts. */
export async function firstPhotograph() {
  const response = await fetch('chelsea.jpg');
  if (!response.ok) throw new Told('chelsea.jpg, the first photograph, is missing on the server: choose one of yours.');
  const photograph = await readPhotograph(new File([await response.blob()], 'chelsea.jpg'));
  return { ...photograph, origin: 'by Stefan van der Walt, from scikit-image 0.26.0; licence CC0' };
}

/** A picture as the browser draws it, scaled down to at most `most` pixels a side. */
export function scaled({ pixels, width, height }, most) {
  const scale = Math.min(1, most / Math.max(width, height));
  const [resizeWidth, resizeHeight] = [width, height].map((side) => Math.max(1, Math.round(side * scale)));
  return createImageBitmap(new ImageData(pixels, width), { resizeWidth, resizeHeight, resizeQuality: 'high' });
}

/** A result of the shaders for a canvas: Normalize undone, clamped, one channel as gray. */
export function displayed({ width, height, channels, layout, scale, values }, normalize) {
  const pixels = new Uint8ClampedArray(4 * width * height).fill(255);
  const area = width * height;
  for (let c = 0; c < 3; c++) {
    const channel = channels === 1 ? 0 : c;
    const [mean, std] = normalize ? [normalize.mean[channel], normalize.std[channel]] : [0, 1];
    const [first, step] = layout === 'Nhwc' ? [channel, channels] : [channel * area, 1];
    for (let i = 0; i < area; i++) pixels[4 * i + c] = 255 * ((values[first + i * step] / scale) * std + mean);
  }
  return new ImageData(pixels, width);
}
