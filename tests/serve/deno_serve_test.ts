import { assertEquals } from "@std/assert";
import { startDenoServe } from "./deno_serve.ts";

Deno.test("deno serve serves an app", async () => {
  const example = new URL("../../examples/deno_serve.ts", import.meta.url).pathname;
  await using server = startDenoServe(example);
  const answer = await fetch(`http://127.0.0.1:${await server.port()}/api/cities`);
  assertEquals(await answer.json(), { items: [], nextCursor: null, hasMore: false });
});
