/**
 * The attacked service in a separate process, with default limits: `service.ts DATABASE
 * attacks|scans`. It prints its port. The header `x-user` names the user of a request.
 */
import { openDatabase, serve } from "../../mod.ts";
import { type Content, resourcesOf } from "./tables.ts";

const [url, content] = Deno.args;
if (url === undefined || content === undefined) throw new Error("Usage: service.ts DATABASE NAME");
await serve({
  port: 0,
  db: await openDatabase(url),
  secret: "a secret for the benchmark",
  abuseProtection: { pow: { secret: "a secret for the benchmark" } },
  auth: {
    middleware: async (context, next) => {
      const id = context.req.header("x-user");
      if (id !== undefined) context.set("user", { id });
      await next();
    },
  },
  // The cast is safe: the benchmarks pass only these two values.
  resources: resourcesOf(content as Content),
  onListen: ({ port }) => console.log(`port ${port}`),
});
