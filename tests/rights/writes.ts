import type { Ask, Operation } from "./doors.ts";
import type { Dice } from "./dice.ts";
import { newRow } from "./fill.ts";
import { plainFilter, randomFilter } from "./filters.ts";
import { hasRight, isCleared, may, mayWrite, shown, withheld } from "./oracle.ts";
import { callers, type Case, differs } from "./reads.ts";
import { View } from "./related.ts";
import { type Caller, drop, find, keyOf, put, type Row, type State } from "./state.ts";
import { type TableName, tableNames } from "./tables.ts";

/** A write, with the rows after it. */
export interface WriteCase extends Case {
  /** Null if the write must be refused. */
  readonly after: State | null;
}

/** The state from which a write is drawn. */
export interface Scene {
  readonly state: State;
  readonly view: View;
  readonly caller: Caller;
  readonly dice: Dice;
  /** Returns an id that no row has. */
  readonly fresh: () => number;
}

export function sceneOf(state: State, dice: Dice, fresh: () => number): Scene {
  const caller = dice.of(callers);
  return { state, caller, dice, fresh, view: new View(state, caller) };
}

export const keys: Readonly<Record<TableName, readonly string[]>> = {
  ...{ orgs: ["id"], teams: ["id"], members: ["id"], projects: ["id"], blocks: ["id"] },
  ...{ tasks: ["id"], comments: ["id"], shares: ["id"], labels: ["id"] },
  taggings: ["taskId", "labelId"],
};

/** Returns the values of a body that the caller may write. */
export function writable(caller: Caller, table: TableName, values: Row): Row {
  const hidden = isCleared(caller) ? undefined : withheld[table];
  return Object.fromEntries(
    Object.entries(values).filter(([name]) =>
      name !== hidden && !keys[table].includes(name) && (table !== "tasks" || name !== "version")
    ),
  );
}

const nothing: Partial<Record<TableName, Row>> = {
  projects: { budget: null },
  tasks: { secret: null, version: 1 },
};

/** Returns the row that a body creates. */
export function created(caller: Caller, table: TableName, body: Row): Row {
  const key = Object.fromEntries(keys[table].map((name) => [name, body[name]]));
  return { ...key, ...nothing[table], ...writable(caller, table, body) };
}

const versioned = (table: TableName, row: Row): Row =>
  table === "tasks" ? { ...row, version: Number(row["version"]) + 1 } : row;

/** Draws the body of a new row that its caller may often create. */
export function newBody(table: TableName, scene: Scene): Row {
  const { state, dice, caller, fresh, view } = scene;
  const row = { ...newRow(table, fresh(), dice.once(3) ? state : seenState(view), dice) };
  for (const name of ["authorId", "ownerId"]) {
    if (name in row && !dice.once(4)) row[name] = caller ?? "ada";
  }
  return row;
}

/** Returns the state with only the readable rows, if there are any. */
function seenState(view: View): State {
  const seen = Object.fromEntries(
    tableNames.map((
      name,
    ) => [name, view.rows(name).length > 0 ? view.rows(name) : view.state[name]]),
  );
  // It has every table.
  return seen as unknown as State;
}

/** Draws other values of one or two columns. */
export function changes(table: TableName, scene: Scene): Row {
  const { dice } = scene;
  const other = newBody(table, scene);
  const names = Object.keys(other).filter((name) => !keys[table].includes(name));
  const drawn = [dice.of(names), ...dice.some(names, 1)];
  return Object.fromEntries(drawn.map((name) => [name, other[name]]));
}

/** Draws an existing row, readable ones more often; null without rows. */
export const someRow = (table: TableName, { dice, view, state }: Scene): Row | null =>
  dice.maybeOf(dice.once(3) ? state[table] : view.rows(table)) ?? dice.maybeOf(state[table]);

/** Returns the statuses of a request without any right; null if the rows decide. */
export function declared(
  table: TableName,
  caller: Caller,
  ...rights: readonly ("create" | "update" | "delete")[]
): readonly number[] | null {
  if (caller === null) return [401];
  return rights.every((right) => hasRight(right, table)) ? null : [403];
}

