import { assert, assertEquals } from "@std/assert";
import { formatKey, parseKey, reservedPathSegments } from "../../src/plan/key.ts";
import { tableOf } from "../filter/support.ts";

const words = tableOf({ id: "text", meaning: "text" });

Deno.test("a key as a path segment parses to the same key", () => {
  for (
    const id of ["a", "a/b", "a,b", "%", "é", "Count", "counts", "x y", ...reservedPathSegments]
  ) {
    assertEquals(parseKey(formatKey([id]), words), [id]);
  }
});

Deno.test("a key with the name of a route does not lead to the route", () => {
  assertEquals(formatKey(["count"]), "%63ount");
  for (const word of reservedPathSegments) assert(!reservedPathSegments.has(formatKey([word])));
});
