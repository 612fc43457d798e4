import { assertEquals, assertStringIncludes } from "@std/assert";

const root = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, root));

Deno.test("a warm GET and PATCH run no more files than the limits", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "dev/files_touched.ts"],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  const [counted, failed] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals(code, 0, `${counted}\n${failed}`);
});

Deno.test("the documents quote the limits of files", async () => {
  const source = await read("dev/files_touched.ts");
  const [, get, patch] = /limits = \{ GET: (\d+), PATCH: (\d+) \}/.exec(source) ?? [];
  const document = (await read("docs/architecture.md")).replaceAll(/\s+/g, " ");
  assertStringIncludes(document, `at most ${get} for a GET`);
  assertStringIncludes(document, `at most ${patch} for a PATCH`);
});
