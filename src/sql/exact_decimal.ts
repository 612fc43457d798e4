/** An exact decimal for arithmetic: `units × 10^-scale`. */
export interface ExactDecimal {
  readonly units: bigint;
  readonly scale: number;
}

export function parseExactDecimal(plain: string): ExactDecimal {
  const point = plain.indexOf(".");
  if (point < 0) return { units: BigInt(plain), scale: 0 };
  return {
    units: BigInt(plain.slice(0, point) + plain.slice(point + 1)),
    scale: plain.length - point - 1,
  };
}

export function printExactDecimal({ units, scale }: ExactDecimal): string {
  if (scale === 0) return String(units);
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

export function addExactDecimals(left: ExactDecimal, right: ExactDecimal): ExactDecimal {
  const scale = Math.max(left.scale, right.scale);
  return { units: unitsAt(left, scale) + unitsAt(right, scale), scale };
}

/** Divides a decimal by a count, to `digits` decimal places, rounded half away from zero. */
export function divideExactDecimal(sum: ExactDecimal, count: bigint, digits: number): ExactDecimal {
  const scale = Math.max(sum.scale, digits);
  const numerator = unitsAt(sum, scale);
  const denominator = count * 10n ** BigInt(scale - digits);
  const magnitude = ((numerator < 0n ? -numerator : numerator) * 2n + denominator) /
    (denominator * 2n);
  return { units: numerator < 0n ? -magnitude : magnitude, scale: digits };
}

function unitsAt({ units, scale }: ExactDecimal, wanted: number): bigint {
  return wanted === scale ? units : units * 10n ** BigInt(wanted - scale);
}
