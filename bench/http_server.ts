/** One side of `http_bench.ts` in a process of its own: `http_server.ts ours|hand PATH`. */
import { all, createApp, openDatabase, resource } from "../mod.ts";
import { handWritten } from "./hand_written.ts";
import { notes } from "./notes_table.ts";

const [side, path] = Deno.args;
if (path === undefined) throw new Error("Usage: http_server.ts ours|hand PATH");
const { fetch } = side === "hand" ? handWritten(path) : await ours(path);
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request) => fetch(request));

async function ours(path: string): Promise<{ fetch(request: Request): Promise<Response> }> {
  return await createApp({
    db: await openDatabase(`sqlite:${path}`),
    secret: "a secret for the benchmark",
    resources: [
      resource(notes, { id: notes.id, auth: { public: { read: true }, create: () => all() } }),
    ],
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "bench" });
        await next();
      },
    },
  });
}
