import { assertEquals } from "@std/assert";
import { gunzipSync } from "node:zlib";
import { starterSources } from "../../dev/starter_bundle.ts";
import { bundledStarter } from "../../src/cli/init/bundled_starter.ts";
import { root } from "./module_graph.ts";

const sources = starterSources();

Deno.test("the files of a new project are those of examples/starter: run deno task starter-bundle", () => {
  const bundled = JSON.parse(gunzipSync(Uint8Array.fromBase64(bundledStarter)).toString());
  assertEquals(bundled, sources);
});

Deno.test("the starter names the Deno of .ci/run, and each npm script names a task", () => {
  const [, version = ""] = /^version=(.*)$/m.exec(Deno.readTextFileSync(`${root}.ci/run`)) ?? [];
  const { tasks } = JSON.parse(sources["deno.json"] ?? "");
  const { scripts } = JSON.parse(sources["package.json"] ?? "");
  for (const [name, script] of Object.entries(scripts)) {
    assertEquals(script, `npx -y deno@${version} task ${name}`);
    assertEquals(Object.hasOwn(tasks, name), true, name);
  }
  for (const file of ["Dockerfile", "npm/Dockerfile"]) {
    const [, image] = /^FROM denoland\/deno:(.*)$/m.exec(sources[file] ?? "") ?? [];
    assertEquals(image, version, file);
  }
  assertEquals(JSON.parse(sources["npm/package.json"] ?? "").dependencies.deno, version);
});
