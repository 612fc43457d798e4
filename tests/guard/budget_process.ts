/** One of several processes behind one budget: answers so many requests, prints how many it served. */
import { all, createApp, integer, openDatabase, resource, table, text } from "../../mod.ts";

const [kv = "", processes = "", requests = ""] = Deno.args;
const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);
const store = await Deno.openKv(kv);
const app = await createApp({
  db,
  kv: store,
  secret: "a secret for the tests only",
  abuseProtection: { budget: { classes: { anonymous: { capacity: 10, refillPerMinute: 0 } } } },
  resources: [resource(notes, { id: notes.id, auth: { public: true, create: () => all() } })],
});

// They begin together, else nobody would be in anybody's way.
await store.set(["ready", Deno.pid], true);
const prefix = { prefix: ["ready"] };
while ((await Array.fromAsync(store.list(prefix))).length < Number(processes));

const answers = await Promise.all(
  Array.from({ length: Number(requests) }, async () => {
    const answer = await app.fetch(new Request("http://test/api/notes"));
    await answer.body?.cancel();
    return answer.status;
  }),
);
const count = (status: number) => answers.filter((one) => one === status).length;
console.log(`served ${count(200)} refused ${count(429)} of ${answers.length}`);
await app.close();
