import { assertEquals } from "@std/assert";

Deno.test("an app is what deno serve takes", async () => {
  const example = new URL("../../examples/deno_serve.ts", import.meta.url).pathname;
  const process = new Deno.Command(Deno.execPath(), {
    args: ["serve", "-A", "--host", "127.0.0.1", "--port", "0", example],
    stderr: "piped",
    stdout: "piped",
    env: { NO_COLOR: "1" },
  }).spawn();
  try {
    let printed = "";
    let port: string | undefined;
    for await (const text of process.stderr.pipeThrough(new TextDecoderStream())) {
      printed += text;
      port = /127\.0\.0\.1:(\d+)/.exec(printed)?.[1];
      if (port !== undefined) break;
    }
    const answer = await fetch(`http://127.0.0.1:${port}/api/cities`);
    assertEquals(await answer.json(), { items: [], nextCursor: null, hasMore: false });
  } finally {
    process.kill();
    await process.stdout.cancel();
    await process.status;
  }
});