const refuse = (ask: Ask, statuses: readonly number[]): WriteCase => ({
  ...{ ask, statuses, after: null, check: () => null },
});

export function permit(
  ask: Ask,
  status: number,
  after: State,
  ...[rightBody, isRight = true]: readonly [rightBody: unknown, isRight?: boolean | null]
): WriteCase {
  return {
    ...{ ask, statuses: isRight === null ? [status, 403, 422] : [status], after },
    check: ({ body }) => rightBody === undefined ? null : differs(body, rightBody),
  };
}

export { refuse };

function create(table: TableName, scene: Scene): WriteCase {
  const { state, caller, dice } = scene;
  const taken = dice.once(12) ? dice.maybeOf(state[table]) : null;
  const body = { ...newBody(table, scene), ...(taken && keyOfRow(table, taken)) };
  const ask: Ask = { operation: "create", table, caller, body };
  const refusal = declared(table, caller, "create");
  if (refusal !== null) return refuse(ask, refusal);
  const row = created(caller, table, body);
  // The database refuses a taken key before the service evaluates the scope.
  if (find(state, table, keyOf(table, row)) !== undefined) return refuse(ask, [403, 409]);
  const after = put(state, table, row);
  const isRight = mayWrite(state, after, caller, [{ right: "create", table, row }]);
  return isRight === false
    ? refuse(ask, [403])
    : permit(ask, 201, after, shown(caller, table, row), isRight);
}

const keyOfRow = (table: TableName, row: Row): Row =>
  Object.fromEntries(keys[table].map((name) => [name, row[name]]));

/** Returns the statuses of a refusal that does not depend on the new values, or null. */
function reach(
  right: "update" | "delete",
  table: TableName,
  row: Row | null,
  { state, caller, view }: Scene,
): readonly number[] | null {
  if (caller === null) return [401];
  const isSeen = row !== null && view.rows(table).includes(row);
  if (!hasRight(right, table)) return isSeen ? [403] : [403, 404];
  if (!isSeen) return [404];
  return may(right, state, caller, table, row) ? null : [403];
}

function change(operation: "update" | "replace", table: TableName, scene: Scene): WriteCase {
  const { state, caller, dice } = scene;
  const row = someRow(table, scene);
  const key = row === null ? (table === "taggings" ? "998,998" : "998") : keyOf(table, row);
  const body = operation === "update" ? changes(table, scene) : {
    ...newBody(table, scene),
    ...keyOfRow(table, row ?? { id: 998, taskId: 998, labelId: 998 }),
  };
  const tag = table === "tasks" && dice.once(3) ? dice.of(["current", 'W/"990"']) : undefined;
  const ask: Ask = {
    ...{ operation, table, caller, key, body },
    ...(tag === undefined ? {} : { ifMatch: tag }),
  };
  const refusal = reach("update", table, row, scene);
  const isStale = tag !== undefined && tag !== "current";
  if (refusal !== null) return refuse(ask, isStale ? [...refusal, ...stale(refusal)] : refusal);
  if (isStale) return refuse(ask, [412]);
  const next = versioned(table, { ...row, ...writable(caller, table, body) });
  const after = put(state, table, next);
  const isRight = mayWrite(state, after, caller, [{ right: "update", table, row: next }]);
  return isRight === false
    ? refuse(ask, [403])
    : permit(ask, 200, after, shown(caller, table, next), isRight);
}

/** A stale tag may cause a 412 before a 403, but only for rows that the caller may read. */
const stale = (refusal: readonly number[]) => refusal.includes(404) ? [] : [412];

