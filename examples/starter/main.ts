/** The service in production: `deno task start`. It adds missing tables and columns first. */
import { serve } from "@svc/resource-api";
import config from "./service.config.ts";
import { lists, tasks } from "./tables.ts";

await config.db.migrate([lists, tasks]);
await serve({
  ...config,
  // web
  web: "web/dist",
  // /web
});
