import { writeApiTypes } from "../../../src/openapi/api_types.ts";
import { manyResources } from "./program_api.ts";

/** A program that uses so many resources, each in four requests, of an `Api` that has `count`. */
export function manyResourcesProgram(
  count: number,
  used = count,
): Readonly<Record<"api.ts" | "main.ts", string>> {
  const uses = Array.from({ length: used }, (_, index) => `
export async function use${index}() {
  const things = api.things${index};
  const { items } = await things.list({ select: ["id", "textField"], include: ["parent"] });
  const { value, etag } = await things.get(${index}, { include: ["children.parent"] });
  await things.update(${index}, { realField: 1 }, {
    ifMatch: etag,
    onConflict: ({ mine, theirs }) => ({ ...mine, textField: theirs.textField }),
  });
  const { groups } = await things.aggregate({ groupBy: ["dateField"], sum: ["realField"] });
  return [items[0]?.parent?.id, value.children.length, groups[0]?.sum.realField] as const;
}`);
  const head = `import { createClient } from "@svc/resource-api/client";
import type { Api } from "./api.ts";
const api = createClient<Api>({ baseUrl: "" });
`;
  return { "api.ts": writeApiTypes(manyResources(count)), "main.ts": head + uses.join("\n") };
}
