import { assert, assertEquals } from "@std/assert";
import { gunzipSync } from "node:zlib";
import { bundleClient } from "../../dev/client_bundle.ts";
import { buildSimdModule } from "../../dev/simd/build_simd_module.ts";
import { simdModule } from "../../src/client/pow/simd_module.ts";
import { preferredWord } from "../../src/client/pow/nonce_range.ts";
import { bundledClient } from "../../src/service/client/bundled_client.ts";

// Outside of the tests, because the process of esbuild ends a little after it was stopped.
const bundled = await bundleClient();

Deno.test("the client that the service serves is that of exports/client.ts: run deno task client-bundle", () => {
  const served = new Map(
    Object.entries(bundledClient).map(([name, gzip]) => [
      name,
      gunzipSync(Uint8Array.fromBase64(gzip)).toString(),
    ]),
  );
  assertEquals([...served.keys()], [...bundled.keys()]);
  for (const [name, text] of bundled) assert(served.get(name) === text, `${name} is out of date`);
});

Deno.test("the SIMD module of the solver is that of dev/simd: run deno task client-bundle", () => {
  const module = gunzipSync(Uint8Array.fromBase64(simdModule));
  assertEquals(new Uint8Array(module), buildSimdModule(preferredWord));
});

Deno.test("the client, its solver and its evaluation of filters are one file each", () => {
  const imports = [...bundled].flatMap(([name, text]) =>
    [...text.matchAll(/(?:\bfrom|\bimport\()\s*"([^"]+)"/g)].map(([, path]) => [name, path])
  );
  assertEquals(imports, [
    ["client.js", "./client/find_nonce.js"],
    ["client.js", "./client/described_filter.js"],
    ["client/link_page.js", "./find_nonce.js"],
  ]);
});
