import type { App } from "../../../../src/app/app.ts";
import type { Connection } from "../../../../src/db/driver.ts";
import { DatabaseError } from "../../../../src/db/database_error.ts";
import type { Chance } from "../chance.ts";
import type { Findings } from "./findings.ts";
import type { History, State } from "./history.ts";
import { Refused } from "./old_sqlite.ts";
import { type UserName, users } from "./rights.ts";
import type { Statements } from "./statements.ts";
import type { Database } from "../../../../src/db/database.ts";

/** Who writes, and what is known of it. */
export interface Writing {
  readonly chance: Chance;
  readonly statements: Statements;
  readonly history: History;
  readonly findings: Findings;
  /** Looks at the tables: by a connection that sees what is committed. */
  readonly reader: Database;
  /** Called with each line that is written. */
  note(line: string): void;
}

/** One commit by SQL: some statements, some of them taken back, sometimes all. */
export async function writeBySql(db: Database, writing: Writing): Promise<void> {
  const { chance, statements, history, note } = writing;
  const inner: State[] = [];
  const turns = chance.once(3) ? 2 + chance.below(3) : 1;
  try {
    await db.driver.transaction(async (connection) => {
      for (let turn = 1; turn <= turns; turn++) {
        const sql = statements.any();
        note(`sql: ${sql}`);
        await run(connection, sql);
        if (turns > 1) inner.push(await history.read(connection, true));
        if (chance.once(6)) await writeUndone(connection, writing);
      }
      if (chance.once(8)) throw takenBack;
    });
  } catch (error) {
    note(`undone: ${error}`);
    if (error !== takenBack && !isRefusal(error)) throw error;
    return;
  }
  history.add(inner, await history.read(writing.reader.driver));
}

/** A savepoint that is rolled back; its rows are never visible. */
export async function writeUndone(
  connection: Connection,
  { statements, note }: Writing,
): Promise<void> {
  await run(connection, "SAVEPOINT inner_part");
  for (const sql of statements.undone()) {
    note(`taken back: ${sql}`);
    await run(connection, sql);
  }
  await run(connection, "ROLLBACK TO SAVEPOINT inner_part");
  await run(connection, "RELEASE SAVEPOINT inner_part");
}

/** Some statements, each in its own commit. */
export async function writeEach(
  run: (sql: string) => Promise<void>,
  some: readonly string[],
  { history, reader, note }: Writing,
): Promise<void> {
  for (const sql of some) {
    note(`sql: ${sql}`);
    try {
      await run(sql);
    } catch (error) {
      note(`refused: ${error}`);
      if (!isRefusal(error)) throw error;
      continue;
    }
    history.add([], await history.read(reader.driver));
  }
}

/** Plain SQL by the handle of the service. */
export async function writeByProcedure(app: App, writing: Writing): Promise<void> {
  const text = writing.statements.any();
  await request(app, writing, { method: "POST", path: "/api/items/rpc/sql", body: { text } });
}

/** Writes by the API, as a user. */
export async function writeByApi(app: App, writing: Writing): Promise<void> {
  const { chance, statements } = writing;
  const id = () => 1 + chance.below(36);
  const item = () => ({
    id: id(),
    projectId: chance.pick([1, 2, 3, 4, 5, null]),
    ownerId: chance.pick(["u1", "u2", "u3", null]),
    title: statements.text("api"),
    score: chance.pick([0.1 + 0.2, 1 / 3, 0.3, null]),
    size: chance.below(9),
  });
  const { id: _id, ...patch } = item();
  const requests = {
    create: { method: "POST", path: "/api/items", body: item() },
    patch: { method: "PATCH", path: `/api/items/${id()}`, body: patch },
    put: { method: "PUT", path: `/api/items/${id()}`, body: patch },
    remove: { method: "DELETE", path: `/api/items/${id()}` },
    batch: { method: "POST", path: "/api/items/batch", body: { items: [item(), item()] } },
    upsert: { method: "POST", path: "/api/items/batch/upsert", body: { items: [item()] } },
    patchSome: {
      method: "PATCH",
      path: "/api/items/batch",
      body: { filter: `projectId==${1 + chance.below(5)}`, patch: { title: patch.title } },
    },
    note: {
      method: "PATCH",
      path: `/api/notes/${1 + chance.below(30)}`,
      body: { body: statements.text("api"), visibleTo: patch.ownerId },
    },
    project: {
      method: "PATCH",
      path: `/api/projects/${1 + chance.below(5)}`,
      body: { ownerId: patch.ownerId },
    },
  };
  const path = chance.weighted({
    ...{ create: 4, patch: 10, put: 3, remove: 2, batch: 2, upsert: 2, patchSome: 2 },
    ...{ note: 4, project: 2 },
  });
  await request(app, writing, requests[path]);
}

/** Writes of the API at the same time, each of another row, so that their order makes no difference. */
export async function writeTogether(app: App, writing: Writing): Promise<void> {
  const { chance, statements, history, reader } = writing;
  const all = Array.from({ length: 36 }, (_, index) => 1 + index);
  const { items } = history.at(history.now);
  const requests = chance.sample(all, 2 + chance.below(15)).map((id): WriteRequest => {
    const body = { title: statements.text("api"), size: chance.below(9) };
    const ownerId = chance.pick(["u1", "u2", "u3", null]);
    // Some are of a row that is there: after many failures, writes would run alone.
    if (!items.has(id) || chance.once(60)) {
      return { method: "POST", path: "/api/items", body: { id, ...body, ownerId } };
    }
    return chance.once(8)
      ? { method: "DELETE", path: `/api/items/${id}` }
      : { method: "PATCH", path: `/api/items/${id}`, body };
  });
  await Promise.all(requests.map((request) => send(app, writing, request)));
  history.add([], await history.read(reader.driver));
}

interface WriteRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

async function request(app: App, writing: Writing, request: WriteRequest): Promise<void> {
  await send(app, writing, request);
  writing.history.add([], await writing.history.read(writing.reader.driver));
}

async function send(
  app: App,
  { chance, findings, note }: Writing,
  { method, path, body }: WriteRequest,
): Promise<void> {
  const user: UserName = chance.pick(users);
  const response = await app.fetch(
    new Request(`http://test${path}`, {
      method,
      headers: { "x-user": user, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    }),
  );
  const answer = await response.text();
  const line = `${user} ${method} ${path} ${JSON.stringify(body)}: ${response.status}`;
  note(line);
  // A statement that the tables refuse is an error of the procedure that ran it.
  const isRefused = response.status >= 500 && response.status !== 503;
  if (isRefused && !path.includes("/rpc/")) findings.add("writes", `${line} ${answer}`);
}

/** Whether the tables themselves refuse it: a key that is taken, or that leads nowhere. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof Refused) return /constraint failed/.test(error.message);
  return error instanceof DatabaseError &&
    ["unique", "foreign-key", "retryable", "timeout", "unavailable"].includes(error.kind);
}

const takenBack = new Error("taken back on purpose");

async function run(connection: Connection, text: string): Promise<void> {
  await connection.query({ text, values: [] });
}
