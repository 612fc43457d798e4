import { assert, assertEquals } from "@std/assert";
import { exportedFiles, root, sourceFiles } from "./module_graph.ts";

const namedImports = /import\s+(?:type\s+)?\{([^}]*)\}\s+from\s+"(?:\.\.\/)+src\/[^"]+"/g;

Deno.test("tests over HTTP import from the package what it exports, as its users do", () => {
  const exported = new Set(
    exportedFiles.filter((file) => !file.startsWith("src/")).flatMap((file) =>
      [...read(file).matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm)].flatMap(names)
    ),
  );
  assert(exported.has("createApp") && exported.has("App"));
  const deep = sourceFiles("tests/http").flatMap((file) =>
    [...read(file).matchAll(namedImports)].flatMap(names)
      .filter((name) => exported.has(name)).map((name) => `${file}: ${name}`)
  );
  assertEquals(deep, []);
});

function names([, list = ""]: RegExpMatchArray): string[] {
  return list.split(",").map((name) => name.trim().replace(/^type /, "").replace(/ as .*/, ""))
    .filter((name) => name !== "");
}

function read(file: string): string {
  return Deno.readTextFileSync(root + file);
}
