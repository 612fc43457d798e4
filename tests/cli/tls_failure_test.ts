import { assert, assertStringIncludes } from "@std/assert";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;

Deno.test("a server without TLS ended the start with a stack", async () => {
  await using folder = await scratchFolder();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(8));
      await connection.write(new TextEncoder().encode("N"));
      connection.close();
    }
  })();
  const { port } = listener.addr;
  const url = `postgres://ada@127.0.0.1:${port}/shop?sslmode=require`;
  const { code, stderr } = await runChild([cli, url, "--port", "0"], { cwd: folder.path });
  listener.close();
  await serving;
  assertStringIncludes(stderr, "127.0.0.1 has no TLS, and sslmode=require requires TLS");
  assert(code !== 0 && !/^ +at /m.test(stderr), stderr);
});
