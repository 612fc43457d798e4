/** The service in production: `deno task start`. It adds missing tables and columns first. */
import { serve } from "@svc/resource-api";
import config from "./service.config.ts";
import * as tables from "./tables.ts";

await config.db.migrate(Object.values(tables));
await serve({
  ...config,
  // web
  web: "web/dist",
  // /web
});
