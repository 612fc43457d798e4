import { stringify } from "@std/yaml";
import type { JsonSchema } from "../protocol/route_description.ts";

export function openapiYaml(document: JsonSchema): string {
  // An object that occurs twice would become an anchor and an alias.
  return stringify(JSON.parse(JSON.stringify(document)), { lineWidth: 100 });
}
