/**
 * The process of the test of resident memory: serves rows of a megabyte to fifty clients that do not
 * read, changes some rows, and prints the most memory that it took. With the argument `multiplexed`
 * one client has all fifty streams as one.
 */
import { integer, resource, serve, table, text } from "../../mod.ts";
import { engines } from "../support/engines.ts";
import { run } from "../support/scratch.ts";

const engine = engines.find(({ name }) => name === Deno.args[0]);
if (engine === undefined) throw new Error("There is no such engine");

const notes = table("notes", { id: integer().primaryKey(), n: integer(), body: text() });
const db = await engine.open();
await db.createTables([notes]);
const body = "x".repeat(1_000_000);
for (let id = 1; id <= 30; id++) {
  await run(db, "INSERT INTO notes (id, n, body) VALUES (?, 0, ?)", id, body);
}
const server = await serve({
  db,
  port: 0,
  secret: "a secret for the tests only",
  onListen: () => {},
  resources: [
    resource(notes, { id: notes.id, auth: { public: { read: true, subscribe: true } } }),
  ],
});

const clients: Deno.Conn[] = [];
let max = 0;
const timer = setInterval(() => max = Math.max(max, Deno.memoryUsage().rss), 20);
// Half of them have read nothing of their snapshot, the others have none and receive the changes.
const paths = Array.from(
  { length: 50 },
  (_, n) => `/api/notes/subscribe?filter=id>=-${n}&skipExisting=${n % 2 === 0}`,
);
if (Deno.args[1] === "multiplexed") {
  const subscriptions = paths.map((path, n) => ({ key: `${n}`, path }));
  await send("POST", "/__service/live", JSON.stringify({ subscriptions }));
} else {
  for (const path of paths) await send("GET", path, "");
}
await turns(50);
for (let round = 0; round < 3; round++) {
  await db.driver.query({ text: "UPDATE notes SET n = n + 1 WHERE id <= 4", values: [] });
  await turns(10);
}
await turns(50);
clearInterval(timer);
console.log(`${Math.ceil(max / 1e6)} MB`);
for (const client of clients) client.close();
await server.stop();

async function send(method: string, path: string, body: string): Promise<void> {
  const client = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  clients.push(client);
  const headers = body === ""
    ? ""
    : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const request = `${method} ${path} HTTP/1.1\r\nHost: test\r\n${headers}\r\n${body}`;
  await client.write(new TextEncoder().encode(request));
}

/** Lets the server work: there is no event by which clients that do not read see that it is done. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}
