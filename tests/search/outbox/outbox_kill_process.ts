/**
 * A service that kills its own process at the n-th moment: `outbox_kill_process.ts FOLDER N`. Moments
 * are before and after each call of the key-value store and each write to the index. Prints "done"
 * where it has fewer.
 */
import {
  all,
  type App,
  createApp,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../../mod.ts";
import type { KeyValue } from "../../../exports/kv.ts";
import { type IndexBackend, type SearchAdapter, sqliteSearch } from "../../../exports/search.ts";
import { createDenoKeyValue } from "../../../src/kv/deno_key_value.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";

export const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

/** A service over the files of a folder. */
export interface KillableService extends AsyncDisposable {
  readonly app: App;
  readonly backend: IndexBackend;
  send(method: string, path: string, body?: unknown): Promise<unknown>;
}

/** Opens the service; `aheadMs` is how far its clock is ahead, as leases last for minutes. */
export async function openKillable(
  folder: string,
  moment: () => Promise<void>,
  aheadMs = 0,
): Promise<KillableService> {
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    await moment();
    const result = await work();
    await moment();
    return result;
  };
  const system = systemRuntime(() => {});
  const clock = { ...system.clock, now: () => system.clock.now() + aheadMs };
  const { random, observe, environment } = system;
  const runtime = { clock, random, observe, environment: (name: string) => environment(name) };
  const store = createDenoKeyValue(await Deno.openKv(`${folder}/outbox.kv`), runtime);
  const kv: KeyValue = {
    get: (key) => around(() => store.get(key)),
    getMany: (keys) => around(() => store.getMany(keys)),
    list: (page) => around(() => store.list(page)),
    commit: (commit) => around(() => store.commit(commit)),
    close: () => store.close(),
  };
  const db = await openDatabase(`sqlite:${folder}/notes.db`);
  await db.createTables([notes]);
  const search = watchedSearch(around);
  const app = await createApp({
    ...{ db, kv, search: search.adapter, searchOutbox: { intervalMs: 3_600_000 } },
    secret: "a secret for the tests only",
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true }, create: all, update: all, delete: all },
        search: { outbox: true },
      }),
    ],
    runtime,
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
  });
  const send = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const given = body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const answer = await app.fetch(
      new Request(`http://test/api/notes${path}`, { method, ...given }),
    );
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : await answer.json();
  };
  const [backend] = search.backends;
  if (backend === undefined) throw new Error("the resource has an index");
  // The first indexing is over.
  await send("GET", "/search?q=nothing");
  return {
    ...{ app, backend, send },
    [Symbol.asyncDispose]: () => app.close(),
  };
}

function watchedSearch(around: <T>(work: () => Promise<T>) => Promise<T>): {
  readonly adapter: SearchAdapter;
  readonly backends: IndexBackend[];
} {
  const inner = sqliteSearch();
  const backends: IndexBackend[] = [];
  const openIndex: SearchAdapter["openIndex"] = (index, runtime) => {
    const backend = inner.openIndex(index, runtime);
    const { local } = backend;
    if (local === null) throw new Error("the index is in the database of the rows");
    const write = local.write.bind(local);
    local.write = (changes, connection) => around(() => write(changes, connection));
    backends.push(backend);
    return backend;
  };
  return { adapter: { ...inner, openIndex }, backends };
}

/** The work of the process: one row is changed, one is deleted, one is created. */
export async function work({ app, send }: KillableService): Promise<void> {
  await send("PATCH", "/1", { title: "changed" });
  await app.searchOutbox?.drain();
  await send("DELETE", "/2");
  await send("POST", "", { id: 3, title: "created" });
  await app.searchOutbox?.drain();
}

if (import.meta.main) {
  const [folder = "", last = ""] = Deno.args;
  let [moments, isCounting] = [0, false];
  const service = await openKillable(folder, () => {
    if (!isCounting || ++moments !== Number(last)) return Promise.resolve();
    Deno.kill(Deno.pid, "SIGKILL");
    // Until it has arrived.
    return new Promise(() => {});
  });
  isCounting = true;
  await work(service);
  isCounting = false;
  await service[Symbol.asyncDispose]();
  console.log("done");
}
