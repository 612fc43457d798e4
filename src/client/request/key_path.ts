/** A key of a row: a value, or the values of a composite key in its order. */
export type KeyInput = KeyPart | readonly KeyPart[];

/** A value of a key. */
export type KeyPart = string | number | boolean;

/**
 * The path segment of a row: the values of its key are encoded one by one and joined by commas. The
 * name of a route, such as `count`, is spelt so that the service takes it for a key. Throws a
 * RangeError for a key that no URL can hold: the empty string, `.` and `..`. Throws a TypeError for
 * undefined, for objects, and for a number beyond 2^53, which JavaScript may have rounded.
 */
export function keyPath(key: KeyInput): string {
  const segment = `${[key].flat().map((part) => encodeURIComponent(exact(part)))}`;
  // A URL is normalised before it is sent: `/posts/..` is `/`, also with its dots encoded.
  if (/^\.{0,2}$/.test(segment)) throw new RangeError(`No URL has the key "${segment}"`);
  return segment.replace(routeName, (first) => `%${first.charCodeAt(0).toString(16)}`);
}

/**
 * The value. Throws a TypeError for undefined and objects, and for a number beyond 2^53, which
 * JavaScript may have rounded.
 */
export function exact<T>(value: T): T {
  if (
    value === undefined || Object(value) === value ||
    typeof value === "number" && value * value >= 2 ** 106
  ) {
    throw new TypeError(`${value} must be a string`);
  }
  return value;
}

/** The first letter of a name. */
const routeName = /^(?=(aggregate|batch|count|import|rpc|search|subscribe)$)./;
