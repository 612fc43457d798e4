import { assertEquals } from "@std/assert";
import { acceptedType } from "../../src/resource/http/accepted_type.ts";

const json = "application/json";
const csv = "text/csv";
const ndjson = "application/x-ndjson";

const table: readonly (readonly [accept: string | null, expected: string])[] = [
  [null, json],
  ["", json],
  ["*/*", json],
  ["application/json", json],
  ["text/csv", csv],
  ["Text/CSV", csv],
  ["application/x-ndjson", ndjson],
  ["text/csv;q=0.9, application/json", json],
  ["text/csv, application/json;q=0.9", csv],
  ["text/csv, application/json", json],
  ["application/x-ndjson, text/csv", csv],
  ["application/x-ndjson;q=1, text/csv;q=0.999", ndjson],
  ["text/csv;q=0.998, application/x-ndjson;q=0.999, */*;q=0.997", ndjson],
  // The headers of browsers and other clients.
  ["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", json],
  ["application/json, text/plain, */*", json],
  ["text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", json],
  // A named type, against a wildcard of the same quality.
  ["text/csv, */*", csv],
  ["text/csv;q=0.5, */*;q=0.5", csv],
  ["text/csv;q=0.5, */*;q=0.6", json],
  ["text/*", csv],
  ["application/*", json],
  ["text/*;q=0.9, */*;q=0.8", csv],
  // Refused by the most specific range.
  ["text/csv;q=0", json],
  ["text/csv;q=0, */*", json],
  ["application/json;q=0, */*", csv],
  ["application/json;q=0, text/*;q=0, */*;q=0.1", ndjson],
  ["*/*;q=0", json],
  // None of the types is offered.
  ["image/png", json],
  ["text/csvx, xtext/csv, text/csv/x", json],
  // Spaces, parameters, quotes, and malformed elements.
  [" text/csv ; charset=utf-8 ; Q=0.9 , application/json ; q=0.8 ", csv],
  ["application/json;charset=UTF-8, text/csv;q=0.9", json],
  ['text/csv;charset="utf-8", application/json;q=0.9', csv],
  ["text/csv;charset=latin1, application/x-ndjson;q=0.1", ndjson],
  [",,text/csv,,", csv],
  ["csv", json],
  ["/", json],
];

Deno.test("the media type is the one that Accept prefers, else JSON", () => {
  assertEquals(
    table.map(([accept]) => [accept, accepted(accept)]),
    table.map(([accept, expected]) => [accept, expected]),
  );
});

Deno.test("a long Accept is not parsed", () => {
  const many = Array.from({ length: 100 }, (_, i) => `image/x-${i}`).join(", ");
  assertEquals(accepted(`text/csv, ${many}`), csv);
  assertEquals(accepted(`text/csv, ${many}, ${many}`), json);
});

function accepted(accept: string | null): string {
  return acceptedType(
    { headers: new Headers(accept === null ? {} : { accept }) },
    [json, csv, ndjson],
  );
}
