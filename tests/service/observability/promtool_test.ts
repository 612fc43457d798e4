import { assertEquals } from "@std/assert";
import { promtoolForTests } from "../../support/promtool.ts";
import { testUnless } from "../../support/skip.ts";
import { withObservedService } from "./observed_service.ts";

const folder = await Deno.makeTempDir({ prefix: "promtool-" });
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
const promtool = await promtoolForTests(folder);

testUnless(
  "missing" in promtool ? promtool.missing : null,
  "promtool finds no fault in the metrics of a service, and sees one that is there",
  () =>
    withObservedService({}, async ({ send }) => {
      await send("POST", "/api/notes", { body: { title: "x" }, headers: { "x-user": "ann" } });
      for (const path of ["/api/notes", "/api/notes/1", "/api/notes/9", "/healthz", "/nothing"]) {
        await send("GET", path);
      }
      const text = await (await send("GET", "/__service/metrics")).text();
      assertEquals(await check(text), { code: 0, out: "" });
      const { code } = await check(text.replaceAll("_requests_total", "_requests"));
      assertEquals(code === 0, false);
    }),
);

async function check(text: string): Promise<{ readonly code: number; readonly out: string }> {
  if ("missing" in promtool) throw new Error(promtool.missing);
  const child = new Deno.Command(promtool.path, {
    args: ["check", "metrics"],
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  return { code, out: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}
