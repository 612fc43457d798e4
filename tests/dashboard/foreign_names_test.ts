import { assertEquals } from "@std/assert";
import { createApp, openDatabase } from "../../mod.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { scratchFolder } from "../support/scratch.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();

const names = ["Order Details", "a/b", "+new", "constructor", "x%2Fy?#"];
const columns = ["constructor", "__proto__", "first name", "a,b", 'say "hi"', "x.y", "-less", "or"];
const keys = ["", "+new", "count", "a/b,c", "%zz", " "];

test("every name of a table, of a column and of a key opens, is filtered and is changed", async ({ context }) => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/names.sqlite`;
  const db = await openDatabase(`sqlite:${path}`);
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const run = (sql: string) => db.sql(Object.assign([sql], { raw: [sql] }));
  for (const name of names) {
    await run(
      `CREATE TABLE ${quoted(name)} (id integer primary key, ${
        columns.map((column) => `${quoted(column)} text`)
      })`,
    );
    await run(`INSERT INTO ${quoted(name)} VALUES (1, ${columns.map((_, at) => `'v${at}'`)})`);
  }
  await run("CREATE TABLE keyed (key text primary key not null, value text)");
  for (const key of keys) await run(`INSERT INTO keyed VALUES ('${key}', 'old')`);
  await db.close();
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: true }, "t_token");
  const { config } = await serveDatabase(path, {
    ...{ rights, runtime: systemRuntime(() => {}), isSearched: false, schemas: null },
    ...{ kv: undefined, accountsIn: undefined, recording: null },
  });
  const app = await createApp({ ...config, adminUI: true });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const { page, done } = await openWatched(
    context,
    `http://127.0.0.1:${server.addr.port}/__service/ui#/`,
  );
  const save = async (label: string) => {
    await page.getByLabel(label, { exact: true }).fill("new");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved.").waitFor();
  };
  for (const name of names) {
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    for (const column of columns.slice(0, name === "Order Details" ? columns.length : 1)) {
      const value = page.getByLabel(`Value for ${column}`, { exact: true });
      await value.fill(`v${columns.indexOf(column)}`);
      await value.press("Enter");
      await page.getByRole("button", { name: column, exact: true }).click();
      await page.getByText("1 row", { exact: true }).waitFor();
      assertEquals(await value.isDisabled(), false, column);
    }
    await page.getByRole("link", { name: "1", exact: true }).click();
    const saved = name === "Order Details" ? 2 : 1;
    for (const column of columns.slice(0, saved)) await save(`${column} text`);
  }
  await page.getByRole("link", { name: "keyed" }).click();
  for (const key of keys) {
    const row = page.locator(".grid tbody tr").nth([...keys].sort().indexOf(key));
    await row.getByRole("link").click();
    await save("value text");
    await page.goBack();
  }
  await page.getByRole("heading", { level: 1, name: "keyed" }).waitFor();
  await page.getByLabel("Value for value").fill("new");
  await page.getByLabel("Value for value").press("Enter");
  await page.getByText(`${keys.length} rows`, { exact: true }).waitFor();
  for (const place of ["data/%E0%A4%A", "data/keyed/%zz"]) {
    await visit(page, place);
    await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
    await visit(page, "data/keyed");
    await page.getByRole("heading", { level: 1, name: "keyed" }).waitFor();
  }
  await done();
  await server.shutdown();
  await app.close();
});
