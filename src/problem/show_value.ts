/** Describes a value for an error message. Never shows the content of strings and objects. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return "a string";
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Promise) return "a promise";
  return Array.isArray(value) ? "a list" : "an object";
}
