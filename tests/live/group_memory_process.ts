/**
 * The process of the tests of memory: opens anonymous streams, each with groups of its own over
 * texts of 4 kB, and prints what each shows after a write.
 */
import { integer, resource, table, text } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { insertRows, withService } from "../support/http.ts";

const [name, streams, rows] = Deno.args;
const engine = engines.find((one) => one.name === name);
if (engine === undefined) throw new Error(`There is no engine ${name}`);

const notes = table("notes", { id: integer().primaryKey(), body: text(), n: integer() });

await withService(engine, [notes], () => ({
  resources: [
    resource(notes, { id: notes.id, auth: { public: { read: true, subscribe: true } } }),
  ],
}), async ({ db, subscribe }) => {
  const body = (id: number) => `${id} `.padEnd(4_096, "x");
  const all = Array.from({ length: Number(rows) }, (_, id) => ({ id, body: body(id), n: 1 }));
  for (let from = 0; from < all.length; from += 500) {
    await insertRows(db, notes, all.slice(from, from + 500));
  }
  const open = [];
  for (let n = 0; n < Number(streams); n++) {
    const filter = `id>=${n}`;
    const path = "/api/notes/aggregate/subscribe?groupBy=body,n&min=body&count=true&limit=1";
    open.push(await subscribe(`${path}&filter=${filter}&orderBy=-count`));
  }
  for (const stream of open) await stream.next();
  await insertRows(db, notes, [{ id: 1_000_000, body: body(1_000), n: 1 }]);
  for (const stream of open) {
    const event = await stream.next();
    const [group] = event?.data.groups ?? [];
    console.log(`counted ${group?.count} of ${group?.key.body.trim().slice(0, 4)}`);
  }
  for (const stream of open) await stream.close();
});
