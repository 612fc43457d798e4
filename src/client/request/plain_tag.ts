/** Returns an ETag for comparisons, without the `W/` and the `-gzip` that a proxy adds. */
export function plainTag(tag: unknown): string {
  return `${tag}`.replace(/^W.|(-[a-z]+)?"$/g, "");
}
