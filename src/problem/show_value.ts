/** What was given instead of what was asked for, in a word or two: never the content of an object. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return "a text";
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Promise) return "a promise";
  return Array.isArray(value) ? "a list" : "an object";
}
