import { searchCases } from "./search_cases.ts";
import { testOnSearchEngines } from "./search_support.ts";

for (const { name, run } of searchCases) testOnSearchEngines(name, run);
