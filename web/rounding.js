// Roundings that JavaScript does not have.

/** Halves go to the even number, as Python's round. */
export function roundTiesEven(x) {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** The shortest decimal number that is this number in f32: 1.3 for 1.2999999523162842. */
export function shortest(number) {
  for (let digits = 1; digits < 9; digits++) {
    const decimal = Number(number.toPrecision(digits));
    if (Math.fround(decimal) === Math.fround(number)) return decimal;
  }
  return Number(number.toPrecision(9));
}
