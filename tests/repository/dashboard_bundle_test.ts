import { assert, assertEquals } from "@std/assert";
import { gunzipSync } from "node:zlib";
import { bundleDashboard } from "../../dev/dashboard_bundle.ts";
import { bundledDashboard } from "../../src/service/dashboard/bundled_dashboard.ts";

// Outside of the tests, because the process of esbuild ends a little after it was stopped.
const bundled = await bundleDashboard();

Deno.test("the page that the service serves is that of dashboard/: run deno task dashboard-bundle", () => {
  assertEquals(Object.keys(bundledDashboard), [...bundled.keys()]);
  for (const [name, text] of bundled) {
    const gzip = Uint8Array.fromBase64(bundledDashboard[name] ?? "");
    assert(gunzipSync(gzip).toString() === text, `${name} is out of date`);
  }
});

Deno.test("the page of the dashboard has at most 70 kB, compressed", () => {
  const sizes = Object.values(bundledDashboard).map((text) => Uint8Array.fromBase64(text).length);
  assert(sizes.reduce((sum, size) => sum + size, 0) <= 70_000, `${sizes}`);
});
