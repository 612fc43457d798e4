import { testUnless } from "../support/skip.ts";
import { longSearchCases, searchCases } from "./search_cases.ts";
import { worldCases } from "./search_worlds.ts";
import { searchEngines, testOnSearchEngines } from "./search_support.ts";

for (const { name, run } of searchCases) testOnSearchEngines(name, run);

const oneOfEach = [
  "memory on better-sqlite3",
  "database on better-sqlite3",
  "database on postgres",
];

for (const engine of searchEngines.filter(({ name }) => oneOfEach.includes(name))) {
  for (const { name, run } of [...longSearchCases, ...worldCases]) {
    testUnless(engine.engine.ignore ?? null, `${name} (${engine.name})`, () => run(engine));
  }
}
