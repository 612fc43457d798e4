/** A key of a row: a value, or the values of a composite key in its order. */
export type KeyInput = KeyPart | readonly KeyPart[];

/** A value of a key. */
export type KeyPart = string | number | boolean;

/**
 * The path segment of a row: the values of its key are encoded one by one and joined by commas. The
 * name of a route, such as `count`, is spelt so that the service takes it for a key. Throws a
 * RangeError for a key that no URL can hold: the empty text, `.` and `..`.
 */
export function keyPath(key: KeyInput): string {
  const segment = [key].flat().map((part) => encodeURIComponent(part)).join(",");
  // A URL is normalised before it is sent: `/posts/..` is `/`, also with its dots encoded.
  if (/^\.{0,2}$/.test(segment)) throw new RangeError(`No URL has the key "${segment}"`);
  return routeNames.test(segment)
    ? `%${segment.charCodeAt(0).toString(16)}${segment.slice(1)}`
    : segment;
}

const routeNames = /^(aggregate|batch|count|import|rpc|search|subscribe)$/;
