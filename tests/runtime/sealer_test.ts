import { assert, assertEquals } from "@std/assert";
import { createSealer } from "../../src/runtime/sealer.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const { random } = systemRuntime(() => {});
const secret = "a secret for the tests only";

/** A sealed text begins with a random number: the same one again was remembered. */
function rememberedBytes(sealer: ReturnType<typeof createSealer>, texts: readonly string[]) {
  for (const text of texts) sealer.seal(text, "list");
  const sealed = texts.map((text) => sealer.seal(text, "list"));
  let bytes = 0;
  // From the last one, because each that is not known takes the place of others.
  for (let index = texts.length - 1; index >= 0; index--) {
    const text = texts[index] ?? "";
    const again = sealer.seal(text, "list");
    assertEquals(sealer.open(again, "list"), text);
    if (again === sealed[index]) bytes += 2 * (text.length + again.length);
  }
  return bytes;
}

Deno.test("128 lists ended the process: 500 sealed positions of any size were remembered", () => {
  const long = Array.from({ length: 300 }, (_, index) => `${index}`.padEnd(12_000, "x"));
  assert(rememberedBytes(createSealer([secret], random), long) <= 1024 * 1024);
});

Deno.test("the sealed positions of lists that come again are remembered", () => {
  const sealer = createSealer([secret], random);
  const positions = Array.from({ length: 5 }, (_, index) => `["${index}",12345]`);
  const sealAll = () => positions.map((text) => sealer.seal(text, "list"));
  assertEquals(sealAll(), sealAll());
});

Deno.test("no two seals have the same nonce", () => {
  const sealer = createSealer([secret], random);
  const sealed = Array.from({ length: 2_000 }, (_, index) => sealer.seal(`${index}`, "list"));
  // Twelve bytes are sixteen characters.
  assertEquals(new Set(sealed.map((text) => text.slice(0, 16))).size, sealed.length);
});
