export type KeyInput = KeyPart | readonly KeyPart[];

export type KeyPart = string | number | boolean;

/**
 * Returns the path segment of a row: the encoded key values, joined by commas. The first letter of
 * a key that equals a route name is encoded, too. A comma precedes "", `.` and `..`, because
 * clients normalize `/posts/..` to `/`, even with percent-encoded dots.
 */
export function keyPath(key: KeyInput): string {
  const segment = `${[key].flat().map((part) => encodeURIComponent(requireExactValue(part)))}`;
  if (/^\.{0,2}$/.test(segment)) return `,${segment}`;
  return segment.replace(routeName, (first) => `%${first.charCodeAt(0).toString(16)}`);
}

/** Returns the value if it is exact. Throws a TypeError otherwise, e.g. for numbers over 2^53. */
export function requireExactValue<T>(value: T): T {
  if (
    value === undefined || Object(value) === value ||
    typeof value === "number" && value * value >= 2 ** 106
  ) {
    throw new TypeError(`${value} must be a string`);
  }
  return value;
}

const routeName = /^(?=(aggregate|batch|count|import|query|rpc|search|subscribe)$)./;