function remove(table: TableName, scene: Scene): WriteCase {
  const { state, caller, dice } = scene;
  const row = someRow(table, scene);
  const key = row === null ? (table === "taggings" ? "998,998" : "998") : keyOf(table, row);
  const tag = table === "tasks" && dice.once(3) ? dice.of(["current", 'W/"990"']) : undefined;
  const ask: Ask = {
    ...{ operation: "delete", table, caller, key },
    ...(tag === undefined ? {} : { ifMatch: tag }),
  };
  const refusal = reach("delete", table, row, scene);
  const isStale = tag !== undefined && tag !== "current";
  if (refusal !== null) return refuse(ask, isStale ? [...refusal, ...stale(refusal)] : refusal);
  if (isStale) return refuse(ask, [412]);
  return permit(ask, 204, drop(state, table, [row as Row]), undefined);
}

/** Creates several rows by one request. */
function createMany(operation: "batch.create" | "import", table: TableName, scene: Scene) {
  const { state, caller, dice } = scene;
  const bodies = Array.from({ length: 1 + dice.below(3) }, () => newBody(table, scene));
  const body = operation === "import"
    ? bodies.map((one) => JSON.stringify(one)).join("\n")
    : bodies;
  const ask: Ask = { operation, table, caller, body };
  const refusal = declared(table, caller, "create");
  if (refusal !== null) return refuse(ask, refusal);
  const rows = bodies.map((one) => created(caller, table, one));
  const names = new Set(rows.map((row) => keyOf(table, row)));
  const isTaken = [...names].some((key) => find(state, table, key) !== undefined);
  const refusals = operation === "import" ? [403, 409, 422] : [403, 409];
  if (names.size < rows.length || isTaken) return refuse(ask, refusals);
  const after = rows.reduce<State>((so, row) => put(so, table, row), state);
  const written = rows.map((row) => ({ right: "create" as const, table, row }));
  const isRight = mayWrite(state, after, caller, written);
  if (isRight === false) return refuse(ask, operation === "import" ? [403, 422] : [403]);
  return operation === "import"
    ? permit(ask, 200, after, { rows: rows.length, written: rows.length }, isRight)
    : permit(ask, 201, after, { items: rows.map((row) => shown(caller, table, row)) }, isRight);
}

/** Writes all rows that a filter matches. */
function byFilter(right: "update" | "delete", table: TableName, scene: Scene): WriteCase {
  const { state, caller, dice, view } = scene;
  const isDotted = dice.once(8);
  const filter = isDotted ? randomFilter(table, view, dice, 2) : plainFilter(table, view, dice);
  const isPlain = !/[a-zA-Z]\.[a-zA-Z]/.test(filter.text);
  const body = right === "update" ? changes(table, scene) : undefined;
  const ask: Ask = { operation: `batch.${right}`, table, caller, filter: filter.text, body };
  const refusal = declared(table, caller, right);
  const isValid = filter.isValid && isPlain;
  if (refusal !== null) return refuse(ask, isValid ? refusal : [...refusal, 400]);
  if (!isValid) return refuse(ask, [400]);
  const rows = view.rows(table).filter((row) =>
    filter.holds(row, view) && may(right, state, caller, table, row)
  );
  if (body === undefined) {
    return permit(ask, 200, drop(state, table, rows), { count: rows.length });
  }
  const next = rows.map((row) => ({ ...row, ...writable(caller, table, body) }));
  const after = next.reduce<State>((so, row) => put(so, table, row), state);
  const written = next.map((row) => ({ right: "update" as const, table, row }));
  const isRight = mayWrite(state, after, caller, written);
  return isRight === false
    ? refuse(ask, [403])
    : permit(ask, 200, after, { count: rows.length }, isRight);
}

