import { Problem } from "../../problem/problem.ts";
import type { Assignments } from "../../plan/plan.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { WriteCall } from "../model/operation.ts";
import { completeNewRow, newRowValues } from "../write/values/new_row_values.ts";
import { InvalidFields, parseColumns } from "../write/values/parse_fields.ts";
import { beforeCreate } from "../write/run_hooks.ts";
import type { ImportRecord } from "./import_record.ts";
import type { LineError } from "./line_errors.ts";
import type { RowShaper, ShapedRow } from "./shaped_row.ts";

/**
 * The checked values of a row to insert, and the line of its record. This is a class, because V8
 * moves all later objects of an object literal to its old generation if some survive a garbage
 * collection. With a literal, an import took a sixth longer and 50 MB more.
 */
export class PreparedRow {
  readonly line: number;
  readonly values: ShapedRow;

  constructor(line: number, values: ShapedRow) {
    this.line = line;
    this.values = values;
  }
}

export interface PrepareOptions {
  readonly write: WriteCall;
  readonly shaper: RowShaper;
}

export interface RefusedRecord {
  readonly errors: readonly LineError[];
}

/**
 * Prepares the row of a record like a create: parses its fields, runs the before-hook, and adds
 * generated values and defaults. For a rejected record, returns its errors instead. Any other error
 * of a hook ends the import.
 */
export function prepareRow(
  { line, body, fault }: ImportRecord,
  options: PrepareOptions,
): MaybePromise<PreparedRow | RefusedRecord> {
  if (fault !== null) return { errors: [{ line, ...fault }] };
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return { errors: [{ line, path: "", message: "must be an object" }] };
  }
  const { write: { resource, grant }, shaper } = options;
  try {
    const given = parseColumns(body, resource);
    if (resource.hooks.onBeforeCreate === undefined) {
      return new PreparedRow(line, shaper.shaped(completeNewRow(given, grant, resource)));
    }
    return hookedRow(given, line, options);
  } catch (error) {
    return { errors: errorsOfLine(error, line) };
  }
}

async function hookedRow(
  given: Assignments,
  line: number,
  { write, shaper }: PrepareOptions,
): Promise<PreparedRow | RefusedRecord> {
  try {
    const hooked = await beforeCreate(given, write);
    const values = newRowValues(hooked, write.grant, write.resource);
    return new PreparedRow(line, shaper.shaped(values));
  } catch (error) {
    return { errors: errorsOfLine(error, line) };
  }
}

/** Returns a row's problem as errors of its line. Throws `error` if the row did not cause it. */
export function errorsOfLine(error: unknown, line: number): readonly LineError[] {
  if (error instanceof InvalidFields) {
    return error.errors.map(({ path, message }) => ({ line, path, message }));
  }
  if (!(error instanceof Problem) || error.status >= 500) throw error;
  const named = error.details?.["errors"];
  if (Array.isArray(named) && named.length > 0) {
    // `refusedWrite` or a hook has created these errors.
    return named.map(({ path, message }) => ({
      line,
      path: String(path ?? ""),
      message: String(message ?? error.message),
    }));
  }
  return [{ line, path: "", message: error.message }];
}
