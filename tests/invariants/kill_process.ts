/** The server that the kill test kills: it answers once a write is committed. */
import { openDatabase } from "../../src/engines/open_database.ts";

const [url = ""] = Deno.args;
const { driver } = await openDatabase(url);

function insert(id: string, half: number) {
  return { text: "INSERT INTO things (id, half) VALUES (?, ?)", values: [id, half] };
}

Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`port ${port}`),
}, async (request) => {
  const [, kind = "", id = ""] = new URL(request.url).pathname.split("/");
  if (kind === "one") await driver.query(insert(id, 0));
  else {
    await driver.transaction(async (connection) => {
      await connection.query(insert(id, 1));
      // Some transactions wait for something else, as hooks do.
      if (kind === "wait") await new Promise((resolve) => setTimeout(resolve, 1));
      await connection.query(insert(id, 2));
    });
  }
  return new Response("stored", { status: 201 });
});
