/** Returns an ETag for comparisons, without the changes of a proxy: `W/`, and `-gzip` at the end. */
export function plainTag(tag: unknown): string {
  return `${tag}`.replace(/^W.|(-[a-z]+)?"$/g, "");
}
