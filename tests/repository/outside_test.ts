import { assertEquals } from "@std/assert";
import { runChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { root } from "./module_graph.ts";

Deno.test("a program outside the repository imports the package as the README says", async () => {
  await using folder = await scratchFolder();
  const readme = Deno.readTextFileSync(`${root}README.md`);
  const [, configuration = ""] = /^```json\n(.*"@svc\/resource-api".*)\n```$/m.exec(readme) ?? [];
  await Deno.writeTextFile(
    `${folder.path}/deno.json`,
    configuration.replace("../resource-api/", root),
  );
  // The versions that are there already: a test asks no registry for newer ones.
  await Deno.copyFile(`${root}deno.lock`, `${folder.path}/deno.lock`);
  await Deno.writeTextFile(
    `${folder.path}/main.ts`,
    `
    import { createApp, integer, openDatabase, resource, table } from "@svc/resource-api";
    const notes = table("notes", { id: integer().primaryKey() });
    const db = await openDatabase("sqlite::memory:");
    await db.createTables([notes]);
    const resources = [resource(notes, { id: notes.id, auth: { public: true } })];
    const app = await createApp({ db, resources, secret: "sixteen or more characters" });
    console.log((await app.fetch(new Request("http://localhost/api/notes"))).status);
    await app.close();
  `,
  );
  const { stdout, stderr } = await runChild(["main.ts"], { cwd: folder.path });
  assertEquals(stdout, "200\n", stderr);
});
