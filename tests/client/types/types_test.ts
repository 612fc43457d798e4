import { assert, assertEquals, assertMatch } from "@std/assert";
import { writeApiTypes } from "../../../src/openapi/api_types.ts";
import { checkProgram } from "../../types/check_program.ts";
import { accepted, refused } from "./programs.ts";
import { describedApi } from "./program_api.ts";

const head = `import {
  type ApiResource, ConflictError, createClient, type ReadRequests, rsql, ServiceError,
} from "@svc/resource-api/client";
import type { Api, Notes, People } from "./api.ts";
declare const api: ReturnType<typeof createClient<Api>>;
declare function same<Expected>(value: Expected): void;
`;

function named(kind: string, programs: readonly string[]): Record<string, string> {
  return Object.fromEntries(programs.map((program, at) => [`${kind}${at}.ts`, head + program]));
}

Deno.test("the compiler accepts programs of a client over written types, and says what is wrong in others", async () => {
  assert(accepted.length > 15);
  assert(refused.length > 30);
  const errors = await checkProgram({
    "api.ts": writeApiTypes(describedApi),
    ...named("accepted", accepted),
    ...named("refused", refused.map(([program]) => program)),
  });
  for (const [index, [program, expected]] of refused.entries()) {
    const found = errors.filter(({ file }) => file === `refused${index}.ts`);
    assert(found.length > 0, `accepted: ${program}`);
    assertMatch(found.map(({ message }) => message).join("\n"), expected, program);
  }
  assertEquals(errors.filter(({ file }) => !file.startsWith("refused")), []);
});
