/** One of several processes that share budgets: prints how many requests it served. */
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { openSharedStore } from "../support/open_store.ts";
import { all, createApp, integer, openDatabase, resource, table, text } from "../../mod.ts";

const [kv = "", processes = "", requests = ""] = Deno.args;
const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);
const store = await openSharedStore(kv, systemRuntime(() => {}));
const app = await createApp({
  db,
  kv: store,
  secret: "a secret for the tests only",
  abuseProtection: { budget: { classes: { anonymous: { capacity: 10, refillPerMinute: 0 } } } },
  resources: [resource(notes, { id: notes.id, auth: { public: true, create: () => all() } })],
});

// They begin together, so that they compete.
await store.commit({ mutations: [{ kind: "set", key: ["ready", Deno.pid], value: true }] });
while ((await store.list({ prefix: ["ready"], limit: 9 })).length < Number(processes));

async function requestFrom(hostname: string): Promise<number> {
  const answer = await app.fetch(new Request("http://test/api/notes"), {
    remoteAddr: { hostname },
  });
  await answer.body?.cancel();
  return answer.status;
}

// One caller after the other: the processes must compete for each bucket.
const answers: number[] = [];
for (let caller = 0; caller < 20; caller++) {
  const replies = Array.from({ length: Number(requests) }, () => requestFrom(`192.0.2.${caller}`));
  answers.push(...await Promise.all(replies));
}
const count = (status: number) => answers.filter((one) => one === status).length;
console.log(`served ${count(200)} refused ${count(429)} of ${answers.length}`);
await app.close();
