import { Problem } from "../../../problem/problem.ts";
import { FailedWrite } from "../refused/failed_write.ts";
import { InvalidFields } from "./parse_fields.ts";
import type { BodyPath } from "../../model/operation.ts";

/** Runs `work` at a path in the body, and adds the path to a Problem that `work` throws. */
export function atPath<Result>(bodyPath: BodyPath, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw atBodyPath(error, bodyPath);
  }
}

/** Runs async `work` at a path in the body, and adds the path to a Problem that it rejects with. */
export async function atPathAsync<Result>(
  bodyPath: BodyPath,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw atBodyPath(error, bodyPath);
  }
}

export function atBodyPath(error: unknown, { path, details }: BodyPath): unknown {
  // An error that concerns the whole body has no path.
  if (path === "") return error;
  if (error instanceof InvalidFields) {
    const errors = error.errors.map((fault) => ({
      path: fault.path === "" ? path : `${path}.${fault.path}`,
      message: fault.message,
    }));
    return new InvalidFields(errors, { ...error.details, ...details });
  }
  if (error instanceof FailedWrite) {
    const rows = error.rows.map(({ values }) => ({ path, details, values }));
    return new FailedWrite(error, error.resource, rows);
  }
  if (!(error instanceof Problem)) return error;
  const { slug, message, status, headers, cause } = error;
  const all = { ...error.details, ...details };
  return new Problem(slug, message, { status, headers, cause, details: all });
}

export const wholeBody: BodyPath = Object.freeze({ path: "", details: Object.freeze({}) });

export const patchPath: BodyPath = Object.freeze({ path: "patch", details: Object.freeze({}) });

export function itemPath(index: number): BodyPath {
  return { path: `items.${index}`, details: { index } };
}

/** Returns the body path of a row nested under a name like `albums.0`. */
export function pathInside({ path, details }: BodyPath, name: string): BodyPath {
  const inner = path === "" ? name : `${path}.${name}`;
  return { path: inner, details: { ...details, path: inner } };
}
