import { assertEquals } from "@std/assert";
import { parseQuery } from "../../src/resource/http/query_parameters.ts";
import { problemOf } from "../filter/support.ts";

Deno.test("an unencoded percent sign is a 400 that says how to write it", () => {
  for (const raw of ["filter=name%=x", "filter=name==50%", "filter=%E0%A4"]) {
    assertEquals(
      problemOf(() => parseQuery(raw)).message,
      "The query holds a malformed percent sequence: write % as %25, and other text as UTF-8",
    );
  }
  assertEquals(parseQuery("filter=name%25=x").get("filter"), "name%=x");
});
