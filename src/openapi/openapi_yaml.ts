import { stringify } from "@std/yaml";
import type { JsonSchema } from "../protocol/route_description.ts";

export function openapiYaml(document: JsonSchema): string {
  // A JSON copy has no shared objects. YAML would write shared objects as anchors and aliases.
  return stringify(JSON.parse(JSON.stringify(document)), { lineWidth: 100 });
}
