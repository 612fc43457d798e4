import { assert } from "@std/assert";
import { createApp } from "../../mod.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { scratchFolder } from "../support/scratch.ts";
import { openWatched, visit } from "./watched_page.ts";

const chinook = Deno.env.get("CHINOOK_SQLITE");
const missing = chinook === undefined ? "CHINOOK_SQLITE names no file" : null;

createBrowserTests([], missing)(
  "every table of a database that others wrote opens, and a row of each",
  async ({ context }) => {
    await using folder = await scratchFolder();
    const path = `${folder.path}/chinook.sqlite`;
    await Deno.copyFile(chinook ?? "", path);
    const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: true }, "t_token");
    const { config } = await serveDatabase(path, {
      ...{ rights, runtime: systemRuntime(() => {}), isSearched: false, schemas: null },
      ...{ kv: undefined, accountsIn: undefined, recording: null },
    });
    const app = await createApp({ ...config, adminUI: true, observability: true });
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request, info) => app.fetch(request, info),
    );
    const { page, done } = await openWatched(
      context,
      `http://127.0.0.1:${server.addr.port}/__service/ui#/`,
    );
    assert(app.resources.length > 10);
    for (const { name } of app.resources) {
      await visit(page, `data/${name}`);
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
      await page.locator(".grid tbody a").first().click();
      await page.getByRole("button", { name: "Save" }).waitFor();
    }
    await done();
    await server.shutdown();
    await app.close();
  },
);
