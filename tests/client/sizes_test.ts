import { assert } from "@std/assert";
import { stop } from "esbuild";
import { clientEntries, clientSize } from "../../dev/client_sizes.ts";

// The process of esbuild is started by the first build, and serves the others.
const options = { sanitizeOps: false, sanitizeResources: false };

for (const entry of clientEntries) {
  const name = `${entry.name}: at most ${entry.limit} bytes, minified and compressed`;
  Deno.test(name, options, async () => {
    const size = await clientSize(entry);
    // Less than this is no bundle of the entry.
    assert(size > 100, `${size} bytes`);
    assert(size <= entry.limit, `${size} bytes`);
  });
}

Deno.test.afterAll(() => stop());
