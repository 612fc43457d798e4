/** The key of a row: a value, or a list of values for a composite key. */
export type KeyInput = KeyPart | readonly KeyPart[];

export type KeyPart = string | number | boolean;

/**
 * Returns the path segment of a row: the encoded values of the key, joined by commas. A key that
 * equals a route name, such as `count`, is encoded so that the service reads it as a key. A comma
 * precedes "", `.` and `..`, because clients normalize `/posts/..` to `/`, even if the dots are
 * percent-encoded. Throws as {@link requireExactValue} does.
 */
export function keyPath(key: KeyInput): string {
  const segment = `${[key].flat().map((part) => encodeURIComponent(requireExactValue(part)))}`;
  if (/^\.{0,2}$/.test(segment)) return `,${segment}`;
  return segment.replace(routeName, (first) => `%${first.charCodeAt(0).toString(16)}`);
}

/**
 * Returns the value if JavaScript represents it exactly. Throws a TypeError for undefined, for
 * objects, and for a number beyond 2^53, which JavaScript may have rounded.
 */
export function requireExactValue<T>(value: T): T {
  if (
    value === undefined || Object(value) === value ||
    typeof value === "number" && value * value >= 2 ** 106
  ) {
    throw new TypeError(`${value} must be a string`);
  }
  return value;
}

/** Matches the first character of a segment that equals the name of a route. */
const routeName = /^(?=(aggregate|batch|count|import|query|rpc|search|subscribe)$)./;
