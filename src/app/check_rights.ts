import type { User } from "../auth/authorize.ts";
import { didYouMean } from "../problem/nearest_name.ts";
import { Problem } from "../problem/problem.ts";
import type { CallsFromCode } from "../resource/code/calls_from_code.ts";
import { type RowTrials, rowTrials } from "../resource/code/code_apis.ts";
import type { AnyApi, CodeApi } from "../resource/model/code_api.ts";
import { writeJson } from "../schema/exact_json.ts";

/** The users and rows for {@link checkRights}, and the rights that the users should have. */
export interface RightsTable<Name extends string = string> {
  /** The users by name. `null` is an anonymous caller. */
  readonly users: { readonly [user in Name]: User | null };
  /** The rows, by descriptions that the error message uses. */
  readonly rows: { readonly [description: string]: CheckedRow<NoInfer<Name>> };
}

/** A stored row or a new row, and the rights that each user should have. */
export interface CheckedRow<Name extends string = string> {
  /** The path of the resource below the base path. */
  readonly resource: string;
  /** The key of a stored row. For a composite key, the list of its values. */
  readonly id?: unknown;
  /** The values of a new row. Set this member instead of `id`. */
  readonly create?: Readonly<Record<string, unknown>> | undefined;
  /** The values of the update, which must differ from the stored values. Default: no values. */
  readonly update?: Readonly<Record<string, unknown>> | undefined;
  /**
   * The operations that each user may do, separated by spaces; `""` if the user may do nothing. For
   * a stored row: `read`, `read.FIELD`, `update`, `delete`, `subscribe`. For a new row: `create`.
   */
  readonly rights: { readonly [user in Name]: string };
}

/**
 * Compares the rights of users with the expected rights. Each operation runs in this process
 * for each user and row, with the scopes, fields and hooks of the app. Writes run in transactions
 * that are rolled back. The rows must exist already. Rejects with one message that lists each
 * difference.
 *
 * @throws {Error} If rights differ, a row does not exist, or an operation fails for another reason.
 *
 * @example
 * ```ts
 * import { createApp, eq, openDatabase, policy, resource, table, text } from "@svc/resource-api";
 * import { checkRights } from "@svc/resource-api/testing";
 *
 * const notes = table("notes", { id: text().primaryKey(), ownerId: text().notNull() });
 * const own = policy(notes, "owner of the note", (user) => eq(notes.ownerId, user.id));
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const app = await createApp({
 *   db,
 *   secret: "sixteen or more characters",
 *   resources: [resource(notes, { id: notes.id, auth: { read: own, update: own } })],
 * });
 * await app.asSystem().notes.create({ id: "a", ownerId: "ann" });
 * await checkRights(app, {
 *   users: { ann: { id: "ann" }, bob: { id: "bob" }, anonymous: null },
 *   rows: {
 *     "a note of ann": {
 *       resource: "notes",
 *       id: "a",
 *       rights: { ann: "read update", bob: "", anonymous: "" },
 *     },
 *   },
 * });
 * await app.close();
 * ```
 */
export async function checkRights<Name extends string>(
  app: CallsFromCode<unknown>,
  { users, rows }: RightsTable<Name>,
): Promise<void> {
  const callers = Object.entries<User | null>(users);
  const faults: string[] = [];
  let cells = 0;
  for (const [description, row] of Object.entries<CheckedRow>(rows)) {
    const operations = operationsOf(row, description);
    const differences: string[] = [];
    await requireRow(app, row, description);
    for (const [name, user] of callers) {
      const expected = wordsOf(row.rights[name] ?? "");
      for (const operation of operations) {
        cells++;
        const isExpected = expected.includes(operation);
        const trials = trialsOf(app, user, row);
        const difference = await differenceOf(operation, row, trials, isExpected);
        if (difference !== null) differences.push(`  ${name}: ${operation} ${difference}`);
      }
    }
    if (differences.length > 0) faults.push(`"${description}":`, ...differences);
  }
  if (faults.length === 0) return;
  const count = faults.filter((line) => line.startsWith("  ")).length;
  throw new Error([`Rights differ in ${count} of ${cells} places.`, ...faults].join("\n"));
}

const ofStoredRows = ["read", "update", "delete", "subscribe"];

function operationsOf({ create, rights }: CheckedRow, description: string): readonly string[] {
  const known = create === undefined ? ofStoredRows : ["create"];
  const words = Object.values(rights).flatMap(wordsOf);
  const isField = (word: string) => create === undefined && /^read\../.test(word);
  const unknown = words.find((word) => !known.includes(word) && !isField(word));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, known) || `: it has ${known.join(", ")}`;
    throw new Error(`"${description}" has no operation "${unknown}"${hint}`);
  }
  return [...known, ...new Set(words.filter(isField))];
}

