/** Returns an ETag for comparisons, without what a proxy adds: `W/`, and `-gzip` at the end. */
export function plainTag(tag: unknown): string {
  return `${tag}`.replace(/^W.|(-[a-z]+)?"$/g, "");
}
