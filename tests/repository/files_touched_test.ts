import { assertEquals } from "@std/assert";

const root = new URL("../../", import.meta.url);

Deno.test("a warm GET and PATCH run no more files and functions than the limits", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "dev/files_touched.ts"],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  const [counted, failed] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals(code, 0, `${counted}\n${failed}`);
});