function wordsOf(rights: string): readonly string[] {
  return rights.split(/[\s,]+/).filter((word) => word !== "");
}

/** Rejects if the row does not exist, because the row's operations would all seem denied. */
async function requireRow(
  app: CallsFromCode<unknown>,
  { resource, id, create, update }: CheckedRow,
  description: string,
): Promise<void> {
  if ((id === undefined) === (create === undefined)) {
    throw new Error(`"${description}" needs either id, of a stored row, or create, for a new one`);
  }
  if (create !== undefined) return;
  const { value } = await app.asSystem().of(resource).get(id).catch((cause: Error) => {
    throw new Error(`"${description}": ${cause.message}`, { cause });
  });
  const same = Object.keys(update ?? {}).find((name) => isSame(value, update, name));
  if (same === undefined) return;
  throw new Error(`"${description}": update.${same} is the stored value, so nothing would change`);
}

function isSame(row: object, other: object | undefined, name: string): boolean {
  return writeJson(Reflect.get(row, name)) === writeJson(Reflect.get(other ?? {}, name));
}

function trialsOf(app: CallsFromCode<unknown>, user: User | null, row: CheckedRow): RowTrials {
  // The cast is safe: the API of every app has this member, but its type does not contain it.
  const api = app.as<AnyApi>(user) as unknown as {
    readonly [rowTrials]: (path: string) => RowTrials;
  };
  return api[rowTrials](row.resource);
}

async function differenceOf(
  operation: string,
  row: CheckedRow,
  trials: RowTrials,
  isExpected: boolean,
): Promise<string | null> {
  let denial: string | null;
  try {
    denial = await run(operation, row, trials);
  } catch (error) {
    const status = error instanceof Problem ? error.status : null;
    denial = error instanceof Problem ? `${status} ${error.message}` : String(error);
    // A constraint or hook rejected the delete with a 409, so the user has the right to delete.
    if (operation === "delete" && status === 409) denial = null;
    else if (![401, 403, 404, 405].includes(status ?? 500)) return `could not be tried: ${denial}`;
  }
  if (isExpected === (denial === null)) return null;
  return isExpected ? `is denied, but expected (${denial})` : "is permitted, but not expected";
}

/** Lets a write succeed for any version of the row if the resource requires `If-Match`. */
const anyVersion = { ifMatch: "*" };

/** Runs an operation. Returns null if the user has the right, or else why the right is missing. */
async function run(
  operation: string,
  { resource, id, create, update = {} }: CheckedRow,
  { api, filterOf, readStreamed }: RowTrials,
): Promise<string | null> {
  if (operation === "create") {
    return await undone(api, async (api) => void await api.of(resource).create(create ?? {}));
  }
  if (operation === "subscribe") return await readStreamed(id) ?? null;
  if (operation === "update") {
    return await undone(api, async (api) => {
      const rows = api.asSystem().of(resource);
      const { value: before } = await rows.get(id);
      await api.of(resource).update(id, update, anyVersion);
      const { value } = await rows.get(id);
      const kept = Object.keys(update).find((name) => isSame(value, before, name));
      if (kept !== undefined) throw new Problem("forbidden", `${kept} was not changed`);
    });
  }
  if (operation === "delete") {
    return await undone(api, (api) => api.of(resource).delete(id, anyVersion));
  }
  const { value } = await api.of(resource).get(id);
  if (operation !== "read") {
    const field = operation.slice("read.".length);
    return Object.hasOwn(value, field) ? null : `the row has no field "${field}"`;
  }
  const { items } = await api.of(resource).list({ filter: filterOf(id) }).catch((error) => {
    // The user cannot filter by the key. The success of `get` proves the right to list the row,
    // because `get` and `list` have the same scope.
    if (error instanceof Problem && error.status === 400) return { items: [value] };
    throw error;
  });
  return items.length > 0 ? null : "the list does not contain the row";
}

async function undone(
  api: CodeApi<AnyApi>,
  work: (api: CodeApi<AnyApi>) => Promise<void>,
): Promise<null> {
  const undo = new Error("The transaction of a check is rolled back");
  try {
    return await api.transaction<never>(async ({ api }) => {
      await work(api);
      throw undo;
    });
  } catch (error) {
    if (error === undo) return null;
    throw error;
  }
}
