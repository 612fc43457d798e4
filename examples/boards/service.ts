/**
 * The same board in React, Vue, Svelte, with TanStack DB and without a framework: each page shows
 * the changes of all others. The page without a framework needs no build step:
 *
 *     deno run -A examples/boards/service.ts
 *
 * Open http://127.0.0.1:8000/plain/. To build the other pages, pack the client and run Vite:
 *
 *     deno task npm-client
 *     cd examples/boards/web && npm install && npm run build
 *
 * Then open /react/, /vue/, /svelte/ or /tanstack/. While you change a page, run `npm run dev` next
 * to the service, and open the address that it prints. `web/api.d.ts` contains the types of the
 * service. After a change of `config.ts`, write it again:
 *
 *     deno run -A cli.ts types --config examples/boards/config.ts > examples/boards/web/api.d.ts
 */
import { serve } from "@svc/resource-api";
import { serveStatic } from "@hono/hono/deno";
import config from "./config.ts";

const folder = new URL("web/", import.meta.url).pathname;

await serve({
  ...config,
  // The built pages, which contain the files of `public`, or without a build only these files.
  middleware: [
    serveStatic({ root: `${folder}dist` }),
    serveStatic({ root: `${folder}public` }),
  ],
});
