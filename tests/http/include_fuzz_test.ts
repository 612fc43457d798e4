import { assert } from "@std/assert";
import fc from "fast-check";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import { withShop } from "./include_support.ts";

const words = ["artist", "albums", "tracks", "tags", "profile", "owner", "album", "nothing"];
const options = [
  "select:",
  "filter:",
  "limit:",
  "orderBy:",
  "include:",
  "offset:",
  "count:true",
  "sum:",
  "max:",
];
const values = ["id", "title", "name", "secret", "1", "0", "-1", "1e9", "id:desc", "-id", "é"];
const filters = [
  "id==1",
  "title!=a",
  "artist.name==ada",
  "name=='it''s'",
  "(id>0,id<9)",
  "secret==",
];
const signs = ["(", ")", "(", ")", ";", ",", ".", "'", '"', "\\", " ", "%", "\u{1f44d}", "\0", ":"];

for (const engine of engines.filter(({ name }) => name !== "pglite")) {
  testUnless(
    engine.ignore ?? null,
    `5,000 random includes and paths are answered by 2xx or 4xx, without delay (${engine.name})`,
    () =>
      withShop(engine, {}, async ({ get, observations }) => {
        const piece = fc.constantFrom(...words, ...options, ...values, ...filters, ...signs);
        const loose = fc.array(piece, { maxLength: 16 }).map((list) => list.join(""));
        const item: fc.Arbitrary<string> = fc.letrec<{ item: string; list: string }>((tie) => ({
          list: fc.array(tie("item"), { minLength: 1, maxLength: 3 }).map((list) => list.join()),
          item: fc.tuple(
            fc.constantFrom(...words),
            fc.array(
              fc.oneof(
                fc.constantFrom(...filters).map((filter) => `filter:${filter}`),
                fc.constantFrom(...values).map((value) => `orderBy:${value}`),
                fc.constantFrom(...values).map((value) => `limit:${value}`),
                tie("list").map((list) => `include:${list}`),
              ),
              { maxLength: 3 },
            ),
          ).map(([name, list]) => list.length === 0 ? name : `${name}(${list.join(";")})`),
        })).item;
        const seen = new Map<number, number>();
        const path = fc.constantFrom("/api/albums", "/api/albums/1", "/api/artists", "/api/tracks");
        await fc.assert(
          fc.asyncProperty(
            path,
            fc.oneof(loose, item, item),
            fc.oneof(fc.constant("id>0"), fc.constantFrom(...filters), loose),
            async (path, include, filter) => {
              const query = new URLSearchParams({
                include: include.toWellFormed(),
                filter: filter.toWellFormed(),
              });
              const began = performance.now();
              const { status } = await get(`${path}?${query}`);
              assert(status === 200 || (status >= 400 && status < 500), `${status} ${query}`);
              assert(performance.now() - began < 10_000, `${query} took too long`);
              seen.set(status, (seen.get(status) ?? 0) + 1);
            },
          ),
          { numRuns: 5_000 },
        );
        assert((seen.get(200) ?? 0) > 300, `only ${seen.get(200)} were understood`);
        assert(observations.every(({ kind }) => kind !== "request_failed"));
      }),
  );
}
