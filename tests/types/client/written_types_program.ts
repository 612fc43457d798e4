import { writeApiTypes } from "../../../src/openapi/api_types.ts";
import { describedApi } from "./program_api.ts";
import { accepted, refused } from "./programs.ts";

const head = `import {
  type ApiResource, ConflictError, createClient, exportUrl, ImportError, importFile, type ReadRequests, rsql, ServiceError,
} from "@svc/resource-api/client";
import type { Api, Notes, People } from "./api.ts";
declare const api: ReturnType<typeof createClient<Api>>;
declare function same<Expected>(value: Expected): void;
`;

/** The written types, and a file for each program over them. */
export const writtenTypesProgram: Readonly<Record<string, string>> = {
  "api.ts": writeApiTypes(describedApi),
  ...named("accepted", accepted),
  ...named("refused", refused.map(([program]) => program)),
};

function named(kind: string, programs: readonly string[]): Record<string, string> {
  return Object.fromEntries(programs.map((program, at) => [`${kind}${at}.ts`, head + program]));
}
