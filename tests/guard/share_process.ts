/** Serves so many requests of one caller, prints how many it admitted, and is killed. */
import { createApp, integer, openDatabase, resource, table } from "../../mod.ts";

const [kv = "", capacity = "", requests = ""] = Deno.args;
const things = table("things", { id: integer().primaryKey() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([things]);
const app = await createApp({
  db,
  kv,
  secret: "a secret for the tests only",
  abuseProtection: {
    budget: { classes: { anonymous: { capacity: Number(capacity), refillPerMinute: 0 } } },
  },
  resources: [resource(things, { id: things.id, auth: { public: true } })],
});

let served = 0;
for (let n = 0; n < Number(requests); n++) {
  const answer = await app.fetch(new Request("http://test/api/things"));
  await answer.body?.cancel();
  if (answer.status !== 200) break;
  served++;
}
console.log(`served ${served}`);
Deno.kill(Deno.pid, "SIGKILL");
