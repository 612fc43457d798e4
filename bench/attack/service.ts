/**
 * The service under attack, in a process of its own: `service.ts DATABASE attacks|scans`, with the
 * default limits. It prints its port. A request with `x-user` is that user's.
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
  // The command line gives one of these two.
  resources: resourcesOf(content as Content),
  onListen: ({ port }) => console.log(`port ${port}`),
});
