import { Problem } from "../../problem/problem.ts";
import { InvalidFields } from "./parse_fields.ts";

/** Where in a body something stands. */
export interface BodyPath {
  /** Like `items.3.title`; empty for the body itself. */
  readonly path: string;
  /** What the details of a problem say of it. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Does `work` at a place. What it throws names the place. */
export function within<Result>(place: BodyPath, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw atBodyPath(error, place);
  }
}

/** The same for work that waits. */
export async function withinAsync<Result>(
  place: BodyPath,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw atBodyPath(error, place);
  }
}

/** The same fault, told where in the body it is. */
export function atBodyPath(error: unknown, { path, details }: BodyPath): unknown {
  // The body as a whole is no place to tell.
  if (path === "") return error;
  if (error instanceof InvalidFields) {
    const errors = error.errors.map((fault) => ({
      path: fault.path === "" ? path : `${path}.${fault.path}`,
      message: fault.message,
    }));
    return new InvalidFields(errors, { ...error.details, ...details });
  }
  if (!(error instanceof Problem)) return error;
  const { slug, message, headers, cause } = error;
  return new Problem(slug, message, { headers, cause, details: { ...error.details, ...details } });
}

/** The body itself. */
export const wholeBody: BodyPath = Object.freeze({ path: "", details: Object.freeze({}) });

/** An item of a batch. */
export function itemPath(index: number): BodyPath {
  return { path: `items.${index}`, details: { index } };
}

/** What is embedded at a place, under a name like `albums.0`. */
export function pathInside({ path, details }: BodyPath, name: string): BodyPath {
  const inner = path === "" ? name : `${path}.${name}`;
  return { path: inner, details: { ...details, path: inner } };
}
