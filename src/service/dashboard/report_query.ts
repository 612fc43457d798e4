import { Problem } from "../../problem/problem.ts";
import type { Resource } from "../../resource/model/resource.ts";

/** Returns a required parameter of a report. Throws a 400. */
export function requireParameter(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (text !== null && text !== "") return text;
  throw new Problem(
    "invalid-parameter",
    `Cannot read the report: the parameter ${name} is missing`,
  );
}

/** Returns an integer parameter of a report, or null without one. Throws a 400. */
export function integerParameter(
  query: URLSearchParams,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): number | null {
  const text = query.get(name);
  if (text === null || text === "") return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (value >= from && value <= to) return value;
  throw new Problem(
    "invalid-parameter",
    `Cannot read the report: ${name} must be a whole number from ${from} to ${to}`,
  );
}

/** Returns the resource with this path below the base path, or table name. Throws a 400. */
export function requireResource(
  name: string,
  resources: readonly Resource[],
  basePath: string,
): Resource {
  const found = resources.find(({ url }) => url === `${basePath}/${name}`) ??
    resources.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new Problem("invalid-parameter", `Cannot read the report: there is no resource "${name}"`);
}
