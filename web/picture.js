// The picture before the recipe: one that this file draws, or a photograph of the reader's. Both become RGBA bytes.

import { Told } from './gpu.js';

/** A drawn landscape with fine lines and strong colours, on which every operator shows. */
export function drawnPicture() {
  const [width, height] = [640, 480];
  const context = new OffscreenCanvas(width, height).getContext('2d');
  const fill = (style, path) => {
    context.fillStyle = style;
    context.beginPath();
    path(context);
    context.fill();
  };
  const sky = context.createLinearGradient(0, 0, 0, 330);
  sky.addColorStop(0, '#1f5fa8');
  sky.addColorStop(0.7, '#8fc3e8');
  sky.addColorStop(1, '#f6dba6');
  fill(sky, (at) => at.rect(0, 0, width, 330));
  fill('#fff2b0', (at) => at.arc(505, 105, 42, 0, 7));
  fill('#5d6f94', (at) => { at.moveTo(0, 330); at.lineTo(120, 170); at.lineTo(210, 260); at.lineTo(330, 130); at.lineTo(520, 330); });
  fill('#f4f6fa', (at) => { at.moveTo(330, 130); at.lineTo(296, 167); at.lineTo(322, 182); at.lineTo(340, 168); at.lineTo(366, 190); at.lineTo(371, 176); });
  fill('#3f7d54', (at) => { at.moveTo(0, 320); at.bezierCurveTo(180, 250, 330, 350, 640, 285); at.lineTo(640, 480); at.lineTo(0, 480); });
  fill('#2e5f45', (at) => { at.moveTo(0, 395); at.bezierCurveTo(200, 340, 420, 430, 640, 370); at.lineTo(640, 480); at.lineTo(0, 480); });
  for (let i = 0; i < 15; i++) {
    const [x, y, size] = [24 + 43 * i + ((i * 29) % 17), 372 + ((i * 53) % 60), 22 + ((i * 31) % 18)];
    fill('#5a3b24', (at) => at.rect(x - 3, y, 6, size * 0.7));
    fill(i % 3 ? '#1f4a35' : '#86602b', (at) => { at.moveTo(x, y - 2 * size); at.lineTo(x + size * 0.7, y + 4); at.lineTo(x - size * 0.7, y + 4); });
  }
  fill('#b8402e', (at) => at.rect(402, 318, 104, 66));
  fill('#6b2a22', (at) => { at.moveTo(390, 320); at.lineTo(454, 272); at.lineTo(518, 320); });
  fill('#f3e7c9', (at) => { at.rect(418, 336, 22, 20); at.rect(468, 336, 22, 20); });
  fill('#43251c', (at) => at.rect(446, 350, 16, 34));
  context.strokeStyle = '#f8fafc';
  for (let i = 0; i < 9; i++) {
    context.lineWidth = 0.6 + i * 0.25;
    context.beginPath();
    context.moveTo(40 + 24 * i, 440 + 4 * i);
    context.lineTo(110 + 24 * i, 404 + 5 * i);
    context.stroke();
  }
  return { ...bytesOf(context, width, height), name: 'A drawn picture' };
}

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
