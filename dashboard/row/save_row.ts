import { ConflictError, ServiceError } from "../../exports/client.ts";
import type { ResourceDescription } from "../service/facts.ts";
import type { AnyClient, Row } from "../service/resources.ts";
import { toError } from "../service/use_report.ts";
import { isSame } from "./draft.ts";

/** A row with its tag; null where the resource has none. */
export interface TaggedRow {
  readonly value: Row;
  readonly etag: string | null;
}

/** What became of a save. */
export type Saved =
  | { readonly kind: "saved"; readonly row: TaggedRow }
  /** The row has changed since it was read; null where it is gone. */
  | { readonly kind: "conflict"; readonly theirs: TaggedRow | null }
  /** What is wrong, by the names of the fields; the empty name is the row. */
  | { readonly kind: "invalid"; readonly problems: ReadonlyMap<string, string> }
  | { readonly kind: "failed"; readonly error: Error };

/** Changes a row, unless it is another one than the operator has read. */
export async function saveRow(
  client: AnyClient,
  { etag: hasTags }: Pick<ResourceDescription, "etag">,
  { key, base, patch }: {
    readonly key: readonly string[];
    readonly base: TaggedRow;
    readonly patch: Row;
  },
): Promise<Saved> {
  try {
    if (!hasTags) {
      const theirs = await readRow(client, key);
      if (theirs === null || !isSame(theirs.value, base.value)) return { kind: "conflict", theirs };
    }
    const options = hasTags ? { ifMatch: base.etag ?? "" } : {};
    return { kind: "saved", row: await client.update(key, patch, options) };
  } catch (error) {
    if (error instanceof ConflictError) {
      return await readRow(client, key).then(
        (theirs) => ({ kind: "conflict", theirs } as const),
        (error) => ({ kind: "failed", error: toError(error) } as const),
      );
    }
    if (error instanceof ServiceError && error.status === 404) {
      return { kind: "conflict", theirs: null };
    }
    return refused(error);
  }
}

/** Creates a row. */
export async function createRow(client: AnyClient, body: Row): Promise<Saved> {
  try {
    return { kind: "saved", row: await client.create(body) };
  } catch (error) {
    return refused(error);
  }
}

/** The row as it is now; null where there is none. */
export async function readRow(
  client: AnyClient,
  key: readonly string[],
  signal?: AbortSignal,
): Promise<TaggedRow | null> {
  try {
    return await client.get(key, { signal });
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) return null;
    throw error;
  }
}

/** What the service says of a body that it refuses, at the fields that it names. */
function refused(thrown: unknown): Saved {
  const error = toError(thrown);
  if (!(error instanceof ServiceError) || error.status !== 422) return { kind: "failed", error };
  const { errors } = Object(error.problem?.details);
  if (!Array.isArray(errors) || errors.length === 0) return { kind: "failed", error };
  const problems = errors.map((one) =>
    [topOf(Object(one).path), String(Object(one).message)] as const
  );
  return { kind: "invalid", problems: new Map(problems) };
}

/** The field of a path such as `facts.pages[0]`. */
function topOf(path: unknown): string {
  return /^[^.[]*/.exec(String(path ?? ""))?.[0] ?? "";
}
