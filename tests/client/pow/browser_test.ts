import { createHash } from "node:crypto";
import { chromium } from "playwright-core";
import { assert, assertEquals } from "@std/assert";
import { chromiumForTests } from "../../support/chromium.ts";
import { scratchFolder } from "../../support/scratch.ts";
import { testUnless } from "../../support/skip.ts";

const browser = await chromiumForTests();
const token = "the challenge of a response";
/** From here on the solver starts workers. */
const difficulty = 19;

const policies: readonly [string, string][] = [
  ["nothing but its own files", "default-src 'self'"],
  [
    "workers and vectors",
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src data:",
  ],
];

/** The solver as a page loads it: `globalThis.solve`. */
async function bundledSolver(): Promise<string> {
  await using folder = await scratchFolder();
  const solver = new URL("../../../exports/proof_of_work.ts", import.meta.url);
  const entry = `${folder.path}/page.ts`;
  await Deno.writeTextFile(entry, `import { solve } from "${solver}"; globalThis.solve = solve;`);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--platform", "browser", "--no-check", entry],
    cwd: new URL("../../../", import.meta.url),
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

for (const [allowed, policy] of policies) {
  testUnless(
    "missing" in browser ? browser.missing : null,
    `a page whose Content-Security-Policy permits ${allowed} solves a challenge`,
    async () => {
      if ("missing" in browser) throw new Error(browser.missing);
      const script = await bundledSolver();
      await using server = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {} },
        (request) =>
          request.url.endsWith("/page.js")
            ? new Response(script, { headers: { "content-type": "text/javascript" } })
            : new Response(`<!doctype html><script type="module" src="/page.js"></script>`, {
              headers: { "content-type": "text/html", "content-security-policy": policy },
            }),
      );
      const running = await chromium.launch({ executablePath: browser.path });
      try {
        const page = await running.newPage();
        await page.goto(`http://127.0.0.1:${server.addr.port}/`);
        const solving = `globalThis.solve(${JSON.stringify({ token, difficulty })})`;
        const nonce = String(await page.evaluate(solving));
        const [first, second, third = 255] = createHash("sha256").update(`${token}:${nonce}`)
          .digest();
        assertEquals([first, second], [0, 0]);
        assert(third < 2 ** (24 - difficulty), nonce);
      } finally {
        await running.close();
      }
    },
  );
}
