/** One side of a benchmark in a process of its own: `http_server.ts ours|guarded|hand PATH [PORT]`. */
import { createApp } from "../mod.ts";
import { handWritten } from "./hand_written.ts";
import { notesService } from "./notes_service.ts";

const [side, path, port = "0"] = Deno.args;
if (path === undefined) throw new Error("Usage: http_server.ts ours|guarded|hand PATH [PORT]");
const { fetch } = side === "hand" ? handWritten(path) : await ours(path, side === "guarded");
Deno.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request) => fetch(request));

async function ours(
  path: string,
  isGuarded: boolean,
): Promise<{ fetch(request: Request): Promise<Response> }> {
  // So much that it never runs out, and little enough to be counted at every request.
  const budget = { capacity: 1_000_000, refillPerMinute: 60_000_000 };
  return await createApp({
    ...(isGuarded
      ? {
        kv: `${path}.kv`,
        abuseProtection: { budget: { classes: { anonymous: budget, authenticated: budget } } },
      }
      : {}),
    ...await notesService(path),
  });
}
