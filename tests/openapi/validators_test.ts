import { assertEquals } from "@std/assert";
import SwaggerParser from "@apidevtools/swagger-parser";
import { runChild, startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { withEverything } from "./everything.ts";

const root = new URL("../../", import.meta.url).pathname;
const chinook = Deno.env.get("CHINOOK_SQLITE");

Deno.test("the documents of the demonstration pass two validators of other projects", async () => {
  await using folder = await scratchFolder();
  await checkServed(folder.path, []);
});

testUnless(
  chinook === undefined ? "CHINOOK_SQLITE names no file" : null,
  "the documents of Chinook pass two validators of other projects",
  async () => {
    await using folder = await scratchFolder();
    await Deno.copyFile(chinook ?? "", `${folder.path}/chinook.sqlite`);
    await checkServed(folder.path, ["chinook.sqlite", "--write"]);
  },
);

Deno.test("the documents of a service with everything pass two validators of other projects", async () => {
  await using folder = await scratchFolder();
  await withEverything(async (app) => {
    await check(folder.path, (path) => app.fetch(new Request(`http://localhost${path}`)));
  });
});

async function checkServed(cwd: string, args: readonly string[]): Promise<void> {
  await using child = startChild([`${root}cli.ts`, ...args, "--port", "0"], { cwd });
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/(?:healthz|api)/);
  await check(cwd, (path) => fetch(url + path));
}

async function check(folder: string, read: (path: string) => Promise<Response>): Promise<void> {
  for (const name of ["openapi.json", "openapi.yaml"]) {
    const response = await read(`/__service/${name}`);
    assertEquals(response.status, 200);
    const file = `${folder}/${name}`;
    await Deno.writeTextFile(file, await response.text());
    await SwaggerParser.validate(file);
    // Its own recommended rules: where there is no configuration, a warning is printed as one.
    const args = ["--config", `${root}deno.json`, "@redocly/cli", "lint", file, "--format=json"];
    const { code, stdout, stderr } = await runChild(args, { cwd: folder, env: quiet });
    const { totals } = JSON.parse(stdout.slice(stdout.indexOf("{")));
    assertEquals([code, totals.errors, totals.warnings], [0, 0, 0], stdout + stderr);
  }
}

/** It would report how it is used. */
const quiet = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