/** Replaces existing rows, or upserts rows. */
function writeMany(operation: "batch.replace" | "batch.upsert", table: TableName, scene: Scene) {
  const { state, caller, dice, view } = scene;
  const items = Array.from({ length: 1 + dice.below(2) }, () => {
    const row = operation === "batch.upsert" && dice.once(2) ? null : someRow(table, scene);
    return { ...newBody(table, scene), ...(row && keyOfRow(table, row)) };
  });
  const ask: Ask = { operation, table, caller, body: items };
  const isUpsert = operation === "batch.upsert";
  const refusal = declared(table, caller, "update", ...(isUpsert ? ["create" as const] : []));
  const rows = items.map((item) => find(state, table, keyOf(table, item)));
  const isTwice = new Set(items.map((item) => keyOf(table, item))).size < items.length;
  if (refusal !== null) return refuse(ask, isTwice ? [...refusal, 422] : refusal);
  if (isTwice) return refuse(ask, [422, 403, 404]);
  const statuses = rows.flatMap((row) => {
    if (row === undefined) return isUpsert ? [] : [404];
    if (!view.rows(table).includes(row)) return [isUpsert ? 403 : 404];
    return may("update", state, caller, table, row) ? [] : [403];
  });
  const next = items.map((item, index) => {
    const row = rows[index];
    const values = writable(caller, table, item);
    return row === undefined ? created(caller, table, item) : { ...row, ...values };
  });
  const after = next.reduce<State>((so, row) => put(so, table, row), state);
  const isRight = mayWrite(
    state,
    after,
    caller,
    next.map((row, index) => ({
      ...{ right: rows[index] === undefined ? "create" as const : "update" as const, table, row },
    })),
  );
  if (statuses.length > 0) return refuse(ask, isRight === true ? statuses : [...statuses, 403]);
  if (isRight === false) return refuse(ask, [403]);
  return permit(
    ask,
    200,
    after,
    { items: next.map((row) => shown(caller, table, row)) },
    isRight,
  );
}

/** Creates a row, or changes the row with its key. */
function createOn(table: TableName, scene: Scene): WriteCase {
  const { state, caller, dice, view } = scene;
  const old = dice.once(3) ? null : someRow(table, scene);
  const body = { ...newBody(table, scene), ...(old && keyOfRow(table, old)) };
  const ask: Ask = { operation: "create.on", table, caller, body };
  const refusal = declared(table, caller, "create", "update");
  if (refusal !== null) return refuse(ask, refusal);
  const row = old === null
    ? created(caller, table, body)
    : versioned(table, { ...old, ...writable(caller, table, body) });
  const after = put(state, table, row);
  const isSeen = old === null ||
    (view.rows(table).includes(old) && may("update", state, caller, table, old));
  const right = old === null ? "create" as const : "update" as const;
  const isRight = isSeen && mayWrite(state, after, caller, [{ right, table, row }]);
  if (isRight === false) return refuse(ask, [403]);
  const answer = permit(ask, 200, after, shown(caller, table, row), isRight);
  // Calls in code do not distinguish the two.
  return old === null ? { ...answer, statuses: [...answer.statuses, 201] } : answer;
}

/** Draws a write of one table, with the required result. */
export function flatWrite(scene: Scene): WriteCase {
  const first = anyWrite(scene);
  // Most random writes are refused.
  return first.after === null && scene.dice.once(2) ? anyWrite(scene) : first;
}

function anyWrite(scene: Scene): WriteCase {
  const { dice } = scene;
  const table = dice.of([...tableNames, "tasks", "tasks", "projects", "members"] as const);
  const operation = dice.of<Operation>([
    ...([
      "create",
      "create.on",
      "create",
      "update",
      "update",
      "update",
      "replace",
      "delete",
    ] as const),
    ...(["import", "batch.create", "batch.update", "batch.replace"] as const),
    ...(["batch.upsert", "batch.upsert", "batch.delete"] as const),
  ]);
  switch (operation) {
    case "create":
      return create(table, scene);
    case "create.on":
      return createOn(table === "taggings" ? "tasks" : table, scene);
    case "update":
    case "replace":
      return change(operation, table, scene);
    case "delete":
      return remove(table, scene);
    case "batch.update":
      return byFilter("update", table, scene);
    case "batch.delete":
      return byFilter("delete", table, scene);
    case "batch.replace":
    case "batch.upsert":
      return writeMany(operation, table, scene);
    default:
      return createMany(operation === "import" ? "import" : "batch.create", table, scene);
  }
}
